/* Our own exp, log, tanh and friends: the definition that every vector form equals bit for bit.
 *
 * libm differs between releases and picks code by CPU at run time; these are fixed polynomials
 * with explicit fused multiply-adds, so a logit depends on the weights and nothing else.
 * Accuracy is a few units in the last place; what counts is that it never changes within a
 * numerics version. The steps are in docs/decisions/0005-numbers.md.
 *
 * NaN gives NaN everywhere (which NaN is not part of the contract). No flush to zero. All of
 * it assumes rounding to nearest: the pool sets that in every thread.
 */
#ifndef NJ_BASE_ELEMENTARY_H
#define NJ_BASE_ELEMENTARY_H

/* e^x. Above about 88.72 +inf, below about -103.97 zero, denormal results in between. */
float nj_exp(float x);

/* Natural logarithm. log(0) = -inf, log(negative) = NaN. */
float nj_log(float x);

/* 1 / (1 + e^-x), computed from e^-|x| with one division. */
float nj_sigmoid(float x);

/* Odd; tanh(-0) = -0. */
float nj_tanh(float x);

/* ln(1 + e^x) = max(x, 0) + log1p(e^-|x|). */
float nj_softplus(float x);

/* x * sigmoid(x). -infinity gives NaN: it never comes out of finite weights. */
float nj_silu(float x);

/* SiTU (Kimi K3): beta * tanh(g / beta) * sigmoid(g) * linear_beta * tanh(u / linear_beta),
 * products taken left to right, the two divisions as divisions. */
float nj_situ(float gate, float up, float beta, float linear_beta);

#endif
