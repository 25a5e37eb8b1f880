# Made by scripts/make_stub.py; do not edit.
from ._discrete.one_hot_categorical import OneHotCategorical as OneHotCategorical
from ._discrete.one_hot_categorical import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
