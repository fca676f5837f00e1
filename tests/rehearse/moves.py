# SPDX-License-Identifier: MIT
"""Where tensors are after copies and moves, and how they leave PyTorch."""
import threading

import torch

gpu = torch.ones(4, 4, device="cuda:1")
host = torch.zeros(4)


def say(words, *values):
    print(words, *[value.device if isinstance(value, torch.Tensor) else value for value in values], sep=": ")


def refused(words, call):
    try:
        say(words, call())
    except (NotImplementedError, RuntimeError) as error:
        say(words, "%s: %s" % (type(error).__name__, error))


host.copy_(gpu[0])
say("copied to the host", host)
host[0] = gpu[0, 0]
say("set on the host", host)
model = torch.nn.Linear(4, 4)
model.load_state_dict({name: tensor.cuda() for name, tensor in model.state_dict().items()})
say("loaded on the host", model.weight)
refused("a view of what came back", lambda: gpu @ gpu.cpu().mT)
gpu[:] = torch.zeros(4)
say("a slice", gpu)
gpu[torch.tensor([0])] = torch.tensor(1.0)
say("a number at an index", gpu)
say("the shape of another", host.expand_as(gpu), host.view_as(gpu[0]))
say("broadcast", *torch.broadcast_tensors(host, gpu))
say("sparse", gpu.to_sparse(), gpu.to_sparse().cpu(), gpu.to_sparse().values(), gpu.to_sparse().to_dense())
say("unravel_index", *torch.unravel_index(torch.tensor(3, device="cuda:1"), (2, 2)))
say("arrays", torch.as_tensor(host, device="cuda:1"), torch.asarray(gpu), torch.tensor(1, device="cuda"))
say("torch.func", torch.func.vmap(lambda row: row + torch.ones(4, device="cuda:1"))(gpu),
    torch.func.grad(lambda row: (row * gpu[0]).sum())(gpu[0]))
refused("a row and the host", lambda: torch.func.vmap(lambda row: row + host)(gpu))
with torch.device("cuda:2"):
    say("with a device", torch.tensor(1), torch.zeros(1), torch.asarray([1]))
torch.set_default_device("cuda:3")
say("by default", torch.tensor(1), torch.zeros(1), torch.asarray([1]), torch.tensor(1, device="cpu"))
torch.set_default_device("cpu")
if hasattr(torch.library, "custom_op"):  # since PyTorch 2.4

    @torch.library.custom_op("gpumap::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x + torch.tensor([1.0], device=x.device) * x

    say("an operator of the program", double(gpu))
for name in "torch.to_dlpack(gpu)", "torch.utils.dlpack.to_dlpack(gpu)", "torch.from_dlpack(gpu)", "gpu.__cuda_array_interface__":
    refused(name, lambda name=name: eval(name))
say("of the host", torch.from_dlpack(host), torch.utils.dlpack.from_dlpack(torch.to_dlpack(host)),
    hasattr(host, "__cuda_array_interface__"))
thread = threading.Thread(target=lambda: say("a thread", gpu.sum()))
thread.start()
thread.join()
