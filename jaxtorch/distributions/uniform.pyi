# Made by scripts/make_stub.py; do not edit.
from ._continuous.uniform import Uniform as Uniform
