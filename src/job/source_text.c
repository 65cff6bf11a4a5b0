#include "job/source_text.h"

#include <string.h>

size_t nj_source_mark_at(struct nj_text source, size_t offset)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t length = sizeof mark - 1;
    bool is_there = offset <= source.length_bytes && source.length_bytes - offset >= length &&
                    memcmp(source.data + offset, mark, length) == 0;
    return is_there ? length : 0;
}

bool nj_source_refuse_utf16(struct nj_text source, const char *path,
                            struct nj_diagnostics *diagnostics)
{
    bool is_utf16 = source.length_bytes >= 2 && (memcmp(source.data, "\xFF\xFE", 2) == 0 ||
                                                 memcmp(source.data, "\xFE\xFF", 2) == 0);
    if (is_utf16) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, (struct nj_place){path, 1, 1},
                    "save the file as UTF-8", "the file is UTF-16");
    }
    return is_utf16;
}

static bool is_break(uint32_t code_point)
{
    return code_point == '\n' || code_point == '\r' || code_point == 0x85 ||
           code_point == 0x2028 || code_point == 0x2029;
}

/* Moves past one character, or past CRLF; true when it was a line break. */
static bool pass_character(struct nj_text source, size_t *offset)
{
    uint32_t code_point = nj_text_next(source, offset);
    if (code_point == '\r' && *offset < source.length_bytes && source.data[*offset] == '\n') {
        *offset += 1;
    }
    return is_break(code_point);
}

struct nj_place nj_source_place(struct nj_text source, size_t base_offset, struct nj_place base,
                                size_t offset)
{
    struct nj_place place = base;
    size_t at = base_offset;
    while (at < offset && at < source.length_bytes) {
        if (pass_character(source, &at)) {
            place.line++;
            place.column = 1;
        } else {
            place.column++;
        }
    }
    return place;
}

struct nj_text nj_source_line(struct nj_text source, uint32_t line)
{
    size_t begin = 0;
    for (uint32_t passed = 1; passed < line && begin < source.length_bytes;) {
        passed += pass_character(source, &begin) ? 1u : 0u;
    }
    size_t end = begin;
    while (end < source.length_bytes) {
        size_t next = end;
        if (pass_character(source, &next)) {
            break;
        }
        end = next;
    }
    return (struct nj_text){source.data + begin, end - begin};
}

size_t nj_source_find(struct nj_text haystack, const char *needle)
{
    if (haystack.length_bytes == 0) {
        return SIZE_MAX;
    }
    const char *found = memmem(haystack.data, haystack.length_bytes, needle, strlen(needle));
    return found == NULL ? SIZE_MAX : (size_t)(found - haystack.data);
}

void nj_source_cursor_init(struct nj_source_cursor *cursor, struct nj_text source)
{
    *cursor = (struct nj_source_cursor){.source = source,
                                        .byte_offset = nj_source_mark_at(source, 0)};
}

size_t nj_source_cursor_seek(struct nj_source_cursor *cursor, size_t character_index)
{
    while (cursor->character_index < character_index &&
           cursor->byte_offset < cursor->source.length_bytes) {
        (void)nj_text_next(cursor->source, &cursor->byte_offset);
        cursor->character_index++;
    }
    while (cursor->character_index > character_index && cursor->byte_offset > 0) {
        do {
            cursor->byte_offset--;
        } while (cursor->byte_offset > 0 &&
                 (cursor->source.data[cursor->byte_offset] & 0xC0) == 0x80);
        cursor->character_index--;
    }
    return cursor->byte_offset;
}
