# Made by scripts/make_stub.py; do not edit.
from ._continuous.relaxed_bernoulli import LogitRelaxedBernoulli as LogitRelaxedBernoulli
from ._continuous.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
