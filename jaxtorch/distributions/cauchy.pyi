# Made by scripts/make_stub.py; do not edit.
from ._continuous.cauchy import Cauchy as Cauchy
