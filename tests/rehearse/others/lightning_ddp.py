# SPDX-License-Identifier: MIT
"""lightning's Trainer on two devices, which starts the second rank itself. lightning_ddp.py cpu|cuda"""
import sys

import lightning
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))

    def training_step(self, batch, index):
        loss = cross_entropy(self.layers(batch[0]), batch[1])
        self.log("loss", loss, sync_dist=True, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("validated", cross_entropy(self.layers(batch[0]), batch[1]), sync_dist=True)

    def on_train_epoch_end(self):
        self.print("epoch %d loss %.9g" % (self.current_epoch, self.trainer.callback_metrics["loss"]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


if __name__ == "__main__":
    torch.set_num_threads(1)
    lightning.seed_everything(0)
    generator = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(64, 8, generator=generator), torch.randint(0, 4, (64,), generator=generator))
    trainer = lightning.Trainer(accelerator="cpu" if "cpu" in sys.argv else "gpu", devices=2, strategy="ddp",
                                max_epochs=3, logger=False, enable_progress_bar=False, enable_model_summary=False)
    model = Model()
    trainer.fit(model, DataLoader(data, 8, shuffle=True, num_workers=1), DataLoader(data, 8, num_workers=1))
    if trainer.is_global_zero:
        best = Model.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
        print("best on %s" % best.device, flush=True)
    sys.stdout.write("rank %d on %s, loss %.9g\n" % (trainer.global_rank, trainer.strategy.root_device,
                                                     trainer.callback_metrics["validated"]))
    sys.stdout.flush()
