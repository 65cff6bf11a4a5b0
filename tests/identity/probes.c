#include "identity/probes.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "identity/near_tie_list.h"
#include "identity/subject.h"
#include "support/check.h"

enum { PATH_BYTES = 4096, GOLDEN_LIMIT_BYTES = 256 << 20 };

static struct probe *add_probe(struct probe_list *list, uint32_t max_tokens)
{
    if (list->n == PROBES_LIMIT) {
        subject_die("probes", "more than this list has room for");
    }
    struct probe *probe = &list->probes[list->n++];
    *probe = (struct probe){.max_tokens = max_tokens};
    return probe;
}

/* At most PROBE_MOST_IDS of them. */
static void read_prompt(struct probe *probe, const struct nj_json_value *ids)
{
    size_t n = nj_json_count(ids);
    for (size_t i = 0; i < n && i < PROBE_MOST_IDS; i++) {
        int64_t id = -1;
        if (!nj_json_as_integer(nj_json_at(ids, i), &id)) {
            subject_die("golden", "a token id is not an integer");
        }
        probe->prompt[probe->n_prompt++] = (nj_token)id;
    }
    if (probe->n_prompt == 0) {
        subject_die("golden", "a prompt is missing");
    }
}

/* The longest teacher-forced sequence, so that chunks of 64 cut it, and prompts of the greedy
 * paths. */
static void add_golden_probes(struct probe_list *list, const struct nj_json_value *root)
{
    const struct nj_json_value *sequences = nj_json_get(root, "sequences");
    const struct nj_json_value *greedy = nj_json_get(root, "greedy");
    size_t last = nj_json_count(sequences) - 1;
    read_prompt(add_probe(list, 8), nj_json_get(nj_json_at(sequences, last), "ids"));
    read_prompt(add_probe(list, 20), nj_json_get(nj_json_at(greedy, 0), "prompt"));
    for (uint32_t sample = 0; sample < 3; sample++) {
        struct probe *probe = add_probe(list, 12);
        probe->sampling =
            (struct nj_sampling_options){.temperature = 3.0, .sample = sample, .seed = 7};
        read_prompt(probe, nj_json_get(nj_json_at(greedy, 1), "prompt"));
    }
    struct probe *cut = add_probe(list, 16);
    cut->sampling = (struct nj_sampling_options){
        .temperature = 1.5, .top_p = 0.95, .top_k = 40, .seed = UINT64_C(0x123456789abcdef)};
    read_prompt(cut, nj_json_get(nj_json_at(greedy, 2), "prompt"));
    read_prompt(add_probe(list, 12), nj_json_get(nj_json_at(greedy, 3), "prompt"));
}

static void read_golden(struct probe_list *list, const char *path)
{
    struct nj_arena arena = {0};
    struct nj_json *document = NULL;
    struct nj_bytes content;
    struct nj_error error;
    if (nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, GOLDEN_LIMIT_BYTES, &arena,
                           &content, &error) != NJ_OK) {
        subject_die("golden", error.text);
    }
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    if (nj_json_parse(text, path, &document, &error) != NJ_OK) {
        subject_die("golden", error.text);
    }
    add_golden_probes(list, nj_json_root(document));
    nj_json_destroy(document);
    nj_arena_deinit(&arena);
}

static void add_near_ties(struct probe_list *list, const char *path)
{
    static struct near_tie_list ties;
    near_tie_list_read(&ties, path);
    for (uint32_t i = 0; i < ties.n && i < PROBES_MOST_NEAR_TIES; i++) {
        struct probe *probe = add_probe(list, 3);
        for (uint32_t k = 0; k < ties.ties[i].n_ids; k++) {
            probe->prompt[probe->n_prompt++] = ties.ties[i].ids[k];
        }
        list->n_near_ties += 1;
    }
}

void probes_read(struct probe_list *list, const char *model_name)
{
    char path[PATH_BYTES];
    list->n = 0;
    list->n_near_ties = 0;
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s.json", test_source_directory(),
                   model_name);
    read_golden(list, path);
    (void)snprintf(path, sizeof path, "%s/tests/golden/identity_near_ties_%s.txt",
                   test_source_directory(), model_name);
    add_near_ties(list, path);
}
