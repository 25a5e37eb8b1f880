# Made by scripts/make_stub.py; do not edit.
from ._continuous.studentT import StudentT as StudentT
