# Made by scripts/make_stub.py; do not edit.
from ._multivariate.relaxed_categorical import ExpRelaxedCategorical as ExpRelaxedCategorical
from ._multivariate.relaxed_categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
