#include "cli/flags.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "job/quantity.h"

static const struct nj_flag *find(const struct nj_flag *flags, size_t n_flags,
                                  struct nj_text name)
{
    for (size_t i = 0; i < n_flags; i++) {
        if (nj_text_equals(name, flags[i].name)) {
            return &flags[i];
        }
    }
    return NULL;
}

static enum nj_status unknown(const struct nj_flag *flags, size_t n_flags, struct nj_text name,
                              struct nj_error *err)
{
    const char *nearest = NULL;
    /* A third of the letters may differ, dashes not counted: more is another word. */
    unsigned best = (unsigned)name.length_bytes / 3 + 1;
    for (size_t i = 0; i < n_flags; i++) {
        unsigned distance = nj_text_distance(name, nj_text_from(flags[i].name), best);
        if (distance < best) {
            best = distance;
            nearest = flags[i].name;
        }
    }
    int length = (int)name.length_bytes;
    if (nearest != NULL) {
        return nj_fail(err, NJ_E_USAGE, "no flag %.*s, did you mean %s?", length, name.data,
                       nearest);
    }
    bool has_set = find(flags, n_flags, nj_text_from("--set")) != NULL;
    return nj_fail(err, NJ_E_USAGE, "no flag %.*s; --help lists them%s", length, name.data,
                   has_set ? ", and --set PATH=VALUE changes what the job says" : "");
}

static uint32_t most_of(const struct nj_flag *flag)
{
    return flag->most > 0 ? flag->most : UINT32_MAX;
}

static enum nj_status set_count(const struct nj_flag *flag, const char *text,
                                struct nj_error *err)
{
    char *end = NULL;
    if (text[0] == '\0') {
        return nj_fail(err, NJ_E_USAGE, "%s: an empty value", flag->name);
    }
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value == 0 ||
        value > most_of(flag)) {
        return nj_fail(err, NJ_E_USAGE, "%s %s: a whole number from 1 to %u is wanted",
                       flag->name, text, most_of(flag));
    }
    *(uint32_t *)flag->value = (uint32_t)value;
    return NJ_OK;
}

static enum nj_status set_number(const struct nj_flag *flag, const char *text,
                                 struct nj_error *err)
{
    char *end = NULL;
    double value = strtod(text, &end);
    /* The engine computes in F32, where smaller ones are 0 or lose digits. */
    if (end == text || *end != '\0' || !isfinite(value) || value < (double)FLT_MIN ||
        value > (double)most_of(flag)) {
        return nj_fail(err, NJ_E_USAGE, "%s %s: a number above 0 and up to %u is wanted",
                       flag->name, text, most_of(flag));
    }
    *(double *)flag->value = value;
    return NJ_OK;
}

static enum nj_status set_text(const struct nj_flag *flag, const char *text,
                               struct nj_error *err)
{
    if (text[0] == '\0') {
        return nj_fail(err, NJ_E_USAGE, "%s: an empty value", flag->name);
    }
    *(const char **)flag->value = text;
    return NJ_OK;
}

static enum nj_status set_size(const struct nj_flag *flag, const char *text,
                               struct nj_error *err)
{
    uint64_t bytes = 0;
    char guess[NJ_SIZE_GUESS_BYTES];
    bool is_size = nj_size_parse(nj_text_from(text), &bytes) && bytes > 0;
    if (!is_size && nj_size_guess(nj_text_from(text), guess)) {
        return nj_fail(err, NJ_E_USAGE, "%s %s: a size is wanted, did you mean %s?", flag->name,
                       text, guess);
    }
    if (!is_size) {
        return nj_fail(err, NJ_E_USAGE, "%s %s: a size is wanted, %s; B are bytes", flag->name,
                       text, nj_size_hint);
    }
    *(uint64_t *)flag->value = bytes;
    return NJ_OK;
}

static enum nj_status add_to_list(const struct nj_flag *flag, const char *text,
                                  struct nj_error *err)
{
    struct nj_flag_list *list = flag->value;
    if (list->n_items == NJ_FLAG_LIST_LIMIT) {
        return nj_fail(err, NJ_E_USAGE, "%s is given more than %d times", flag->name,
                       NJ_FLAG_LIST_LIMIT);
    }
    list->items[list->n_items++] = text;
    return NJ_OK;
}

static enum nj_status set(const struct nj_flag *flag, const char *text, struct nj_error *err)
{
    switch (flag->kind) {
    case NJ_FLAG_TEXT:
        return set_text(flag, text, err);
    case NJ_FLAG_COUNT:
        return set_count(flag, text, err);
    case NJ_FLAG_NUMBER:
        return set_number(flag, text, err);
    case NJ_FLAG_SIZE:
        return set_size(flag, text, err);
    case NJ_FLAG_LIST:
        return add_to_list(flag, text, err);
    case NJ_FLAG_SWITCH:
        break;
    }
    return nj_fail(err, NJ_E_USAGE, "%s takes no value", flag->name);
}

/* Handles the flag at argv[*at], and moves past its value if that stands apart. */
static enum nj_status parse_flag(int argc, char **argv, int *at, const struct nj_flag *flags,
                                 size_t n_flags, struct nj_error *err)
{
    const char *argument = argv[*at];
    const char *equals = strchr(argument, '=');
    struct nj_text name = nj_text_from(argument);
    if (equals != NULL) {
        name.length_bytes = (size_t)(equals - argument);
    }
    const struct nj_flag *flag = find(flags, n_flags, name);
    if (flag == NULL) {
        return unknown(flags, n_flags, name, err);
    }
    if (equals != NULL) {
        return set(flag, equals + 1, err);
    }
    if (flag->kind == NJ_FLAG_SWITCH) {
        *(bool *)flag->value = true;
        return NJ_OK;
    }
    if (*at + 1 >= argc) {
        return nj_fail(err, NJ_E_USAGE, "%s needs a value", flag->name);
    }
    *at += 1;
    return set(flag, argv[*at], err);
}

enum nj_status nj_flags_parse(int argc, char **argv, const struct nj_flag *flags,
                              size_t n_flags, int *n_files, struct nj_error *err)
{
    int n_kept = 0;
    bool may_be_flag = true;
    for (int at = 0; at < argc; at++) {
        if (may_be_flag && strcmp(argv[at], "--") == 0) {
            may_be_flag = false;
        } else if (may_be_flag && argv[at][0] == '-' && argv[at][1] != '\0') {
            enum nj_status status = parse_flag(argc, argv, &at, flags, n_flags, err);
            if (status != NJ_OK) {
                return status;
            }
        } else {
            argv[n_kept++] = argv[at];
        }
    }
    *n_files = n_kept;
    return NJ_OK;
}

bool nj_flags_mention(int argc, char *const *argv, const char *name)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return false;
}
