# Made by scripts/make_stub.py; do not edit.
from ._continuous.log_normal import LogNormal as LogNormal
