"""einops: rearrange, reduce, repeat, einsum, pack and its layers, trained for ten steps."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
x = torch.randn(4, 3, 8, 8)
patches = rearrange(x, "b c (h p) (w q) -> b (h w) (c p q)", p=2, q=2)
print(tuple(patches.shape), patches.sum().item())
print(reduce(x, "b c (h 2) (w 2) -> b c h w", "max").sum().item(), reduce(x, "b c h w -> c", "mean").tolist())
print(repeat(x[:, 0], "b h w -> b (h k) w 2", k=3).shape, einsum(x, x, "b c h w, b d h w -> c d").tolist())
packed, shapes = pack([x, x[:, :, 0]], "b c *")
print(tuple(packed.shape), [tuple(s) for s in shapes], unpack(packed, shapes, "b c *")[1].sum().item())
print(rearrange([x[0], x[1]], "n c h w -> c n h w").shape)

model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.ReLU(),
    Rearrange("b c h w -> b (h w) c"),
    EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=8, d=12),
    nn.GELU(),
    Reduce("b t d -> b d", "mean"),
    nn.Linear(12, 5),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
target = torch.randint(5, (4,))
for _ in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
    print(loss.item())
