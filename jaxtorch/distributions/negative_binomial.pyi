# Made by scripts/make_stub.py; do not edit.
from ._discrete.negative_binomial import NegativeBinomial as NegativeBinomial
