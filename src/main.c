#include "cli/cli.h"
#include "cli/process.h"

int main(int argc, char **argv)
{
    nj_process_prepare();
    return nj_process_end(nj_cli_main(argc, argv));
}
