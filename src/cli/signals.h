/* SIGINT and SIGTERM as a question that a run may ask: the first asks it to stop at the end of
 * the sweep, the second ends the program at once (what was told is durable already).
 *
 * A thread waits for the signals, which are blocked everywhere else; so there is no handler and
 * nothing global. SIGPIPE is ignored.
 */
#ifndef NJ_CLI_SIGNALS_H
#define NJ_CLI_SIGNALS_H

#include <stdbool.h>

#include "base/status.h"

struct nj_signals;

/* Call before other threads are made: they inherit the mask. Caller owns `*signals`. */
enum nj_status nj_signals_create(struct nj_signals **signals, struct nj_error *err);
void nj_signals_destroy(struct nj_signals *signals);

/* The signal that asked to stop, or 0. */
int nj_signals_received(const struct nj_signals *signals);

#endif
