# Made by scripts/make_stub.py; do not edit.
from ._multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal as LowRankMultivariateNormal
