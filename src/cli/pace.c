#include "cli/pace.h"

#include <math.h>

static const double MEMORY_S = 120.0; /* after which a sweep weighs 1/e */

void nj_pace_add(struct nj_pace *pace, const struct nj_pace_sweep *sweep)
{
    if (sweep->seconds <= 0.0 || sweep->n_prefill_rows + sweep->n_decode_rows == 0) {
        return;
    }
    double kept = exp(-sweep->seconds / MEMORY_S);
    if (sweep->n_prefill_rows > sweep->n_decode_rows) {
        pace->prefill_s = pace->prefill_s * kept + sweep->seconds;
        pace->prefill_rows = pace->prefill_rows * kept + (double)sweep->n_prefill_rows;
        pace->prefill_tokens = pace->prefill_tokens * kept + (double)sweep->n_tokens;
        pace->ridden_rows = pace->ridden_rows * kept + (double)sweep->n_decode_rows;
    } else {
        pace->decode_s = pace->decode_s * kept + sweep->seconds;
        pace->decode_tokens = pace->decode_tokens * kept + (double)sweep->n_tokens;
    }
}

static double rate_of(double n, double seconds)
{
    return seconds > 0.0 ? n / seconds : 0.0;
}

double nj_pace_token_rate(const struct nj_pace *pace)
{
    return pace->decode_s > 0.0 ? rate_of(pace->decode_tokens, pace->decode_s)
                                : rate_of(pace->prefill_tokens, pace->prefill_s);
}

double nj_pace_prefill_rate(const struct nj_pace *pace)
{
    return rate_of(pace->prefill_rows, pace->prefill_s);
}

double nj_pace_expected_length(const struct nj_pace_lengths *lengths)
{
    return lengths->n_measured > 0 ? lengths->sum / (double)lengths->n_measured
                                   : 0.5 * lengths->limit;
}

/* Of the sum of the lengths of `n_items` items. */
static double spread_of(const struct nj_pace_lengths *lengths, double n_items)
{
    double mean = nj_pace_expected_length(lengths);
    if (lengths->n_measured == 0) {
        return 0.5 * mean * n_items;
    }
    double variance = lengths->square_sum / (double)lengths->n_measured - mean * mean;
    return 2.0 * sqrt(fmax(0.0, variance) * n_items);
}

static double prefill_left(const struct nj_pace_work *work)
{
    return work->prefill_open + (double)work->n_items_waiting * work->prompt_tokens;
}

/* False when the rate that `n` things take is unknown. */
static bool add_time(double n, double rate, double *seconds)
{
    if (n > 0.0 && rate > 0.0) {
        *seconds += n / rate;
    }
    return n <= 0.0 || rate > 0.0;
}

/* Until `n_tokens` more are chosen. Each item has its first one from the sweep that ends its
 * prompt, and while prompts are read, others are decoded along with them. */
static bool time_of(const struct nj_pace *pace, const struct nj_pace_work *work,
                    double n_tokens, double *seconds)
{
    double n_prefill = prefill_left(work);
    double n_ridden =
        pace->prefill_rows > 0.0 ? n_prefill * pace->ridden_rows / pace->prefill_rows : 0.0;
    double n_decode = n_tokens - (double)work->n_items_waiting - n_ridden;
    *seconds = 0.0;
    return add_time(n_prefill, nj_pace_prefill_rate(pace), seconds) &&
           add_time(n_decode, nj_pace_token_rate(pace), seconds);
}

bool nj_pace_time_left(const struct nj_pace *pace, const struct nj_pace_lengths *lengths,
                       const struct nj_pace_work *work, struct nj_pace_range *range)
{
    double n_items = (double)work->n_items;
    double n_tokens = nj_pace_expected_length(lengths) * n_items - work->tokens_open;
    double spread = spread_of(lengths, n_items);
    double low_s = 0.0;
    double high_s = 0.0;
    if (!time_of(pace, work, n_tokens - spread, &low_s) ||
        !time_of(pace, work, n_tokens + spread, &high_s)) {
        return false;
    }
    *range = (struct nj_pace_range){.low_s = 0.9 * low_s,
                                    .high_s = 1.1 * high_s,
                                    .is_guess = lengths->n_measured == 0 && work->n_items > 0};
    return true;
}
