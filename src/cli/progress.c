#include "cli/progress.h"

#include <string.h>

#include "cli/words.h"

static const uint64_t SECOND_NS = 1000000000;

void nj_progress_init(struct nj_progress *progress, FILE *file, bool is_terminal,
                      struct nj_clock clock, double max_tokens)
{
    memset(progress, 0, sizeof *progress);
    progress->file = file;
    progress->is_terminal = is_terminal;
    progress->clock = clock;
    progress->began_ns = clock.monotonic_ns(clock.context);
    progress->shown_ns = progress->began_ns;
    progress->swept_ns = progress->began_ns;
    progress->lengths.limit = max_tokens;
}

static double seconds_since(const struct nj_progress *progress, uint64_t then_ns)
{
    uint64_t now_ns = progress->clock.monotonic_ns(progress->clock.context);
    return (double)(now_ns - then_ns) / (double)SECOND_NS;
}

void nj_progress_format_time(double seconds, char *text, size_t text_bytes)
{
    unsigned long whole = (unsigned long)(seconds + 0.5);
    if (whole < 90) {
        (void)snprintf(text, text_bytes, "%lu s", whole);
    } else if (whole < 5400) {
        (void)snprintf(text, text_bytes, "%lu min", (whole + 30) / 60);
    } else {
        (void)snprintf(text, text_bytes, "%lu h %lu min", whole / 3600, whole % 3600 / 60);
    }
}

/* Items of this process that are neither done nor waiting. */
static uint64_t n_open(const struct nj_progress *progress)
{
    return progress->n_begun > progress->n_ended ? progress->n_begun - progress->n_ended : 0;
}

bool nj_progress_time_left(const struct nj_progress *progress, struct nj_pace_range *range)
{
    double elapsed_s = seconds_since(progress, progress->began_ns);
    if (elapsed_s < 20.0 || progress->n_tokens < 50) {
        return false;
    }
    uint64_t n_left = progress->n_items - progress->n_items_done;
    uint64_t n_under_way = n_open(progress);
    const struct nj_pace_work work = {
        .n_items = n_left,
        .n_items_waiting = n_left > n_under_way ? n_left - n_under_way : 0,
        .tokens_open = (double)progress->n_tokens_open,
        .prefill_open = (double)(progress->n_prefill - progress->n_prefill_read),
        .prompt_tokens = progress->n_begun > 0
                             ? (double)progress->n_begun_prompt / (double)progress->n_begun
                             : 0.0};
    return nj_pace_time_left(&progress->pace, &progress->lengths, &work, range);
}

static void format_left(const struct nj_progress *progress, char *text, size_t text_bytes)
{
    struct nj_pace_range range;
    if (!nj_progress_time_left(progress, &range)) {
        (void)snprintf(text, text_bytes, "-");
        return;
    }
    char low[32];
    char high[32];
    const char *guess = range.is_guess ? "~" : "";
    nj_progress_format_time(range.low_s, low, sizeof low);
    nj_progress_format_time(range.high_s, high, sizeof high);
    if (strcmp(low, high) == 0) {
        (void)snprintf(text, text_bytes, "%s%s", range.is_guess ? "~" : "about ", low);
    } else {
        (void)snprintf(text, text_bytes, "%s%s to %s", guess, low, high);
    }
}

static void print_rate(const struct nj_progress *progress, double rate)
{
    if (rate > 0.0) {
        (void)fprintf(progress->file, ", %.1f tokens/s", rate);
    }
}

static void print_work(const struct nj_progress *progress)
{
    char read[NJ_WORDS_BYTES];
    char all[NJ_WORDS_BYTES];
    if (progress->n_tokens > 0 || progress->n_prefill == 0) {
        (void)fprintf(progress->file, ", %s", nj_words_count(progress->n_tokens, "token", all));
        print_rate(progress, nj_pace_token_rate(&progress->pace));
    }
    if (progress->n_prefill > 0) {
        (void)fprintf(progress->file, ", prefill %s/%s tokens",
                      nj_words_number(progress->n_prefill_read, read),
                      nj_words_number(progress->n_prefill, all));
        print_rate(progress, nj_pace_prefill_rate(&progress->pace));
    }
}

static void show(struct nj_progress *progress)
{
    /* Without wrapping, a line that is wider than the terminal is cut; a wrapped one could not
     * be written over. */
    const char *begin = progress->is_terminal ? "\r\033[K\033[?7l" : "";
    const char *end = progress->is_terminal ? "\033[?7h" : "\n";
    char left[72];
    char done[NJ_WORDS_BYTES];
    char all[NJ_WORDS_BYTES];
    format_left(progress, left, sizeof left);
    (void)fprintf(progress->file, "%snightjar: %s/%s", begin,
                  nj_words_number(progress->n_items_done, done),
                  nj_words_count(progress->n_items, "item", all));
    if (progress->n_items_failed > 0) {
        (void)fprintf(progress->file, " (%s failed)",
                      nj_words_number(progress->n_items_failed, done));
    }
    print_work(progress);
    (void)fprintf(progress->file, ", left: %s%s", left, end);
    (void)fflush(progress->file);
    progress->has_shown = true;
    progress->has_line = progress->is_terminal;
    progress->shown_ns = progress->clock.monotonic_ns(progress->clock.context);
    progress->items_shown = progress->n_items_done;
}

/* Hundredths of the items: 100 when all are done. */
static uint64_t percent(const struct nj_progress *progress, uint64_t n_items)
{
    return progress->n_items > 0 ? n_items * 100 / progress->n_items : 0;
}

static bool is_due(const struct nj_progress *progress)
{
    double quiet_s = seconds_since(progress, progress->shown_ns);
    if (progress->is_terminal) {
        return quiet_s >= 0.2 || !progress->has_shown;
    }
    bool is_further =
        percent(progress, progress->n_items_done) > percent(progress, progress->items_shown);
    return quiet_s >= 30.0 || (quiet_s >= 1.0 && is_further);
}

static void show_start(struct nj_progress *progress, const struct nj_event *event)
{
    progress->items_shown = event->n_items_done;
    progress->swept_ns = progress->clock.monotonic_ns(progress->clock.context);
    if (event->n_items_kept > 0 || event->n_tokens_restored > 0) {
        char kept[NJ_WORDS_BYTES];
        char tokens[NJ_WORDS_BYTES];
        char items[NJ_WORDS_BYTES];
        (void)fprintf(progress->file, "nightjar: kept %s, restored %s of %s under way\n",
                      nj_words_count(event->n_items_kept, "finished item", kept),
                      nj_words_count(event->n_tokens_restored, "token", tokens),
                      nj_words_count(event->n_running, "item", items));
        (void)fflush(progress->file);
    }
}

static void count_begun(struct nj_progress *progress, const struct nj_event *event)
{
    progress->n_begun++;
    progress->n_begun_prompt += event->n_prompt_tokens;
    progress->n_tokens_open += event->n_tokens_restored;
}

static void count_ended(struct nj_progress *progress, const struct nj_event *event)
{
    double length = (double)event->n_output_tokens;
    struct nj_pace_lengths *lengths = &progress->lengths;
    progress->n_ended++;
    lengths->n_measured++;
    lengths->sum += length;
    lengths->square_sum += length * length;
    uint64_t n_tokens = progress->n_tokens_open;
    progress->n_tokens_open =
        n_tokens > event->n_output_tokens ? n_tokens - event->n_output_tokens : 0;
}

/* By the clock, so that what is done between sweeps counts too. A sweep whose ids waited for
 * room on the disk says nothing about speed. */
static void count_sweep(struct nj_progress *progress, const struct nj_event *event)
{
    const struct nj_pace_sweep sweep = {.seconds = seconds_since(progress, progress->swept_ns),
                                        .n_prefill_rows = event->n_prefill_rows,
                                        .n_decode_rows = event->n_rows - event->n_prefill_rows,
                                        .n_tokens =
                                            progress->n_tokens - progress->n_tokens_told};
    if (!progress->has_waited) {
        nj_pace_add(&progress->pace, &sweep);
    }
    progress->has_waited = false;
    progress->swept_ns = progress->clock.monotonic_ns(progress->clock.context);
    progress->n_tokens_told = progress->n_tokens;
    progress->n_prefill = event->n_prefill;
    progress->n_prefill_read = event->n_prefill_read;
}

void nj_progress_event(struct nj_progress *progress, const struct nj_event *event)
{
    progress->n_items = event->n_items;
    progress->n_items_done = event->n_items_done;
    progress->n_items_failed = event->n_items_failed;
    switch (event->type) {
    case NJ_EVENT_RUN_STARTED:
        show_start(progress, event);
        return;
    case NJ_EVENT_ITEM_STARTED:
    case NJ_EVENT_ITEM_RESUMED:
        count_begun(progress, event);
        return;
    case NJ_EVENT_TOKEN:
        progress->n_tokens++;
        progress->n_tokens_open++;
        return;
    case NJ_EVENT_ITEM_DONE:
        count_ended(progress, event);
        break;
    case NJ_EVENT_SWEEP_DONE:
        count_sweep(progress, event);
        break;
    case NJ_EVENT_RUN_PAUSED:
        progress->has_waited = true;
        return;
    case NJ_EVENT_RUN_DONE:
        return;
    }
    if (is_due(progress)) {
        show(progress);
    }
}

void nj_progress_end_line(struct nj_progress *progress)
{
    if (progress->has_line) {
        (void)fputc('\n', progress->file);
    }
    progress->has_line = false;
}
