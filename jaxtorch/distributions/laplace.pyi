# Made by scripts/make_stub.py; do not edit.
from ._continuous.laplace import Laplace as Laplace
