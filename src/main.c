#include <stdbool.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/process.h"
#include "worker/worker.h"

int main(int argc, char **argv)
{
    nj_process_prepare();
    if (argc > 1 && strcmp(argv[1], "worker") == 0) { /* a program of its own, for the daemon */
        return nj_exit_code_of(nj_worker_main(argc - 1, argv + 1));
    }
    bool as_json = nj_flags_mention(argc, argv, "--json"); /* parsing moves them about */
    return nj_process_end(nj_cli_main(argc, argv), as_json);
}
