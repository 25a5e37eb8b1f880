"""timm: six kinds of models at their smallest, trained with its optimizers, losses, schedule, mixup, and moving average."""

import timm
import torch
from timm.data import Mixup, create_transform, resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, accuracy

MODELS = {
    "resnet18": dict(channels=(8, 16, 16, 32), stem_width=8),
    "vit_tiny_patch16_224": dict(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=4),
    "convnext_atto": dict(depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)),
    "test_efficientnet": dict(),
    "swin_tiny_patch4_window7_224": dict(
        img_size=32, patch_size=2, window_size=4, embed_dim=16, depths=(2, 2), num_heads=(2, 4)
    ),
    "mixer_s16_224": dict(img_size=32),
}
OPTIMIZERS = ("adamw", "lamb", "lion", "sgd", "adabelief", "rmsproptf")

for (name, settings), kind in zip(MODELS.items(), OPTIMIZERS):
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=4, **settings)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    x, y = torch.randn(8, 3, 32, 32), torch.randint(4, (8,))
    optimizer = create_optimizer_v2(model, opt=kind, lr=1e-3, weight_decay=0.05)
    schedule = CosineLRScheduler(optimizer, t_initial=3, lr_min=1e-5, warmup_t=1, warmup_lr_init=1e-4)
    ema = ModelEmaV3(model, decay=0.9)
    criterion = LabelSmoothingCrossEntropy(0.1)
    model.eval()  # batch normalisation over a few pixels is unstable: rounding decides the second step
    for step in range(3):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        ema.update(model)
        schedule.step(step + 1)
        print(name, kind, optimizer.param_groups[0]["lr"], loss.item())
    with torch.no_grad():
        print(name, ema.module.eval()(x).mean().item(), [p.item() for p in accuracy(model(x), y, topk=(1, 2))])
        print(name, tuple(model.forward_features(x).shape), sum(p.numel() for p in model.parameters()))

torch.manual_seed(0)
features = timm.create_model("resnet18", features_only=True, channels=(8, 16, 16, 32), stem_width=8).eval()
print([tuple(f.shape) for f in features(torch.randn(1, 3, 64, 64))])
config = resolve_data_config({}, model=model)
print(config["input_size"], config["mean"], create_transform(**config).transforms[-1])
import numpy

numpy.random.seed(0)
mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=4)
for _ in range(2):
    mixed, target = mixup(x.clone(), y)
    print(mixed.mean().item(), target.sum(0).tolist(), SoftTargetCrossEntropy()(model(mixed), target).item())
