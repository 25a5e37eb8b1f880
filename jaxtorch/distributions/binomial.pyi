# Made by scripts/make_stub.py; do not edit.
from ._discrete.binomial import Binomial as Binomial
