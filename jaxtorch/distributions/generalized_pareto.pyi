# Made by scripts/make_stub.py; do not edit.
from ._continuous.generalized_pareto import GeneralizedPareto as GeneralizedPareto
