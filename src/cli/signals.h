/* SIGINT, SIGTERM and SIGHUP as a question that a run may ask: while it draws tokens, the first
 * asks it to stop at the end of the sweep. The second, and any before the first sweep, when
 * nothing is under way, ends the program at once with NJ_EXIT_STOPPED (what was told is durable
 * already, and every start copes with what a killed run leaves).
 *
 * A signal that the program was started with as ignored stays so (nohup, shells' background).
 *
 * A thread waits for the signals, which are blocked everywhere else; so there is no handler and
 * nothing global.
 */
#ifndef NJ_CLI_SIGNALS_H
#define NJ_CLI_SIGNALS_H

#include <stdbool.h>

#include "base/status.h"

struct nj_signals;

/* Call before other threads are made: they inherit the mask. Caller owns `*signals`. */
enum nj_status nj_signals_create(struct nj_signals **signals, struct nj_error *err);
void nj_signals_destroy(struct nj_signals *signals);

/* From here on the first signal is a question, and the run must ask for it. */
void nj_signals_begin_draining(struct nj_signals *signals);

/* The signal that asked to stop, or 0. */
int nj_signals_received(const struct nj_signals *signals);

#endif
