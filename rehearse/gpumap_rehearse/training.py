# SPDX-License-Identifier: MIT
"""What a training loop does that no error shows: the sampler's order, parameters without gradients, steps."""
import os
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from . import record

_limit = int(os.environ.get("GPUMAP_REHEARSE_STEPS", "0"))
_steps = weakref.WeakKeyDictionary()  # optimizer: its steps
_most = 0
_modules = []  # weak references to those in DistributedDataParallel


class Enough(SystemExit):
    """Ends the program gently: --steps of an optimizer were done."""


def _after_step(optimizer, args, kwargs):
    global _most
    _steps[optimizer] = done = _steps.get(optimizer, 0) + 1
    if done > _most:
        _most = done
        if done == 1:
            _find_unused()
        record.changed()
    if done == _limit:
        raise Enough(0)


def _find_unused():
    """The first backward of a wrapped module has run: which of its parameters had no part in it."""
    for reference in _modules:
        module = reference()
        if module is None:
            continue
        unused = [name for name, parameter in module.named_parameters()
                  if parameter.requires_grad and parameter.grad is None]
        if unused:
            record.set_fact("unused", unused)


def _watch_modules():
    from torch.nn.parallel import distributed

    parallel = distributed.DistributedDataParallel
    raw_init = parallel.__init__

    def init(self, module, *args, **kwargs):
        raw_init(self, module, *args, **kwargs)
        _modules.append(weakref.ref(module))

    parallel.__init__ = init


def _watch_sampler():
    from torch.utils.data.distributed import DistributedSampler

    raw_iter = DistributedSampler.__iter__
    orders = weakref.WeakKeyDictionary()

    def iterate(self):
        if self.shuffle:
            last = orders.get(self)
            orders[self] = self.epoch
            if last == self.epoch:
                record.say("same_order", {"epoch": self.epoch, "place": record.place()})
        return raw_iter(self)

    DistributedSampler.__iter__ = iterate


def install():
    register_optimizer_step_post_hook(_after_step)
    _watch_modules()
    _watch_sampler()
    record.add_source("steps", lambda: _most)
