# Made by scripts/make_stub.py; do not edit.
from ._continuous.beta import Beta as Beta
