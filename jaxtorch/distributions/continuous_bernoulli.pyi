# Made by scripts/make_stub.py; do not edit.
from ._continuous.continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
