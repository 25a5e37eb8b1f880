# Made by scripts/make_stub.py; do not edit.
from ._multivariate.multivariate_normal import MultivariateNormal as MultivariateNormal
