#include "job/quantity.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

const char nj_size_hint[] = "write a number and a unit, such as 8GiB or 500MB";
const char nj_duration_hint[] = "write a number and a unit, such as 30s, 15m, 20h or 1h30m";

enum { FRACTION_DIGITS = 3, FRACTION_UNIT = 1000 };

/* A number in thousandths, as whole and rest, so that 0.001 of the largest unit is exact. */
struct amount {
    uint64_t whole;
    uint64_t thousandths;
};

struct unit {
    const char *name;
    uint64_t size;
};

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* Takes digits off the front; false when there are none or too many to hold. */
static bool take_digits(struct nj_text *rest, uint64_t *value, size_t *n_digits)
{
    uint64_t sum = 0;
    size_t n = 0;
    for (; n < rest->length_bytes && is_digit(rest->data[n]); n++) {
        uint64_t digit = (uint64_t)(rest->data[n] - '0');
        if (!nj_multiply_u64(sum, 10, &sum) || !nj_add_u64(sum, digit, &sum)) {
            return false;
        }
    }
    rest->data += n;
    rest->length_bytes -= n;
    *value = sum;
    *n_digits = n;
    return n > 0;
}

static bool take_amount(struct nj_text *rest, struct amount *amount)
{
    size_t n_digits = 0;
    amount->thousandths = 0;
    if (!take_digits(rest, &amount->whole, &n_digits)) {
        return false;
    }
    if (rest->length_bytes == 0 || rest->data[0] != '.') {
        return true;
    }
    rest->data++;
    rest->length_bytes--;
    if (!take_digits(rest, &amount->thousandths, &n_digits) || n_digits > FRACTION_DIGITS) {
        return false;
    }
    for (; n_digits < FRACTION_DIGITS; n_digits++) {
        amount->thousandths *= 10;
    }
    return true;
}

/* Takes letters off the front; NULL when they name no unit. */
static const struct unit *take_unit(struct nj_text *rest, const struct unit *units,
                                    size_t n_units)
{
    size_t length = 0;
    while (length < rest->length_bytes && !is_digit(rest->data[length])) {
        length++;
    }
    struct nj_text name = {rest->data, length};
    for (size_t i = 0; i < n_units; i++) {
        if (nj_text_equals(name, units[i].name)) {
            rest->data += length;
            rest->length_bytes -= length;
            return &units[i];
        }
    }
    return NULL;
}

/* Adds the amount of the unit; false when it is not whole or too large. */
static bool add_amount(struct amount amount, uint64_t unit_size, uint64_t *sum)
{
    uint64_t whole = 0;
    uint64_t part = 0; /* the largest unit, a day of nanoseconds, times 999 fits */
    return nj_multiply_u64(amount.whole, unit_size, &whole) &&
           nj_multiply_u64(amount.thousandths, unit_size, &part) && part % FRACTION_UNIT == 0 &&
           nj_add_u64(whole, part / FRACTION_UNIT, &whole) && nj_add_u64(*sum, whole, sum) &&
           *sum <= INT64_MAX;
}

bool nj_size_parse(struct nj_text text, uint64_t *bytes)
{
    static const struct unit units[] = {
        {"B", 1},
        {"kB", 1000},
        {"MB", UINT64_C(1000) * 1000},
        {"GB", UINT64_C(1000) * 1000 * 1000},
        {"TB", UINT64_C(1000) * 1000 * 1000 * 1000},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {"TiB", UINT64_C(1) << 40},
    };
    struct amount amount;
    uint64_t sum = 0;
    if (!take_amount(&text, &amount)) {
        return false;
    }
    if (text.length_bytes > 0 && text.data[0] == ' ') {
        text.data++;
        text.length_bytes--;
    }
    const struct unit *unit = take_unit(&text, units, sizeof units / sizeof units[0]);
    if (unit == NULL || text.length_bytes > 0 || !add_amount(amount, unit->size, &sum)) {
        return false;
    }
    *bytes = sum;
    return true;
}

/* A letter of the unit in any case, at the front; takes it. */
static bool take_letter(struct nj_text *rest, char lower)
{
    bool is_there = rest->length_bytes > 0 &&
                    (rest->data[0] == lower || rest->data[0] == lower - 'a' + 'A');
    rest->data += is_there ? 1 : 0;
    rest->length_bytes -= is_there ? 1 : 0;
    return is_there;
}

bool nj_size_guess(struct nj_text text, char guess[NJ_SIZE_GUESS_BYTES])
{
    static const char prefixes[] = {'k', 'm', 'g', 't'};
    struct amount amount;
    uint64_t bytes = 0;
    struct nj_text rest = text;
    if (text.length_bytes == 0 || !take_amount(&rest, &amount)) {
        return false;
    }
    int n_digits = (int)(text.length_bytes - rest.length_bytes);
    while (rest.length_bytes > 0 && rest.data[0] == ' ') {
        rest.data++;
        rest.length_bytes--;
    }
    size_t prefix = 0;
    while (prefix < sizeof prefixes && !take_letter(&rest, prefixes[prefix])) {
        prefix++;
    }
    bool is_binary = take_letter(&rest, 'i');
    (void)take_letter(&rest, 'b');
    if (prefix == sizeof prefixes || rest.length_bytes > 0) {
        return false;
    }
    char letter = prefixes[prefix];
    int length =
        snprintf(guess, NJ_SIZE_GUESS_BYTES, "%.*s%c%sB", n_digits, text.data,
                 letter == 'k' && !is_binary ? 'k' : letter - 'a' + 'A', is_binary ? "i" : "");
    return length < NJ_SIZE_GUESS_BYTES && nj_size_parse(nj_text_from(guess), &bytes) &&
           bytes > 0;
}

bool nj_duration_parse(struct nj_text text, uint64_t *duration_ns)
{
    static const struct unit units[] = {
        {"d", UINT64_C(86400) * 1000 * 1000 * 1000},
        {"h", UINT64_C(3600) * 1000 * 1000 * 1000},
        {"m", UINT64_C(60) * 1000 * 1000 * 1000},
        {"s", UINT64_C(1000) * 1000 * 1000},
        {"ms", UINT64_C(1000) * 1000},
    };
    static const size_t n_units = sizeof units / sizeof units[0];
    uint64_t sum = 0;
    const struct unit *larger = NULL;
    do {
        struct amount amount;
        if (!take_amount(&text, &amount)) {
            return false;
        }
        const struct unit *unit = take_unit(&text, units, n_units);
        if (unit == NULL || (larger != NULL && unit <= larger) ||
            !add_amount(amount, unit->size, &sum)) {
            return false;
        }
        larger = unit;
    } while (text.length_bytes > 0);
    *duration_ns = sum;
    return true;
}
