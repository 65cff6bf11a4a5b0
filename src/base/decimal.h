/* Floats as the decimals that people write. */
#ifndef NJ_BASE_DECIMAL_H
#define NJ_BASE_DECIMAL_H

/* The double nearest to the shortest decimal that reads back as `value`: 1e-5f becomes 1e-5,
 * where a cast gives 9.99999974e-6. Printed as a double, it reads as it was written. */
double nj_decimal_of_float(float value);

#endif
