# SPDX-License-Identifier: MIT
"""What PyTorch says of tensors on several devices."""
import torch
import torch.nn.functional as F

a, b = torch.device("cuda:0"), torch.device("cuda:1")


def say(words, call):
    try:
        call()
        print(words, "raised nothing")
    except RuntimeError as error:
        print(words, str(error).split("\n")[0], sep=": ")


def given(*shape, device=a):
    return torch.ones(*shape, device=device)


index = torch.zeros(2, dtype=torch.int64)
say("matmul", lambda: given(2, 2) @ torch.ones(2, 2))
say("attention by hand", lambda: given(1, 2, 2) @ given(1, 2, 2, device=b))
say("dot", lambda: given(2) @ torch.ones(2))
say("linear", lambda: torch.nn.Linear(2, 2)(given(2, 2)))
say("bias of a convolution", lambda: F.conv1d(given(1, 1, 3), given(1, 1, 1), torch.ones(1)))
say("embedding", lambda: torch.nn.Embedding(2, 2).to(a)(index))
say("gather", lambda: given(2).gather(0, index))
say("2-D loss", lambda: F.cross_entropy(given(1, 2, 2, 2), torch.zeros(1, 2, 2, dtype=torch.int64)))
say("BatchNorm2d", lambda: torch.nn.BatchNorm2d(1)(given(1, 1, 2, 2)))
say("BatchNorm1d", lambda: torch.nn.BatchNorm1d(2)(given(2, 2)))
say("LayerNorm", lambda: torch.nn.LayerNorm(2)(given(2, 2)))
say("stack", lambda: torch.stack([given(2)[0], torch.tensor(1.0)]))
say("add", lambda: given(2) + torch.ones(2))
say("masked_fill", lambda: given(2).masked_fill(index.bool(), 0))
say("attention", lambda: F.scaled_dot_product_attention(given(1, 2, 2), given(1, 2, 2), torch.ones(1, 2, 2)))
say("index", lambda: torch.ones(2)[index.to(a)])
say("values", lambda: given(2).__setitem__(index, torch.ones(2)))
say("tensor_split", lambda: given(2).tensor_split(index.to(a)))
say("gradient", lambda: setattr(given(2), "grad", torch.ones(2)))
say("gradient of another GPU", lambda: setattr(given(2), "grad", given(2, device=b)))
