#include "cli/words.h"

#include <stdio.h>
#include <string.h>

const char *nj_words_number(uint64_t value, char text[NJ_WORDS_BYTES])
{
    char digits[24];
    int n_digits = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    size_t length = 0;
    for (int i = 0; i < n_digits; i++) {
        if (i > 0 && (n_digits - i) % 3 == 0) {
            text[length++] = ',';
        }
        text[length++] = digits[i];
    }
    text[length] = '\0';
    return text;
}

const char *nj_words_count(uint64_t value, const char *noun, char text[NJ_WORDS_BYTES])
{
    (void)nj_words_number(value, text);
    size_t length = strlen(text);
    (void)snprintf(text + length, NJ_WORDS_BYTES - length, " %s%s", noun,
                   value == 1 ? "" : "s");
    return text;
}
