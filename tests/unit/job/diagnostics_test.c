#include "job/diagnostics.h"

#include <stdio.h>

#include "support/check.h"

static struct nj_place at(const char *file, uint32_t line, uint32_t column)
{
    return (struct nj_place){file, line, column};
}

static const char *formatted(const struct nj_diagnostics *diagnostics, size_t index)
{
    static char text[512];
    (void)nj_diagnostic_format(&diagnostics->items[index], text, sizeof text);
    return text;
}

static void a_complaint_reads_file_line_column_what_and_hint(void)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    nj_diagnostics_init(&diagnostics, &arena);

    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a.yaml", 3, 7), "write %", "bad %d", 5);
    nj_diagnose(&diagnostics, NJ_SEVERITY_WARNING, at("a.yaml", 4, 1), NULL, "odd");
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("b.csv", 0, 0), NULL, "empty");
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("b.csv", 9, 0), NULL, "short");

    CHECK_TEXT(formatted(&diagnostics, 0), "a.yaml:3:7: bad 5, write %");
    CHECK_TEXT(formatted(&diagnostics, 1), "a.yaml:4:1: warning: odd");
    CHECK_TEXT(formatted(&diagnostics, 2), "b.csv: empty");
    CHECK_TEXT(formatted(&diagnostics, 3), "b.csv:9: short");
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void formatting_into_too_little_room_says_how_much_is_wanted(void)
{
    struct nj_diagnostic item = {at("a.yaml", 3, 7), NJ_SEVERITY_ERROR, "bad", "write good"};
    char whole[64];
    int wanted = nj_diagnostic_format(&item, whole, sizeof whole);
    CHECK_TEXT(whole, "a.yaml:3:7: bad, write good");

    for (size_t room = 1; room <= (size_t)wanted; room++) {
        char text[64];
        CHECK_EQ(nj_diagnostic_format(&item, text, room), wanted);
        CHECK_BYTES(text, whole, room - 1);
        CHECK_EQ(text[room - 1], '\0');
    }
    CHECK_EQ(nj_diagnostic_format(&item, NULL, 0), wanted);
}

static void complaints_stand_in_the_order_of_places_whatever_order_they_come_in(void)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    nj_diagnostics_init(&diagnostics, &arena);

    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a", 5, 1), NULL, "third");
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("b", 1, 1), NULL, "fourth");
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a", 2, 9), NULL, "second");
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a", 2, 3), NULL, "first");
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("b", 1, 1), NULL, "fifth");

    CHECK_TEXT(diagnostics.items[0].message, "first");
    CHECK_TEXT(diagnostics.items[1].message, "second");
    CHECK_TEXT(diagnostics.items[2].message, "third");
    CHECK_TEXT(diagnostics.items[3].message, "fourth");
    CHECK_TEXT(diagnostics.items[4].message, "fifth");
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void control_characters_of_the_file_are_shown_and_not_obeyed(void)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    nj_diagnostics_init(&diagnostics, &arena);

    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a", 1, 1), "\x07", "%s",
                "\x1b[2J \xc2\x9b caf\xc3\xa9 \xe9");

    CHECK_TEXT(diagnostics.items[0].message, "\\x1b[2J \\x9b caf\xc3\xa9 \xef\xbf\xbd");
    CHECK_TEXT(diagnostics.items[0].hint, "\\x07");
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void after_a_hundred_errors_more_are_only_counted(void)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_error error;
    nj_diagnostics_init(&diagnostics, &arena);

    for (uint32_t line = 1; line <= 250; line++) {
        nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a", line, 1), NULL, "bad");
    }
    nj_diagnose(&diagnostics, NJ_SEVERITY_WARNING, at("a", 1, 1), NULL, "odd");

    CHECK_EQ(diagnostics.n_items, 101);
    CHECK_EQ(diagnostics.n_errors, 250);
    CHECK_EQ(nj_diagnostics_status(&diagnostics, &error), NJ_E_INPUT);
    CHECK_TEXT(error.text, "a:1:1: bad (and 249 more errors)");
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void warnings_alone_are_no_failure(void)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_error error;
    nj_diagnostics_init(&diagnostics, &arena);

    nj_diagnose(&diagnostics, NJ_SEVERITY_WARNING, at("a", 1, 1), NULL, "odd");
    CHECK_EQ(nj_diagnostics_status(&diagnostics, &error), NJ_OK);
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a", 2, 1), "mend it", "bad");
    CHECK_EQ(nj_diagnostics_status(&diagnostics, &error), NJ_E_INPUT);
    CHECK_TEXT(error.text, "a:2:1: bad, mend it");
    nj_diagnose(&diagnostics, NJ_SEVERITY_ERROR, at("a", 3, 1), NULL, "bad");
    CHECK_EQ(nj_diagnostics_status(&diagnostics, &error), NJ_E_INPUT);
    CHECK_TEXT(error.text, "a:2:1: bad, mend it (and 1 more error)");
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void running_out_of_memory_is_never_mistaken_for_no_complaints(void)
{
    struct nj_arena arena;
    struct nj_diagnostics diagnostics;
    nj_arena_init(&arena, 8);
    nj_diagnostics_init(&diagnostics, &arena);

    nj_diagnose(&diagnostics, NJ_SEVERITY_WARNING, at("a", 1, 1), NULL, "a long sentence");

    CHECK_EQ(nj_diagnostics_status(&diagnostics, NULL), NJ_E_MEMORY);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

int main(void)
{
    RUN(a_complaint_reads_file_line_column_what_and_hint);
    RUN(formatting_into_too_little_room_says_how_much_is_wanted);
    RUN(complaints_stand_in_the_order_of_places_whatever_order_they_come_in);
    RUN(control_characters_of_the_file_are_shown_and_not_obeyed);
    RUN(after_a_hundred_errors_more_are_only_counted);
    RUN(warnings_alone_are_no_failure);
    RUN(running_out_of_memory_is_never_mistaken_for_no_complaints);
    return test_result();
}
