# SPDX-License-Identifier: MIT
"""What needs a real GPU: refused by its name, on the line of the program; and what runs without showing one.

Nothing here imports PyTorch, since a program may import the others before it.
"""
import functools
import importlib.abc
import importlib.machinery
import inspect
import mmap
import os

from . import record

_LEAVE_OUT = 'leave it out if "GPUMAP_REHEARSE" in os.environ'


def refuse(what, fix=_LEAVE_OUT, kind=NotImplementedError):
    """Raises an error that names it."""
    record.say("not_rehearsed", what)
    record.fail(kind, "gpumap rehearse: %s is not rehearsed: it needs a real GPU" % what, "not-rehearsed", fix)


class Absent(importlib.abc.Loader):
    """Of a package that is found, so that a program can look for it, and cannot be imported."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        record.start()
        # With its name, Python would take it for a member that its package lacks.
        refuse(self._name, "catch ImportError, or " + _LEAVE_OUT, ModuleNotFoundError)


# --- Triton ------------------------------------------------------------------------------


class _TritonDriver:
    """Knows which GPU is current, which kernels are defined with. It has no GPU to run or to measure one."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        refuse("Triton's driver (%s)" % name)

    def get_current_device(self):
        import torch

        return torch.cuda.current_device()

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", self.get_current_device())

    def get_current_target(self):
        import torch
        from triton.backends.compiler import GPUTarget

        major, minor = torch.cuda.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_benchmarker(self):
        def measure(kernel_call, *, quantiles=(0.5,), **kwargs):
            record.say("not_rehearsed", "the autotuner of Triton: a kernel had its first configuration")
            return [0.0 for _ in quantiles]

        return measure


def _take_driver(module):
    """The driver is made when it is first asked for: by an object of which each version has another."""
    driver = module.driver
    if "_default" in vars(driver):
        driver._default = _TritonDriver()
    elif "default" in vars(driver):
        driver.default._obj = _TritonDriver()
    elif "_obj" in vars(driver):  # before Triton 3
        driver._obj = _TritonDriver()


def _take_kernels(module):
    """Where Triton runs a kernel; not where it interprets one."""

    def run(self, *args, **kwargs):
        import triton

        fix = "set TRITON_INTERPRET=1, which runs it on the CPU"
        if tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 3):  # not one that is tuned
            fix = _LEAVE_OUT
        refuse("the Triton kernel %s" % self.fn.__name__, fix)

    module.JITFunction.run = run


# --- extensions --------------------------------------------------------------------------


def _take_builds(module):
    """torch.utils.cpp_extension.load and load_inline. What has no part for CUDA is built."""
    from . import hooks

    name = "torch.utils.cpp_extension._jit_compile"
    raw = hooks.get(name)
    signature = inspect.signature(raw)

    @functools.wraps(raw)
    def build(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        if given.get("with_cuda") or any(str(source).endswith((".cu", ".cuh")) for source in given["sources"]):
            refuse("the CUDA extension %s" % given["name"])
        return raw(*args, **kwargs)

    hooks.replace(name, build)


_CUDA = b"libcudart.so", b"libc10_cuda.so", b"libcuda.so"  # what a library for CUDA loads, or has as a text
_SAW_CPU = "%s, compiled for CUDA: it saw tensors on the CPU"
doubtful = {}  # operator: the library for CUDA that it is from, and nothing says what it does on the CPU


def _is_for_cuda(file):
    try:
        with open(file, "rb") as library, mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(name) >= 0 for name in _CUDA)
    except (OSError, ValueError):
        return False


def _watch_extensions():
    """Nobody sees the calls of an extension's functions. PyTorch's own extensions know where they are."""
    loader = importlib.machinery.ExtensionFileLoader
    raw_exec = loader.exec_module

    def exec_module(self, module):
        raw_exec(self, module)
        if module.__name__.partition(".")[0] not in ("torch", "triton") and _is_for_cuda(self.path):
            record.say("not_rehearsed", _SAW_CPU % module.__name__)

    loader.exec_module = exec_module


def _watch_libraries():
    """torch.ops.load_library. An operator with a kernel for the CPU is rehearsed; one with a kernel for GPUs alone
    cannot run; one that is the same for all devices may do either."""
    from . import hooks

    name = "torch._ops._Ops.load_library"
    raw = hooks.get(name)
    operators = hooks.get("torch._C._dispatch_get_all_op_names")
    has_kernel = hooks.get("torch._C._dispatch_has_kernel_for_dispatch_key")

    def load_library(self, path):
        before = set(operators())
        raw(self, path)
        if _is_for_cuda(path):
            short = os.sep.join(os.path.abspath(path).split(os.sep)[-2:])
            doubtful.update({operator.partition(".")[0]: short for operator in operators()
                             if operator not in before and not has_kernel(operator, "CPU")})

    hooks.replace(name, load_library)


def was_called(function):
    """A call with tensors of a GPU that returned, while there are doubtful operators."""
    name = getattr(function, "_qualified_op_name", None) or getattr(getattr(function, "_schema", None), "name", None)
    if name in doubtful:
        record.say("not_rehearsed", _SAW_CPU % ("the operator %s of %s" % (name, doubtful[name])))


# --- what traces without computing -------------------------------------------------------


def _refuse_exports():
    """Its tensors without memory ask the driver of their GPU, and C++ aborts. Strict mode traces what is replaced."""
    import torch

    from . import errors, hooks, tags

    def wrap(raw):
        @functools.wraps(raw)
        def export(*args, **kwargs):
            tensors = []
            for value in torch.utils._pytree.tree_flatten((args, kwargs))[0]:
                if isinstance(value, torch.nn.Module):
                    tensors += [*value.parameters(), *value.buffers()]
                elif isinstance(value, torch.Tensor):
                    tensors.append(value)
            with tags.without_modes():
                if any(tags.ordinal_of(tensor) >= 0 for tensor in tensors):
                    refuse("torch.export of a GPU", "export it from the CPU")
            if kwargs.get("strict") and errors.version >= (2, 7):
                refuse("torch.export with strict=True", "write strict=False")
            return raw(*args, **kwargs)

        return export

    for name in "export", "export_for_training", "draft_export":
        if hasattr(torch.export, name):
            hooks.replace("torch.export." + name, wrap(getattr(torch.export, name)))


# --- what runs as it is, and shows nothing of a GPU --------------------------------------


def _watch_compile():
    from . import hooks

    raw = hooks.get("torch.compile")

    @functools.wraps(raw)
    def compile(*args, **kwargs):
        record.say("not_rehearsed", "torch.compile, which changed nothing")
        return raw(*args, **kwargs)

    hooks.replace("torch.compile", compile)


def _watch_profiles():
    """C++ would write a page to standard error for each operation that it cannot find on a GPU."""
    from torch.autograd.profiler import profile

    raw = profile.__init__

    @functools.wraps(raw)
    def init(self, *args, **kwargs):
        if kwargs.get("use_device") == "cuda" or kwargs.get("use_cuda"):
            record.say("not_rehearsed", "profiles of GPUs: the profiler saw the CPU")
            kwargs.pop("use_cuda", None)
            kwargs.update(use_device=None, use_cpu=True)
        raw(self, *args, **kwargs)

    profile.__init__ = init


def install():
    _watch_extensions()
    _watch_libraries()
    _refuse_exports()
    _watch_compile()
    _watch_profiles()


# What is done to a module when the program imports it.
AFTER = {
    "triton.runtime.driver": _take_driver,
    "triton.runtime.jit": _take_kernels,
    "torch.utils.cpp_extension": _take_builds,
}
