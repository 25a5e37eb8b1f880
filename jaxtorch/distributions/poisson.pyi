# Made by scripts/make_stub.py; do not edit.
from ._discrete.poisson import Poisson as Poisson
