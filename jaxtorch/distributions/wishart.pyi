# Made by scripts/make_stub.py; do not edit.
from ._multivariate.wishart import Wishart as Wishart
