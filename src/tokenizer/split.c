#include "tokenizer/split.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Unicode White_Space. PCRE2's own \s also has U+180E, which left that set in Unicode 6.3. */
#define SPACE                                                                                  \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"         \
    "\\x{202f}\\x{205f}\\x{3000}"

/* Script=Han as of Unicode 15.1. PCRE2's \p{Han} means Script_Extensions, which is wider. */
#define HAN                                                                                    \
    "\\x{2e80}-\\x{2e99}\\x{2e9b}-\\x{2ef3}\\x{2f00}-\\x{2fd5}\\x{3005}\\x{3007}"              \
    "\\x{3021}-\\x{3029}\\x{3038}-\\x{303b}\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}"             \
    "\\x{f900}-\\x{fa6d}\\x{fa70}-\\x{fad9}\\x{16fe2}-\\x{16fe3}\\x{16ff0}-\\x{16ff1}"         \
    "\\x{20000}-\\x{2a6df}\\x{2a700}-\\x{2b739}\\x{2b740}-\\x{2b81d}\\x{2b820}-\\x{2cea1}"     \
    "\\x{2ceb0}-\\x{2ebe0}\\x{2ebf0}-\\x{2ee5d}\\x{2f800}-\\x{2fa1d}\\x{30000}-\\x{3134a}"     \
    "\\x{31350}-\\x{323af}"

/* PCRE2 has no class intersection, so [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]] is written as
 * "none of the other categories, and not Han", and the lower-case set likewise. */
#define NOT_LETTER_OR_MARK "\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}"
#define UPPER              "[^\\p{Ll}" NOT_LETTER_OR_MARK HAN "]"
#define LOWER              "[^\\p{Lu}\\p{Lt}" NOT_LETTER_OR_MARK HAN "]"

#define PREFIX      "[^\\r\\n\\p{L}\\p{N}]?"
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

static const char pattern[] = "[" HAN "]+"                               /* A1 */
                              "|" PREFIX UPPER "*" LOWER "+" CONTRACTION /* A2 */
                              "|" PREFIX UPPER "+" LOWER "*" CONTRACTION /* A3 */
                              "|\\p{N}{1,3}"                             /* A4 */
                              "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n]*"    /* A5 */
                              "|[" SPACE "]*[\\r\\n]+"                   /* A6 */
                              "|[" SPACE "]+(?![^" SPACE "])"            /* A7 */
                              "|[" SPACE "]+";                           /* A8 */

/* Grown on demand; a piece that needs more is matched again without the JIT. */
enum { JIT_STACK_BEGIN_BYTES = 32 * 1024, JIT_STACK_LIMIT_BYTES = 1024 * 1024 };

struct nj_split {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *jit_stack;
};

static enum nj_status fail(int code, const char *what, struct nj_error *err)
{
    PCRE2_UCHAR reason[128];
    if (pcre2_get_error_message(code, reason, sizeof reason) < 0) {
        reason[0] = '\0';
    }
    enum nj_status status = code == PCRE2_ERROR_NOMEMORY ? NJ_E_MEMORY : NJ_E_INTERNAL;
    return nj_fail(err, status, "%s: %s (PCRE2 %d)", what, (const char *)reason, code);
}

static enum nj_status compile(struct nj_split *split, struct nj_error *err)
{
    int code;
    PCRE2_SIZE offset;
    split->code = pcre2_compile((PCRE2_SPTR)pattern, sizeof pattern - 1,
                                PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &code, &offset, NULL);
    if (split->code == NULL) {
        return fail(code, "compile the tokenizer's split pattern", err);
    }
    /* Where there is no JIT the interpreter finds the same pieces, only slower. */
    (void)pcre2_jit_compile(split->code, PCRE2_JIT_COMPLETE);
    split->match = pcre2_match_data_create_from_pattern(split->code, NULL);
    split->context = pcre2_match_context_create(NULL);
    if (split->match == NULL || split->context == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "prepare the tokenizer's split pattern: no memory");
    }
    split->jit_stack =
        pcre2_jit_stack_create(JIT_STACK_BEGIN_BYTES, JIT_STACK_LIMIT_BYTES, NULL);
    if (split->jit_stack != NULL) {
        pcre2_jit_stack_assign(split->context, NULL, split->jit_stack);
    }
    return NJ_OK;
}

enum nj_status nj_split_create(struct nj_split **split, struct nj_error *err)
{
    struct nj_split *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create the tokenizer's splitter: no memory");
    }
    enum nj_status status = compile(created, err);
    if (status != NJ_OK) {
        nj_split_destroy(created);
        return status;
    }
    *split = created;
    return NJ_OK;
}

void nj_split_destroy(struct nj_split *split)
{
    if (split == NULL) {
        return;
    }
    pcre2_match_data_free(split->match);
    pcre2_match_context_free(split->context);
    pcre2_jit_stack_free(split->jit_stack);
    pcre2_code_free(split->code);
    free(split);
}

static int match(struct nj_split *split, struct nj_text text, size_t begin, uint32_t options)
{
    return pcre2_match(split->code, (PCRE2_SPTR)text.data, text.length_bytes, begin,
                       PCRE2_NO_UTF_CHECK | options, split->match, split->context);
}

enum nj_status nj_split_next(struct nj_split *split, struct nj_text text, size_t begin,
                             size_t *end, struct nj_error *err)
{
    int code = match(split, text, begin, 0);
    if (code == PCRE2_ERROR_JIT_STACKLIMIT) {
        code = match(split, text, begin, PCRE2_NO_JIT);
    }
    if (code < 0) {
        return fail(code, "split text for the tokenizer", err);
    }
    size_t found = pcre2_get_ovector_pointer(split->match)[1];
    if (found <= begin) {
        return nj_fail(err, NJ_E_INTERNAL, "split text for the tokenizer: an empty piece");
    }
    *end = found;
    return NJ_OK;
}
