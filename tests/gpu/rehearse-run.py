# SPDX-License-Identifier: MIT
"""Runs a program and says what PyTorch told it of its GPU, as lines of a name, a tab and a value.

rehearse-run.py PROGRAM [ARGUMENT...]: on a GPU, or under gpumap rehearse. rehearse.awk compares two of these.
"""
import contextlib
import io
import re
import runpy
import sys
import traceback

import torch


def say(*values):
    print(*values, sep="\t")


def describe(ordinal):
    """Of a GPU: what programs decide by."""
    properties = torch.cuda.get_device_properties(ordinal)
    say("gpu", torch.cuda.get_device_name(ordinal))
    say("capability", "%d.%d" % torch.cuda.get_device_capability(ordinal))
    say("processors", properties.multi_processor_count)
    say("bytes", properties.total_memory)
    say("bf16", torch.cuda.is_bf16_supported())


def main(program):
    written = io.StringIO()
    error = None
    try:
        with contextlib.redirect_stdout(written):
            runpy.run_path(program, run_name="__main__")
    except BaseException as raised:
        error = raised
    for line in written.getvalue().splitlines():
        # A GPU has other last digits.
        say("out", re.sub(r"[0-9]+\.[0-9]+(e[-+]?[0-9]+)?", "#", line))
    if error is not None:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == program]
        say("error", type(error).__name__)
        say("words", str(error).split("\n")[0])
        say("line", lines[-1] if lines else "none")
    say("gpus", torch.cuda.device_count())
    describe(0)
    say("peak", torch.cuda.max_memory_allocated(0))


sys.argv = sys.argv[1:]
main(sys.argv[0])
