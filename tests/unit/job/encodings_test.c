/* What editors and spreadsheets of other systems write: each kind of input file with CRLF, a
 * byte order mark, NUL bytes and Latin-1, either equal to the plain file or refused word for
 * word. */
#include "unit/job/job_on_disk.h"

enum { TEXT_BYTES = 4096 };

/* A kind of input: a small file of it, and the job that reads it, if it is none itself. */
struct kind {
    const char *name; /* of the file */
    const char *content;
    const char *job; /* NULL: the file is the job */
};

static const struct kind kinds[] = {
    {"job.yaml",
     "nightjar: 1\nprompts:\n  - {id: a, prompt: one}\n  - id: b\n    prompt: |\n      two\n   "
     "   three\n",
     NULL},
    {"table.csv", "a,b\n1,x\n2,y z\n",
     "nightjar: 1\nrows: table.csv\nprompt: \"{{a}}-{{b}}\"\n"},
    {"table.tsv", "a\tb\n1\tx\n2\ty z\n",
     "nightjar: 1\nrows: table.tsv\nprompt: \"{{a}}-{{b}}\"\n"},
    {"rows.jsonl", "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": {\"c\": \"y\"}}\n",
     "nightjar: 1\nrows: rows.jsonl\nprompt: \"{{a}}-{{b}}\"\n"},
    {"batch.jsonl",
     "{\"custom_id\": \"a\", \"method\": \"POST\", \"url\": \"/v1/completions\", \"body\": "
     "{\"prompt\": \"one\"}}\n{\"custom_id\": \"b\", \"method\": \"POST\", \"url\": "
     "\"/v1/completions\", \"body\": {\"prompt\": \"two\"}}\n",
     NULL},
    {"ask.prompt.yml",
     "messages:\n  - role: user\n    content: |\n      one {{c}}\n      two\ntestData:\n  - "
     "{c: x}\n",
     NULL},
    {"promptfooconfig.yaml",
     "prompts:\n  - |\n    one {{c}}\n    two\ntests:\n  - vars: {c: x}\n", NULL},
    {"llm.yaml", "prompt: |\n  one $c\n  two\ndefaults: {c: x}\n", NULL},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static void add(char *text, struct nj_text part)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, TEXT_BYTES - used, "%s|", shown(part));
}

/* Each item's id, what it asks and its variables; or the complaints, without the folder. */
static void read_kind(const struct kind *kind, const char *content, size_t length, char *text)
{
    const char *name = kind->job == NULL ? kind->name : "job.yaml";
    char path[256];
    struct job job = {.iterator = NULL};
    uint64_t n_items = 0;
    text[0] = '\0';
    write_file(kind->name, content, length);
    (void)snprintf(path, sizeof path, "%s", path_in_folder(name));
    read_bytes_as(&job.reading, path, kind->job == NULL ? content : kind->job,
                  kind->job == NULL ? length : strlen(kind->job));
    if (job.reading.spec != NULL &&
        nj_items_check(job.reading.spec, nj_file_system_real(), &job.reading.diagnostics,
                       &n_items, NULL) == NJ_OK) {
        CHECK_EQ(nj_item_iterator_open(job.reading.spec, nj_file_system_real(), 7,
                                       &job.iterator, NULL),
                 NJ_OK);
    }
    for (uint64_t i = 0; i < n_items; i++) {
        struct nj_item item = next_item(&job);
        add(text, item.id);
        add(text, item.uses_chat ? item.messages[item.n_messages - 1].content : item.prompt);
        for (size_t k = 0; k < item.n_vars; k++) {
            add(text, item.vars[k].value);
        }
    }
    if (n_items == 0) {
        list_complaints(&job.reading);
        const char *folder = strstr(job.reading.complaints, test_folder());
        (void)snprintf(text, TEXT_BYTES, "%s",
                       folder == NULL ? job.reading.complaints
                                      : folder + strlen(test_folder()) + 1);
    }
    close_job(&job);
}

static size_t with_crlf(const char *content, char *changed)
{
    size_t length = 0;
    for (size_t i = 0; content[i] != '\0'; i++) {
        if (content[i] == '\n') {
            changed[length++] = '\r';
        }
        changed[length++] = content[i];
    }
    return length;
}

static void line_breaks_of_other_systems_change_nothing(void)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        char plain[TEXT_BYTES];
        char found[TEXT_BYTES];
        char changed[TEXT_BYTES];
        read_kind(&kinds[i], kinds[i].content, strlen(kinds[i].content), plain);
        size_t length = with_crlf(kinds[i].content, changed);

        read_kind(&kinds[i], changed, length, found);

        CHECK_CONTAINS(plain, "|");
        CHECK_TEXT(found, plain);
    }
}

static void a_byte_order_mark_at_the_start_changes_nothing(void)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        char plain[TEXT_BYTES];
        char found[TEXT_BYTES];
        char changed[TEXT_BYTES];
        read_kind(&kinds[i], kinds[i].content, strlen(kinds[i].content), plain);
        int length = snprintf(changed, sizeof changed, "\xEF\xBB\xBF%s", kinds[i].content);

        read_kind(&kinds[i], changed, (size_t)length, found);

        CHECK_TEXT(found, plain);
    }
}

static void a_last_line_without_a_break_changes_nothing(void)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        char plain[TEXT_BYTES];
        char found[TEXT_BYTES];
        read_kind(&kinds[i], kinds[i].content, strlen(kinds[i].content), plain);
        if (strstr(plain, "\n") == NULL) { /* a block of YAML ends with the file's last byte */
            read_kind(&kinds[i], kinds[i].content, strlen(kinds[i].content) - 1, found);
            CHECK_TEXT(found, plain);
        }
    }
}

/* The content with the byte in the place of its last `x` or `o`. */
static void check_refused(size_t index, char byte, const char *wanted)
{
    char changed[TEXT_BYTES];
    char found[TEXT_BYTES];
    size_t length = strlen(kinds[index].content);
    memcpy(changed, kinds[index].content, length + 1);
    char *place = strrchr(changed, 'x');
    place = place == NULL ? strrchr(changed, 'o') : place;
    *place = byte;

    read_kind(&kinds[index], changed, length, found);

    CHECK_TEXT(found, wanted);
}

static void latin_1_is_refused_where_it_stands(void)
{
    static const char *const wanted[N_KINDS] = {
        "job.yaml:6:9: byte 0xE9 is not UTF-8 text, save the file as UTF-8",
        "table.csv:2:3: byte 0xE9 is not UTF-8 text, save the file as UTF-8",
        "table.tsv:2:3: byte 0xE9 is not UTF-8 text, save the file as UTF-8",
        "rows.jsonl:1:16: byte 0xE9 is not UTF-8 text, save the file as UTF-8",
        "batch.jsonl:2:86: byte 0xE9 is not UTF-8 text, save the file as UTF-8",
        "ask.prompt.yml:7:9: byte 0xE9 is not UTF-8 text, save the file as UTF-8",
        "promptfooconfig.yaml:6:15: byte 0xE9 is not UTF-8 text, save the file as UTF-8",
        "llm.yaml:4:15: byte 0xE9 is not UTF-8 text, save the file as UTF-8"};
    for (size_t i = 0; i < N_KINDS; i++) {
        check_refused(i, '\xE9', wanted[i]);
    }
}

static void nul_bytes_are_refused_where_they_stand(void)
{
    static const char *const wanted[N_KINDS] = {
        "job.yaml:6:9: control character U+0000 is not allowed, remove it, or write it as an "
        "escape in double quotes",
        "table.csv:2:3: NUL byte in a row, save the file as UTF-8 text",
        "table.tsv:2:3: NUL byte in a row, save the file as UTF-8 text",
        "rows.jsonl:1:16: control character in a string",
        "batch.jsonl:2:86: control character in a string",
        "ask.prompt.yml:7:9: control character U+0000 is not allowed, remove it, or write it "
        "as "
        "an escape in double quotes",
        "promptfooconfig.yaml:6:15: control character U+0000 is not allowed, remove it, or "
        "write "
        "it as an escape in double quotes",
        "llm.yaml:4:15: control character U+0000 is not allowed, remove it, or write it as an "
        "escape in double quotes"};
    for (size_t i = 0; i < N_KINDS; i++) {
        check_refused(i, '\0', wanted[i]);
    }
}

/* Spreadsheets save "Unicode text" that way. */
static void utf_16_is_refused_at_its_first_byte(void)
{
    static const char content[] = "\xFF\xFE"
                                  "a\0\n\0";
    static const char *const wanted[N_KINDS] = {
        "job.yaml:1:1: the file is UTF-16, save the file as UTF-8",
        "table.csv:1:1: the file is UTF-16, save the file as UTF-8",
        "table.tsv:1:1: the file is UTF-16, save the file as UTF-8",
        "rows.jsonl:1:1: the file is UTF-16, save the file as UTF-8",
        "batch.jsonl:1:1: the file is UTF-16, save the file as UTF-8",
        "ask.prompt.yml:1:1: the file is UTF-16, save the file as UTF-8",
        "promptfooconfig.yaml:1:1: the file is UTF-16, save the file as UTF-8",
        "llm.yaml:1:1: the file is UTF-16, save the file as UTF-8"};
    for (size_t i = 0; i < N_KINDS; i++) {
        char found[TEXT_BYTES];
        read_kind(&kinds[i], content, sizeof content - 1, found);
        CHECK_TEXT(found, wanted[i]);
    }
}

/* A quoted value is data, and so is a prompt in a file of its own. */
static void line_breaks_inside_values_stay_as_they_are(void)
{
    static const struct kind table = {"table.csv", "",
                                      "nightjar: 1\nrows: table.csv\nprompt: \"{{a}}\"\n"};
    static const struct kind letter = {"letter.txt", "",
                                       "nightjar: 1\nprompts: [{file: letter.txt}]\n"};
    char found[TEXT_BYTES];
    read_kind(&table, "a\r\n\"x\r\ny\"\r\n", 11, found);
    CHECK_TEXT(found, "0|x\r\ny|x\r\ny|");
    read_kind(&letter, "\xEF\xBB\xBFx\r\ny\r\n", 9, found);
    CHECK_TEXT(found, "0|x\r\ny\r\n|");
}

static void a_prompt_file_is_text(void)
{
    static const struct kind letter = {"letter.txt", "",
                                       "nightjar: 1\nprompts: [{file: letter.txt}]\n"};
    char found[TEXT_BYTES];
    read_kind(&letter, "a\ncaf\xE9\n", 7, found);
    CHECK_TEXT(found, "letter.txt:2:4: byte 0xE9 is not UTF-8 text, save the file as UTF-8");
    read_kind(&letter, "a\nb\0c\n", 6, found);
    CHECK_TEXT(found, "letter.txt:2:2: NUL byte in a prompt, save the file as UTF-8 text");
}

int main(void)
{
    RUN(line_breaks_of_other_systems_change_nothing);
    RUN(a_byte_order_mark_at_the_start_changes_nothing);
    RUN(a_last_line_without_a_break_changes_nothing);
    RUN(latin_1_is_refused_where_it_stands);
    RUN(nul_bytes_are_refused_where_they_stand);
    RUN(utf_16_is_refused_at_its_first_byte);
    RUN(line_breaks_inside_values_stay_as_they_are);
    RUN(a_prompt_file_is_text);
    return test_result();
}
