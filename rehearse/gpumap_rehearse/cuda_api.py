# SPDX-License-Identifier: MIT
"""torch.cuda and torch.accelerator."""
import functools
import operator
import time
import types

import torch

from . import devices, errors, hooks, record, tags
from .tags import without_modes

# The compute capability and the multiprocessors of a model, whose name has this word. From NVIDIA's list
# "CUDA GPU compute capability" and its data sheets.
_MODELS = (
    ("B200", (10, 0), 148), ("H200", (9, 0), 132), ("H100", (9, 0), 132), ("H800", (9, 0), 132), ("L40", (8, 9), 142),
    ("L4", (8, 9), 58), ("4090", (8, 9), 128), ("A40", (8, 6), 84), ("A10", (8, 6), 72), ("3090", (8, 6), 82),
    ("A100", (8, 0), 108), ("A800", (8, 0), 108), ("A30", (8, 0), 56), ("T4", (7, 5), 40), ("V100", (7, 0), 80),
    ("P100", (6, 0), 56),
)
_UNKNOWN = (8, 0), 100  # said in the report


def _index(device=None):
    if device is None:
        devices.start()
        return devices.current()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device) and device.type != "cuda":
        raise ValueError("Expected a cuda device, but got: %s" % device)
    return devices.ordinal_of(device)


def _on(device=None):
    return devices.visible()[_index(device)]


def _model(gpu):
    for word, capability, processors in sorted(_MODELS, key=lambda row: -len(row[0])):
        if word in gpu.name:
            return capability, processors
    record.say("not_known", "the compute capability of %s, which was taken as %d.%d" % (gpu.name, *_UNKNOWN[0]))
    return _UNKNOWN


class Properties:
    def __init__(self, gpu):
        (self.major, self.minor), self.multi_processor_count = _model(gpu)
        self.name = gpu.name
        self.total_memory = gpu.total
        self.uuid = gpu.uuid
        self.is_integrated = self.is_multi_gpu_board = 0
        self.warp_size = 32
        self.max_threads_per_multi_processor = 2048
        self.regs_per_multiprocessor = 65536
        self.gcnArchName = self.name
        self.L2_cache_size = 40 << 20

    def __repr__(self):
        return "_CudaDeviceProperties(name='%s', major=%d, minor=%d, total_memory=%dMB, multi_processor_count=%d)" % (
            self.name, self.major, self.minor, self.total_memory >> 20, self.multi_processor_count)


def _set_device(device):
    if isinstance(device, int) and device < 0:
        return
    ordinal = _index(device)
    record.count("set_device", ordinal)
    devices.set_current(ordinal)


class device:
    """torch.cuda.device: -1 and None change nothing."""

    def __init__(self, device):
        if device is None or (isinstance(device, int) and device < 0):
            self.idx = -1
        elif isinstance(device, torch.device) and device.type != "cuda":
            self.idx = -1
        else:
            self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self):
        self.prev_idx = devices.current()
        if self.idx >= 0:
            devices.set_current(self.idx)

    def __exit__(self, *error):
        devices.set_current(self.prev_idx)
        return False


class device_of(device):
    def __init__(self, obj):
        super().__init__(obj.get_device() if getattr(obj, "is_cuda", False) else -1)


# --- streams and events order nothing ----------------------------------------------------


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self.time = None
        record.say("not_rehearsed", "the order of streams and events")

    def record(self, stream=None):
        self.time = time.perf_counter()

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def synchronize(self):
        pass

    def elapsed_time(self, end_event):
        return (end_event.time - self.time) * 1e3


class Stream:
    def __init__(self, device=None, priority=0, **kwargs):
        self.device = torch.device("cuda", _index(device))
        self.device_index = self.device.index
        self.device_type = 1
        self.cuda_stream = self.stream_id = 0
        self.priority = priority

    def wait_event(self, event):
        pass

    def wait_stream(self, stream):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def query(self):
        return True

    def synchronize(self):
        pass

    def is_capturing(self):
        return False

    def __enter__(self):
        self.before = devices.current()
        devices.set_current(self.device_index)
        return self

    def __exit__(self, *error):
        devices.set_current(self.before)

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash(self.device)


class StreamContext:
    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.before = devices.current()
        if self.stream is not None:
            devices.set_current(self.stream.device_index)

    def __exit__(self, *error):
        devices.set_current(self.before)


class Graph:
    def __init__(self, *args, **kwargs):
        errors.not_rehearsed("a CUDA graph")


# What has no sense without a GPU, of torch.cuda and the modules that it is from.
_REFUSED = (
    "graph_pool_handle make_graphed_callables MemPool CUDAPluggableAllocator change_current_allocator "
    "caching_allocator_alloc caching_allocator_delete current_blas_handle current_solver_handle ExternalStream "
    "get_stream_from_external GreenContext memory_snapshot memory_stats_as_nested_dict _compile_kernel "
    "memory._record_memory_history memory._snapshot memory._dump_snapshot"
).split()


def _refusing(name):
    """In the place of a function, or of a class, of which there may be others."""
    raw = operator.attrgetter(name)(torch.cuda)

    def refuse(*args, **kwargs):
        errors.not_rehearsed("torch.cuda." + name)

    return type(raw.__name__, (), {"__new__": refuse}) if isinstance(raw, type) else functools.wraps(raw)(refuse)


class _Marks:
    """Those of NVTX, in a PyTorch without CUDA."""

    def __getattr__(self, name):
        return lambda *args: 0


# --- memory ------------------------------------------------------------------------------


def _memory_stats(device=None):
    gpu = _on(device)
    stats = {"num_alloc_retries": 0, "num_ooms": 0}
    for name, current, peak in (("allocated", gpu.used, gpu.peak_since), ("active", gpu.used, gpu.peak_since),
                                ("reserved", gpu.reserved(), gpu.reserved())):
        stats["%s_bytes.all.current" % name], stats["%s_bytes.all.peak" % name] = current, peak
    return stats


def _memory_summary(device=None, abbreviated=False):
    gpu = _on(device)
    return "tensors on GPU %d: %d bytes, %d at most\n" % (gpu.ordinal, gpu.used, gpu.peak_since)


def _exchange(ordinal):
    before = devices.current()
    if ordinal >= 0:
        devices.set_current(ordinal)
        return before
    return -1


def _cuda_functions():
    def bf16(including_emulation=True):
        return including_emulation or _model(_on())[0][0] >= 8

    return {
        "is_available": lambda: devices.count() > 0,
        "device_count": devices.count,
        "_lazy_init": devices.start,
        "init": devices.start,
        "is_initialized": devices.has_started,
        "_is_in_bad_fork": devices.is_forked,
        "current_device": _index,
        "set_device": _set_device,
        "device": device,
        "device_of": device_of,
        "_exchange_device": _exchange,
        "_maybe_exchange_device": _exchange,
        "get_device_name": lambda device=None: _on(device).name,
        "get_device_capability": lambda device=None: _model(_on(device))[0],
        "get_device_properties": lambda device=None: Properties(_on(device)),
        "can_device_access_peer": lambda device, peer_device: True,
        "get_arch_list": lambda: sorted({"sm_%d%d" % row[1] for row in _MODELS}),
        "is_bf16_supported": bf16,
        "is_tf32_supported": lambda: _model(_on())[0][0] >= 8,
        "synchronize": lambda device=None: _index(device) and None,
        "Stream": Stream,
        "Event": Event,
        "StreamContext": StreamContext,
        "stream": StreamContext,
        "current_stream": Stream,
        "default_stream": Stream,
        "set_stream": lambda stream: None,
        "memory_allocated": lambda device=None: _on(device).used,
        "max_memory_allocated": lambda device=None: _on(device).peak_since,
        "memory_reserved": lambda device=None: _on(device).reserved(),
        "max_memory_reserved": lambda device=None: _on(device).reserved(),
        "reset_peak_memory_stats": lambda device=None: _on(device).reset_peak(),
        "reset_max_memory_allocated": lambda device=None: _on(device).reset_peak(),
        "mem_get_info": lambda device=None: (_on(device).total - _on(device).used, _on(device).total),
        "memory_stats": _memory_stats,
        "memory_summary": _memory_summary,
        "reset_accumulated_memory_stats": lambda device=None: None,
        "set_per_process_memory_fraction": lambda fraction, device=None: None,
        "get_per_process_memory_fraction": lambda device=None: 1.0,
        "empty_cache": lambda: None,
        "ipc_collect": lambda: None,
        "utilization": lambda device=None: 0,
        # Numbers are drawn on the CPU, whose generator torch.manual_seed seeds.
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "seed": lambda: None,
        "seed_all": lambda: None,
        "initial_seed": torch.initial_seed,
        "get_rng_state": lambda device="cuda": torch.get_rng_state(),
        "set_rng_state": lambda new_state, device="cuda": None,
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in devices.visible()],
        "set_rng_state_all": lambda new_states: None,
        "_sleep": lambda cycles: None,
        "CUDAGraph": Graph,
        "graph": Graph,
        "is_current_stream_capturing": lambda: False,
    }


def _install_cuda():
    functions = _cuda_functions()
    functions.update({name: _refusing(name) for name in _REFUSED if "." in name or hasattr(torch.cuda, name)})
    for name, new in functions.items():
        if "." in name or hasattr(torch.cuda, name) or name in ("_lazy_init", "_is_in_bad_fork"):
            hooks.replace("torch.cuda." + name, new)
        # They are also in the modules that they come from.
        for module in "memory", "streams", "random", "graphs":
            owner = getattr(torch.cuda, module, None)
            if isinstance(owner, types.ModuleType) and hasattr(owner, name):
                setattr(owner, name, new)
    try:  # PyTorch before 2.5 wants them to be these
        from torch._streambase import _EventBase, _StreamBase

        _StreamBase.register(Stream)
        _EventBase.register(Event)
    except (ImportError, AttributeError):
        pass
    return functions


def _install_types():
    """torch.cuda.FloatTensor and the like."""
    for word in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split():
        base = getattr(torch, word + "Tensor", None)
        if base is None:
            continue

        def new(cls, *args, _base=base, **kwargs):
            with without_modes():
                made = _base(*args, **kwargs)
            return made.cuda()

        kind = type(word + "Tensor", (), {"__new__": new, "__module__": "torch.cuda",
                                          "dtype": getattr(base, "dtype", None)})
        setattr(torch.cuda, word + "Tensor", kind)


def _install_accelerator(functions):
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is None:
        return
    cuda = torch.device("cuda")
    for name, new in {
        "is_available": functions["is_available"],
        "device_count": devices.count,
        "current_accelerator": lambda check_available=False: cuda,
        "current_device_index": _index,
        "current_device_idx": _index,
        "set_device_index": _set_device,
        "set_device_idx": _set_device,
        "device_index": device,
        "current_stream": Stream,
        "set_stream": lambda stream: None,
        "synchronize": functions["synchronize"],
        "memory_allocated": functions["memory_allocated"],
        "max_memory_allocated": functions["max_memory_allocated"],
        "memory_reserved": functions["memory_reserved"],
        "max_memory_reserved": functions["max_memory_reserved"],
        "reset_peak_memory_stats": functions["reset_peak_memory_stats"],
        "empty_cache": functions["empty_cache"],
    }.items():
        if hasattr(accelerator, name):
            setattr(accelerator, name, new)
    hooks.replace("torch._C._get_accelerator", lambda check=None: cuda)


def install():
    functions = _install_cuda()
    _install_types()
    _install_accelerator(functions)
    import torch.cuda.nccl
    import torch.cuda.profiler

    torch.cuda.profiler.start = torch.cuda.profiler.stop = lambda: None
    if torch.version.cuda is None:
        hooks.replace("torch.cuda.nvtx._nvtx", _Marks())
    name = "torch._C._cuda_jiterator_compile_and_launch_kernel"
    hooks.replace(name, lambda *args: errors.not_rehearsed("a kernel of torch.cuda.jiterator"))
    torch.cuda.nccl.is_available = lambda tensors: False
    torch.backends.cudnn.is_acceptable = lambda tensor: False
    torch.backends.cudnn.is_available = lambda: True
    torch.backends.cudnn.version = lambda: 90100
    if torch.version.cuda is None:
        record.say("not_rehearsed", "PyTorch has no CUDA: torch.version.cuda was taken as 12.4")
        torch.version.cuda = "12.4"
