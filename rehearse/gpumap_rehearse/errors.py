# SPDX-License-Identifier: MIT
"""Errors as PyTorch raises them: its types, and its words where they are known."""
import re

import torch

from . import record, refused
from .record import fail

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

# Function: the name of its kernel, that one's arguments in the function's order, and in its own if that is another. The
# names are in libtorch_cuda.so of PyTorch 2.3 to 2.15; one with _ first has no structured kernel.
_KERNELS = {
    "linear": ("addmm", "mat1 mat2 self", "self mat1 mat2"),
    "mm": ("mm", "self mat2"),
    "dot": ("_dot", "self tensor"),
    "bmm": ("bmm", "self mat2"),
    "addmm": ("addmm", "self mat1 mat2"),
    "addmv": ("addmv", "self mat vec"),
    "baddbmm": ("baddbmm", "self batch1 batch2"),
    "embedding": ("_index_select", "index self", "self index"),
    "embedding_bag": ("__embedding_bag", "indices weight offsets per_sample_weights",
                      "weight indices offsets per_sample_weights"),
    "index_select": ("_index_select", "self index"),
    "gather": ("gather", "self index"),
    "scatter_add": ("scatter_add", "self index src"),
    "index_add": ("index_add", "self index source"),
    "take": ("_take", "self index"),
    "masked_select": ("_masked_select", "self mask"),
    "nll_loss": ("nll_loss_forward", "self target weight"),
    "nll_loss2d": ("_nll_loss2d_forward", "self target weight"),
    "huber_loss": ("_huber_loss", "self target"),
    "native_batch_norm": ("_native_batch_norm", "input running_mean running_var weight bias",
                          "input weight bias running_mean running_var"),
    "cudnn_batch_norm": ("_cudnn_batch_norm", "input running_mean running_var weight bias",
                         "input weight bias running_mean running_var"),
    "layer_norm": ("_native_layer_norm", "input weight bias"),
    "group_norm": ("_native_group_norm", "input weight bias"),
    "prelu": ("__prelu_kernel", "self weight"),
    "equal": ("_equal", "self other"),
    "cat": ("cat", "tensors"),
    "stack": ("cat", "tensors"),
}
# Functions that compare the devices themselves: their words, and which arguments these name.
_OWN_WORDS = {
    "masked_fill": ("expected self and mask to be on the same device, but got mask on %s and self on %s", (1, 0)),
    "masked_fill_": ("expected self and mask to be on the same device, but got mask on %s and self on %s", (1, 0)),
    "grid_sample": ("grid_sampler(): expected input and grid to be on same device, but input is on %s and grid is on %s",
                    (0, 1)),
    "meshgrid": ("meshgrid expects all tensors to have the same device", ()),
    "scaled_dot_product_attention": ("Expected query, key, and value to have the same device type, but got query.device: "
                                     "%s key.device: %s and value.device: %s instead.", (0, 1, 2)),
}
_TYPES = {torch.float32: "Float", torch.float16: "Half", torch.float64: "Double", torch.bfloat16: "BFloat16",
          torch.int64: "Long", torch.int32: "Int", torch.uint8: "Byte", torch.bool: "Bool"}

version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def device_name(ordinal):
    return "cpu" if ordinal < 0 else "cuda:%d" % ordinal


def bad_ordinal():
    kind = getattr(torch, "AcceleratorError", RuntimeError)
    hint = "" if version < (2, 8) else "GPU device may be out of range, do you have enough GPUs?\n"
    fail(kind, "CUDA error: invalid device ordinal\n" + hint + _LATER, "ordinal")


def no_gpu():
    fail(RuntimeError, "No CUDA GPUs are available", "no-gpu")


def other_gradient(tensor_ordinal, gradient_ordinal):
    """tensor.grad = gradient, which is elsewhere."""
    words = "with device type '%s' to a tensor with device type '%s'"
    names = ["cpu" if ordinal < 0 else "cuda" for ordinal in (gradient_ordinal, tensor_ordinal)]
    if names[0] == names[1]:
        words = "located on device with index '%s' to a tensor located on device with index '%s'"
        names = [gradient_ordinal, tensor_ordinal]
    fail(RuntimeError, "attempting to assign a gradient %s. Please ensure that the gradient and the tensor are on the same "
         "device" % (words % tuple(names)), "mixed")


def forked():
    fail(RuntimeError, _FORKED, "fork")


def no_numpy(ordinal):
    fail(TypeError, _NUMPY % ordinal, "numpy")


not_rehearsed = refused.refuse
_NO_KERNEL = re.compile(r"Could not run '([^']*)' with arguments from the 'CPU' backend")
_NO_DRIVER = re.compile(
    r"CUDA error: (CUDA driver version is insufficient|no CUDA-capable device)|Found no NVIDIA driver")


def no_kernel(function, error):
    """A call with tensors of a GPU wanted a real one: the CPU has no such operator, or it asked the driver."""
    found = _NO_KERNEL.match(str(error))
    if found is not None:
        not_rehearsed("the operator %s" % found.group(1))
    if _NO_DRIVER.match(str(error)):
        name = getattr(function, "_qualified_op_name", None) or getattr(function, "__name__", None) or function
        not_rehearsed("the operator %s" % name)


def _bytes(size):
    return "%.2f GiB" % (size / 2**30) if size >= 2**30 else "%.2f MiB" % (size / 2**20)


def out_of_memory(ordinal, wanted, total, used):
    fail(torch.cuda.OutOfMemoryError,
         "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free."
         % (_bytes(wanted), ordinal, _bytes(total), _bytes(total - used)), "memory")


def _tensor_type(tensor, ordinal):
    return "torch.%s%sTensor" % ("cuda." if ordinal >= 0 else "", _TYPES.get(tensor.dtype, ""))


def _convolution(items):
    """The types of input, weight and bias are compared before their devices."""
    given = _tensor_type(*items[0])
    for word, item in zip(("weight", "bias"), items[1:]):
        if _tensor_type(*item) != given:
            text = "Input type (%s) and %s type (%s) should be the same" % (given, word, _tensor_type(*item))
            if items[0][1] < 0 and items[0][0].dtype == torch.float32:
                text += " or input should be a MKLDNN tensor and %s is a dense tensor" % word
            fail(RuntimeError, text, "mixed")


def _product(items):
    """The kernel of a matrix product, by the dimensions of its two tensors."""
    dims = [tensor.dim() for tensor, _ in items]
    if dims == [1, 1]:
        return "dot"
    if min(dims) >= 3:
        return "bmm"
    return "mm" if dims[1] == 2 else None  # others are turned round, and the names with them


def _kernel(name, items):
    """The row of _KERNELS of this call, and its tensors in the order of that row."""
    first = items[0][0]
    if name == "linear" and len(items) == 2:
        return "mm", items
    if name in ("matmul", "__matmul__") and len(items) == 2:
        return _product(items), items
    if name in ("embedding", "embedding_bag") and first.is_floating_point():
        return name, [items[1], items[0], *items[2:]]  # that of torch, not that of torch.nn.functional
    if name in ("cross_entropy", "nll_loss", "nll_loss_nd"):
        return "nll_loss" if first.dim() <= 2 else "nll_loss2d", items
    if name == "batch_norm":
        cudnn = items[0][1] >= 0 and first.dim() >= 3 and len(items) == 5
        return "cudnn_batch_norm" if cudnn else "native_batch_norm", items
    return name, items


def _arguments(name, items):
    """The kernel, and its arguments in its order, each with its ordinal; None: its names are not known."""
    row, items = _kernel(name, items)
    kernel, given, *order = _KERNELS.get(row, (None, ""))
    names = given.split()
    if kernel is None or (len(items) > len(names) and kernel != "cat"):
        return None, [("", ordinal) for _, ordinal in items]
    named = [(names[min(i, len(names) - 1)], ordinal) for i, (_, ordinal) in enumerate(items)]
    order = order[0].split() if order else names
    return kernel, sorted(named, key=lambda item: order.index(item[0]))


def mixed(name, items):
    """`items`: the tensors of a call of `name`, each with its ordinal; they differ."""
    if name.startswith("conv") and len(items) > 1:
        _convolution(items)
    if name in _OWN_WORDS:
        text, positions = _OWN_WORDS[name]
        if max(positions, default=0) < len(items):
            fail(RuntimeError, text % tuple(device_name(items[i][1]) for i in positions), "mixed")
    kernel, arguments = _arguments(name, items)
    common = arguments[0][1]
    argument, odd = next((argument, ordinal) for argument, ordinal in arguments if ordinal != common)
    first, other = device_name(common), device_name(odd)
    if kernel is None:
        text = "Expected all tensors to be on the same device, but found at least two devices, %s and %s!"
        fail(RuntimeError, text % (first, other), "mixed")
    if version >= (2, 8):
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
