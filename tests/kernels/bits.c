#include "kernels/bits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nightjar/model.h"
#include "support/check.h"

static bool is_recording;

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? 0x7fc00000U : bits;
}

uint64_t hash_values(uint64_t hash, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ bits_of(values[i])) * 1099511628211ULL;
    }
    return hash;
}

bool check_same_values(const float *actual, const float *wanted, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (bits_of(actual[i]) != bits_of(wanted[i])) {
            test_fail(__FILE__, __LINE__, "%s: value %zu of %zu is %a (%08x), wanted %a (%08x)",
                      what, i, n, (double)actual[i], bits_of(actual[i]), (double)wanted[i],
                      bits_of(wanted[i]));
            return false;
        }
    }
    return true;
}

void record_hashes(void)
{
    is_recording = true;
}

/* Lines are "VERSION OPERATION HASH"; others begin with '#'. */
static bool find_recorded(FILE *file, const char *operation, uint64_t *hash)
{
    char wanted[96];
    char line[256];
    int n = snprintf(wanted, sizeof wanted, "%d %s ", NJ_NUMERICS_VERSION, operation);
    while (n > 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, wanted, (size_t)n) == 0) {
            *hash = strtoull(line + n, NULL, 16);
            return true;
        }
    }
    return false;
}

void check_recorded_hash(const char *operation, uint64_t hash)
{
    if (is_recording) {
        (void)printf("%d %s %016" PRIx64 "\n", NJ_NUMERICS_VERSION, operation, hash);
        return;
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/tests/golden/kernel_hashes.txt",
                   test_source_directory());
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        test_fail(__FILE__, __LINE__, "open %s", path);
        return;
    }
    uint64_t recorded = 0;
    bool is_recorded = find_recorded(file, operation, &recorded);
    (void)fclose(file);
    if (!is_recorded) {
        test_fail(__FILE__, __LINE__, "%s: no hash recorded for numerics version %d", operation,
                  NJ_NUMERICS_VERSION);
    } else if (recorded != hash) {
        test_fail(__FILE__, __LINE__, "%s: hash is %016" PRIx64 ", recorded %016" PRIx64,
                  operation, hash, recorded);
    }
}
