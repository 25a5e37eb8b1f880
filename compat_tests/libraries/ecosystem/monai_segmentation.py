"""MONAI: transforms, losses, metrics, a U-Net in two and three dimensions, sliding windows."""

import numpy as np
import torch
from monai.data import DataLoader, Dataset, decollate_batch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss, TverskyLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric
from monai.networks.nets import BasicUNet, UNet, ViT
from monai.transforms import (
    AsDiscrete,
    Compose,
    EnsureChannelFirstd,
    RandFlipd,
    RandGaussianNoised,
    RandRotate90d,
    Resize,
    ScaleIntensityd,
    Spacing,
)
from monai.utils import set_determinism

set_determinism(0)
random = np.random.default_rng(0)
items = []
for _ in range(6):
    image = random.normal(size=(16, 16)).astype(np.float32)
    label = (np.hypot(*(np.mgrid[:16, :16] - 8)) < random.integers(3, 7)).astype(np.float32)
    items.append({"image": image + label, "label": label})
prepare = Compose(
    [
        EnsureChannelFirstd(["image", "label"], channel_dim="no_channel"),
        ScaleIntensityd("image"),
        RandFlipd(["image", "label"], prob=0.5, spatial_axis=0),
        RandRotate90d(["image", "label"], prob=0.5),
        RandGaussianNoised("image", prob=0.5, std=0.05),
    ]
)
prepare.set_random_state(0)
loader = DataLoader(Dataset(items, prepare), batch_size=3, shuffle=False, num_workers=0)
torch.manual_seed(0)
# no biases before batch normalisation: their gradients are zero but for rounding, which Adam magnifies
net = UNet(
    spatial_dims=2,
    in_channels=1,
    out_channels=2,
    channels=(8, 16, 32),
    strides=(2, 2),
    num_res_units=1,
    norm="batch",
    bias=False,
)
criterion = DiceCELoss(to_onehot_y=True, softmax=True)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for batch in loader:
        out = net(batch["image"])
        loss = criterion(out, batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
net.eval()
metric = DiceMetric(include_background=False, reduction="mean")
haus = HausdorffDistanceMetric(include_background=False)
post, post_label = AsDiscrete(argmax=True, to_onehot=2), AsDiscrete(to_onehot=2)
with torch.no_grad():
    for batch in DataLoader(
        Dataset(
            items,
            Compose([EnsureChannelFirstd(["image", "label"], channel_dim="no_channel"), ScaleIntensityd("image")]),
        ),
        batch_size=2,
    ):
        out = sliding_window_inference(batch["image"], (8, 8), 2, net, overlap=0.25)
        print(type(out).__name__, out.sum().item())
        metric([post(o) for o in decollate_batch(out)], [post_label(t) for t in decollate_batch(batch["label"])])
print(metric.aggregate().item())
x, y = torch.randn(2, 2, 8, 8), torch.randint(2, (2, 1, 8, 8))
for criterion in (
    DiceLoss(to_onehot_y=True, sigmoid=True),
    FocalLoss(to_onehot_y=True),
    TverskyLoss(to_onehot_y=True, softmax=True),
):
    print(type(criterion).__name__, criterion(x, y).item())
torch.manual_seed(0)
v = torch.randn(1, 1, 32, 32, 32)
print(BasicUNet(spatial_dims=3, features=(4, 4, 8, 8, 8, 4)).eval()(v).sum().item())
print(
    ViT(
        in_channels=1,
        img_size=(32, 32, 32),
        patch_size=(16, 16, 16),
        hidden_size=24,
        mlp_dim=48,
        num_layers=2,
        num_heads=2,
        classification=True,
    )
    .eval()(v)[0]
    .tolist()
)
print(
    Resize((8, 8))(torch.arange(256.0).reshape(1, 16, 16)).sum().item(),
    Spacing(pixdim=(2, 2))(torch.arange(256.0).reshape(1, 16, 16)).shape,
)
