# Made by scripts/make_stub.py; do not edit.
from ._continuous.normal import Normal as Normal
