# SPDX-License-Identifier: MIT
"""What needs a real GPU, in try; and what runs, and shows nothing of one. refused.py"""
import _json
import ctypes
import importlib.util
import os

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils import cpp_extension

x = torch.ones(4, device="cuda:1")


def attempt(words, call):
    try:
        print(words, call(), sep=": ")
    except (ImportError, NotImplementedError) as error:
        print(words, type(error).__name__, error, sep=": ")


def only_of_gpus():
    query = torch.ones(1, 1, 1, 8, device="cuda:1")
    return torch.ops.aten._flash_attention_forward(query, query, query, None, None, 1, 1, 0.0, False, False)


def profiled():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        x + x
    return any(event.key == "aten::add" for event in seen.key_averages())


def compiled_for_cuda():
    """A copy of an extension of Python's own, with the name of a library of CUDA in it."""
    os.mkdir("compiled")
    with open(_json.__file__, "rb") as source, open("compiled/_json.so", "wb") as copy:
        copy.write(source.read() + b"\0libcudart.so.12\0")
    spec = importlib.util.spec_from_file_location("compiled._json", "compiled/_json.so")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return "loaded"


def library_for_cuda():
    """What is loaded from that file are operators that are defined here."""
    library = torch.library.Library("mine", "DEF")

    def load(file):
        for name, key in {"anywhere": "CompositeImplicitAutograd", "there": "CPU",
                          "unused": "CompositeImplicitAutograd"}.items():
            library.define(name + "(Tensor a) -> Tensor")
            library.impl(name, lambda a: a + 1, key)

    ctypes.CDLL, raw = load, ctypes.CDLL
    try:
        torch.ops.load_library(os.path.abspath("compiled/_json.so"))
    finally:
        ctypes.CDLL = raw
    return torch.ops.mine.anywhere(x).device, torch.ops.mine.there(x).device, torch.ops.mine.anywhere.default(x).device


attempt("CUDAGraph", torch.cuda.CUDAGraph)
attempt("graph", lambda: torch.cuda.graph(None))
attempt("make_graphed_callables", lambda: torch.cuda.make_graphed_callables(torch.nn.Linear(4, 4).cuda(), (x,)))
attempt("memory_snapshot", torch.cuda.memory_snapshot)
attempt("_record_memory_history", torch.cuda.memory._record_memory_history)
attempt("ExternalStream", lambda: torch.cuda.ExternalStream(0))
attempt("current_blas_handle", torch.cuda.current_blas_handle)
attempt("jiterator", lambda: torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T a) { return a; }")(x))
attempt("an operator", only_of_gpus)
attempt("load", lambda: cpp_extension.load("mine", ["mine.cpp", "mine.cu"]))
attempt("load with CUDA", lambda: cpp_extension.load(name="mine", sources="mine.cpp", with_cuda=True))
attempt("load_inline", lambda: cpp_extension.load_inline("mine", "int f();", "__global__ void k() {}", ["f"]))
linear = torch.nn.Linear(4, 4)
attempt("export", lambda: torch.export.export(linear.cuda(1), (x,)))
attempt("export of an input", lambda: torch.export.export(torch.nn.ReLU(), (), {"input": x}))
attempt("export from the CPU", lambda: torch.export.export(linear.cpu(), (x.cpu(),)).module()(x.cpu()).device)
attempt("compile", lambda: torch.compile(torch.nn.ReLU())(x).device)
attempt("profile", profiled)
attempt("an extension", compiled_for_cuda)
attempt("a library", lambda: {str(device) for device in library_for_cuda()})
