# Made by scripts/make_stub.py; do not edit.
from ._discrete.categorical import Categorical as Categorical
