#include "base/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLOAT_DIGITS = 9 }; /* as many tell any two floats apart */

double nj_decimal_of_float(float value)
{
    char text[32];
    if (!isfinite(value)) {
        return (double)value;
    }
    for (int digits = 1; digits < FLOAT_DIGITS; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) {
            return strtod(text, NULL);
        }
    }
    (void)snprintf(text, sizeof text, "%.*g", FLOAT_DIGITS, (double)value);
    return strtod(text, NULL);
}
