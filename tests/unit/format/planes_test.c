#include "format/planes.h"

#include <string.h>

#include "support/check.h"

enum { N_VALUES = 40000 };

static struct nj_packer *packer_of(int level)
{
    struct nj_packer *packer = NULL;
    struct nj_error error;
    return nj_packer_create(level, &packer, &error) == NJ_OK ? packer : NULL;
}

/* Values whose sign and exponent are alike and whose other bits are noise, as states are. */
static void fill_like_a_state(float *values, size_t n)
{
    uint32_t noise = 12345;
    for (size_t i = 0; i < n; i++) {
        noise = noise * 1664525 + 1013904223;
        uint32_t bits = 0x3E800000U | noise >> 10;
        memcpy(&values[i], &bits, sizeof bits);
    }
}

static void round_trip(int level, struct nj_bytes raw, bool must_shrink)
{
    struct nj_error error;
    static uint8_t packed[N_VALUES * 4];
    static uint8_t found[N_VALUES * 4];
    struct nj_packer *packer = packer_of(level);
    struct nj_unpacker *unpacker = NULL;
    REQUIRE(packer != NULL);
    REQUIRE_OK(nj_unpacker_create(&unpacker, &error), &error);

    size_t n_packed = nj_packer_pack(packer, raw, packed);

    CHECK_EQ(n_packed > 0, must_shrink);
    CHECK(n_packed < raw.length_bytes || raw.length_bytes == 0);
    if (n_packed > 0) {
        struct nj_bytes view = {.data = packed, .length_bytes = n_packed};
        REQUIRE_OK(nj_unpacker_unpack(unpacker, view, found, raw.length_bytes, &error), &error);
        CHECK_BYTES(found, raw.data, raw.length_bytes);
    }
    nj_packer_destroy(packer);
    nj_unpacker_destroy(unpacker);
}

static void states_shrink_and_come_back_at_every_level(void)
{
    static float values[N_VALUES];
    fill_like_a_state(values, N_VALUES);
    struct nj_bytes raw = {.data = (const uint8_t *)values, .length_bytes = sizeof values};
    for (int level = NJ_PACK_AUTO; level <= 9; level++) {
        round_trip(level, raw, level != NJ_PACK_OFF);
    }
}

static void every_small_number_of_values_comes_back(void)
{
    static float values[300];
    memset(values, 0, sizeof values);
    for (size_t n = 32; n < 300; n++) {
        struct nj_bytes raw = {.data = (const uint8_t *)values, .length_bytes = n * 4};
        round_trip(NJ_PACK_AUTO, raw, true);
        round_trip(9, raw, true);
    }
}

static void noise_is_left_alone(void)
{
    static uint32_t values[N_VALUES];
    uint64_t noise = 1;
    for (size_t i = 0; i < N_VALUES; i++) {
        noise = noise * 6364136223846793005U + 1442695040888963407U;
        values[i] = (uint32_t)(noise >> 32);
    }
    struct nj_bytes raw = {.data = (const uint8_t *)values, .length_bytes = sizeof values};
    round_trip(NJ_PACK_AUTO, raw, false);
    round_trip(6, raw, false);
}

static void what_is_no_whole_number_of_values_is_left_alone(void)
{
    static const uint8_t zeros[403];
    for (size_t n = 401; n <= 403; n++) {
        round_trip(1, (struct nj_bytes){zeros, n}, false);
    }
    round_trip(1, (struct nj_bytes){zeros, 0}, false);
}

static void levels_that_do_not_exist_are_refused(void)
{
    CHECK(packer_of(10) == NULL);
    CHECK(packer_of(-2) == NULL);
}

static void bytes_that_do_not_unpack_to_the_length_are_refused(void)
{
    static float values[N_VALUES];
    static uint8_t packed[sizeof values];
    static uint8_t found[sizeof values + 4];
    struct nj_error error;
    struct nj_unpacker *unpacker = NULL;
    struct nj_packer *packer = packer_of(NJ_PACK_AUTO);
    REQUIRE(packer != NULL);
    REQUIRE_OK(nj_unpacker_create(&unpacker, &error), &error);
    fill_like_a_state(values, N_VALUES);
    struct nj_bytes raw = {.data = (const uint8_t *)values, .length_bytes = sizeof values};
    size_t n = nj_packer_pack(packer, raw, packed);
    REQUIRE(n > 100);

    struct nj_bytes whole = {.data = packed, .length_bytes = n};
    struct nj_bytes cut = {.data = packed, .length_bytes = n - 1};
    struct nj_bytes tail = {.data = packed + 1, .length_bytes = n - 1};
    CHECK_EQ(nj_unpacker_unpack(unpacker, whole, found, sizeof values - 4, &error), NJ_E_INPUT);
    CHECK_EQ(nj_unpacker_unpack(unpacker, whole, found, sizeof values + 4, &error), NJ_E_INPUT);
    CHECK_EQ(nj_unpacker_unpack(unpacker, cut, found, sizeof values, &error), NJ_E_INPUT);
    CHECK_EQ(nj_unpacker_unpack(unpacker, tail, found, sizeof values, &error), NJ_E_INPUT);
    CHECK_EQ(nj_unpacker_unpack(unpacker, whole, found, sizeof values - 1, &error), NJ_E_INPUT);

    CHECK_EQ(nj_unpacker_unpack(unpacker, whole, found, sizeof values, &error), NJ_OK);
    nj_packer_destroy(packer);
    nj_unpacker_destroy(unpacker);
}

int main(void)
{
    RUN(states_shrink_and_come_back_at_every_level);
    RUN(every_small_number_of_values_comes_back);
    RUN(noise_is_left_alone);
    RUN(what_is_no_whole_number_of_values_is_left_alone);
    RUN(levels_that_do_not_exist_are_refused);
    RUN(bytes_that_do_not_unpack_to_the_length_are_refused);
    return test_result();
}
