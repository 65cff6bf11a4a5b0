/* What a person sees of a run, on stderr: one updating line on a terminal, from the first sweep
 * on, else a plain line every 30 s or when a further hundredth of the items is done, and never
 * more than one a second.
 *
 * Only work of this process counts for speed and time left, never what earlier runs did.
 */
#ifndef NJ_CLI_PROGRESS_H
#define NJ_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/pace.h"
#include "job/event.h"
#include "nightjar/run.h"

/* Visible so that it can live in its caller; its fields are its own. */
struct nj_progress {
    FILE *file;
    bool is_terminal;
    struct nj_clock clock;
    uint64_t began_ns;
    uint64_t shown_ns;
    uint64_t items_shown;
    uint64_t n_items;
    uint64_t n_items_done;
    uint64_t n_items_failed;
    uint64_t n_tokens;       /* chosen by this process */
    uint64_t n_tokens_told;  /* of these, until the last sweep */
    uint64_t n_tokens_open;  /* chosen or restored for items that are not done */
    uint64_t n_begun;        /* items that joined the batch in this process ... */
    uint64_t n_begun_prompt; /* ... and the tokens of their prompts */
    uint64_t n_ended;        /* items that ended in this process */
    uint64_t n_prefill;      /* of the last sweep, see nj_event */
    uint64_t n_prefill_read;
    uint64_t swept_ns; /* when the last sweep ended, else when the run started */
    bool has_waited;   /* for room on the disk, since then */
    struct nj_pace pace;
    struct nj_pace_lengths lengths;
    bool has_shown; /* any line */
    bool has_line;  /* an unfinished line is on the terminal */
};

/* `max_tokens`: of an answer, in the mean of the job's prompts. */
void nj_progress_init(struct nj_progress *progress, FILE *file, bool is_terminal,
                      struct nj_clock clock, double max_tokens);

void nj_progress_event(struct nj_progress *progress, const struct nj_event *event);

/* Ends the updating line, so that something else can be printed. */
void nj_progress_end_line(struct nj_progress *progress);

/* Seconds left, as a range; false until this process has worked for 20 s and chosen 50
 * tokens. */
bool nj_progress_time_left(const struct nj_progress *progress, struct nj_pace_range *range);

/* "12 s", "4 min", "2 h 10 min". */
void nj_progress_format_time(double seconds, char *text, size_t text_bytes);

#endif
