#include "cli/progress.h"

#include <math.h>
#include <string.h>

#include "cli/words.h"

static const uint64_t SECOND_NS = 1000000000;

void nj_progress_init(struct nj_progress *progress, FILE *file, bool is_terminal,
                      struct nj_clock clock)
{
    memset(progress, 0, sizeof *progress);
    progress->file = file;
    progress->is_terminal = is_terminal;
    progress->clock = clock;
    progress->began_ns = clock.monotonic_ns(clock.context);
    progress->shown_ns = progress->began_ns;
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

bool nj_progress_time_left(const struct nj_progress *progress, double *low_s, double *high_s)
{
    double elapsed_s = seconds_since(progress, progress->began_ns);
    if (elapsed_s < 20.0 || progress->n_tokens < 50 || progress->n_measured == 0) {
        return false;
    }
    double n = (double)progress->n_measured;
    double n_left = (double)(progress->n_items - progress->n_items_done);
    double mean = progress->length_sum / n;
    double variance = progress->length_square_sum / n - mean * mean;
    /* Two deviations of the sum of the lengths to come, and a tenth for the machine's mood. */
    double spread =
        2.0 * sqrt((variance > 0.0 ? variance : 0.0) * n_left) + 0.1 * mean * n_left;
    double tokens_left = mean * n_left - (double)progress->n_tokens_open;
    double rate = (double)progress->n_tokens / elapsed_s;
    *low_s = fmax(0.0, tokens_left - spread) / rate;
    *high_s = fmax(0.0, tokens_left + spread) / rate;
    return true;
}

static void format_left(const struct nj_progress *progress, char *text, size_t text_bytes)
{
    double low_s = 0.0;
    double high_s = 0.0;
    if (!nj_progress_time_left(progress, &low_s, &high_s)) {
        (void)snprintf(text, text_bytes, "estimating");
        return;
    }
    char low[32];
    char high[32];
    nj_progress_format_time(low_s, low, sizeof low);
    nj_progress_format_time(high_s, high, sizeof high);
    if (strcmp(low, high) == 0) {
        (void)snprintf(text, text_bytes, "about %s", low);
    } else {
        (void)snprintf(text, text_bytes, "%s to %s", low, high);
    }
}

static void print_work(const struct nj_progress *progress)
{
    char read[NJ_WORDS_BYTES];
    char all[NJ_WORDS_BYTES];
    double elapsed_s = seconds_since(progress, progress->began_ns);
    if (progress->n_prefill > 0) {
        (void)fprintf(progress->file, ", prefill %s/%s tokens",
                      nj_words_number(progress->n_prefill_read, read),
                      nj_words_number(progress->n_prefill, all));
    }
    if (progress->n_tokens > 0 || progress->n_prefill == 0) {
        (void)fprintf(progress->file, ", %s, %.1f tokens/s",
                      nj_words_count(progress->n_tokens, "token", all),
                      elapsed_s > 0.0 ? (double)progress->n_tokens / elapsed_s : 0.0);
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
    progress->has_line = progress->is_terminal;
    progress->shown_ns = progress->clock.monotonic_ns(progress->clock.context);
    progress->items_shown = progress->n_items_done;
}

/* Tenths of the items: 10 when all are done. */
static uint64_t tenths(const struct nj_progress *progress, uint64_t n_items)
{
    return progress->n_items > 0 ? n_items * 10 / progress->n_items : 0;
}

static bool is_due(const struct nj_progress *progress)
{
    double quiet_s = seconds_since(progress, progress->shown_ns);
    if (progress->is_terminal) {
        return quiet_s >= 0.2;
    }
    bool is_further =
        tenths(progress, progress->n_items_done) > tenths(progress, progress->items_shown);
    return quiet_s >= 30.0 || (quiet_s >= 1.0 && is_further);
}

static void show_start(struct nj_progress *progress, const struct nj_event *event)
{
    progress->items_shown = event->n_items_done;
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

static void count_item(struct nj_progress *progress, const struct nj_event *event)
{
    double length = (double)event->n_output_tokens;
    progress->n_measured++;
    progress->length_sum += length;
    progress->length_square_sum += length * length;
    uint64_t n_open = progress->n_tokens_open;
    progress->n_tokens_open =
        n_open > event->n_output_tokens ? n_open - event->n_output_tokens : 0;
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
    case NJ_EVENT_ITEM_RESUMED:
        progress->n_tokens_open += event->n_tokens_restored;
        return;
    case NJ_EVENT_TOKEN:
        progress->n_tokens++;
        progress->n_tokens_open++;
        return;
    case NJ_EVENT_ITEM_DONE:
        count_item(progress, event);
        break;
    case NJ_EVENT_SWEEP_DONE:
        progress->n_prefill = event->n_prefill;
        progress->n_prefill_read = event->n_prefill_read;
        break;
    case NJ_EVENT_ITEM_STARTED:
    case NJ_EVENT_RUN_PAUSED:
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
