/* Places in the text of a file: from byte offsets to lines and columns, and what stands there.
 *
 * libyaml counts characters and gives no place at all for bytes that it cannot read; people
 * want a line and a column for both.
 */
#ifndef NJ_JOB_SOURCE_TEXT_H
#define NJ_JOB_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "job/diagnostics.h"

/* The length of the UTF-8 byte order mark at `offset`; 0 when there is none. */
size_t nj_source_mark_at(struct nj_text source, size_t offset);

/* True after a complaint when the file begins as UTF-16 does, which spreadsheets call Unicode.
 */
bool nj_source_refuse_utf16(struct nj_text source, const char *path,
                            struct nj_diagnostics *diagnostics);

/* The place of the byte at `offset`, counted from `base`, the place of the byte at
 * `base_offset`. Line breaks are those of YAML: LF, CRLF, CR, U+0085, U+2028, U+2029. */
struct nj_place nj_source_place(struct nj_text source, size_t base_offset, struct nj_place base,
                                size_t offset);

/* The 1-based line without its break; empty past the end. */
struct nj_text nj_source_line(struct nj_text source, uint32_t line);

/* The first occurrence of `needle` in `haystack`; SIZE_MAX when there is none. */
size_t nj_source_find(struct nj_text haystack, const char *needle);

/* Turns character counts into byte offsets. Cheap for counts near the one asked for before:
 * it walks, forward or backward, from there. */
struct nj_source_cursor {
    struct nj_text source;
    size_t character_index;
    size_t byte_offset;
};

void nj_source_cursor_init(struct nj_source_cursor *cursor, struct nj_text source);
size_t nj_source_cursor_seek(struct nj_source_cursor *cursor, size_t character_index);

#endif
