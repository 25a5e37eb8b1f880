# Made by scripts/make_stub.py; do not edit.
from ._continuous.dirichlet import Dirichlet as Dirichlet
