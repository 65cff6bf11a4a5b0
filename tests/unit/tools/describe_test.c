#include "tools/describe.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/tiny_model.h"

static char *describe(enum tiny_model_kind kind)
{
    char path[256];
    char *text = NULL;
    size_t length = 0;
    struct nj_error err = {0};
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), tiny_model_name(kind));
    CHECK_EQ(tiny_model_write(kind, path), 0);
    CHECK_EQ(nj_describe_model(nj_file_system_real(), path, &text, &length, &err), NJ_OK);
    return text;
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

static void a_directory_without_a_model_is_an_error(void)
{
    char *text = NULL;
    size_t length = 0;
    struct nj_error err;
    CHECK(nj_describe_model(nj_file_system_real(), "/nonexistent", &text, &length, &err) !=
          NJ_OK);
    CHECK_CONTAINS(err.text, "/nonexistent");
}

int main(void)
{
    RUN(a_kimi_k3_model_is_told_with_all_that_is_on);
    RUN(a_kimi_linear_model_is_told_with_all_that_is_off);
    RUN(a_directory_without_a_model_is_an_error);
    return test_result();
}
