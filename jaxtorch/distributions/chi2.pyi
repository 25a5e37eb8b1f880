# Made by scripts/make_stub.py; do not edit.
from ._continuous.chi2 import Chi2 as Chi2
