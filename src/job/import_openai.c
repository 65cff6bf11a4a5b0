/* Batch files for the OpenAI API: each line is a request with an id and a body. They are read
 * line by line, and of a line only what the prompt keeps stays in memory. */
#include "job/import.h"

#include <stdlib.h>
#include <string.h>

#include "job/json_tree.h"
#include "job/source_text.h"

/* One line while it is turned into an entry of `prompts`. */
struct request {
    struct nj_schema *schema; /* of the file */
    struct nj_schema scratch; /* the same, but nodes go with the line */
    const struct nj_node_pair *id, *method, *url, *body;
    struct nj_node *entry;
    struct nj_node *sampling;
    const struct nj_node_pair *logprobs, *top_logprobs;
    bool is_chat;
};

static bool is_null(const struct nj_node *node)
{
    return node->kind == NJ_NODE_SCALAR && node->is_plain && nj_text_equals(node->text, "null");
}

static bool is_word(const struct nj_node *node, const char *word)
{
    return node->kind == NJ_NODE_SCALAR && node->is_plain && nj_text_equals(node->text, word);
}

static void put(struct request *request, struct nj_node **map, const char *name,
                const struct nj_node *value)
{
    struct nj_node *changed = nj_import_put(&request->scratch, *map, name, value);
    *map = changed == NULL ? *map : changed;
}

/* A text that is no template: its braces are its own. It stays when the line goes. */
static const struct nj_node *literal(struct request *request, const struct nj_node *node)
{
    if (node->kind != NJ_NODE_SCALAR || node->is_plain) {
        return node; /* the readers complain of what is no text */
    }
    struct nj_text text = nj_import_literal(request->schema, node->text);
    struct nj_node *copy =
        text.data == NULL ? NULL
                          : nj_node_of_text(request->scratch.arena, node->place, text, false);
    request->scratch.out_of_memory |= copy == NULL;
    return copy;
}

/* --- messages --- */

static bool is_text_part(const struct nj_node *part)
{
    const struct nj_node *type = part->kind == NJ_NODE_MAP ? nj_node_get(part, "type") : NULL;
    const struct nj_node *text = type == NULL ? NULL : nj_node_get(part, "text");
    return text != NULL && nj_text_equals(type->text, "text") && part->n_pairs == 2 &&
           text->kind == NJ_NODE_SCALAR && !text->is_plain;
}

/* Adds up their lengths; false after complaints. */
static bool measure_parts(struct request *request, const struct nj_node *list, size_t *length)
{
    bool are_texts = true;
    *length = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        if (is_text_part(list->items[i])) {
            *length += nj_node_get(list->items[i], "text")->text.length_bytes;
        } else {
            are_texts = false;
            nj_schema_error(request->schema, list->items[i]->place,
                            "write {\"type\": \"text\", \"text\": \"...\"}",
                            "a part of a message that is no text cannot be imported");
        }
    }
    return are_texts;
}

/* The texts of a list of parts, joined. */
static const struct nj_node *join_parts(struct request *request, const struct nj_node *list)
{
    size_t length = 0;
    if (!measure_parts(request, list, &length)) {
        return nj_import_reported(&request->scratch, list->place);
    }
    char *data = nj_schema_take(&request->scratch, length + 1, 1);
    size_t used = 0;
    for (size_t i = 0; data != NULL && i < list->n_items; i++) {
        struct nj_text text = nj_node_get(list->items[i], "text")->text;
        memcpy(data + used, text.data, text.length_bytes);
        used += text.length_bytes;
    }
    struct nj_node *joined = data == NULL
                                 ? NULL
                                 : nj_node_of_text(request->scratch.arena, list->place,
                                                   (struct nj_text){data, used}, false);
    request->scratch.out_of_memory |= joined == NULL;
    return joined == NULL ? NULL : literal(request, joined);
}

static const struct nj_node *role_of(struct request *request, const struct nj_node *role)
{
    if (role->kind == NJ_NODE_SCALAR && nj_text_equals(role->text, "developer")) {
        role =
            nj_node_of_text(request->scratch.arena, role->place, nj_text_from("system"), false);
        request->scratch.out_of_memory |= role == NULL;
    }
    return role;
}

static const struct nj_node *read_message(struct request *request, const struct nj_node *map)
{
    struct nj_node *message = nj_import_map(&request->scratch, map->place);
    for (size_t i = 0; message != NULL && i < map->n_pairs; i++) {
        const struct nj_node_pair *pair = &map->pairs[i];
        if (nj_text_equals(pair->key->text, "role")) {
            put(request, &message, "role", role_of(request, pair->value));
        } else if (nj_text_equals(pair->key->text, "content")) {
            put(request, &message, "content",
                pair->value->kind == NJ_NODE_LIST ? join_parts(request, pair->value)
                                                  : literal(request, pair->value));
        } else if (!is_null(pair->value)) {
            nj_import_refuse(request->schema, pair->key);
        }
    }
    return message;
}

static const struct nj_node *read_messages(struct request *request, const struct nj_node *value)
{
    if (value->kind != NJ_NODE_LIST) {
        return value;
    }
    struct nj_node *list = nj_import_list(&request->scratch, value->place, value->n_items);
    for (size_t i = 0; list != NULL && i < value->n_items; i++) {
        const struct nj_node *item = value->items[i];
        list->items[list->n_items++] =
            item->kind == NJ_NODE_MAP ? read_message(request, item) : item;
    }
    return request->scratch.out_of_memory ? NULL : list;
}

/* --- the body --- */

static bool is_in(struct nj_text key, const char *const *names, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        if (nj_text_equals(key, names[i])) {
            return true;
        }
    }
    return false;
}

static void check_response_format(struct request *request, const struct nj_node_pair *pair)
{
    const struct nj_node *type =
        pair->value->kind == NJ_NODE_MAP ? nj_node_get(pair->value, "type") : NULL;
    if (type == NULL || !nj_text_equals(type->text, "text")) {
        nj_import_refuse(request->schema, pair->key);
    }
}

/* It is one for all lines, as thinking is for a job. */
static void refuse_effort(struct request *request, const struct nj_node_pair *pair)
{
    nj_schema_error(request->schema, pair->key->place,
                    "remove it, and give --set thinking=off, low, high or max for all lines",
                    "'%s' cannot be imported", pair->key->text.data);
}

static void read_body_pair(struct request *request, const struct nj_node_pair *pair)
{
    static const char *const same[] = {
        "temperature",       "top_p", "n",         "stop", "presence_penalty", "max_tokens",
        "frequency_penalty", "seed",  "logit_bias"};
    static const char *const aside[] = {"model", "user",         "metadata",
                                        "store", "service_tier", "safety_identifier"};
    struct nj_text key = pair->key->text;
    if (is_null(pair->value) || is_in(key, aside, sizeof aside / sizeof aside[0])) {
        return;
    }
    if (is_in(key, same, sizeof same / sizeof same[0])) {
        put(request, &request->sampling, key.data, pair->value);
    } else if (nj_text_equals(key, "max_completion_tokens")) {
        put(request, &request->sampling, "max_tokens", pair->value);
    } else if (nj_text_equals(key, "messages") && request->is_chat) {
        put(request, &request->entry, "messages", read_messages(request, pair->value));
    } else if (nj_text_equals(key, "prompt") && !request->is_chat) {
        bool is_ids = pair->value->kind == NJ_NODE_LIST;
        put(request, &request->entry, is_ids ? "ids" : "prompt",
            is_ids ? pair->value : literal(request, pair->value));
    } else if (nj_text_equals(key, "logprobs")) {
        request->logprobs = pair;
    } else if (nj_text_equals(key, "top_logprobs")) {
        request->top_logprobs = pair;
    } else if (nj_text_equals(key, "reasoning_effort")) {
        refuse_effort(request, pair);
    } else if (nj_text_equals(key, "response_format")) {
        check_response_format(request, pair);
    } else if (!nj_text_equals(key, "stream") || !is_word(pair->value, "false")) {
        nj_import_refuse(request->schema, pair->key);
    }
}

static void put_logprobs(struct request *request)
{
    bool are_wanted = request->logprobs != NULL && !is_word(request->logprobs->value, "false");
    if (request->top_logprobs != NULL && !are_wanted) {
        nj_schema_error(request->schema, request->top_logprobs->key->place, NULL,
                        "'top_logprobs' needs 'logprobs: true'");
    } else if (request->top_logprobs != NULL) {
        put(request, &request->sampling, "logprobs", request->top_logprobs->value);
    } else if (request->logprobs != NULL) {
        put(request, &request->sampling, "logprobs", request->logprobs->value);
    }
}

static void put_no_chat(struct request *request)
{
    const struct nj_node *no = nj_node_of_text(
        request->scratch.arena, request->body->value->place, nj_text_from("false"), true);
    request->scratch.out_of_memory |= no == NULL;
    put(request, &request->entry, "chat", no);
}

static void read_body(struct request *request)
{
    const struct nj_node *body = request->body->value;
    request->sampling = nj_import_map(&request->scratch, body->place);
    request->entry = nj_import_map(&request->scratch, body->place);
    if (request->sampling == NULL || request->entry == NULL) {
        return;
    }
    for (size_t i = 0; i < body->n_pairs; i++) {
        read_body_pair(request, &body->pairs[i]);
    }
    put_logprobs(request);
    if (request->id != NULL) {
        put(request, &request->entry, "id", literal(request, request->id->value));
    }
    put(request, &request->entry, "sampling", request->sampling);
    if (!request->is_chat && nj_node_get(request->entry, "ids") == NULL) {
        put_no_chat(request);
    }
}

/* --- the line --- */

static void keep_all(struct request *request, const struct nj_node *root)
{
    static const char *const names[] = {"custom_id", "method", "url", "body"};
    const struct nj_node_pair **const places[] = {&request->id, &request->method, &request->url,
                                                  &request->body};
    enum { N_NAMES = sizeof names / sizeof names[0] };
    for (size_t i = 0; i < root->n_pairs; i++) {
        size_t name = 0;
        while (name < N_NAMES && !nj_text_equals(root->pairs[i].key->text, names[name])) {
            name++;
        }
        if (name < N_NAMES) {
            *places[name] = &root->pairs[i];
        } else {
            nj_import_refuse(request->schema, root->pairs[i].key);
        }
    }
    for (size_t name = 0; name < N_NAMES; name++) {
        if (*places[name] == NULL) {
            nj_schema_error(request->schema, root->place,
                            "each line has custom_id, method, url and body",
                            "a request without '%s'", names[name]);
            return; /* of a line that is no request one complaint is enough */
        }
    }
}

static void check_id(struct request *request)
{
    struct nj_text id;
    if (request->id != NULL) {
        (void)nj_expect_filled_text(request->schema, request->id, &id);
    }
}

static void check_method(struct request *request)
{
    struct nj_text method;
    if (request->method != NULL && nj_expect_text(request->schema, request->method, &method) &&
        !nj_text_equals(method, "POST")) {
        nj_schema_error(request->schema, request->method->value->place, NULL,
                        "'method' must be POST, not '%s'", method.data);
    }
}

/* Where the URL does not say what the body is, the body is looked at by what it has. False for
 * an API whose body is nothing for us. */
static bool choose_form(struct request *request)
{
    struct nj_text url;
    request->is_chat = request->body == NULL || request->body->value->kind != NJ_NODE_MAP ||
                       nj_node_get(request->body->value, "prompt") == NULL;
    if (request->url == NULL || !nj_expect_text(request->schema, request->url, &url)) {
        return true;
    }
    if (nj_text_equals(url, "/v1/chat/completions") ||
        nj_text_equals(url, "/chat/completions")) {
        request->is_chat = true;
    } else if (nj_text_equals(url, "/v1/completions")) {
        request->is_chat = false;
    } else {
        nj_schema_error(request->schema, request->url->value->place,
                        "use /v1/chat/completions or /v1/completions",
                        "'url' of '%s' cannot be imported", url.data);
        return false;
    }
    return true;
}

/* Reads all that is there, so that every mistake of the line is told. False without an entry
 * that could be read further. */
static bool read_request(struct request *request, const struct nj_node *root)
{
    if (root->kind != NJ_NODE_MAP) {
        nj_schema_error(request->schema, root->place, NULL, "a request must be a JSON object");
        return false;
    }
    keep_all(request, root);
    check_id(request);
    check_method(request);
    if (!choose_form(request) || request->body == NULL ||
        !nj_expect_map(request->schema, request->body)) {
        return false;
    }
    read_body(request);
    return !request->scratch.out_of_memory;
}

/* The line as JSON; NULL after a complaint. */
static const struct nj_node *parse_line(struct nj_schema *schema, struct nj_arena *nodes,
                                        struct nj_text line, struct nj_place place)
{
    const struct nj_node *root = NULL;
    size_t valid = nj_text_valid_prefix(line);
    if (valid < line.length_bytes) {
        nj_schema_error(schema, nj_source_place(line, 0, place, valid),
                        "save the file as UTF-8", "byte 0x%02X is not UTF-8 text",
                        (unsigned)(unsigned char)line.data[valid]);
    } else if (nj_json_tree_read(line, place, nodes, schema->arena, schema->diagnostics, &root,
                                 NULL) != NJ_OK) {
        schema->out_of_memory = true;
        return NULL;
    }
    return root;
}

static void read_line(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                      struct nj_text line, struct nj_place place,
                      struct nj_prompt_template *prompt)
{
    struct nj_arena nodes = {0};
    struct request request = {.schema = schema, .scratch = *schema};
    request.scratch.arena = &nodes;
    request.scratch.out_of_memory = false;
    const struct nj_node *root = parse_line(schema, &nodes, line, place);
    if (root != NULL && read_request(&request, root)) {
        static const struct nj_node key = {.text = {"body", 4}};
        struct nj_node_pair entry = {&key, request.entry};
        nj_prompt_read_entry(schema, defaults, &entry, prompt);
    }
    schema->out_of_memory |= request.scratch.out_of_memory;
    nj_arena_deinit(&nodes);
}

/* --- all lines --- */

/* The next line without its break; false at the end. */
static bool next_line(struct nj_text source, size_t *offset, struct nj_text *line)
{
    if (*offset >= source.length_bytes) {
        return false;
    }
    const char *begin = source.data + *offset;
    const char *end = memchr(begin, '\n', source.length_bytes - *offset);
    size_t length = end == NULL ? source.length_bytes - *offset : (size_t)(end - begin);
    *offset += length + 1;
    length -= length > 0 && begin[length - 1] == '\r' ? 1 : 0;
    *line = (struct nj_text){begin, length};
    return true;
}

static bool is_blank(struct nj_text line)
{
    static const char blanks[] = {' ', '\t'};
    for (size_t i = 0; i < line.length_bytes; i++) {
        if (memchr(blanks, line.data[i], sizeof blanks) == NULL) {
            return false;
        }
    }
    return true;
}

static size_t count_requests(struct nj_text source)
{
    size_t n_requests = 0;
    struct nj_text line;
    for (size_t offset = 0; next_line(source, &offset, &line);) {
        n_requests += is_blank(line) ? 0 : 1;
    }
    return n_requests;
}

static int by_id_then_line(const void *left, const void *right)
{
    const struct nj_prompt_template *a = *(const struct nj_prompt_template *const *)left;
    const struct nj_prompt_template *b = *(const struct nj_prompt_template *const *)right;
    size_t shorter =
        a->id.length_bytes < b->id.length_bytes ? a->id.length_bytes : b->id.length_bytes;
    int order = shorter == 0 ? 0 : memcmp(a->id.data, b->id.data, shorter);
    if (order == 0) {
        order = (a->id.length_bytes > b->id.length_bytes) -
                (a->id.length_bytes < b->id.length_bytes);
    }
    return order != 0 ? order
                      : (a->place.line > b->place.line) - (a->place.line < b->place.line);
}

static void check_ids(struct nj_schema *schema, const struct nj_prompt_template *prompts,
                      size_t n_prompts)
{
    const struct nj_prompt_template **sorted =
        nj_schema_take(schema, n_prompts, sizeof(struct nj_prompt_template *));
    if (sorted == NULL) {
        return;
    }
    for (size_t i = 0; i < n_prompts; i++) {
        sorted[i] = &prompts[i];
    }
    qsort(sorted, n_prompts, sizeof(struct nj_prompt_template *), by_id_then_line);
    for (size_t i = 1; i < n_prompts; i++) {
        struct nj_text id = sorted[i]->id;
        if (id.length_bytes > 0 && nj_text_equal(id, sorted[i - 1]->id)) {
            nj_schema_error(schema, sorted[i]->place, NULL,
                            "custom_id '%.*s' stands in line %u already",
                            (int)(id.length_bytes < 64 ? id.length_bytes : 64), id.data,
                            sorted[i - 1]->place.line);
        }
    }
}

const struct nj_node *nj_import_openai(struct nj_schema *schema)
{
    return nj_import_begin(schema, (struct nj_place){schema->path, 1, 1});
}

static bool check_source(struct nj_schema *schema, size_t n_requests)
{
    if (nj_source_refuse_utf16(schema->source, schema->path, schema->diagnostics)) {
        return false;
    }
    if (n_requests == 0) {
        nj_schema_error(schema, (struct nj_place){schema->path, 0, 0}, NULL,
                        "there is no request in the file");
    }
    return n_requests > 0;
}

void nj_import_openai_prompts(struct nj_schema *schema,
                              const struct nj_prompt_defaults *defaults,
                              struct nj_job_spec *spec)
{
    struct nj_text source = schema->source;
    size_t n_requests = count_requests(source);
    struct nj_prompt_template *prompts = nj_schema_take(schema, n_requests, sizeof prompts[0]);
    struct nj_text line;
    size_t n_read = 0;
    if (prompts == NULL || !check_source(schema, n_requests)) {
        return;
    }
    size_t offset = nj_source_mark_at(source, 0);
    for (uint32_t number = 1; !schema->out_of_memory && next_line(source, &offset, &line);
         number++) {
        if (!is_blank(line)) {
            struct nj_place place = {schema->path, number, 1};
            prompts[n_read].place = place;
            read_line(schema, defaults, line, place, &prompts[n_read]);
            prompts[n_read++].place = place;
        }
    }
    check_ids(schema, prompts, n_read);
    spec->prompts = prompts;
    spec->n_prompts = n_read;
}
