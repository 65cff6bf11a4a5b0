#include "cli/clean_text.h"

struct range {
    uint32_t first;
    uint32_t last;
};

/* C0, DEL and C1; then what Unicode has to set the direction of writing, and to end lines. */
static const struct range controls[] = {{0x0000, 0x0008}, {0x000B, 0x001F}, {0x007F, 0x009F},
                                        {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E},
                                        {0x2066, 0x2069}};

bool nj_clean_is_control(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++) {
        if (code_point >= controls[i].first && code_point <= controls[i].last) {
            return true;
        }
    }
    return false;
}

static void print(FILE *file, struct nj_text text, bool is_line)
{
    for (size_t i = 0; i < text.length_bytes;) {
        size_t begin = i;
        uint32_t code_point = nj_text_next(text, &i);
        bool is_replaced = code_point == 0xFFFD && (unsigned char)text.data[begin] != 0xEF;
        bool is_break = is_line && (code_point == '\n' || code_point == '\t');
        if (is_replaced || is_break || nj_clean_is_control(code_point)) {
            for (size_t k = begin; k < i; k++) {
                (void)fprintf(file, "\\x%02X", (unsigned char)text.data[k]);
            }
        } else {
            (void)fwrite(text.data + begin, 1, i - begin, file);
        }
    }
}

void nj_clean_print(FILE *file, struct nj_text text)
{
    print(file, text, false);
}

void nj_clean_print_line(FILE *file, struct nj_text text)
{
    print(file, text, true);
}

/* They stand in strings only: between them JSON has spaces and newlines. */
void nj_clean_print_json(FILE *file, struct nj_text text)
{
    for (size_t i = 0; i < text.length_bytes;) {
        size_t begin = i;
        uint32_t code_point = nj_text_next(text, &i);
        if (nj_clean_is_control(code_point)) {
            (void)fprintf(file, "\\u%04x", (unsigned)code_point);
        } else {
            (void)fwrite(text.data + begin, 1, i - begin, file);
        }
    }
}

void nj_clean_complain(const char *text)
{
    (void)fputs("nightjar: ", stderr);
    nj_clean_print_line(stderr, nj_text_from(text));
    (void)fputc('\n', stderr);
}
