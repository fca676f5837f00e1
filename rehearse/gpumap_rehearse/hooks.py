# SPDX-License-Identifier: MIT
"""What of PyTorch is replaced or relied on: one table, and the only way to reach it.

A name that is public in PyTorch's manual needs no entry of its own reason; one with an underscore may go
with any version, so its row says what it is for.
"""
import sys

import torch.utils._device  # noqa: F401  in the table, and not imported by torch itself

# The versions with which tests/rehearse was run.
TRIED = ("2.3", "2.6", "2.10", "2.15")

# What has no name in PyTorch's manual: name, what it is for.
PRIVATE = {
    "torch._C.DisableTorchFunction": "code of the rehearsal that must not see itself",
    "torch._C.TensorBase": "the methods of a tensor beneath those that are replaced",
    "torch._C._nn._parse_to": "the arguments of Tensor.to",
    "torch._C._broadcast": "DataParallel",
    "torch._C._broadcast_coalesced": "DataParallel",
    "torch._C._scatter": "DataParallel",
    "torch._C._gather": "DataParallel",
    "torch._cudnn_rnn_flatten_weight": "RNN modules flatten their weights on a GPU",
    "torch._pack_padded_sequence": "its lengths stay on the CPU",
    "torch.autograd._engine_run_backward": "hooks and Function.backward run inside of it",
    "torch.autograd.graph._engine_run_backward": "hooks and Function.backward run inside of it",
    "torch.cuda._lazy_init": "where CUDA starts",
    "torch.cuda._exchange_device": "with torch.cuda.device()",
    "torch.cuda._maybe_exchange_device": "with torch.cuda.device()",
    "torch.cuda._is_in_bad_fork": "CUDA after fork()",
    "torch.cuda._sleep": "kernels of tests",
    "torch.cuda._compile_kernel": "kernels of the program",
    "torch._C._cuda_jiterator_compile_and_launch_kernel": "kernels of the program",
    "torch.utils.cpp_extension._jit_compile": "extensions of the program",
    "torch._ops._Ops.load_library": "extensions of packages",
    "torch._C._dispatch_get_all_op_names": "operators of extensions",
    "torch._C._dispatch_has_kernel_for_dispatch_key": "operators of extensions",
    "torch.cuda.nvtx._nvtx": "marks for a profiler",
    "torch.cuda.memory._record_memory_history": "what the allocator did",
    "torch.cuda.memory._snapshot": "what the allocator did",
    "torch.cuda.memory._dump_snapshot": "what the allocator did",
    "torch._C._len_torch_function_stack": "whether the mode is on",
    "torch._C._functorch.is_functorch_wrapped_tensor": "tensors of torch.func",
    "torch._C._functorch.get_unwrapped": "tensors of torch.func",
    "torch._C._to_dlpack": "tensors for other libraries",
    "torch._C._to_dlpack_versioned": "tensors for other libraries",
    "torch.Tensor.__dlpack_c_exchange_api__": "tensors for other libraries",
    "torch.utils._device._device_constructors": "with torch.device()",
    "torch._C._EnableTorchFunction": "operators of torch.library.custom_op",
    "torch._library.custom_ops.OPDEFS": "operators of torch.library.custom_op",
    "torch._library.custom_ops.CustomOpDef.register_kernel": "operators of torch.library.custom_op",
    "torch.utils._python_dispatch.TorchDispatchMode": "tags of operations below Python",
    "torch._C._DisableTorchDispatch": "code of the rehearsal that must not see itself",
    "torch.distributed.distributed_c10d._resolve_process_group": "functional collectives",
    "torch.distributed.distributed_c10d._get_default_store": "which GPU each rank has",
    "torch.distributed.distributed_c10d._get_object_coll_device": "collectives of objects",
    "torch.distributed.distributed_c10d._get_pg_default_device": "collectives of objects",
    "torch._C._get_accelerator": "what torch.accelerator is",
    "threading.Thread._bootstrap_inner": "modes are entered in each thread",
}

# Not in every version that was tried.
OPTIONAL = {
    "torch._C._get_accelerator",
    "torch._C._to_dlpack_versioned",
    "torch._library.custom_ops.OPDEFS",
    "torch._library.custom_ops.CustomOpDef.register_kernel",
    "torch.Tensor.__dlpack_c_exchange_api__",
    "torch.cuda._exchange_device",
    "torch.cuda._maybe_exchange_device",
    "torch.cuda._sleep",
    "torch.cuda._compile_kernel",
    "torch._C._cuda_jiterator_compile_and_launch_kernel",
    "torch.utils.cpp_extension._jit_compile",  # when the program imports it
    "torch.distributed.distributed_c10d._get_object_coll_device",
    "torch.distributed.distributed_c10d._get_pg_default_device",
    "torch.autograd._engine_run_backward",
    "torch.autograd.graph._engine_run_backward",
}


class Missing(ImportError):
    """This PyTorch lacks a name that a rehearsal needs."""


def _place(name):
    """The object that has the attribute, and the attribute's name."""
    parts = name.split(".")
    depth = len(parts) - 1
    while ".".join(parts[:depth]) not in sys.modules:
        depth -= 1
    owner = sys.modules[".".join(parts[:depth])]
    for part in parts[depth:-1]:
        owner = getattr(owner, part, None)
    return owner, parts[-1]


def get(name):
    """What `name` is in PyTorch. Raises Missing, or returns None if it is optional."""
    owner, last = _place(name)
    found = getattr(owner, last, None)
    if found is None and name not in OPTIONAL:
        raise Missing(name)
    return found


def replace(name, new):
    """Puts `new` in the place of `name`, and returns what was there (None: it was not there)."""
    if any(part.startswith("_") and not part.startswith("__") for part in name.split(".")[1:]):
        assert name in PRIVATE or name.startswith("torch._C."), name
    old = get(name)
    if old is not None:
        owner, last = _place(name)
        setattr(owner, last, new)
    return old


def check():
    """Raises Missing with the first name of PRIVATE that is not there."""
    for name in PRIVATE:
        get(name)


def was_tried(version):
    return ".".join(version.split("+")[0].split(".")[:2]) in TRIED
