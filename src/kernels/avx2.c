/* The AVX2 level: everything but the matrix product, which has its own file. */
#include "kernels/wide_avx2.h"

#include "kernels/levels.h"
#include "kernels/multiply.h"
#include "kernels/wide_operations.inc"

const struct nj_kernels nj_kernels_avx2_table = {
    .level = NJ_CPU_AVX2,
    .multiply = nj_multiply_avx2,
    .dot = dot,
    .sum = sum,
    .axpy = axpy,
    .axpy_bf16 = axpy_bf16,
    .rms_norm = rms_norm,
    .add = add,
    .scale = scale,
    .accumulate = accumulate,
    .multiply_sigmoid = multiply_sigmoid,
    .situ = situ,
    .swiglu = swiglu,
    .exp_minus = exp_minus,
    .conv_step = conv_step,
    .kda_step = kda_step,
    .decay = decay,
    .l2_normalize = l2_normalize,
};
