# Made by scripts/make_stub.py; do not edit.
from ._continuous.weibull import Weibull as Weibull
