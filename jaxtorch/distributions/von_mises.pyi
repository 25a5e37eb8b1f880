# Made by scripts/make_stub.py; do not edit.
from ._continuous.von_mises import VonMises as VonMises
