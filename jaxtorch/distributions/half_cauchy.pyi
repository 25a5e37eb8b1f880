# Made by scripts/make_stub.py; do not edit.
from ._continuous.half_cauchy import HalfCauchy as HalfCauchy
