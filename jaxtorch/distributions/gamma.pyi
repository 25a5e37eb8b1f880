# Made by scripts/make_stub.py; do not edit.
from ._continuous.gamma import Gamma as Gamma
