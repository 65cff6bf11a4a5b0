#include "cli/cli.h"

int main(int argc, char **argv)
{
    return nj_cli_main(argc, argv);
}
