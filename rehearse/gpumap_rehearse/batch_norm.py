# SPDX-License-Identifier: MIT
"""The operators beneath SyncBatchNorm, which PyTorch has for CUDA alone. The statistics of 16-bit inputs are float32."""
import torch

_library = None  # what is registered stays while it lives


def _channels(values, tensor):
    """One value for each channel, in the shape of the tensor."""
    return values.view(1, -1, *[1] * (tensor.dim() - 2))


def _precise(tensor):
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _others(tensor):
    """All dimensions but the one of channels."""
    return [dim for dim in range(tensor.dim()) if dim != 1]


def batch_norm_stats(input, eps):
    input = _precise(input)
    variance, mean = torch.var_mean(input, _others(input), correction=0)
    return mean, (variance + eps).rsqrt()


def batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts):
    """Rows of mean, invstd and counts are the ranks'."""
    counts = counts.to(mean.dtype).view(-1, 1)
    total = counts.sum()
    whole_mean = (mean * counts).sum(0) / total
    squares = (counts * (invstd ** -2 - eps + (mean - whole_mean) ** 2)).sum(0)
    if running_mean is not None:
        running_mean.lerp_(whole_mean.to(running_mean.dtype), momentum)
    if running_var is not None:
        running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
    return whole_mean, (squares / total + eps).rsqrt()


def batch_norm_gather_stats(input, mean, invstd, running_mean, running_var, momentum, eps, count):
    counts = mean.new_full((mean.size(0),), count)
    return batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts)


def batch_norm_elemt(input, weight, bias, mean, invstd, eps):
    scale = invstd if weight is None else invstd * weight
    result = (input - _channels(mean, input)) * _channels(scale, input)
    if bias is not None:
        result = result + _channels(bias, input)
    return result.to(input.dtype)


def batch_norm_backward_reduce(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g):
    grad_out, input = _precise(grad_out), _precise(input)
    sum_dy = grad_out.sum(_others(input))
    sum_dy_xmu = (grad_out * (input - _channels(mean, input))).sum(_others(input))
    kind = mean.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(kind) if weight_g else mean.new_empty(0)
    grad_bias = sum_dy.to(kind, copy=True) if bias_g else mean.new_empty(0)
    return sum_dy, sum_dy_xmu, grad_weight, grad_bias


def batch_norm_backward_elemt(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    total = count.sum()
    scale = invstd if weight is None else invstd * weight
    slope = _channels(invstd ** 2 * sum_dy_xmu / total, input)
    shift = _channels(sum_dy / total, input)
    result = (grad_out - shift - (input - _channels(mean, input)) * slope) * _channels(scale, input)
    return result.to(input.dtype)


def install():
    global _library
    _library = torch.library.Library("aten", "IMPL")
    for operator in (batch_norm_stats, batch_norm_gather_stats_with_counts, batch_norm_gather_stats, batch_norm_elemt,
                     batch_norm_backward_reduce, batch_norm_backward_elemt):
        _library.impl(operator.__name__, operator, "CPU")
