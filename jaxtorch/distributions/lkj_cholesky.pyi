# Made by scripts/make_stub.py; do not edit.
from ._multivariate.lkj_cholesky import LKJCholesky as LKJCholesky
