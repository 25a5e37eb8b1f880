# Made by scripts/make_stub.py; do not edit.
from ._continuous.pareto import Pareto as Pareto
