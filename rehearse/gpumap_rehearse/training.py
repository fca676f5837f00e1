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
_gradients = weakref.WeakKeyDictionary()  # DistributedDataParallel: _Gradients


class Enough(SystemExit):
    """Ends the program gently: --steps of an optimizer were done."""


def _after_step(optimizer, args, kwargs):
    global _most
    _steps[optimizer] = done = _steps.get(optimizer, 0) + 1
    if done > _most:
        _most = done
        record.changed()
        if done == 1:
            _judge_gradients()
    if done == _limit:
        raise Enough(0)


class _Gradients:
    """Which parameters of a wrapped module had a part in its first backward.

    DistributedDataParallel waits for the gradients of all, unless it looks for those that have none.
    """

    def __init__(self, module):
        self.names = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
        self.seen = set()
        self.hooks = [parameter.register_post_accumulate_grad_hook(self._hook(name))
                      for name, parameter in module.named_parameters() if parameter.requires_grad]

    def _hook(self, name):
        return lambda parameter: self.seen.add(name)

    def judge(self):
        """After a backward; before that, nothing is known."""
        if not self.hooks or not self.seen:
            return
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        for name in self.names:
            if name not in self.seen:
                record.say("unused", name)


def _judge_gradients():
    for gradients in list(_gradients.values()):
        gradients.judge()


def _watch_modules():
    from torch.nn.parallel import distributed

    parallel = distributed.DistributedDataParallel
    raw_init, raw_forward = parallel.__init__, parallel.forward

    def init(self, module, *args, **kwargs):
        raw_init(self, module, *args, **kwargs)
        if not self.find_unused_parameters:
            _gradients[self] = _Gradients(module)

    def forward(self, *args, **kwargs):
        gradients = _gradients.get(self)
        if gradients is not None:
            gradients.judge()
        return raw_forward(self, *args, **kwargs)

    parallel.__init__, parallel.forward = init, forward


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
