# Made by scripts/make_stub.py; do not edit.
from ._continuous.inverse_gamma import InverseGamma as InverseGamma
