# Made by scripts/make_stub.py; do not edit.
from ._continuous.kumaraswamy import Kumaraswamy as Kumaraswamy
