#include "runner/markdown_file.h"

#include <inttypes.h>
#include <stdio.h>

/* What the front matter has of the result line, in this order. */
static const char *const of_line[] = {"index", "id", "sample", "status"};
static const char *const of_end[] = {"seed", "finish_reason"};
static const char *const of_usage[] = {"prompt_tokens", "completion_tokens"};

/* YAML takes JSON scalars as they are. */
static enum nj_status give_field(const struct nj_sink *sink, const char *key,
                                 const struct nj_json_value *value, struct nj_text otherwise,
                                 struct nj_error *err)
{
    struct nj_json_writer writer;
    struct nj_text text;
    nj_json_writer_init(&writer);
    if (value != NULL) {
        nj_json_write_value(&writer, value);
    } else {
        nj_json_write_text(&writer, otherwise);
    }
    enum nj_status status = nj_json_finish(&writer, &text, err);
    const char *const before[] = {key, ": "};
    for (size_t i = 0; i < 2 && status == NJ_OK; i++) {
        status = nj_sink_give_string(sink, before[i], err);
    }
    if (status == NJ_OK) {
        status = nj_sink_give(sink, text, err);
    }
    nj_json_writer_deinit(&writer);
    return status == NJ_OK ? nj_sink_give_string(sink, "\n", err) : status;
}

static enum nj_status give_members(const struct nj_sink *sink,
                                   const struct nj_json_value *object, const char *const *keys,
                                   size_t n_keys, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < n_keys && status == NJ_OK; i++) {
        const struct nj_json_value *value = nj_json_get(object, keys[i]);
        status = give_field(sink, keys[i], value, nj_text_from(""), err);
    }
    return status;
}

static enum nj_status give_front_matter(const struct nj_markdown_file *file,
                                        const struct nj_sink *sink, struct nj_error *err)
{
    enum nj_status status = nj_sink_give_string(sink, "---\n", err);
    if (status == NJ_OK) {
        status = give_field(sink, "job", NULL, file->job_name, err);
    }
    if (status == NJ_OK) {
        status =
            give_members(sink, file->line, of_line, sizeof of_line / sizeof of_line[0], err);
    }
    if (status == NJ_OK) {
        status = give_field(sink, "model", NULL, nj_text_from(file->model), err);
    }
    if (status == NJ_OK) {
        status = give_members(sink, file->line, of_end, sizeof of_end / sizeof of_end[0], err);
    }
    if (status == NJ_OK) {
        status = give_members(sink, nj_json_get(file->line, "usage"), of_usage,
                              sizeof of_usage / sizeof of_usage[0], err);
    }
    return status == NJ_OK ? nj_sink_give_string(sink, "---\n", err) : status;
}

/* A heading, and the text with exactly one newline at its end. */
static enum nj_status give_section(const struct nj_sink *sink, const char *heading,
                                   struct nj_text text, struct nj_error *err)
{
    while (text.length_bytes > 0 && text.data[text.length_bytes - 1] == '\n') {
        text.length_bytes--;
    }
    const char *const before[] = {"\n## ", heading, "\n\n"};
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < 3 && status == NJ_OK; i++) {
        status = nj_sink_give_string(sink, before[i], err);
    }
    if (status == NJ_OK) {
        status = nj_sink_give(sink, text, err);
    }
    return status == NJ_OK ? nj_sink_give_string(sink, "\n", err) : status;
}

static enum nj_status give_prompt_ids(const struct nj_item *item, const struct nj_sink *sink,
                                      struct nj_error *err)
{
    enum nj_status status = nj_sink_give_string(sink, "\n## Prompt, as ids\n\n", err);
    for (size_t i = 0; i < item->n_ids && status == NJ_OK; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%s%" PRId32, i > 0 ? " " : "", item->ids[i]);
        status = nj_sink_give_string(sink, id, err);
    }
    return status == NJ_OK ? nj_sink_give_string(sink, "\n", err) : status;
}

static enum nj_status give_prompt(const struct nj_item *item, const struct nj_sink *sink,
                                  struct nj_error *err)
{
    static const char *const roles[] = {[NJ_JOB_ROLE_SYSTEM] = "System",
                                        [NJ_JOB_ROLE_USER] = "User",
                                        [NJ_JOB_ROLE_ASSISTANT] = "Assistant"};
    if (item->n_ids > 0) {
        return give_prompt_ids(item, sink, err);
    }
    if (!item->uses_chat) {
        return give_section(sink, "Prompt", item->prompt, err);
    }
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < item->n_messages && status == NJ_OK; i++) {
        const struct nj_item_message *message = &item->messages[i];
        status = give_section(sink, roles[message->role], message->content, err);
    }
    return status;
}

static enum nj_status give_ids(const struct nj_json_value *ids, const struct nj_sink *sink,
                               struct nj_error *err)
{
    enum nj_status status = nj_sink_give_string(sink, "\n## Response, as ids\n\n", err);
    for (size_t i = 0; i < nj_json_count(ids) && status == NJ_OK; i++) {
        char text[32];
        int64_t id = 0;
        (void)nj_json_as_integer(nj_json_at(ids, i), &id);
        (void)snprintf(text, sizeof text, "%s%" PRId64, i > 0 ? " " : "", id);
        status = nj_sink_give_string(sink, text, err);
    }
    return status == NJ_OK ? nj_sink_give_string(sink, "\n", err) : status;
}

static enum nj_status give_answer(const struct nj_json_value *line, const struct nj_sink *sink,
                                  struct nj_error *err)
{
    struct nj_text text;
    enum nj_status status = NJ_OK;
    const struct nj_json_value *ids = nj_json_get(line, "ids");
    if (nj_json_as_text(nj_json_get(nj_json_get(line, "error"), "message"), &text)) {
        return give_section(sink, "Error", text, err);
    }
    if (nj_json_as_text(nj_json_get(line, "reasoning"), &text)) {
        status = give_section(sink, "Reasoning", text, err);
    }
    if (status == NJ_OK && nj_json_as_text(nj_json_get(line, "response"), &text)) {
        status = give_section(sink, "Response", text, err);
    }
    if (status == NJ_OK && nj_json_type_of(ids) == NJ_JSON_ARRAY) {
        status = give_ids(ids, sink, err);
    }
    return status;
}

enum nj_status nj_markdown_file_content(void *context, const struct nj_sink *sink,
                                        struct nj_error *err)
{
    const struct nj_markdown_file *file = context;
    enum nj_status status = give_front_matter(file, sink, err);
    if (status == NJ_OK) {
        status = give_prompt(file->item, sink, err);
    }
    return status == NJ_OK ? give_answer(file->line, sink, err) : status;
}
