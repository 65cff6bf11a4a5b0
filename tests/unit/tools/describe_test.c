#include "tools/describe.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "support/check.h"
#include "support/tiny_model.h"

static char *describe_in(enum tiny_model_kind kind, bool as_json)
{
    char path[256];
    char *text = NULL;
    size_t length = 0;
    struct nj_error err = {0};
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), tiny_model_name(kind));
    CHECK_EQ(tiny_model_write(kind, path), 0);
    CHECK_EQ(nj_describe_model(nj_file_system_real(), path, as_json, &text, &length, &err),
             NJ_OK);
    return text;
}

static char *describe(enum tiny_model_kind kind)
{
    return describe_in(kind, false);
}

static void a_kimi_k3_model_is_told_with_all_that_is_on(void)
{
    char *text = describe(TINY_MODEL_T5);
    REQUIRE(text != NULL);
    CHECK_CONTAINS(text, "config layout                nested (text_config)");
    CHECK_CONTAINS(text, "layers                       5\n");
    CHECK_CONTAINS(text, "activation                   SiTU");
    CHECK_CONTAINS(text, "attention residuals          on");
    CHECK_CONTAINS(text, "decay                        bounded sigmoid");
    CHECK_CONTAINS(text, "latent experts               on");
    CHECK_CONTAINS(text, "layers                       1-3\n");
    CHECK_CONTAINS(text, "layers                       4-5\n");
    CHECK_CONTAINS(text, "packed (MXFP4 nibbles and scales)");
    CHECK_CONTAINS(text, "none: prompts are given as ids");
    CHECK_CONTAINS(text, "fingerprint");
    free(text);
}

static void a_kimi_linear_model_is_told_with_all_that_is_off(void)
{
    char *text = describe(TINY_MODEL_KL5);
    REQUIRE(text != NULL);
    CHECK_CONTAINS(text, "config layout                flat");
    CHECK_CONTAINS(text, "activation                   SwiGLU");
    CHECK_CONTAINS(text, "attention residuals          off");
    CHECK_CONTAINS(text, "decay                        softplus");
    CHECK_CONTAINS(text, "latent experts               off");
    CHECK_CONTAINS(text, "layers                       1, 3-4\n");
    CHECK_CONTAINS(text, "layers                       2, 5\n");
    free(text);
}

/* 1e-5 is not a float; what a person wrote in config.json is told, not its nearest float. */
static void an_epsilon_reads_as_it_was_written(void)
{
    char *text = describe(TINY_MODEL_T5);
    REQUIRE(text != NULL);
    CHECK_CONTAINS(text, "rms norm eps                 1e-05\n");
    CHECK_CONTAINS(text, "latent norm eps              1e-06\n");
    free(text);
}

static void a_program_gets_the_same_as_json(void)
{
    char *text = describe_in(TINY_MODEL_T5, true);
    struct nj_json *document = NULL;
    struct nj_error err;
    REQUIRE(text != NULL);
    REQUIRE_OK(nj_json_parse(nj_text_from(text), "describe", &document, &err), &err);
    const struct nj_json_value *root = nj_json_root(document);
    int64_t version = 0;
    int64_t n_layers = 0;
    double eps = 0.0;
    bool has_residuals = false;
    CHECK(nj_json_as_integer(nj_json_get(root, "version"), &version) && version == 1);
    const struct nj_json_value *graph = nj_json_get(root, "graph");
    CHECK(nj_json_as_integer(nj_json_get(graph, "layers"), &n_layers) && n_layers == 5);
    CHECK(nj_json_as_number(nj_json_get(graph, "rms_norm_eps"), &eps) && eps == 1e-5);
    CHECK(nj_json_as_boolean(nj_json_get(graph, "attention_residuals"), &has_residuals));
    CHECK(has_residuals);
    CHECK_EQ(nj_json_count(nj_json_get(nj_json_get(root, "latent_attention"), "layers")), 2);
    CHECK_EQ(nj_json_count(nj_json_get(nj_json_get(root, "tensors"), "files")), 6);
    nj_json_destroy(document);
    free(text);
}

static void a_directory_without_a_model_is_an_error(void)
{
    char *text = NULL;
    size_t length = 0;
    struct nj_error err;
    CHECK(nj_describe_model(nj_file_system_real(), "/nonexistent", false, &text, &length,
                            &err) != NJ_OK);
    CHECK_CONTAINS(err.text, "/nonexistent");
}

int main(void)
{
    RUN(a_kimi_k3_model_is_told_with_all_that_is_on);
    RUN(a_kimi_linear_model_is_told_with_all_that_is_off);
    RUN(an_epsilon_reads_as_it_was_written);
    RUN(a_program_gets_the_same_as_json);
    RUN(a_directory_without_a_model_is_an_error);
    return test_result();
}
