#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/complaint.h"
#include "cli/exit_code.h"

/* What nobody can read or write stays so: output to nowhere must not look like output that
 * arrived. Of stderr nobody can be told. */
static int flags_of(int fd)
{
    switch (fd) {
    case STDIN_FILENO:
        return O_WRONLY;
    case STDOUT_FILENO:
        return O_RDONLY;
    default:
        return O_RDWR;
    }
}

static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1) {
            continue;
        }
        /* The lowest free number is this one: those below are open. */
        if (open("/dev/null", flags_of(fd)) != fd) {
            _exit(NJ_EXIT_INTERNAL); /* and no descriptor to say so on */
        }
    }
}

/* Long rows and lines come and go. By default malloc takes each as a reason to keep such sizes
 * for itself, and memory that a run has given back counts against its ceiling. */
static void give_back_large_memory(void)
{
#ifdef __GLIBC__
    enum { LARGE_BYTES = 256 * 1024 };
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* a hint, as all of malloc's */
#endif
}

void nj_process_prepare(void)
{
    open_standard_files();
    give_back_large_memory();
    (void)signal(SIGPIPE, SIG_IGN); /* neither can fail for a known signal */
    (void)signal(SIGXFSZ, SIG_IGN);
}

static bool reader_has_gone(int fd)
{
    struct pollfd polled = {.fd = fd};
    return poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

/* As open_standard_files left it, or opened so by who started us. */
static bool is_for_reading_only(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags != -1 && (flags & O_ACCMODE) == O_RDONLY;
}

/* The failure may have been an earlier one than the last. */
static const char *reason_of(int error_number)
{
    if (is_for_reading_only(STDOUT_FILENO)) {
        return "it is closed";
    }
    return error_number != 0 ? strerror(error_number) : "not all of it could be written";
}

int nj_process_end(int exit_code, bool as_json)
{
    bool has_failed = ferror(stdout) != 0;
    errno = 0;
    has_failed = fflush(stdout) != 0 || has_failed;
    if (!has_failed || reader_has_gone(STDOUT_FILENO)) {
        return exit_code;
    }
    char text[256];
    (void)snprintf(text, sizeof text, "write to standard output: %s", reason_of(errno));
    nj_complain_warning(as_json, text);
    return exit_code == NJ_EXIT_OK ? NJ_EXIT_FAILED : exit_code;
}
