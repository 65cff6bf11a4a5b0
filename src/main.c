#include <stdbool.h>

#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/process.h"

int main(int argc, char **argv)
{
    nj_process_prepare();
    bool as_json = nj_flags_mention(argc, argv, "--json"); /* parsing moves them about */
    return nj_process_end(nj_cli_main(argc, argv), as_json);
}
