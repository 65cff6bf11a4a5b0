#include "tools/bench_machine.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(NJ_TOOLS_X86)
#include <cpuid.h>
#endif

static const struct nj_bench_record records[] = {
    {"Oxide Virtual Turin-like Processor, family 26, model 2", NJ_CPU_AVX512, 210.0, 29.0,
     "Machine A, one thread"},
    {"Oxide Virtual Turin-like Processor, family 26, model 2", NJ_CPU_AVX2, 100.0, 29.0,
     "Machine A, one thread"},
};

const struct nj_bench_record *nj_bench_record_of(const char *processor, enum nj_cpu_level level)
{
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        if (records[i].level == level && strcmp(records[i].processor, processor) == 0) {
            return &records[i];
        }
    }
    return NULL;
}

#if defined(NJ_TOOLS_X86)
enum { BRAND_BYTES = 48 };

#define FAMILY_LEAF 1U
#define BRAND_LEAF  0x80000002U

/* The brand that the processor gives, without the blanks around it. */
static void read_brand(char brand[BRAND_BYTES + 1])
{
    uint32_t words[BRAND_BYTES / 4] = {0};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t *part = words + (size_t)i * 4;
        (void)__get_cpuid(BRAND_LEAF + i, &part[0], &part[1], &part[2], &part[3]);
    }
    char text[BRAND_BYTES + 1] = {0};
    memcpy(text, words, BRAND_BYTES);
    size_t begin = strspn(text, " ");
    size_t end = strlen(text);
    while (end > begin && text[end - 1] == ' ') {
        end--;
    }
    memcpy(brand, text + begin, end - begin);
    brand[end - begin] = '\0';
}

void nj_bench_processor(char name[NJ_BENCH_NAME_BYTES])
{
    char brand[BRAND_BYTES + 1];
    uint32_t eax = 0;
    uint32_t unused[3];
    read_brand(brand);
    (void)__get_cpuid(FAMILY_LEAF, &eax, &unused[0], &unused[1], &unused[2]);
    uint32_t family = (eax >> 8 & 15U) + (eax >> 20 & 255U);
    uint32_t model = (eax >> 4 & 15U) + (eax >> 12 & 240U);
    (void)snprintf(name, NJ_BENCH_NAME_BYTES, "%s, family %u, model %u", brand, family, model);
}
#else
void nj_bench_processor(char name[NJ_BENCH_NAME_BYTES])
{
    (void)snprintf(name, NJ_BENCH_NAME_BYTES, "unknown");
}
#endif
