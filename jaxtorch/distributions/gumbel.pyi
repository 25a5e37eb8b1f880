# Made by scripts/make_stub.py; do not edit.
from ._continuous.gumbel import Gumbel as Gumbel
