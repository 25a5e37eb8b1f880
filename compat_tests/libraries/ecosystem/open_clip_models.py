"""open_clip: a small CLIP and a small CoCa; contrastive loss, training, zero-shot probabilities, transforms."""

import numpy as np
import open_clip
import torch
from open_clip import ClipLoss
from open_clip.transform import image_transform
from PIL import Image

torch.manual_seed(0)
vision = dict(image_size=32, layers=2, width=64, patch_size=8, head_width=32)
text = dict(context_length=16, vocab_size=500, width=32, heads=2, layers=2)
for kind, extra in ((open_clip.CLIP, {}), (open_clip.CLIP, {"quick_gelu": True})):
    torch.manual_seed(0)
    model = kind(embed_dim=24, vision_cfg=vision, text_cfg=text, **extra)
    images, tokens = torch.randn(4, 3, 32, 32), torch.randint(1, 499, (4, 16))
    tokens[:, -1] = 499
    criterion = ClipLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.2)
    for _ in range(5):
        found = model(images, tokens)
        loss = criterion(*found)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, 4.6052)
        print(kind.__name__, loss.item(), found[2].item())
    model.eval()
    with torch.no_grad():
        a, b = model.encode_image(images, normalize=True), model.encode_text(tokens, normalize=True)
        print((100 * a @ b.T).softmax(-1).tolist())
torch.manual_seed(0)
resnet = open_clip.CLIP(
    embed_dim=24, vision_cfg=dict(image_size=32, layers=(1, 1, 1, 1), width=8, head_width=16), text_cfg=text
).eval()
print(resnet.encode_image(images).sum().item())
coca = open_clip.CoCa(
    embed_dim=32,
    multimodal_cfg=dict(width=32, heads=2, layers=2, context_length=16, vocab_size=500),
    text_cfg=dict(text, embed_cls=True, output_tokens=True, context_length=15),
    vision_cfg=dict(vision, attentional_pool=True, output_tokens=True, attn_pooler_heads=4),
).eval()
out = coca(images, tokens[:, :15])
print({k: (tuple(v.shape), round(v.sum().item(), 3)) for k, v in out.items()})
preprocess = image_transform(32, is_train=False)
picture = Image.fromarray((np.arange(48 * 40 * 3) % 251).astype(np.uint8).reshape(48, 40, 3))
print(preprocess(picture).shape, preprocess(picture).mean().item())
print(open_clip.get_tokenizer("ViT-B-32")(["a photo of a cat"])[0, :8].tolist())
