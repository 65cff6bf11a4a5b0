/* Three files as people write them: a few prompts, a table, a matrix. */
#include <errno.h>
#include <sys/stat.h>

#include "unit/job/job_on_disk.h"

static const char summaries[] =
    "# summaries.yaml: a few prompts, nothing special\n"
    "nightjar: 1\nname: summaries\nmodel: small-instruct-q8\n"
    "system: You write plain, short English.\n"
    "sampling:\n  temperature: 0.3\n  max_tokens: 400\n  seed: 7\n"
    "prompts:\n"
    "  - id: heron\n    prompt: |\n"
    "      Describe how a grey heron catches fish, in five sentences.\n"
    "  - id: tides\n"
    "    prompt: \"Why are there two high tides a day? Answer for a ten-year-old.\"\n"
    "  - id: letter\n    file: prompts/letter.txt\n    sampling: {temperature: 0.8}\n"
    "output:\n  dir: out\n  formats: [jsonl, markdown]\n";

static const char reviews[] =
    "# reviews.yaml: one template over a CSV, only on week nights\n"
    "nightjar: 1\nname: review-labels\nmodel: small-instruct-q8\n"
    "vars:\n  labels: \"praise, complaint, question, other\"\n"
    "rows:\n  file: reviews.csv\n  limit: 2000\n"
    "id: \"{{review_id}}\"\n"
    "messages:\n"
    "  - role: system\n    content: \"Answer with exactly one of: {{labels}}.\"\n"
    "  - role: user\n    content: |-\n      Country: {{country}}\n      Review: {{text}}\n"
    "sampling:\n  temperature: 0\n  max_tokens: 4\n  stop: [\"\\n\"]\n"
    "schedule:\n  window: \"22:30-06:30\"\n  days: [mon, tue, wed, thu, fri]\n"
    "  timezone: Europe/Berlin\n  on_window_end: pause\n"
    "power:\n  on_battery: pause\n  inhibit_sleep: true\n"
    "budget:\n  max_runtime: 20h\n  item_timeout: 10m\n"
    "retry: {max_attempts: 3, backoff: 30s}\n"
    "stop_on_failures: 5%\n"
    "output:\n  dir: results\n  formats: [jsonl, csv]\n"
    "on_done: [notify-send, \"Review labels are ready\"]\n";

static const char story_matrix[] =
    "# story-matrix.yaml: a matrix, repeats, a dependency and shared settings\n"
    "nightjar: 1\nname: story-matrix\ndescription: Same opening, different heat and length\n"
    "x-common: &quiet\n  top_p: 0.95\n  repeat_penalty: 1.05\n"
    "model: small-instruct-q8\n"
    "sampling:\n  <<: *quiet\n  max_tokens: 900\n"
    "prompt: |\n  Write the first page of a story set in {{place}}.\n"
    "  Mood: {{mood}}. Do not name the narrator.\n"
    "matrix:\n  place: [a lighthouse, a night train, Norway]\n  mood: [\"calm\", \"uneasy\"]\n"
    "  sampling.temperature: [0.6, 1.0]\n"
    "  exclude:\n    - {place: Norway, mood: calm}\n"
    "repeat: 3\npriority: low\nafter: [summaries]\n"
    "schedule:\n  window: [\"00:30-06:00\", \"13:00-13:45\"]\n"
    "  deadline: \"2027-03-01 07:00\"\n"
    "budget:\n  max_output_tokens: 40000\n"
    "output:\n  dir: stories\n  formats: [markdown]\n  filename: \"{{_index}}-{{place}}\"\n"
    "on_failed: [sh, -c, \"logger nightjar: $NIGHTJAR_NAME failed\"]\n";

static void a_few_prompts_are_as_many_items(void)
{
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", path_in_folder("prompts"));
    REQUIRE(mkdir(folder, 0700) == 0 || errno == EEXIST);
    write_file("prompts/letter.txt", "Dear Ada,", 9);
    CHECK_EQ(count_both_ways(summaries), 3);
}

/* The header and so many rows. */
static void write_reviews(unsigned n_rows)
{
    static char content[2500 * 40];
    size_t length = (size_t)sprintf(content, "review_id,country,text\n");
    for (unsigned i = 0; i < n_rows; i++) {
        length += (size_t)sprintf(content + length, "r%u,NO,\"good, mostly\"\n", i);
    }
    write_file("reviews.csv", content, length);
}

static void a_table_has_one_item_a_row_up_to_its_limit(void)
{
    write_reviews(1999);
    CHECK_EQ(count_both_ways(reviews), 1999);
    write_reviews(2001);
    CHECK_EQ(count_both_ways(reviews), 2000);

    struct job job;
    REQUIRE(open_job(&job, reviews));
    struct nj_item item = next_item(&job);
    CHECK_TEXT(shown(item.id), "r0");
    CHECK_TEXT(shown(item.messages[1].content), "Country: NO\nReview: good, mostly");
    CHECK_EQ(job.reading.spec->n_daemon_keys, 4);
    close_job(&job);
}

static void a_matrix_multiplies_and_names_files(void)
{
    struct job job;
    CHECK_EQ(count_both_ways(story_matrix), 30);
    REQUIRE(open_job(&job, story_matrix));
    struct nj_item item = {0};
    for (unsigned i = 0; i < 30; i++) {
        item = next_item(&job);
        CHECK_NEAR(item.sampling->temperature, i / 3 % 2 == 0 ? 0.6 : 1.0, 0);
        CHECK_NEAR(item.sampling->top_p, 0.95, 0);
        CHECK_NEAR(item.sampling->repeat_penalty, 1.05, 0);
        CHECK_EQ(item.sampling->max_tokens, 900);
    }
    CHECK_TEXT(shown(item.filename), "29-Norway");
    CHECK_TEXT(shown(item.messages[0].content),
               "Write the first page of a story set in Norway.\n"
               "Mood: uneasy. Do not name the narrator.\n");
    close_job(&job);
}

int main(void)
{
    RUN(a_few_prompts_are_as_many_items);
    RUN(a_table_has_one_item_a_row_up_to_its_limit);
    RUN(a_matrix_multiplies_and_names_files);
    return test_result();
}
