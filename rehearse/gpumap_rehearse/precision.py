# SPDX-License-Identifier: MIT
"""torch.autocast("cuda") is that of the CPU."""
import torch
from torch.amp import autocast_mode

from . import record


def install():
    raw_init = autocast_mode.autocast.__init__

    def init(self, device_type, *args, **kwargs):
        raw_init(self, device_type, *args, **kwargs)
        if self.device == "cuda":
            self.device = "cpu"
            if self._enabled:
                record.say("not_rehearsed", "which operations autocast changes: those of the CPU were taken")

    autocast_mode.autocast.__init__ = init
    raw_enabled = torch.is_autocast_enabled
    try:
        raw_enabled("cpu")
        torch.is_autocast_enabled = lambda device_type="cuda": raw_enabled("cpu")
    except TypeError:  # before PyTorch 2.4
        torch.is_autocast_enabled = lambda device_type="cuda": torch.is_autocast_cpu_enabled()
