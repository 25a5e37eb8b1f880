"""diffusers: a small U-Net trained to predict noise, sampled by DDPM and DDIM, and a small autoencoder."""

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DConditionModel, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=16,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
schedule = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x = torch.rand(4, 1, 16, 16) * 2 - 1
for _ in range(4):
    noise, t = torch.randn_like(x), torch.randint(0, 50, (4,))
    loss = torch.nn.functional.mse_loss(model(schedule.add_noise(x, noise, t), t).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
model.eval()
for kind in (DDPMScheduler, DDIMScheduler):
    sampler = kind(num_train_timesteps=50)
    sampler.set_timesteps(5)
    generator = torch.Generator().manual_seed(1)
    sample = torch.randn(2, 1, 16, 16, generator=generator)
    with torch.no_grad():
        for t in sampler.timesteps:
            sample = sampler.step(model(sample, t).sample, t, sample, generator=generator).prev_sample
    print(kind.__name__, sample.mean().item(), sample.std().item())
torch.manual_seed(0)
conditional = UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=16, attention_head_dim=4,
)  # fmt: skip
out = conditional(torch.randn(1, 4, 8, 8), 3, torch.randn(1, 5, 16)).sample
print(tuple(out.shape), out.std().item())
coder = AutoencoderKL(block_out_channels=(8, 16), norm_num_groups=4, latent_channels=2,
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)  # fmt: skip
x = torch.randn(1, 3, 16, 16)
latent = coder.encode(x).latent_dist
print(latent.kl().item(), coder.decode(latent.mode()).sample.std().item())
