"""MXFP4: groups of 32 columns, 4-bit E2M1 values, one power-of-two scale a group."""

import torch

GROUP = 32
LARGEST = 6.0
SCALE_BIAS = 127
MIN_EXPONENT = -120


def group_exponents(groups: torch.Tensor) -> torch.Tensor:
    """The exponent of 2^ceil(log2(amax / 6)) for each row of `groups`, exactly."""
    amax = groups.abs().amax(dim=-1, keepdim=True)
    mantissa, exponent = torch.frexp(amax / LARGEST)
    exponent = torch.where(mantissa > 0.5, exponent, exponent - 1)
    return exponent.clamp_(min=MIN_EXPONENT)


def round_to_grid(values: torch.Tensor) -> torch.Tensor:
    """Nearest of 0 .5 1 1.5 2 3 4 6 with its sign, half to even code; |values| <= 6."""
    size = values.abs()
    step = torch.full_like(size, 0.5)
    step.masked_fill_(size >= 2, 1.0).masked_fill_(size >= 4, 2.0)
    return torch.round(values / step).mul_(step)


def fake_quantise(weight: torch.Tensor) -> torch.Tensor:
    """The values the packed form of `weight` decodes to."""
    groups = weight.reshape(-1, GROUP)
    scale = torch.ldexp(torch.ones(()), group_exponents(groups))
    return round_to_grid(groups / scale).mul_(scale).view_as(weight)


def pack(weight: torch.Tensor):
    """`weight_packed` [out, in/2] and `weight_scale` [out, in/32], both uint8."""
    n_out, n_in = weight.shape
    groups = weight.reshape(-1, GROUP)
    exponent = group_exponents(groups)
    values = round_to_grid(groups / torch.ldexp(torch.ones(()), exponent))
    grid = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    codes = torch.searchsorted(grid, values.abs()) + 8 * (values < 0)
    codes = codes.view(n_out, n_in // 2, 2)
    packed = codes[..., 0] | codes[..., 1] << 4
    scales = (exponent + SCALE_BIAS).view(n_out, n_in // GROUP)
    return packed.to(torch.uint8), scales.to(torch.uint8)
