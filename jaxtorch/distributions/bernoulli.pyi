# Made by scripts/make_stub.py; do not edit.
from ._discrete.bernoulli import Bernoulli as Bernoulli
