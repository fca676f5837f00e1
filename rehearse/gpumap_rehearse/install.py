# SPDX-License-Identifier: MIT
"""Installs the rehearsal in a PyTorch that was just imported."""
import os
import sys


def _warn(text):
    if os.environ.get("LOCAL_RANK", "0") == "0":
        sys.stderr.write("gpumap: warning: %s\n" % text)


def install(torch):
    from . import hooks, record

    record.set_fact("torch", torch.__version__)
    if not hooks.was_tried(torch.__version__):
        _warn("rehearse was tried with PyTorch %s, and this is %s" % (", ".join(hooks.TRIED), torch.__version__))
    try:
        hooks.check()
    except hooks.Missing as missing:
        sys.stderr.write("gpumap: error: PyTorch %s has no %s, which a rehearsal needs\n" % (torch.__version__, missing))
        raise SystemExit(125) from None
    from . import (batch_norm, checkpoint, cuda_api, data_parallel, distributed, modes, precision, refused,
                   tensor_device, training)

    for part in (cuda_api, tensor_device, checkpoint, precision, data_parallel, distributed, batch_norm, training,
                 modes, refused):
        part.install()
    record.start()
