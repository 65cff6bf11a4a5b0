#include "unit/tokenizer/golden.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "support/check.h"

static void require(enum nj_status status, const struct nj_error *error)
{
    if (status != NJ_OK) {
        (void)fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
}

const struct nj_json_value *golden_open(struct golden *golden, const char *name)
{
    const struct nj_file_system *fs = nj_file_system_real();
    struct nj_error error;
    char path[512];
    int directory_fd;
    struct nj_bytes content;
    (void)snprintf(path, sizeof path, "%s/tests/golden", test_source_directory());
    *golden = (struct golden){0};
    require(nj_file_open_directory(fs, path, false, &directory_fd, &error), &error);
    require(
        nj_file_read_whole(fs, directory_fd, name, 1 << 20, &golden->arena, &content, &error),
        &error);
    (void)fs->close(fs->context, directory_fd);
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    require(nj_json_parse(text, name, &golden->document, &error), &error);
    return nj_json_root(golden->document);
}

void golden_close(struct golden *golden)
{
    nj_json_destroy(golden->document);
    nj_arena_deinit(&golden->arena);
}

struct nj_text golden_text(const struct nj_json_value *object, const char *key)
{
    struct nj_text text;
    if (!nj_json_as_text(nj_json_get(object, key), &text)) {
        (void)fprintf(stderr, "golden file: no text \"%s\"\n", key);
        exit(1);
    }
    return text;
}
