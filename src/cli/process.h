/* The process around the program: descriptors and signals as the rest of it takes for granted,
 * and output that is known to have arrived. */
#ifndef NJ_CLI_PROCESS_H
#define NJ_CLI_PROCESS_H

#include <stdbool.h>

/* First thing in the program. Descriptors 0 to 2 that came closed are opened on /dev/null: the
 * next file opened would get their number, and what is printed would land in it. Reading from
 * such an stdin and writing to such an stdout still fails. SIGPIPE and SIGXFSZ are ignored, so
 * that a closed pipe and a file over its limit are errors of a write like others. */
void nj_process_prepare(void);

/* Last thing: writes out what stdout still holds. Output that did not arrive, a closed stdout's
 * too, is told and makes an exit code of 0 a NJ_EXIT_FAILED, unless its reader has gone: who
 * closes a pipe early has seen enough. Returns the exit code. */
int nj_process_end(int exit_code, bool as_json);

#endif
