/* Answers zone_check.py's questions, one a line:
 *
 *     Z name                 from here on this zone
 *     L seconds              a local time: "first last", the instants it may mean
 *     W start end seconds    a daily window in minutes, at an instant: "closes opens", or
 *                            "- opens" while it is shut
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "job/window.h"

static bool open_zone(const char *name, struct nj_zone **zone)
{
    struct nj_error error;
    nj_zone_close(*zone);
    *zone = NULL;
    if (nj_zone_open(nj_file_system_real(), NJ_ZONE_DIRECTORY, nj_text_from(name), zone,
                     &error) != NJ_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return false;
    }
    return true;
}

static void answer_window(const struct nj_zone *zone, struct nj_window window, int64_t at)
{
    struct nj_schedule schedule = {&window, 1, NJ_EVERY_DAY, zone};
    struct nj_schedule_state state = nj_schedule_at(&schedule, at);
    if (state.is_open) {
        (void)printf("%" PRId64 " %" PRId64 "\n", state.closes_at, state.opens_at);
    } else {
        (void)printf("- %" PRId64 "\n", state.opens_at);
    }
}

static bool answer(const char *line, struct nj_zone **zone)
{
    char name[128];
    int64_t seconds = 0;
    struct nj_window window;
    if (sscanf(line, "Z %127s", name) == 1) { // NOLINT(cert-err34-c): a test's own lines
        return open_zone(name, zone);
    }
    if (*zone == NULL) {
        return false;
    }
    if (sscanf(line, "L %" SCNd64, &seconds) == 1) { // NOLINT(cert-err34-c)
        (void)printf("%" PRId64 " %" PRId64 "\n",
                     nj_zone_resolve(*zone, seconds, NJ_ZONE_FIRST),
                     nj_zone_resolve(*zone, seconds, NJ_ZONE_LAST));
        return true;
    }
    // NOLINTNEXTLINE(cert-err34-c)
    if (sscanf(line, "W %u %u %" SCNd64, &window.start_minute, &window.end_minute, &seconds) ==
        3) {
        answer_window(*zone, window, seconds);
        return true;
    }
    return false;
}

int main(void)
{
    char line[256];
    struct nj_zone *zone = NULL;
    bool is_good = true;
    while (is_good && fgets(line, sizeof line, stdin) != NULL) {
        is_good = answer(line, &zone);
    }
    nj_zone_close(zone);
    return is_good ? 0 : 1;
}
