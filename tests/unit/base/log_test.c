#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "support/check.h"

struct captured {
    unsigned n_lines;
    enum nj_log_level level;
    char line[8192];
};

static void capture(void *context, enum nj_log_level level, const char *line)
{
    struct captured *captured = context;
    captured->n_lines++;
    captured->level = level;
    (void)snprintf(captured->line, sizeof captured->line, "%s", line);
}

static void lines_up_to_the_level_reach_the_sink(void)
{
    struct captured captured = {0};
    struct nj_log log = {&captured, NJ_LOG_INFO, capture};

    nj_log_write(&log, NJ_LOG_DEBUG, "dropped");
    CHECK_EQ(captured.n_lines, 0);
    nj_log_write(&log, NJ_LOG_WARNING, "disk %s: %d left", "sda", 7);

    CHECK_EQ(captured.n_lines, 1);
    CHECK_EQ(captured.level, NJ_LOG_WARNING);
    CHECK_TEXT(captured.line, "disk sda: 7 left");
}

static void overlong_line_is_cut_and_says_so(void)
{
    struct captured captured = {0};
    struct nj_log log = {&captured, NJ_LOG_INFO, capture};
    static char text[7000];
    memset(text, 'x', sizeof text - 1);

    nj_log_write(&log, NJ_LOG_INFO, "%s", text);

    size_t length = strlen(captured.line);
    CHECK(length < sizeof text - 1);
    CHECK_TEXT(captured.line + length - 4, "x...");
}

static void missing_log_or_sink_drops_the_line(void)
{
    struct nj_log silent = {NULL, NJ_LOG_DEBUG, NULL};
    nj_log_write(NULL, NJ_LOG_ERROR, "nobody listens");
    nj_log_write(&silent, NJ_LOG_ERROR, "nobody listens");
    CHECK(silent.sink == NULL);
}

int main(void)
{
    RUN(lines_up_to_the_level_reach_the_sink);
    RUN(overlong_line_is_cut_and_says_so);
    RUN(missing_log_or_sink_drops_the_line);
    return test_result();
}
