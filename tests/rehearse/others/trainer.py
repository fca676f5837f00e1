# SPDX-License-Identifier: MIT
"""transformers' Trainer on a tiny GPT-2, going on from its checkpoint. trainer.py cpu|cuda"""
import os
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

set_seed(0)
torch.set_num_threads(1)
config = GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
texts = torch.randint(0, 64, (64, 16), generator=torch.Generator().manual_seed(1))
data = [{"input_ids": text, "labels": text} for text in texts]


class Say(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and "loss" in logs:
            print("step %d loss %r" % (state.global_step, logs["loss"]), flush=True)


def train(steps, checkpoint=None):
    arguments = TrainingArguments(
        output_dir="trainer", max_steps=steps, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        learning_rate=1e-2, logging_steps=1, save_steps=3, eval_strategy="steps", eval_steps=3, report_to=[],
        disable_tqdm=True, dataloader_num_workers=1, use_cpu="cpu" in sys.argv, seed=3)
    trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=data, eval_dataset=data[:16], callbacks=[Say()])
    trainer.train(resume_from_checkpoint=checkpoint)
    # In one piece, between those of other ranks.
    sys.stdout.write("%d steps on %s, loss %r\n" % (steps, trainer.model.device, trainer.evaluate()["eval_loss"]))
    sys.stdout.flush()


train(3)
train(6, os.path.join("trainer", "checkpoint-3"))
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
