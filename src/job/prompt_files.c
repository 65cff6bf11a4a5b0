#include "job/prompt_files.h"

#include <fcntl.h>
#include <string.h>

#include "job/prompt_keys.h"
#include "job/source_text.h"

/* Bytes that no text may have. */
static bool check_bytes(struct nj_text text, const char *path,
                        struct nj_diagnostics *diagnostics)
{
    struct nj_place first = {path, 1, 1};
    if (nj_source_refuse_utf16(text, path, diagnostics)) {
        return false;
    }
    size_t valid = nj_text_valid_prefix(text);
    if (valid < text.length_bytes) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, nj_source_place(text, 0, first, valid),
                    "save the file as UTF-8", "byte 0x%02X is not UTF-8 text",
                    (unsigned)(unsigned char)text.data[valid]);
        return false;
    }
    const char *nul = memchr(text.data, '\0', text.length_bytes);
    if (nul != NULL) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR,
                    nj_source_place(text, 0, first, (size_t)(nul - text.data)),
                    "save the file as UTF-8 text", "NUL byte in a prompt");
    }
    return nul == NULL;
}

/* Its text is the file's, without a byte order mark. */
static enum nj_status load(struct nj_prompt_template *prompt, const struct nj_file_system *fs,
                           struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                           struct nj_error *err)
{
    struct nj_bytes content;
    struct nj_error why;
    enum nj_status status = nj_file_read_whole(fs, AT_FDCWD, prompt->prompt_path,
                                               NJ_JOB_FILE_LIMIT_BYTES, arena, &content, &why);
    if (status == NJ_E_MEMORY || status == NJ_E_PERMISSION) {
        return nj_fail(err, status, "%s", why.text);
    }
    if (status != NJ_OK) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, prompt->prompt_path_place,
                    nj_path_hint(prompt->prompt_path), "%s", why.text);
        return NJ_OK;
    }
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    if (!check_bytes(text, prompt->prompt_path, diagnostics)) {
        return NJ_OK;
    }
    size_t mark = nj_source_mark_at(text, 0);
    struct nj_text_origin origin = {text, mark, text.length_bytes, {prompt->prompt_path, 1, 1}};
    prompt->prompt = (struct nj_text){text.data + mark, text.length_bytes - mark};
    if (prompt->prompt.length_bytes == 0) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, prompt->prompt_path_place, NULL,
                    "the prompt file '%s' is empty", prompt->prompt_path);
    }
    return nj_template_compile(prompt->prompt, &origin, arena, diagnostics,
                               &prompt->prompt_compiled)
               ? NJ_OK
               : nj_arena_fail(arena, prompt->prompt_path, err);
}

enum nj_status nj_prompt_files_load(const struct nj_job_spec *spec,
                                    const struct nj_file_system *fs, struct nj_arena *arena,
                                    struct nj_diagnostics *diagnostics,
                                    const struct nj_prompt_template **prompts,
                                    struct nj_error *err)
{
    struct nj_prompt_template *loaded =
        nj_arena_take_array(arena, spec->n_prompts, sizeof loaded[0]);
    if (loaded == NULL) {
        return nj_arena_fail(arena, "open the prompts", err);
    }
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < spec->n_prompts && status == NJ_OK; i++) {
        loaded[i] = spec->prompts[i];
        if (loaded[i].prompt_path != NULL) {
            status = load(&loaded[i], fs, arena, diagnostics, err);
        }
    }
    if (status == NJ_OK) {
        *prompts = loaded;
    }
    return status;
}
