#include "cli/flags.h"

#include <string.h>

#include "support/check.h"

struct values {
    bool fresh;
    const char *out;
    uint32_t threads;
    double eps;
    uint64_t memory;
    struct nj_flag_list sets;
};

static enum nj_status parse(const char *const *given, struct values *values, char **argv,
                            int *n_files, struct nj_error *err)
{
    static char copies[8][64];
    int argc = 0;
    const struct nj_flag flags[] = {{"--fresh", &values->fresh, NJ_FLAG_SWITCH, 0},
                                    {"--out", &values->out, NJ_FLAG_TEXT, 0},
                                    {"--threads", &values->threads, NJ_FLAG_COUNT, 1024},
                                    {"--eps", &values->eps, NJ_FLAG_NUMBER, 1},
                                    {"--memory", &values->memory, NJ_FLAG_SIZE, 0},
                                    {"--also", &values->sets, NJ_FLAG_LIST, 0}};
    memset(values, 0, sizeof *values);
    for (; given[argc] != NULL; argc++) {
        (void)strncpy(copies[argc], given[argc], sizeof copies[0] - 1);
        argv[argc] = copies[argc];
    }
    return nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], n_files, err);
}

static void flags_stand_anywhere_in_both_forms(void)
{
    static const char *const given[] = {"a",       "--threads", "3",          "--out=x y",
                                        "--fresh", "b",         "--eps=1e-5", NULL};
    struct values values;
    char *argv[8];
    int n_files = 0;
    struct nj_error err;

    REQUIRE_OK(parse(given, &values, argv, &n_files, &err), &err);

    CHECK_EQ(n_files, 2);
    CHECK_TEXT(argv[0], "a");
    CHECK_TEXT(argv[1], "b");
    CHECK_EQ(values.threads, 3);
    CHECK_TEXT(values.out, "x y");
    CHECK(values.fresh);
    CHECK_NEAR(values.eps, 1e-5, 1e-12);
}

static void sizes_have_units(void)
{
    static const struct {
        const char *given;
        uint64_t bytes;
    } cases[] = {{"8GiB", UINT64_C(8) << 30}, {"1.5 MB", 1500000}, {"7B", 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const given[] = {"--memory", cases[i].given, NULL};
        struct values values;
        char *argv[8];
        int n_files = 0;
        struct nj_error err;
        REQUIRE_OK(parse(given, &values, argv, &n_files, &err), &err);
        CHECK_EQ(values.memory, cases[i].bytes);
    }
}

static void a_list_keeps_every_value_in_order(void)
{
    static const char *const given[] = {"--also", "a=1", "x", "--also=b=2",
                                        "--also", "a=1", NULL};
    struct values values;
    char *argv[8];
    int n_files = 0;
    struct nj_error err;

    REQUIRE_OK(parse(given, &values, argv, &n_files, &err), &err);

    CHECK_EQ(n_files, 1);
    REQUIRE(values.sets.n_items == 3);
    CHECK_TEXT(values.sets.items[0], "a=1");
    CHECK_TEXT(values.sets.items[1], "b=2");
    CHECK_TEXT(values.sets.items[2], "a=1");
}

static void a_list_has_an_end(void)
{
    static char flag[] = "--set";
    static char value[] = "a=1";
    char *argv[2 * (NJ_FLAG_LIST_LIMIT + 1)];
    struct nj_flag_list sets = {.n_items = 0};
    const struct nj_flag flags[] = {{"--set", &sets, NJ_FLAG_LIST, 0}};
    int n_files = 0;
    struct nj_error err = {0};
    for (size_t i = 0; i < sizeof argv / sizeof argv[0]; i++) {
        argv[i] = i % 2 == 0 ? flag : value;
    }

    CHECK_EQ(nj_flags_parse(2 * NJ_FLAG_LIST_LIMIT, argv, flags, 1, &n_files, &err), NJ_OK);
    CHECK_EQ(nj_flags_parse(2, argv, flags, 1, &n_files, &err), NJ_E_USAGE);
    CHECK_TEXT(err.text, "--set is given more than 256 times");
}

static void after_two_dashes_everything_is_a_file(void)
{
    static const char *const given[] = {"--", "--fresh", NULL};
    struct values values;
    char *argv[8];
    int n_files = 0;
    struct nj_error err;
    REQUIRE_OK(parse(given, &values, argv, &n_files, &err), &err);
    CHECK_EQ(n_files, 1);
    CHECK(!values.fresh);
}

static void check_refused(const char *first, const char *second, const char *complaint)
{
    const char *const given[] = {first, second, NULL};
    struct values values;
    char *argv[8];
    int n_files = 0;
    struct nj_error err = {0};
    CHECK_EQ(parse(given, &values, argv, &n_files, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, complaint);
}

static void mistakes_are_named(void)
{
    check_refused("--thread", "3", "did you mean --threads?");
    check_refused("--colour", NULL, "no flag --colour");
    check_refused("--threads", NULL, "--threads needs a value");
    check_refused("--threads", "0", "a whole number from 1");
    check_refused("--threads", "-1", "a whole number from 1");
    check_refused("--threads", "2x", "a whole number from 1");
    check_refused("--threads", "1025", "a whole number from 1 to 1024");
    check_refused("--threads", "99999999999", "a whole number from 1");
    check_refused("--eps", "1e-40", "a number above 0");
    check_refused("--eps", "1e-60", "a number above 0");
    check_refused("--eps", "1.5", "a number above 0 and up to 1");
    check_refused("--eps", "nan", "a number above 0");
    check_refused("--eps", "0", "a number above 0");
    check_refused("--fresh=1", NULL, "takes no value");
    check_refused("--out=", NULL, "an empty value");
    check_refused("--memory", "8", "--memory 8: a size is wanted, ");
    check_refused("--memory", "8g", "--memory 8g: a size is wanted, did you mean 8GB?");
    check_refused("--memory", "0B", "a size is wanted");
    check_refused("--memory", "lots", "a size is wanted");
    check_refused("--also", NULL, "--also needs a value");
}

/* "--nope" is no misspelt "--model". */
static void only_near_names_are_suggested(void)
{
    check_refused("--ot", NULL, "no flag --ot, did you mean --out?");
    check_refused("--nope", NULL, "no flag --nope; --help lists them");
    check_refused("--reset", NULL, "no flag --reset; --help lists them");
}

static void a_name_is_mentioned_before_two_dashes_only(void)
{
    static char a[] = "--nope";
    static char b[] = "--help";
    static char c[] = "--";
    char *before[] = {a, b, c};
    char *behind[] = {a, c, b};
    CHECK(nj_flags_mention(3, before, "--help"));
    CHECK(!nj_flags_mention(3, behind, "--help"));
    CHECK(!nj_flags_mention(0, NULL, "--help"));
}

int main(void)
{
    RUN(flags_stand_anywhere_in_both_forms);
    RUN(sizes_have_units);
    RUN(a_list_keeps_every_value_in_order);
    RUN(a_list_has_an_end);
    RUN(after_two_dashes_everything_is_a_file);
    RUN(mistakes_are_named);
    RUN(only_near_names_are_suggested);
    RUN(a_name_is_mentioned_before_two_dashes_only);
    return test_result();
}
