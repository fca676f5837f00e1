# SPDX-License-Identifier: MIT
"""Errors as PyTorch raises them: its types, and its words where they are known."""
import re

import torch

from . import record

_LATER = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
_FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
    "start method"
)
_NUMPY = (
    "can't convert cuda:%d device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)

# Function: the name of its kernel, that one's arguments in the function's order, and in its own.
_KERNELS = {
    "linear": ("addmm", "mat1 mat2 self", "self mat1 mat2"),
    "linear without bias": ("mm", "self mat2", "self mat2"),
    "mm": ("mm", "self mat2", "self mat2"),
    "matmul": ("mm", "self mat2", "self mat2"),
    "__matmul__": ("mm", "self mat2", "self mat2"),
    "bmm": ("bmm", "self mat2", "self mat2"),
    "addmm": ("addmm", "self mat1 mat2", "self mat1 mat2"),
    "embedding": ("_index_select", "index self", "self index"),
    "cross_entropy": ("nll_loss_forward", "self target weight", "self target weight"),
    "nll_loss": ("nll_loss_forward", "self target weight", "self target weight"),
    "nll_loss_nd": ("nll_loss_forward", "self target weight", "self target weight"),
    "batch_norm": ("_native_batch_norm", "input running_mean running_var weight bias",
                   "input weight bias running_mean running_var"),
    "cat": ("cat", "tensors", "tensors"),
    "stack": ("cat", "tensors", "tensors"),
}
_TYPES = {torch.float32: "Float", torch.float16: "Half", torch.float64: "Double", torch.bfloat16: "BFloat16",
          torch.int64: "Long", torch.int32: "Int", torch.uint8: "Byte", torch.bool: "Bool"}

_version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def fail(kind, text, cause):
    """Raises it; `cause` is the word by which gpumap judges it."""
    record.say("raised", {"cause": cause, "type": kind.__name__, "text": text.split("\n")[0].rstrip("."), "place": record.place()})
    raise kind(text)


def device_name(ordinal):
    return "cpu" if ordinal < 0 else "cuda:%d" % ordinal


def bad_ordinal():
    kind = getattr(torch, "AcceleratorError", RuntimeError)
    hint = "" if kind is RuntimeError else "GPU device may be out of range, do you have enough GPUs?\n"
    fail(kind, "CUDA error: invalid device ordinal\n" + hint + _LATER, "ordinal")


def no_gpu():
    fail(RuntimeError, "No CUDA GPUs are available", "no-gpu")


def forked():
    fail(RuntimeError, _FORKED, "fork")


def no_numpy(ordinal):
    fail(TypeError, _NUMPY % ordinal, "numpy")


def not_rehearsed(what):
    record.say("not_rehearsed", what)
    fail(NotImplementedError, "gpumap rehearse: %s needs a real GPU" % what, "not-rehearsed")


def _bytes(size):
    return "%.2f GiB" % (size / 2**30) if size >= 2**30 else "%.2f MiB" % (size / 2**20)


def out_of_memory(ordinal, wanted, total, used):
    fail(torch.cuda.OutOfMemoryError,
         "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free."
         % (_bytes(wanted), ordinal, _bytes(total), _bytes(total - used)), "memory")


def _tensor_type(tensor, ordinal):
    return "torch.%s%sTensor" % ("cuda." if ordinal >= 0 else "", _TYPES.get(tensor.dtype, ""))


def _convolution(items):
    """The types of input and weight are compared before their devices."""
    given, weight = (_tensor_type(*item) for item in items[:2])
    if given != weight:
        text = "Input type (%s) and weight type (%s) should be the same" % (given, weight)
        if items[0][1] < 0 and items[0][0].dtype == torch.float32:
            text += " or input should be a MKLDNN tensor and weight is a dense tensor"
        fail(RuntimeError, text, "mixed")


def _arguments(name, items):
    """The kernel, and its arguments in its order, each with its ordinal; None: its names are not known."""
    if name == "linear" and len(items) == 2:
        name = "linear without bias"
    elif name == "embedding" and items[0][0].is_floating_point():
        items = [items[1], items[0]]  # torch.embedding, not that of torch.nn.functional
    kernel, given, order = _KERNELS.get(name, (None, "", ""))
    names = given.split()
    if kernel is None:
        return None, [("", ordinal) for _, ordinal in items]
    named = [(names[min(i, len(names) - 1)], ordinal) for i, (_, ordinal) in enumerate(items)]
    return kernel, sorted(named, key=lambda item: order.split().index(item[0]))


def mixed(name, items):
    """`items`: the tensors of a call of `name`, each with its ordinal; they differ."""
    if name.startswith("conv") and len(items) > 1:
        _convolution(items)
    kernel, arguments = _arguments(name, items)
    common = arguments[0][1]
    argument, odd = next((argument, ordinal) for argument, ordinal in arguments if ordinal != common)
    first, other = device_name(common), device_name(odd)
    if kernel is None:
        text = "Expected all tensors to be on the same device, but found at least two devices, %s and %s!"
        fail(RuntimeError, text % (first, other), "mixed")
    if _version >= (2, 8):
        text = ("Expected all tensors to be on the same device, but got %s is on %s, different from other tensors on "
                "%s (when checking argument in method wrapper_CUDA_%s)")
        fail(RuntimeError, text % (argument, other, first, kernel), "mixed")
    text = ("Expected all tensors to be on the same device, but found at least two devices, %s and %s! (when checking "
            "argument for argument %s in method wrapper_CUDA_%s)")
    fail(RuntimeError, text % (first, other, argument, kernel), "mixed")


_NO_MEMORY = re.compile(r"you tried to allocate (\d+) bytes")


def no_host_memory(error, gpu):
    """The CPU had too little memory for a tensor of a GPU: that one may have too little as well."""
    found = _NO_MEMORY.search(str(error))
    if found is None:
        return
    wanted = int(found.group(1))
    if gpu.total and gpu.used + wanted > gpu.total:
        out_of_memory(gpu.ordinal, wanted, gpu.total, gpu.used)
    record.say("not_rehearsed", "a tensor of %s, for which this host has too little memory" % _bytes(wanted))
