/* Runs a command and says how much memory it ever held: the kernel's figure, not the program's.
 *
 *     peak LIMIT_BYTES COMMAND...
 *
 * Prints the peak in bytes to standard error. Exits as the command does, or with 99 when it
 * held more than the limit. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OVER_LIMIT = 99, NOT_RUN = 98 };

int main(int n_arguments, char **arguments)
{
    if (n_arguments < 3) {
        return NOT_RUN;
    }
    unsigned long long limit = strtoull(arguments[1], NULL, 10);
    pid_t child = fork();
    if (child == 0) {
        (void)execv(arguments[2], arguments + 2);
        _exit(NOT_RUN);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        return NOT_RUN;
    }
    unsigned long long peak = (unsigned long long)usage.ru_maxrss * 1024;
    (void)fprintf(stderr, "peak %llu of %llu bytes\n", peak, limit);
    if (peak > limit) {
        return OVER_LIMIT;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : NOT_RUN;
}
