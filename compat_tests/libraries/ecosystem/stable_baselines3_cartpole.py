"""stable-baselines3: PPO, A2C and DQN on CartPole, SAC on a pendulum; saved and loaded."""

import os
import tempfile

import torch
from stable_baselines3 import A2C, DQN, PPO, SAC

torch.manual_seed(0)
small = dict(policy_kwargs=dict(net_arch=[16]), seed=0, device="cpu")
made = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, n_epochs=2, **small).learn(64)
print(sum(p.abs().sum().item() for p in made.policy.parameters()))
path = os.path.join(tempfile.mkdtemp(), "ppo")
made.save(path)
obs = made.get_env().reset()
print((PPO.load(path).predict(obs, deterministic=True)[0] == made.predict(obs, deterministic=True)[0]).all())
for kind, env, extra in (
    (A2C, "CartPole-v1", {}),
    (DQN, "CartPole-v1", dict(learning_starts=20, batch_size=8)),
    (SAC, "Pendulum-v1", dict(learning_starts=20, batch_size=8)),
):
    made = kind("MlpPolicy", env, **extra, **small).learn(30)
    print(kind.__name__, sum(p.abs().sum().item() for p in made.policy.parameters()))
