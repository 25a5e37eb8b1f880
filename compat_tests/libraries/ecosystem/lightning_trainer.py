"""Lightning: a module with validation, a schedule and clipping, under the Trainer."""

import logging
import warnings

import lightning as L
import torch

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
        self.losses = []

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.net(x), y), prog_bar=True)

    def configure_optimizers(self):
        o = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return {"optimizer": o, "lr_scheduler": torch.optim.lr_scheduler.StepLR(o, 1, 0.5)}


L.seed_everything(0)
x = torch.randn(64, 8)
y = torch.randint(0, 3, (64,))
ds = TensorDataset(x, y)
m = Lit()
t = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    gradient_clip_val=0.5,
)
t.fit(m, DataLoader(ds, batch_size=16, shuffle=True), DataLoader(ds, batch_size=32))
for n in range(3):
    print(m.losses[n])
print({k: round(float(v), 5) for k, v in t.callback_metrics.items()})
