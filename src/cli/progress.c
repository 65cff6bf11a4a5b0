#include "cli/progress.h"

#include <math.h>
#include <string.h>

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
        (void)snprintf(text, text_bytes, "-");
        return;
    }
    char low[32];
    char high[32];
    nj_progress_format_time(low_s, low, sizeof low);
    nj_progress_format_time(high_s, high, sizeof high);
    (void)snprintf(text, text_bytes, "%s to %s", low, high);
}

static void show(struct nj_progress *progress)
{
    char left[72];
    double elapsed_s = seconds_since(progress, progress->began_ns);
    format_left(progress, left, sizeof left);
    (void)fprintf(
        progress->file, "%snightjar: %llu/%llu items", progress->is_terminal ? "\r\033[K" : "",
        (unsigned long long)progress->n_items_done, (unsigned long long)progress->n_items);
    if (progress->n_items_failed > 0) {
        (void)fprintf(progress->file, " (%llu failed)",
                      (unsigned long long)progress->n_items_failed);
    }
    (void)fprintf(progress->file, ", %llu tokens, %.1f tokens/s, left: %s",
                  (unsigned long long)progress->n_tokens,
                  elapsed_s > 0.0 ? (double)progress->n_tokens / elapsed_s : 0.0, left);
    if (!progress->is_terminal) {
        (void)fputc('\n', progress->file);
    }
    (void)fflush(progress->file);
    progress->has_line = progress->is_terminal;
    progress->shown_ns = progress->clock.monotonic_ns(progress->clock.context);
    progress->items_shown = progress->n_items_done;
}

static bool is_due(const struct nj_progress *progress)
{
    double quiet_s = seconds_since(progress, progress->shown_ns);
    if (progress->is_terminal) {
        return quiet_s >= 0.2;
    }
    uint64_t step = progress->n_items / 100 + 1;
    return quiet_s >= 30.0 ||
           (quiet_s >= 1.0 && progress->n_items_done >= progress->items_shown + step);
}

static void show_start(struct nj_progress *progress, const struct nj_event *event)
{
    progress->items_shown = event->n_items_done;
    if (event->n_items_kept > 0 || event->n_tokens_restored > 0) {
        (void)fprintf(progress->file,
                      "nightjar: kept %llu finished items, restored %llu tokens of %llu items "
                      "under way\n",
                      (unsigned long long)event->n_items_kept,
                      (unsigned long long)event->n_tokens_restored,
                      (unsigned long long)event->n_running);
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
