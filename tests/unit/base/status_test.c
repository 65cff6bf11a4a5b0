#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "support/check.h"

static void failing_writes_the_sentence_and_returns_the_status(void)
{
    struct nj_error error;
    CHECK_EQ(nj_fail(&error, NJ_E_WEIGHTS, "read %s: %d of %d", "a.bin", 1, 2), NJ_E_WEIGHTS);
    CHECK_EQ(error.status, NJ_E_WEIGHTS);
    CHECK_TEXT(error.text, "read a.bin: 1 of 2");
}

static void nobody_has_to_take_the_sentence(void)
{
    CHECK_EQ(nj_fail(NULL, NJ_E_IO, "unheard"), NJ_E_IO);
    CHECK_EQ(nj_prefix(NULL, NJ_E_IO, "unheard"), NJ_E_IO);
    nj_error_append(NULL, "unheard");
}

static void prefix_goes_before_and_appended_text_behind(void)
{
    struct nj_error error;
    (void)nj_fail(&error, NJ_E_IO, "short read");
    CHECK_EQ(nj_prefix(&error, NJ_E_WEIGHTS, "layer %d", 7), NJ_E_WEIGHTS);
    nj_error_append(&error, "; %s", "and more");

    CHECK_TEXT(error.text, "layer 7: short read; and more");
    CHECK_EQ(error.status, NJ_E_WEIGHTS);
}

/* The 3-byte character straddles the place where the text must end. */
static void overlong_text_is_cut_at_a_character_and_marked(void)
{
    for (size_t shift = 0; shift < 8; shift++) {
        char text[4000];
        struct nj_error error;
        memset(text, 'x', sizeof text);
        for (size_t i = shift; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xE2\x82\xAC", 3);
        }
        text[sizeof text - 1] = '\0';

        (void)nj_fail(&error, NJ_E_IO, "%s", text);

        struct nj_text result = nj_text_from(error.text);
        CHECK_EQ(nj_text_valid_prefix(result), result.length_bytes);
        CHECK(result.length_bytes > NJ_ERROR_TEXT_BYTES - 8);
        CHECK_TEXT(error.text + result.length_bytes - 3, "...");

        nj_error_append(&error, "never fits");
        (void)nj_prefix(&error, NJ_E_IO, "but this does");
        CHECK_CONTAINS(error.text, "but this does: ");
        CHECK_TEXT(error.text + strlen(error.text) - 3, "...");
    }
}

static void bytes_that_are_not_text_become_question_marks(void)
{
    struct nj_error error;
    (void)nj_fail(&error, NJ_E_IO, "open %s", "a\xFF\xC0z\xE2\x82");
    CHECK_TEXT(error.text, "open a\?\?z\?\?");
}

static void every_status_has_a_name_of_its_own(void)
{
    for (int a = NJ_OK; a <= NJ_E_INTERNAL; a++) {
        CHECK(strcmp(nj_status_name((enum nj_status)a), "unknown") != 0);
        for (int b = NJ_OK; b < a; b++) {
            CHECK(strcmp(nj_status_name((enum nj_status)a),
                         nj_status_name((enum nj_status)b)) != 0);
        }
    }
}

static void system_errors_map_to_what_a_caller_can_act_on(void)
{
    CHECK_EQ(nj_status_from_errno(ENOENT, NJ_E_IO), NJ_E_NOT_FOUND);
    CHECK_EQ(nj_status_from_errno(EACCES, NJ_E_IO), NJ_E_PERMISSION);
    CHECK_EQ(nj_status_from_errno(EPERM, NJ_E_IO), NJ_E_PERMISSION);
    CHECK_EQ(nj_status_from_errno(ENOMEM, NJ_E_IO), NJ_E_MEMORY);
    CHECK_EQ(nj_status_from_errno(EIO, NJ_E_STORAGE), NJ_E_STORAGE);
}

int main(void)
{
    RUN(failing_writes_the_sentence_and_returns_the_status);
    RUN(nobody_has_to_take_the_sentence);
    RUN(prefix_goes_before_and_appended_text_behind);
    RUN(overlong_text_is_cut_at_a_character_and_marked);
    RUN(bytes_that_are_not_text_become_question_marks);
    RUN(every_status_has_a_name_of_its_own);
    RUN(system_errors_map_to_what_a_caller_can_act_on);
    return test_result();
}
