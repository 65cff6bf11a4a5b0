#include "cli/clean_text.h"

#include <stdbool.h>

/* C0 and DEL by their byte; C1 controls are two bytes in UTF-8, the first of which is 0xC2. */
static bool is_control(struct nj_text text, size_t i)
{
    unsigned char byte = (unsigned char)text.data[i];
    if (byte == '\n' || byte == '\t') {
        return false;
    }
    bool begins_c1 =
        byte == 0xC2 && i + 1 < text.length_bytes && (unsigned char)text.data[i + 1] < 0xA0;
    return byte < 0x20 || byte == 0x7F || begins_c1;
}

void nj_clean_print(FILE *file, struct nj_text text)
{
    for (size_t i = 0; i < text.length_bytes;) {
        size_t begin = i;
        bool is_replaced =
            nj_text_next(text, &i) == 0xFFFD && (unsigned char)text.data[begin] != 0xEF;
        if (is_replaced || is_control(text, begin)) {
            for (size_t k = begin; k < i; k++) {
                (void)fprintf(file, "\\x%02X", (unsigned char)text.data[k]);
            }
        } else {
            (void)fwrite(text.data + begin, 1, i - begin, file);
        }
    }
}

void nj_clean_complain(const char *text)
{
    (void)fputs("nightjar: ", stderr);
    nj_clean_print(stderr, nj_text_from(text));
    (void)fputc('\n', stderr);
}
