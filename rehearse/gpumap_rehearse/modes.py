# SPDX-License-Identifier: MIT
"""The two modes: one in Python gives calls the semantics of CUDA, one below carries tags through what they do."""
import threading

import torch
from torch.overrides import TorchFunctionMode

from . import devices, errors, hooks, moves, record, tags
from .devices import CPU
from .tags import WILD, without_modes

_Tensor = torch.Tensor
_cpu = torch.device("cpu")

# Calls that say nothing of a device, and pass: names of methods and of attributes.
_METHODS = (
    "untyped_storage size dim numel element_size stride is_contiguous data_ptr storage_offset ndimension nelement "
    "is_complex is_floating_point register_hook item tolist __len__ __bool__ __float__ __int__ __index__ __format__ "
    "__repr__ __hash__ __reduce_ex__ _typed_storage is_set_to"
).split()
_ATTRIBUTES = (
    "requires_grad grad_fn is_leaf shape dtype layout is_sparse is_meta ndim names _version is_quantized is_mkldnn "
    "_base output_nr is_nested retains_grad itemsize nbytes"
).split()

# Calls that take tensors of several devices.
_MIXING = frozenset(
    "__getitem__ __setitem__ copy_ index_put_ index_put set_ tensor as_tensor type_as new_tensor "
    "_pack_padded_sequence pack_padded_sequence pad_packed_sequence __set__ is_same_size "
    "_has_compatible_shallow_copy_type new_zeros new_ones new_empty new_full allclose result_type "
    "_use_cudnn_ctc_loss ctc_loss backward grad split_with_sizes tensor_split repeat_interleave _cudnn_rnn "
    "requires_grad_ retain_grad register_hook __get__ can_cast".split()
)
_MIXING_STARTS = ("_foreach", "_fused", "_amp")
_RNN = ("lstm", "gru", "rnn_tanh", "rnn_relu", "_pad_packed_sequence")


def _may_differ(name, tensor, ordinal, common):
    """Whether this argument of a call on GPU `common` may be where it is."""
    if ordinal == common or (ordinal < 0 and (tensor.dim() == 0 or tags.is_wild(tensor))):
        return True
    if ordinal >= 0:
        return False
    # An empty tensor is ignored by cat; the sizes of a packed batch stay on the CPU.
    return (name == "cat" and tensor.numel() == 0) or (name in _RNN and not tensor.is_floating_point())


def _check(name, items, common):
    if name in _MIXING or name.startswith(_MIXING_STARTS):
        return
    for tensor, ordinal in items:
        if not _may_differ(name, tensor, ordinal, common):
            errors.mixed(name, items)


def _target(name, items, common, explicit):
    """Where the result is; None: nothing says it."""
    if explicit is not None:
        return explicit
    if items and name in ("set_", "__set__"):
        return None
    if items and name in _MIXING:
        return items[0][1] if items[0][1] >= 0 else None
    return common


def _finish(name, result, items, target, explicit):
    """Tags what a call returned."""
    with without_modes():
        if target is not None and target >= 0:
            if name in ("tensor", "as_tensor", "asarray") and items and items[0][1] != target:
                return moves.move(result, target)
            tags.put_all(result, target)
            if explicit is not None and isinstance(result, _Tensor):
                record.count("create", target, result.numel() * result.element_size())
        elif explicit == CPU and isinstance(result, _Tensor) and tags.ordinal_of(result) >= 0:
            return moves.move(result, CPU)
    return result


def _call(function, args, kwargs):
    name = getattr(function, "__name__", "")
    explicit = None
    if kwargs:
        if kwargs.get("device") is not None:
            explicit = devices.ordinal_of(kwargs["device"])
            if explicit is None:  # meta, and other types
                return function(*args, **kwargs)
            kwargs = dict(kwargs, device="cpu")
        if kwargs.get("pin_memory"):
            kwargs = dict(kwargs, pin_memory=False)
    with without_modes():
        items = [(tensor, tags.ordinal_of(tensor)) for tensor in tags.tensors_in(args, kwargs)]
        common = next((ordinal for _, ordinal in items if ordinal >= 0), None)
        if common is not None:
            _check(name, items, common)
    target = _target(name, items, common, explicit)
    try:
        with tags.calling(CPU if target is None else target):
            result = function(*args, **kwargs) if kwargs else function(*args)
    except RuntimeError as error:
        if target is not None and target >= 0:
            errors.no_host_memory(error, devices.visible()[target])
        raise
    return _finish(name, result, items, target, explicit)


# --- functions with rules of their own --------------------------------------------------


def _set_gradient(function, args, kwargs):
    with without_modes():
        tensor, gradient = args
        if gradient is not None and not tags.is_wild(gradient):
            here, there = tags.ordinal_of(tensor), tags.ordinal_of(gradient)
            if here != there:
                text = ("attempting to assign a gradient with device type '%s' to a tensor with device type '%s'. "
                        "Please ensure that the gradient and the tensor are on the same device")
                errors.fail(RuntimeError, text % tuple("cpu" if o < 0 else "cuda" for o in (there, here)), "mixed")
    return function(*args, **kwargs)


def _get_gradient(function, args, kwargs):
    gradient = function(*args)
    with without_modes():
        if gradient is not None and not gradient.is_sparse:
            ordinal = tags.ordinal_of(args[0])
            if ordinal != tags.ordinal_of(gradient):
                tags.clear(gradient)
                tags.put(gradient, ordinal, True)
    return gradient


def _pack(function, args, kwargs):
    with without_modes():
        lengths = tags.ordinal_of(args[1])
        if lengths >= 0:
            text = "'lengths' argument should be a 1D CPU int64 tensor, but got 1D %s Long tensor"
            errors.fail(RuntimeError, text % errors.device_name(lengths), "mixed")
        ordinal = tags.ordinal_of(args[0])
    with tags.calling(ordinal):
        data, sizes = function(*args, **kwargs)
    with without_modes():
        tags.clear(sizes)
        return tags.put(data, ordinal) if ordinal >= 0 else data, sizes


def _index(function, args, kwargs):
    with without_modes():
        ordinal = tags.ordinal_of(args[0])
        for index in args[1] if isinstance(args[1], (tuple, list)) else (args[1],):
            if isinstance(index, _Tensor) and tags.ordinal_of(index) not in (CPU, ordinal):
                text = "indices should be either on cpu or on the same device as the indexed tensor (%s)"
                errors.fail(RuntimeError, text % errors.device_name(ordinal), "mixed")
    return _call(function, args, kwargs)


_own_rules = {
    _Tensor.grad.__set__: _set_gradient,
    _Tensor.grad.__get__: _get_gradient,
    _Tensor.__getitem__: _index,
    hooks.get("torch._pack_padded_sequence"): _pack,
    hooks.get("torch._cudnn_rnn_flatten_weight"): lambda function, args, kwargs: None,
}
_passing = {getattr(_Tensor, name) for name in _METHODS if hasattr(_Tensor, name)}
_passing |= {getattr(_Tensor, name).__get__ for name in _ATTRIBUTES if hasattr(_Tensor, name)}


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in _passing:
            return function(*args, **kwargs) if kwargs else function(*args)
        return _own_rules.get(function, _call)(function, args, kwargs or {})


class DispatchMode(hooks.get("torch.utils._python_dispatch.TorchDispatchMode")):
    """An operation's result is where its first tensor on a GPU is, or where the call says."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        with without_modes():
            kwargs = kwargs or {}
            target = None
            device = kwargs.get("device")
            if device is not None and device.type == "cuda":
                target = devices.ordinal_of(device)
                kwargs = dict(kwargs, device=_cpu)
            if kwargs.get("pin_memory"):
                kwargs = dict(kwargs, pin_memory=False)
            result = function(*args, **kwargs)
            if target is None:
                target = self.place_of(args, kwargs)
            if target >= 0 or target == WILD:
                tags.put_all(result, target)
            return result

    @staticmethod
    def place_of(args, kwargs):
        target = None
        for tensor in tags.tensors_in(args, kwargs):
            tag = tags.tag_of(tensor)
            if tag is None:
                target = CPU if target is None else target
            elif tag.ordinal >= 0:
                return tag.ordinal
            else:
                target = WILD
        if target is None:  # made from nothing
            target = tags.called()
        return WILD if target is None else target


_function_mode = FunctionMode()
_dispatch_mode = DispatchMode()


def enter():
    """In each thread, for its whole life."""
    _dispatch_mode.__enter__()
    _function_mode.__enter__()


def _in_backward(name):
    """Hooks and Function.backward run inside of the engine, where modes are off."""
    raw = hooks.get(name)
    if raw is None:
        return

    def run(*args, **kwargs):
        if torch._C._len_torch_function_stack() > 0:
            return raw(*args, **kwargs)
        with _function_mode:
            return raw(*args, **kwargs)

    hooks.replace(name, run)


def install():
    _in_backward("torch.autograd._engine_run_backward")
    _in_backward("torch.autograd.graph._engine_run_backward")
    bootstrap = hooks.get("threading.Thread._bootstrap_inner")

    def begin(self):
        enter()
        bootstrap(self)

    threading.Thread._bootstrap_inner = begin
    enter()
