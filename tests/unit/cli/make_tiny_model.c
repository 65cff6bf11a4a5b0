/* make_tiny_model KIND DIRECTORY: writes a tiny model, for tests that are scripts. */
#include <stdio.h>
#include <string.h>

#include "support/tiny_model.h"

int main(int argc, char **argv)
{
    for (int kind = 0; argc == 3 && kind < TINY_MODEL_COUNT; kind++) {
        if (strcmp(tiny_model_name((enum tiny_model_kind)kind), argv[1]) == 0) {
            if (tiny_model_write((enum tiny_model_kind)kind, argv[2]) == 0) {
                return 0;
            }
            perror(argv[2]);
            return 1;
        }
    }
    (void)fprintf(stderr, "usage: make_tiny_model t5|t13|t5e|kl5 DIRECTORY\n");
    return 2;
}
