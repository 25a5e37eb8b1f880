# Made by scripts/make_stub.py; do not edit.
from ._continuous.fishersnedecor import FisherSnedecor as FisherSnedecor
