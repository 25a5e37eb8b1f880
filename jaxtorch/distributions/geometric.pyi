# Made by scripts/make_stub.py; do not edit.
from ._discrete.geometric import Geometric as Geometric
