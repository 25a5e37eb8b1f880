# Made by scripts/make_stub.py; do not edit.
from ._discrete.multinomial import Multinomial as Multinomial
