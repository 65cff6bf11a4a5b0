/* How fast this process works, and how long the rest of a job takes at that.
 *
 * Reading prompts and choosing tokens differ in speed by orders of magnitude, so the rates are
 * kept apart, each as a moving average over about two minutes of its own kind of sweep. Nothing
 * here knows a clock, a file or earlier runs: what was restored is never passed in as work.
 */
#ifndef NJ_CLI_PACE_H
#define NJ_CLI_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* One walk over the layers, as this process saw it. */
struct nj_pace_sweep {
    double seconds;
    uint64_t n_prefill_rows; /* positions of prompts, and of ids that were restored */
    uint64_t n_decode_rows;  /* positions that read an id chosen in the sweep before */
    uint64_t n_tokens;       /* chosen */
};

/* Sums that fade; zeroed is a process that has done nothing. A sweep belongs to the kind that
 * most of its rows are of. */
struct nj_pace {
    double decode_s;
    double decode_tokens;
    double prefill_s;
    double prefill_rows;
    double prefill_tokens; /* chosen in sweeps that mostly read prompts ... */
    double ridden_rows;    /* ... and the rows of decoding that rode along there */
};

void nj_pace_add(struct nj_pace *pace, const struct nj_pace_sweep *sweep);

/* Tokens chosen in a second; of sweeps that mostly read prompts while there were no others. 0
 * while nothing is known. */
double nj_pace_token_rate(const struct nj_pace *pace);

/* Positions of prompts read in a second; 0 while nothing is known. */
double nj_pace_prefill_rate(const struct nj_pace *pace);

/* Lengths of answers in tokens. */
struct nj_pace_lengths {
    uint64_t n_measured; /* items that ended in this process; their sums */
    double sum;
    double square_sum;
    double limit; /* max_tokens, in the mean of the job's prompts */
};

/* The mean of what ended, else half of the limit. */
double nj_pace_expected_length(const struct nj_pace_lengths *lengths);

/* What is still to be done. */
struct nj_pace_work {
    uint64_t n_items;         /* not done, those under way included */
    uint64_t n_items_waiting; /* of these, not begun */
    double tokens_open;       /* chosen or restored for items under way */
    double prefill_open;      /* positions that items under way have not read yet */
    double prompt_tokens;     /* of an item, in the mean */
};

struct nj_pace_range {
    double low_s;
    double high_s;
    bool is_guess; /* no item has ended yet: the lengths are made up from the limit */
};

/* False while a rate that it takes is unknown. Low and high are two deviations of the lengths
 * to come (of a guess: half of it), and a tenth for the machine's mood. */
bool nj_pace_time_left(const struct nj_pace *pace, const struct nj_pace_lengths *lengths,
                       const struct nj_pace_work *work, struct nj_pace_range *range);

#endif
