# Made by scripts/make_stub.py; do not edit.
from ._multivariate.logistic_normal import LogisticNormal as LogisticNormal
