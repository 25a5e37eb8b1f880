# Made by scripts/make_stub.py; do not edit.
from ._continuous.exponential import Exponential as Exponential
