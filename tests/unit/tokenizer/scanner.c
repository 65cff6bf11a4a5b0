#include "unit/tokenizer/scanner.h"

#include <stdbool.h>

enum {
    CASED_UPPER = IS_LETTER | IS_UPPER,
    CASED_LOWER = IS_LETTER | IS_LOWER,
    CASELESS = IS_LETTER | IS_UPPER | IS_LOWER,
    MARK = IS_UPPER | IS_LOWER,
    NUMBER = IS_NUMBER,
    SPACE = IS_SPACE,
    BREAK = IS_SPACE | IS_BREAK,
    OTHER = 0,
    HAN_LETTER = IS_HAN | IS_LETTER,
    HAN_NUMBER = IS_HAN | IS_NUMBER,
    HAN_OTHER = IS_HAN
};

static const struct character ascii[] = {
    {'a', CASED_LOWER}, {'b', CASED_LOWER}, {'z', CASED_LOWER}, {'A', CASED_UPPER},
    {'B', CASED_UPPER}, {'Z', CASED_UPPER}, {' ', SPACE},       {'1', NUMBER},
    {'.', OTHER},       {'_', OTHER},       {'\n', BREAK},
};
static const struct character contractions[] = {
    {'\'', OTHER},      {'\'', OTHER},         {'\'', OTHER},      {'s', CASED_LOWER},
    {'S', CASED_UPPER}, {'t', CASED_LOWER},    {'T', CASED_UPPER}, {'r', CASED_LOWER},
    {'e', CASED_LOWER}, {'E', CASED_UPPER},    {'v', CASED_LOWER}, {'m', CASED_LOWER},
    {'l', CASED_LOWER}, {'L', CASED_UPPER},    {'d', CASED_LOWER}, {0x17f, CASED_LOWER},
    {0x2019, OTHER},    {0x212a, CASED_UPPER},
};
static const struct character cased[] = {
    {0xc9, CASED_UPPER},    {0xe9, CASED_LOWER},    {0xdf, CASED_LOWER},
    {0x3a3, CASED_UPPER},   {0x3c2, CASED_LOWER},   {0x414, CASED_UPPER},
    {0x434, CASED_LOWER},   {0x1c5, CASED_UPPER},   {0x1fbc, CASED_UPPER},
    {0x10a0, CASED_UPPER},  {0x10400, CASED_UPPER}, {0x10428, CASED_LOWER},
    {0x1d400, CASED_UPPER}, {0x1d41a, CASED_LOWER},
};
static const struct character caseless[] = {
    {0x2b0, CASELESS},  {0x30fc, CASELESS},  {0x640, CASELESS},   {0xe46, CASELESS},
    {0x1d2c, CASELESS}, {0xaa, CASELESS},    {0x1bb, CASELESS},   {0x5d0, CASELESS},
    {0x627, CASELESS},  {0x915, CASELESS},   {0xe01, CASELESS},   {0x1780, CASELESS},
    {0x3042, CASELESS}, {0x30a2, CASELESS},  {0xac00, CASELESS},  {0x3006, CASELESS},
    {0x3031, CASELESS}, {0x16fe0, CASELESS}, {0x1b000, CASELESS},
};
static const struct character marks[] = {
    {0x301, MARK},  {0x93f, MARK},  {0x940, MARK},  {0x20dd, MARK},
    {0xfe0f, MARK}, {0x17b6, MARK}, {0x302a, MARK}, {0xe0100, MARK},
};
static const struct character han[] = {
    {0x4e00, HAN_LETTER}, {0x4f60, HAN_LETTER},  {0x9fff, HAN_LETTER},  {0x3400, HAN_LETTER},
    {0xf900, HAN_LETTER}, {0x20000, HAN_LETTER}, {0x30000, HAN_LETTER}, {0x3005, HAN_LETTER},
    {0x303b, HAN_LETTER}, {0x16fe3, HAN_LETTER}, {0x3007, HAN_NUMBER},  {0x3021, HAN_NUMBER},
    {0x3038, HAN_NUMBER}, {0x2e80, HAN_OTHER},   {0x2f00, HAN_OTHER},   {0x16ff0, HAN_OTHER},
    {0x16fe2, HAN_OTHER},
};
static const struct character numbers[] = {
    {'0', NUMBER},   {'2', NUMBER},    {'9', NUMBER},    {0x663, NUMBER},
    {0x967, NUMBER}, {0xff15, NUMBER}, {0x2167, NUMBER}, {0xbd, NUMBER},
    {0xb2, NUMBER},  {0x2460, NUMBER}, {0x3220, NUMBER}, {0x1d7d8, NUMBER},
};
static const struct character spaces[] = {
    {' ', SPACE},    {' ', SPACE},    {' ', SPACE},    {'\t', SPACE},   {0xb, SPACE},
    {0xc, SPACE},    {0x85, SPACE},   {0xa0, SPACE},   {0x1680, SPACE}, {0x2003, SPACE},
    {0x2028, SPACE}, {0x2029, SPACE}, {0x202f, SPACE}, {0x205f, SPACE}, {0x3000, SPACE},
    {'\n', BREAK},   {'\r', BREAK},
};
static const struct character breaks[] = {
    {'\n', BREAK}, {'\r', BREAK}, {' ', SPACE}, {'\t', SPACE}, {'!', OTHER},
};
/* Near misses of white space among them. */
static const struct character others[] = {
    {'!', OTHER},    {',', OTHER},     {'/', OTHER},    {'$', OTHER},    {'+', OTHER},
    {0x1c, OTHER},   {0, OTHER},       {0x180e, OTHER}, {0x200b, OTHER}, {0x200d, OTHER},
    {0xfeff, OTHER}, {0x3001, OTHER},  {0xff01, OTHER}, {0x2014, OTHER}, {0x1f600, OTHER},
    {0x2705, OTHER}, {0x1f3fd, OTHER}, {0xe000, OTHER}, {0xfffd, OTHER}, {0x10ffff, OTHER},
    {0x2e9a, OTHER}, {0x3004, OTHER},  {0x3012, OTHER},
};

#define GROUP(name)                                                                            \
    {                                                                                          \
#name, name, sizeof(name) / sizeof(name)[0]                                            \
    }
const struct character_group character_groups[] = {
    GROUP(ascii), GROUP(contractions), GROUP(cased),  GROUP(caseless), GROUP(marks),
    GROUP(han),   GROUP(numbers),      GROUP(spaces), GROUP(breaks),   GROUP(others),
};
const size_t n_character_groups = sizeof character_groups / sizeof character_groups[0];

struct scan {
    const struct character *text;
    size_t n;
};

static bool has(const struct scan *scan, size_t i, unsigned class)
{
    return i < scan->n && (scan->text[i].classes & class) != 0;
}

static size_t run(const struct scan *scan, size_t i, unsigned class)
{
    while (has(scan, i, class)) {
        i++;
    }
    return i;
}

/* A lower-case letter of a contraction, in any case; U+017F folds to s. */
static bool folds_to(const struct scan *scan, size_t i, char letter)
{
    if (i >= scan->n) {
        return false;
    }
    uint32_t c = scan->text[i].code_point;
    return c == (uint32_t)letter || c + 'a' - 'A' == (uint32_t)letter ||
           (c == 0x17f && letter == 's');
}

static size_t after_contraction(const struct scan *scan, size_t i)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (i >= scan->n || scan->text[i].code_point != '\'') {
        return i;
    }
    for (size_t k = 0; k < sizeof endings / sizeof endings[0]; k++) {
        const char *ending = endings[k];
        if (folds_to(scan, i + 1, ending[0]) &&
            (ending[1] == '\0' || folds_to(scan, i + 2, ending[1]))) {
            return i + (ending[1] == '\0' ? 2 : 3);
        }
    }
    return i;
}

/* Upper*, lower+: when nothing lower follows, the uppers are given back until one is both.
 * 0 when it does not match; a match never ends at 0. */
static size_t upper_then_lower(const struct scan *scan, size_t begin)
{
    size_t upper_end = run(scan, begin, IS_UPPER);
    size_t end = run(scan, upper_end, IS_LOWER);
    if (end > upper_end) {
        return end;
    }
    for (size_t k = upper_end; k > begin; k--) {
        if (has(scan, k - 1, IS_LOWER)) {
            return run(scan, k - 1, IS_LOWER);
        }
    }
    return 0;
}

static size_t upper_only(const struct scan *scan, size_t begin)
{
    size_t upper_end = run(scan, begin, IS_UPPER);
    return upper_end > begin ? run(scan, upper_end, IS_LOWER) : 0;
}

static size_t word(const struct scan *scan, size_t i)
{
    bool may_be_prefix = !has(scan, i, IS_BREAK | IS_LETTER | IS_NUMBER);
    size_t end = may_be_prefix ? upper_then_lower(scan, i + 1) : 0;
    if (end == 0) {
        end = upper_then_lower(scan, i);
    }
    if (end == 0 && may_be_prefix) {
        end = upper_only(scan, i + 1);
    }
    if (end == 0) {
        end = upper_only(scan, i);
    }
    return end == 0 ? 0 : after_contraction(scan, end);
}

static size_t number(const struct scan *scan, size_t i)
{
    size_t end = run(scan, i, IS_NUMBER);
    return end > i + 3 ? i + 3 : end;
}

static size_t symbols(const struct scan *scan, size_t i)
{
    size_t begin = scan->text[i].code_point == ' ' ? i + 1 : i;
    size_t end = begin;
    while (end < scan->n && !has(scan, end, IS_SPACE | IS_LETTER | IS_NUMBER)) {
        end++;
    }
    return end == begin ? i : run(scan, end, IS_BREAK);
}

static size_t white_space(const struct scan *scan, size_t i)
{
    size_t end = run(scan, i, IS_SPACE);
    for (size_t k = end; k > i; k--) {
        if (has(scan, k - 1, IS_BREAK)) {
            return k;
        }
    }
    return end < scan->n && end > i + 1 ? end - 1 : end;
}

size_t scanner_next(const struct character *text, size_t n, size_t begin)
{
    struct scan scan = {text, n};
    size_t end = run(&scan, begin, IS_HAN);
    if (end > begin) {
        return end;
    }
    end = word(&scan, begin);
    if (end > begin) {
        return end;
    }
    end = number(&scan, begin);
    if (end > begin) {
        return end;
    }
    end = symbols(&scan, begin);
    return end > begin ? end : white_space(&scan, begin);
}
