#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/clean_text.h"
#include "cli/exit_code.h"

static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1) {
            continue;
        }
        /* The lowest free number is this one: those below are open. */
        if (open("/dev/null", O_RDWR) != fd) {
            _exit(NJ_EXIT_INTERNAL); /* and no descriptor to say so on */
        }
    }
}

void nj_process_prepare(void)
{
    open_standard_files();
    (void)signal(SIGPIPE, SIG_IGN); /* neither can fail for a known signal */
    (void)signal(SIGXFSZ, SIG_IGN);
}

static bool reader_has_gone(int fd)
{
    struct pollfd polled = {.fd = fd};
    return poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

int nj_process_end(int exit_code)
{
    bool has_failed = ferror(stdout) != 0;
    errno = 0;
    has_failed = fflush(stdout) != 0 || has_failed;
    if (!has_failed || reader_has_gone(STDOUT_FILENO)) {
        return exit_code;
    }
    char text[256];
    (void)snprintf(text, sizeof text, "write to standard output: %s",
                   errno != 0 ? strerror(errno) : "not all of it could be written");
    nj_clean_complain(text);
    return exit_code == NJ_EXIT_OK ? NJ_EXIT_FAILED : exit_code;
}
