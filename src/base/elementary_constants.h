/* The numbers inside our elementary functions, shared by the scalar definition (elementary.c)
 * and the vector forms (kernels/wide_elementary.inc), so that both run the same steps on the
 * same bits.
 *
 * The polynomials are minimax fits whose coefficients were rounded to F32 one after the other,
 * lowest first, refitting the rest each time. Changing any of them is a new numerics version.
 */
#ifndef NJ_BASE_ELEMENTARY_CONSTANTS_H
#define NJ_BASE_ELEMENTARY_CONSTANTS_H

/* Adding and taking away 1.5 * 2^23 rounds to the nearest integer, ties to even, and leaves the
 * integer in the low bits of the sum. */
#define NJ_ROUNDER      12582912.0F
#define NJ_ROUNDER_BITS 0x4b400000U

/* exp: outside these the answer is the limit already, and inside 2^k fits in two factors. */
#define NJ_EXP_LOWEST  (-105.0F)
#define NJ_EXP_HIGHEST 89.0F
#define NJ_LOG2_E      0x1.715476p+0F
/* ln 2 in two parts; the high one has 15 bits, so that k * high is exact. */
#define NJ_LN2_HIGH 0x1.62e4p-1F
#define NJ_LN2_LOW  0x1.7f7d1cp-20F
/* e^r = 1 + r + r^2 * (C2 + ... + C6 r^4) for |r| <= ln 2 / 2, within 2^-28.2. */
#define NJ_EXP_C2 0x1.fffffcp-2F
#define NJ_EXP_C3 0x1.555492p-3F
#define NJ_EXP_C4 0x1.5558aep-5F
#define NJ_EXP_C5 0x1.12397cp-7F
#define NJ_EXP_C6 0x1.6a4ef0p-10F

/* tanh a = a + a^3 * (T0 + ... + T4 a^8) for 0 <= a < 0.625, within 2^-27.7. */
#define NJ_TANH_SMALL 0.625F
#define NJ_TANH_T0    (-0x1.555532p-2F)
#define NJ_TANH_T1    0x1.1106fcp-3F
#define NJ_TANH_T2    (-0x1.b83734p-5F)
#define NJ_TANH_T3    0x1.52077ep-6F
#define NJ_TANH_T4    (-0x1.756008p-8F)

/* log(1 + f) = f - f^2 / 2 + f^3 * (L0 + ... + L8 f^8) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1,
 * within 2^-30.2. */
#define NJ_LOG_L0 0x1.555548p-2F
#define NJ_LOG_L1 (-0x1.000008p-2F)
#define NJ_LOG_L2 0x1.99a47ap-3F
#define NJ_LOG_L3 (-0x1.555b90p-3F)
#define NJ_LOG_L4 0x1.233ac0p-3F
#define NJ_LOG_L5 (-0x1.fc3d5cp-4F)
#define NJ_LOG_L6 0x1.e6dfe8p-4F
#define NJ_LOG_L7 (-0x1.dd9f40p-4F)
#define NJ_LOG_L8 0x1.13be28p-4F
/* Bits of the largest F32 below sqrt(1/2): where log moves on to the next power of two. */
#define NJ_SQRT_HALF_BITS 0x3f3504f3U
/* sqrt(2) - 1: above it softplus takes log1p(t) as ln 2 + log1p((t - 1) / 2). */
#define NJ_LOG1P_SPLIT 0x1.a82798p-2F

#endif
