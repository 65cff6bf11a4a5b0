#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/check.h"

static void a_float_is_the_decimal_that_was_written(void)
{
    CHECK(nj_decimal_of_float(1e-5F) == 1e-5);
    CHECK(nj_decimal_of_float(1e-6F) == 1e-6);
    CHECK(nj_decimal_of_float(2.446F) == 2.446);
    CHECK(nj_decimal_of_float(-0.1F) == -0.1);
    CHECK(nj_decimal_of_float(16777216.0F) == 16777216.0);
    CHECK(nj_decimal_of_float(0.0F) == 0.0);
}

static void every_float_reads_back(void)
{
    uint32_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        float value = 0.0F;
        bits = bits * 1664525U + 1013904223U;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            CHECK((float)nj_decimal_of_float(value) == value);
        }
    }
    CHECK((float)nj_decimal_of_float(FLT_MAX) == FLT_MAX);
    CHECK((float)nj_decimal_of_float(FLT_TRUE_MIN) == FLT_TRUE_MIN);
}

static void what_is_not_finite_stays(void)
{
    CHECK(isnan(nj_decimal_of_float(NAN)));
    CHECK(isinf(nj_decimal_of_float(-INFINITY)));
}

int main(void)
{
    RUN(a_float_is_the_decimal_that_was_written);
    RUN(every_float_reads_back);
    RUN(what_is_not_finite_stays);
    return test_result();
}
