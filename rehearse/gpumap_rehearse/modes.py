# SPDX-License-Identifier: MIT
"""The two modes: one in Python gives calls the semantics of CUDA, one below carries tags through what they do."""
import functools
import os
import sys
import threading
import warnings

import torch
from torch.overrides import TorchFunctionMode

from . import devices, errors, hooks, moves, record, refused, tags
from .devices import CPU
from .tags import WILD, without_modes

_Tensor = torch.Tensor
_cpu = torch.device("cpu")
_devices_of_torch = torch.utils._device
_constructors = hooks.get("torch.utils._device._device_constructors")

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

# Calls that take tensors of several devices. The result is where the first is.
_MIXING = frozenset(
    "__getitem__ __setitem__ copy_ index_put_ index_put _index_put_impl_ set_ tensor as_tensor asarray type_as "
    "new_tensor expand_as view_as reshape_as resize_as_ broadcast_tensors _pack_padded_sequence pack_padded_sequence "
    "pad_packed_sequence __set__ is_same_size _has_compatible_shallow_copy_type new_zeros new_ones new_empty new_full "
    "result_type _use_cudnn_ctc_loss backward grad split_with_sizes _cudnn_rnn requires_grad_ retain_grad "
    "register_hook __get__ can_cast".split()
)
_MIXING_STARTS = ("_foreach", "_fused", "_amp")
_RNN = ("lstm", "gru", "rnn_tanh", "rnn_relu", "_pad_packed_sequence")
# Those whose results are where each of their tensors is.
_APART = ("set_", "__set__", "broadcast_tensors")
# Those that do not take a tensor of the CPU without dimensions as a number.
_STRICT = frozenset(
    "stack cat concat concatenate hstack vstack dstack row_stack column_stack index_select gather take embedding "
    "cross_entropy nll_loss nll_loss_nd quantile nanquantile".split()
)


def _may_differ(name, tensor, ordinal, common):
    """Whether this argument of a call on GPU `common` may be where it is, which is not there."""
    if ordinal >= 0:
        return False
    if tags.is_wild(tensor) or (tensor.dim() == 0 and name not in _STRICT):
        return True
    # An empty tensor is ignored by cat; the sizes of a packed batch stay on the CPU.
    return (name == "cat" and tensor.numel() == 0) or (name in _RNN and not tensor.is_floating_point())


def _check(name, items, common):
    for tensor, ordinal in items:
        if ordinal != common and not _may_differ(name, tensor, ordinal, common):
            if name in _MIXING or name.startswith(_MIXING_STARTS):
                return
            errors.mixed(name, items)


def _target(name, items, common, explicit):
    """Where the result is; None: nothing says it."""
    if explicit is not None:
        return explicit
    if items and name in _APART:
        return None
    if items and name in _MIXING:
        return items[0][1] if items[0][1] >= 0 else None
    return common


def _finish(name, result, items, target, explicit):
    """Tags what a call returned."""
    if target is None and explicit is None:
        return result
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


def call(function, args, kwargs):
    name = getattr(function, "__name__", "")
    explicit = None
    default = _devices_of_torch.CURRENT_DEVICE  # of torch.set_default_device(), which adds it too late
    if default is not None and (not kwargs or kwargs.get("device") is None) and function in _constructors():
        kwargs = dict(kwargs, device=default)
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
        common = None
        for _, ordinal in items:
            if ordinal >= 0:
                common = ordinal
                _check(name, items, common)
                break
    target = _target(name, items, common, explicit)
    try:
        with tags.calling(CPU if target is None else target):
            result = function(*args, **kwargs) if kwargs else function(*args)
    except RuntimeError as error:
        if target is not None and target >= 0:
            errors.no_host_memory(error, devices.visible()[target])
        if common is not None:
            errors.no_kernel(function, error)
        raise
    if refused.doubtful and common is not None:
        refused.was_called(function)
    return _finish(name, result, items, target, explicit)


# --- functions with rules of their own --------------------------------------------------


def _set_gradient(function, args, kwargs):
    with without_modes():
        tensor, gradient = args
        if gradient is not None and not tags.is_wild(gradient):
            here, there = tags.ordinal_of(tensor), tags.ordinal_of(gradient)
            if here != there:
                errors.other_gradient(here, there)
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


def _check_indices(tensor, indices):
    """Whether they select with tensors. These may be on the CPU."""
    ordinal = tags.ordinal_of(tensor)
    selecting = isinstance(indices, list)
    for index in indices if isinstance(indices, (tuple, list)) else (indices,):
        if isinstance(index, _Tensor):
            selecting |= index.dim() > 0 or index.dtype == torch.bool
            if tags.ordinal_of(index) not in (CPU, ordinal) and not tags.is_wild(tensor):
                text = "indices should be either on cpu or on the same device as the indexed tensor (%s)"
                errors.fail(RuntimeError, text % errors.device_name(ordinal), "mixed")
        else:
            selecting |= isinstance(index, list)
    return selecting


def _index(function, args, kwargs):
    with without_modes():
        _check_indices(args[0], args[1])
    return call(function, args, kwargs)


def _put_at_index(function, args, kwargs):
    """A slice takes a copy from any device, tensors as indices only one number."""
    with without_modes():
        tensor, indices = args[0], args[1] if len(args) > 1 else kwargs["indices"]
        value = args[2] if len(args) > 2 else kwargs["values"]
        if _check_indices(tensor, indices) and isinstance(value, _Tensor) and not tags.is_wild(value):
            items = [(each, tags.ordinal_of(each)) for each in (tensor, value)]
            number = value.dim() == 0 or (value.numel() == 1 and _is_mask(indices))
            if items[0][1] != items[1][1] and not tags.is_wild(tensor) and not (number and items[1][1] == CPU):
                errors.mixed("index_put_", items)
    return call(function, args, kwargs)


def _is_mask(indices):
    first = indices[0] if isinstance(indices, (tuple, list)) and len(indices) == 1 else indices
    return isinstance(first, _Tensor) and first.dtype in (torch.bool, torch.uint8)


def _split(function, args, kwargs):
    with without_modes():
        where = args[1] if len(args) > 1 else kwargs.get("tensor_indices_or_sections")
        if isinstance(where, _Tensor) and tags.ordinal_of(where) >= 0:
            text = "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on %s"
            errors.fail(RuntimeError, text % errors.device_name(tags.ordinal_of(where)), "mixed")
        ordinal = tags.ordinal_of(args[0])
    with tags.calling(ordinal):
        return function(*args, **kwargs)


def _ctc(function, args, kwargs):
    """The lengths may be anywhere."""
    with without_modes():
        names = "log_probs", "targets", "input_lengths", "target_lengths"
        given = dict(zip(names, args), **kwargs)
        items = [(given[name], tags.ordinal_of(given[name])) for name in names[:2]]
        common = max(ordinal for _, ordinal in items)
        # cuDNN wants the targets on the CPU.
        if items[0][1] != items[1][1] and not (common == items[0][1] and items[1][0].dtype == torch.int32):
            _check("ctc_loss", items, common)
    with tags.calling(common):
        result = function(*args, **kwargs)
    return _finish("ctc_loss", result, items, common, None)


own_rules = {
    _Tensor.grad.__set__: _set_gradient,
    _Tensor.grad.__get__: _get_gradient,
    _Tensor.__getitem__: _index,
    _Tensor.__setitem__: _put_at_index,
    _Tensor.index_put: _put_at_index,
    _Tensor.index_put_: _put_at_index,
    torch.index_put: _put_at_index,
    torch.index_put_: _put_at_index,
    _Tensor.tensor_split: _split,
    torch.tensor_split: _split,
    torch.ctc_loss: _ctc,
    torch.nn.functional.ctc_loss: _ctc,
    hooks.get("torch._pack_padded_sequence"): _pack,
    hooks.get("torch._cudnn_rnn_flatten_weight"): lambda function, args, kwargs: None,
}
_passing = {getattr(_Tensor, name) for name in _METHODS if hasattr(_Tensor, name)}
_passing |= {getattr(_Tensor, name).__get__ for name in _ATTRIBUTES if hasattr(_Tensor, name)}


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in _passing:
            return function(*args, **kwargs) if kwargs else function(*args)
        return own_rules.get(function, call)(function, args, kwargs or {})


class DispatchMode(hooks.get("torch.utils._python_dispatch.TorchDispatchMode")):
    """An operation's result is where its first tensor on a GPU is, or where the call says."""

    def dispatch(self, function, types, args=(), kwargs=None):
        with without_modes():
            target = None
            if kwargs:
                device = kwargs.get("device")
                if device is not None and device.type == "cuda":
                    target = devices.ordinal_of(device)
                    kwargs = dict(kwargs, device=_cpu)
                if kwargs.get("pin_memory"):
                    kwargs = dict(kwargs, pin_memory=False)
                result = function(*args, **kwargs)
            else:
                result = function(*args)
            if target is None:
                target = self.place_of(args, kwargs)
            if target >= 0 or target == WILD:
                self.put_made(result, target, args)
            return result

    @staticmethod
    def put_made(result, target, args):
        """What the operation wrote to stays where it is."""
        for tensor in (result,) if isinstance(result, _Tensor) else tags.tensors_in((result,), None):
            for each in args:
                if each is tensor:
                    if tags.is_wild(tensor):
                        tags.put(tensor, target)
                    break
            else:
                tags.put(tensor, target)

    @staticmethod
    def place_of(args, kwargs):
        if args and isinstance(args[0], _Tensor):  # mostly that is all
            tag = tags.tag_of(args[0])
            if tag is not None and tag.ordinal >= 0:
                return tag.ordinal
        target = None
        for tensor in tags.tensors_in(args, kwargs):
            tag = tags.tag_of(tensor)
            if tag is not None and tag.ordinal >= 0:
                return tag.ordinal
            if tag is not None and tag.ordinal == WILD:
                target = WILD
            elif target is None:
                target = CPU
        if target is None:  # made from nothing
            target = tags.called()
        return WILD if target is None else target


# Not in the class: PyTorch 2.15 would wrap it there, and import torch._dynamo at the first operation.
DispatchMode.__torch_dispatch__ = DispatchMode.dispatch
_function_mode = FunctionMode()
_dispatch_mode = DispatchMode()


def enter():
    """In each thread."""
    _dispatch_mode.__enter__()
    _function_mode.__enter__()


def leave():
    """A thread that keeps them until its end would free them without Python, which may have ended as well: an abort."""
    _function_mode.__exit__(None, None, None)
    _dispatch_mode.__exit__(None, None, None)


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


class _Seen(TorchFunctionMode):
    """Whether a call reaches a mode."""

    seen = False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen = True
        return function(*args, **(kwargs or {}))


def _when_indexed(name):
    """An older PyTorch indexes without asking the mode."""
    raw = getattr(_Tensor, name)

    @functools.wraps(raw)
    def method(*args):
        if torch._C._is_torch_function_mode_enabled():
            return own_rules[raw](raw, args, {})
        return raw(*args)

    own_rules[method] = own_rules[raw]
    hooks.replace("torch.Tensor." + name, method)


def _with_modes(function):
    """An operator of torch.library.custom_op, whose code would run below the modes."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        with hooks.get("torch._C._EnableTorchFunction")(), _dispatch_mode, _function_mode:
            return function(*args, **kwargs)

    return run


def _in_custom_operators():
    known = hooks.get("torch._library.custom_ops.OPDEFS")
    if known is None:
        return

    def wrap(operator, types):
        # Around what PyTorch made of them, which imports torch._dynamo at the first call: 2.6 cannot where modes are off.
        functions = operator._backend_fns
        functions.update({device: _with_modes(functions[device]) for device in types})

    for operator in known.values():
        wrap(operator, list(operator._backend_fns))
    name = "torch._library.custom_ops.CustomOpDef.register_kernel"
    raw = hooks.get(name)

    def register_kernel(self, device_types, fn=None, /):
        def register(later):
            raw(self, device_types)(later)
            wrap(self, [device_types] if device_types is None or isinstance(device_types, str) else device_types)
            return later

        return register if fn is None else register(fn)

    hooks.replace(name, register_kernel)


def _while_modes_are_off(name):
    """Code of PyTorch that runs below a call calls it without the mode, and C++ would want the GPU."""
    raw = hooks.get(name)

    @functools.wraps(raw)
    def make(*args, **kwargs):
        if torch._C._len_torch_function_stack() > 0:
            return raw(*args, **kwargs)
        return call(raw, args, kwargs)

    hooks.replace(name, make)


_BETWEEN = (os.path.dirname(__file__) + os.sep, torch.overrides.__file__, torch._ops.__file__)


def _caller():
    """The frame that called what a mode has called again: its own line, without that of the mode."""
    frame, seen = sys._getframe(2), set()
    while frame and not frame.f_code.co_filename.startswith(_BETWEEN):
        seen.add(frame.f_code)
        frame = frame.f_back
    while frame and (frame.f_code.co_filename.startswith(_BETWEEN) or frame.f_code in seen):
        frame = frame.f_back
    return frame


def _place_warnings():
    """A warning that would name a mode names its caller, once for each line."""
    raw = warnings._showwarnmsg

    def show(message):
        frame = _caller() if message.filename.startswith(_BETWEEN) else None
        if frame is None:
            return raw(message)
        for module in sys.modules[__name__], torch.overrides, torch._ops:
            getattr(module, "__warningregistry__", {}).clear()
        warnings.onceregistry.pop((str(message.message), message.category), None)
        return warnings.warn_explicit(
            message.message, message.category, frame.f_code.co_filename, frame.f_lineno,
            frame.f_globals.get("__name__"), frame.f_globals.setdefault("__warningregistry__", {}),
            source=message.source)

    warnings._showwarnmsg = show


def install():
    _place_warnings()
    _constructors()  # they are looked for once, and are the functions below those that are replaced
    for name in "torch.tensor", "torch.as_tensor", "torch.asarray":
        _while_modes_are_off(name)
    _in_backward("torch.autograd._engine_run_backward")
    _in_backward("torch.autograd.graph._engine_run_backward")
    _in_custom_operators()
    tensor = torch.zeros(1)
    with _Seen() as mode:
        tensor[0]
    if not mode.seen:
        _when_indexed("__getitem__")
        _when_indexed("__setitem__")
    bootstrap = hooks.get("threading.Thread._bootstrap_inner")

    def begin(self):
        enter()
        try:
            bootstrap(self)
        finally:
            leave()

    threading.Thread._bootstrap_inner = begin
    enter()
