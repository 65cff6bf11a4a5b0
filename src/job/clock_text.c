#include "job/clock_text.h"

#include <string.h>

enum { MINUTES_OF_DAY = 24 * 60 };

static void skip(struct nj_text *rest, size_t n_bytes)
{
    rest->data += n_bytes;
    rest->length_bytes -= n_bytes;
}

bool nj_take_digits(struct nj_text *rest, size_t n_digits, unsigned *value)
{
    unsigned sum = 0;
    if (rest->length_bytes < n_digits) {
        return false;
    }
    for (size_t i = 0; i < n_digits; i++) {
        if (rest->data[i] < '0' || rest->data[i] > '9') {
            return false;
        }
        sum = sum * 10 + (unsigned)(rest->data[i] - '0');
    }
    skip(rest, n_digits);
    *value = sum;
    return true;
}

bool nj_take_character(struct nj_text *rest, const char *allowed)
{
    if (rest->length_bytes == 0 || rest->data[0] == '\0' ||
        strchr(allowed, rest->data[0]) == NULL) {
        return false;
    }
    skip(rest, 1);
    return true;
}

bool nj_take_word(struct nj_text *rest, const char *word)
{
    size_t length = strlen(word);
    if (rest->length_bytes < length || memcmp(rest->data, word, length) != 0) {
        return false;
    }
    skip(rest, length);
    return true;
}

bool nj_take_end_of_day(struct nj_text *rest, unsigned *minute_of_day)
{
    unsigned hour = 0;
    unsigned minute = 0;
    if (!nj_take_digits(rest, 2, &hour) || !nj_take_character(rest, ":") ||
        !nj_take_digits(rest, 2, &minute) || minute > 59) {
        return false;
    }
    *minute_of_day = hour * 60 + minute;
    return *minute_of_day <= MINUTES_OF_DAY;
}

bool nj_take_time_of_day(struct nj_text *rest, unsigned *minute_of_day)
{
    return nj_take_end_of_day(rest, minute_of_day) && *minute_of_day < MINUTES_OF_DAY;
}
