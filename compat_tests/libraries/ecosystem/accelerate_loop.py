"""accelerate: a prepared model, loader and schedule; accumulation, clipping, gathering and saved state."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
data = TensorDataset(torch.randn(32, 6), torch.randint(3, (32,)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
loader = DataLoader(data, batch_size=8, shuffle=True)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for _ in range(2):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
                print(norm.item())
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        print(accelerator.gather_for_metrics(loss).mean().item(), schedule.get_last_lr())
folder = tempfile.mkdtemp()
accelerator.save_state(folder)
before = [p.detach().clone() for p in model.parameters()]
with torch.no_grad():
    for p in model.parameters():
        p.zero_()
accelerator.load_state(folder)
print(all(torch.equal(a, b) for a, b in zip(before, model.parameters())))
print(type(accelerator.unwrap_model(model)).__name__, accelerator.device, accelerator.num_processes)
print({k: tuple(v.shape) for k, v in accelerator.get_state_dict(model).items()})
