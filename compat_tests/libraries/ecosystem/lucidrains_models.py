"""vit-pytorch, x-transformers, rotary-embedding-torch, ema-pytorch, lion-pytorch: small models trained for a few steps."""

import torch
from ema_pytorch import EMA
from lion_pytorch import Lion
from rotary_embedding_torch import RotaryEmbedding
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper


def train(name, model, inputs, optimizer=None, steps=3):
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=1e-3)
    ema = EMA(model, beta=0.9, update_after_step=0, update_every=1)
    for _ in range(steps):
        out = model(inputs)
        loss = out if out.ndim == 0 else torch.nn.functional.cross_entropy(out, torch.tensor([1, 3]))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update()
        print(name, loss.item())
    out = ema(inputs)
    print(name, out.mean().item())


torch.manual_seed(0)
images = torch.randn(2, 3, 32, 32)
settings = dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=32)
train("vit", ViT(**settings), images)
model = SimpleViT(**settings)
train("simple", model, images, Lion(model.parameters(), lr=1e-4, weight_decay=1e-2))
train("cait", CaiT(cls_depth=1, **settings).eval(), images)
ids = torch.randint(0, 32, (2, 17))
gpt = TransformerWrapper(
    num_tokens=32, max_seq_len=32,
    attn_layers=Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True),
)  # fmt: skip
wrapped = AutoregressiveWrapper(gpt)
train("gpt", wrapped, ids)
print(wrapped.generate(ids[:, :4], 6, temperature=0.0).tolist())
bert = TransformerWrapper(num_tokens=32, max_seq_len=32, attn_layers=Encoder(dim=32, depth=1, heads=2, attn_flash=True))
print(bert(ids, mask=ids > 3).sum().item())
rotary = RotaryEmbedding(dim=8)
q = torch.randn(1, 2, 6, 16)
print(rotary.rotate_queries_or_keys(q).sum().item(), rotary.rotate_queries_or_keys(q)[0, 1, 5].tolist())
