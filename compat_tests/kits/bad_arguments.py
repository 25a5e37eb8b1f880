"""Calls with one bad argument, on PyTorch and on jaxtorch: does each accept or refuse it, with the same exception?

A valid call comes from PyTorch's databases of operators and modules, or from a table here (optimizers, schedules, distributions,
functions of `nn.init` and `nn.utils`). One of its arguments is replaced by a value that suits its type badly (`BAD`): NaN, a
negative number, a number beyond every range, a flag, a text, None, a tensor for a number, a tuple too long, a tensor of another
type or shape. What both accept is compared as well.

    python compat_tests/kits/bad_arguments.py [--seed 0] [--each 3] [--only TEXT] [--part 0/4] [--all] [--show]
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import functools
import inspect
import itertools
import random
import re
import signal
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

import bad_argument_calls
from op_db_kit import converted, entries, in_scope, twin
from parity import candidate

NUMBER = """nan; -1.0; inf; -inf; True; 'a'; None; 0.0; -1; 10**30; 1j; (1.0, 2.0); torch.tensor(0.5);
    torch.tensor([0.5, 2.0]); np.float32(0.5); torch.tensor(nan)"""
WHOLE = """-1; 0; -7; 9; 10**30; 2**63; 1.5; nan; True; 'a'; None; 1j; (1,); (1, 2, 3, 4, 5, 6); torch.tensor(1);
    torch.tensor([1, 2]); torch.tensor(1.5); np.int64(1); np.array(1)"""
FLAG = "None; 1; 'a'; 0.5; torch.tensor(True); (True,)"
SIZES = """(); (-1,); (0,); (1, 1, 1, 1, 1, 1); (1.5,) * len(given); ('a',); (True,) * len(given); 'a'; None; 3; 1.5;
    (10**30,) * len(given); tuple(-g for g in given); torch.tensor([1] * len(given)); given + (1,); (None,) * len(given)"""
WORD = "'nonsense'; ''; None; 3; True; ('a',); 1.5"
NOTHING = "'a'; -1; 3.5; True; (1, 2); torch.tensor(1.0); nan; 10**30; []"
TENSOR = """given.long(); given.bool(); given.cfloat(); given.double(); given.half(); given[None]; given[..., None];
    given.reshape(-1); given.reshape(-1)[:1].reshape(()); given[:0]; 3; 2.5; None; 'a'; []; [1.0, 2.0]; np.ones(2);
    given.tolist(); (given,);
    given[..., :1]; torch.ones(7, 5); given * nan; -given"""
TYPE = "'float32'; 3; None; float; torch.int8; torch.bool; torch.complex64"
OBJECT = "None; 3; 'a'; 1.5; True; nan; []; (); {}; torch.ones(2); torch.nn.ReLU(); len; np.ones(2)"
SEQUENCE = "None; 3; 'a'; (); []; given + given[:1]; given[:1]; (None,) * len(given); torch.ones(2)"


def bad_for(given: Any) -> str:
    """What suits an argument badly, as expressions."""
    if isinstance(given, bool):
        return FLAG
    if isinstance(given, int):
        return WHOLE
    if isinstance(given, float | complex):
        return NUMBER
    if isinstance(given, str):
        return WORD
    if isinstance(given, torch.Tensor):
        return TENSOR
    if isinstance(given, torch.dtype):
        return TYPE
    if isinstance(given, tuple | list):
        whole = given and all(isinstance(g, int) and not isinstance(g, bool) for g in given)
        return SIZES if whole else SEQUENCE
    if isinstance(given, bad_argument_calls.Own | dict):
        return OBJECT
    return NOTHING if given is None else ""


@dataclasses.dataclass(frozen=True)
class Call:
    """A valid call: the function on both sides, arguments on PyTorch's, and what is done with the result."""

    name: str
    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


# -- where the calls come from ---


def from_operators(text: str = "") -> Iterator[Call]:
    """Of each operator the first sample and the one with the most arguments."""
    for key in in_scope():
        if text and text not in key:
            continue
        entry = entries()[key]
        dtype = (
            torch.float32
            if torch.float32 in entry.supported_dtypes("cpu")
            else next(iter(entry.supported_dtypes("cpu")))
        )
        torch.manual_seed(zlib.crc32(key.encode()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=False), 12))
        if not found:
            continue
        richest = max(found, key=lambda s: len(s.args) + len(s.kwargs))
        for sample in [found[0]] if richest is found[0] else [found[0], richest]:
            ours = twin(entry.op, entry.name)
            yield Call(key, entry.op, ours, (sample.input, *sample.args), dict(sample.kwargs))


def with_defaults(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, and by name those that were left out."""
    try:
        parameters = inspect.signature(function).parameters
        named = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return args, kwargs
    rest = {
        n: p.default
        for n, p in parameters.items()
        if n not in named and p.default is not p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and n not in ("device", "dtype", "generator", "size_average", "reduce")
    }  # fmt: skip
    return args, {**kwargs, **rest}


def _module(torch_: Any, name: str, forward: tuple[Any, ...]) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:
        given = copied(forward)  # a module may write to it
        return getattr(torch_.nn, name)(*args, **kwargs)(*(converted(given) if torch_ is not torch else given))

    return made


def from_modules(text: str = "") -> Iterator[Call]:
    """Each module of the database with all its parameters, called on the first inputs."""
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        name = info.module_cls.__name__
        if (text and text not in "nn." + name) or not hasattr(candidate().nn, name):
            continue
        torch.manual_seed(0)
        warnings.simplefilter("ignore")
        found = [
            m for m in info.module_inputs_func(info, "cpu", torch.float32, requires_grad=False, training=True)
            if m.forward_input is not None
        ]  # fmt: skip
        for inputs in found[:: max(1, len(found) - 1)][:2]:
            args, kwargs = inputs.constructor_input.args, inputs.constructor_input.kwargs
            args, kwargs = with_defaults(
                info.module_cls, args, {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
            )
            forward = inputs.forward_input.args
            yield Call("nn." + name, _module(torch, name, forward), _module(candidate(), name, forward), args, kwargs)


def _optimizer(torch_: Any, name: str) -> Callable[..., Any]:
    def made(**kwargs: Any) -> Any:
        p = torch_.nn.Parameter(torch_.arange(1.0, 5.0).reshape(2, 2))
        optimizer = getattr(torch_.optim, name)([p], **kwargs)
        for _ in range(2):
            optimizer.zero_grad()
            loss = (p * p).sum()
            if name == "SparseAdam":
                p.grad = torch_.ones(2, 2).to_sparse()
                optimizer.step()
            else:
                loss.backward()
                optimizer.step(lambda: (p * p).sum()) if name == "LBFGS" else optimizer.step()
        return p.detach()

    return made


OPTIMIZERS = (
    "SGD Adam AdamW Adamax NAdam RAdam Adagrad Adadelta RMSprop Rprop ASGD LBFGS Adafactor Muon SparseAdam".split()
)
SCHEDULES = {
    "LambdaLR": {"lr_lambda": abs}, "MultiplicativeLR": {"lr_lambda": abs}, "StepLR": {"step_size": 2},
    "MultiStepLR": {"milestones": [1, 3]}, "ConstantLR": {}, "LinearLR": {}, "ExponentialLR": {"gamma": 0.9},
    "PolynomialLR": {}, "CosineAnnealingLR": {"T_max": 3}, "CyclicLR": {"base_lr": 0.1, "max_lr": 0.5},
    "CosineAnnealingWarmRestarts": {"T_0": 2}, "OneCycleLR": {"max_lr": 0.5, "total_steps": 9}, "ReduceLROnPlateau": {},
}  # fmt: skip


def _schedule(torch_: Any, name: str) -> Callable[..., Any]:
    def made(**kwargs: Any) -> Any:
        p = torch_.nn.Parameter(torch_.ones(2))
        optimizer = torch_.optim.SGD([p], lr=0.1, momentum=0.9)
        schedule = getattr(torch_.optim.lr_scheduler, name)(optimizer, **kwargs)
        rates = []
        for _ in range(4):
            optimizer.step()
            schedule.step(1.0) if name == "ReduceLROnPlateau" else schedule.step()
            rates.append(float(optimizer.param_groups[0]["lr"]))
        return rates

    return made


DISTRIBUTIONS = {
    "Bernoulli": {"probs": 0.3}, "Beta": {"concentration1": 1.5, "concentration0": 2.0},
    "Binomial": {"total_count": 4, "probs": 0.5}, "Categorical": {"probs": torch.tensor([0.25, 0.75])},
    "Cauchy": {"loc": 0.0, "scale": 1.0}, "Chi2": {"df": 2.0}, "ContinuousBernoulli": {"probs": 0.3},
    "Dirichlet": {"concentration": torch.tensor([1.0, 2.0])}, "Exponential": {"rate": 2.0},
    "FisherSnedecor": {"df1": 2.0, "df2": 3.0}, "Gamma": {"concentration": 1.0, "rate": 2.0}, "Geometric": {"probs": 0.3},
    "Gumbel": {"loc": 0.0, "scale": 1.0}, "HalfCauchy": {"scale": 1.0}, "HalfNormal": {"scale": 1.0},
    "InverseGamma": {"concentration": 1.0, "rate": 1.0}, "Kumaraswamy": {"concentration1": 1.0, "concentration0": 2.0},
    "Laplace": {"loc": 0.0, "scale": 1.0}, "LKJCholesky": {"dim": 3}, "LogNormal": {"loc": 0.0, "scale": 1.0},
    "LogisticNormal": {"loc": torch.zeros(2), "scale": torch.ones(2)},
    "LowRankMultivariateNormal": {"loc": torch.zeros(2), "cov_factor": torch.ones(2, 1), "cov_diag": torch.ones(2)},
    "Multinomial": {"total_count": 4, "probs": torch.tensor([0.25, 0.75])},
    "NegativeBinomial": {"total_count": 3, "probs": 0.5},
    "MultivariateNormal": {"loc": torch.zeros(2), "covariance_matrix": torch.eye(2)}, "Normal": {"loc": 0.0, "scale": 1.0},
    "OneHotCategorical": {"probs": torch.tensor([0.25, 0.75])}, "Pareto": {"scale": 1.0, "alpha": 2.0},
    "Poisson": {"rate": 2.0}, "RelaxedBernoulli": {"temperature": torch.tensor(1.0), "probs": 0.5},
    "StudentT": {"df": 3.0, "loc": 0.0}, "Uniform": {"low": 0.0, "high": 1.0},
    "RelaxedOneHotCategorical": {"temperature": torch.tensor(1.0), "probs": torch.tensor([0.25, 0.75])},
    "VonMises": {"loc": torch.tensor(0.0), "concentration": torch.tensor(1.0)}, "Weibull": {"scale": 1.0, "concentration": 2.0},
    "Wishart": {"df": torch.tensor(3.0), "covariance_matrix": torch.eye(2)},
    "GeneralizedPareto": {"loc": 0.0, "scale": 1.0, "concentration": 0.5},
}  # fmt: skip


def _distribution(torch_: Any, name: str) -> Callable[..., Any]:
    def made(**kwargs: Any) -> Any:
        found = getattr(torch_.distributions, name)(**kwargs)
        return [found.batch_shape, found.event_shape]

    return made


PLAIN = {
    "nn.init.uniform_": ("t", 0.0, 1.0), "nn.init.normal_": ("t", 0.0, 1.0),
    "nn.init.trunc_normal_": ("t", 0.0, 1.0, -2.0, 2.0), "nn.init.constant_": ("t", 1.0), "nn.init.ones_": ("t",),
    "nn.init.zeros_": ("t",), "nn.init.eye_": ("t",), "nn.init.dirac_": ("k", 1), "nn.init.xavier_uniform_": ("t", 1.0),
    "nn.init.xavier_normal_": ("t", 1.0), "nn.init.sparse_": ("t", 0.5, 0.01),
    "nn.init.kaiming_uniform_": ("t", 0.0, "fan_in", "relu"), "nn.init.kaiming_normal_": ("t", 0.0, "fan_in", "relu"),
    "nn.init.orthogonal_": ("t", 1.0), "nn.init.calculate_gain": ("leaky_relu", 0.2),
    "nn.utils.clip_grad_norm_": ("p", 1.0, 2.0, False), "nn.utils.clip_grad_value_": ("p", 1.0),
    "nn.utils.get_total_norm": ("p", 2.0, False), "nn.utils.parameters_to_vector": ("p",),
    "nn.utils.rnn.pad_sequence": ("p", False, 0.0, "right"), "nn.utils.rnn.pack_sequence": ("p", False),
    "nn.utils.rnn.pack_padded_sequence": ("k", (3, 2), False, True), "hann_window": (4, True),
    "hamming_window": (4, True, 0.54, 0.46), "blackman_window": (4, True), "bartlett_window": (4, True),
    "kaiser_window": (4, True, 12.0), "rand": ((2, 3),), "randn": ((2, 3),), "randint": (0, 5, (2, 3)), "randperm": (4,),
    "tril_indices": (2, 3, 0), "triu_indices": (2, 3, 0), "range": (0, 3, 1), "vander": ("v", 3, False),
    "cartesian_prod": ("v", "v"), "combinations": ("v", 2, False), "bincount": ("w", None, 0), "poisson": ("t",),
    "rrelu": ("t", 0.1, 0.3, False), "dropout": ("t", 0.5, True), "alpha_dropout": ("t", 0.5, True),
    "feature_dropout": ("t", 0.5, True), "celu": ("t", 1.0), "selu": ("t",), "threshold": ("t", 0.1, 20.0),
    "batch_norm": ("k", None, None, None, None, True, 0.1, 1e-5, False), "layer_norm": ("t", (3,), None, None, 1e-5, True),
    "instance_norm": ("k", None, None, None, None, True, 0.1, 1e-5, False), "group_norm": ("k", 2, None, None, 1e-5, True),
    "rms_norm": ("t", (3,), None, 1e-5), "embedding": ("t", "w", -1, False, False),
    "embedding_bag": ("t", "w", "o", False, 0, False, None), "pdist": ("t", 2.0), "conv1d": ("k", "k", None, 1, 0, 1, 1),
    "max_pool1d": ("k", 2, 1, 0, 1, False), "avg_pool1d": ("k", (2,), (1,), (0,), False, True), "adaptive_avg_pool1d": ("k", 1),
    "adaptive_max_pool1d": ("k", 1), "pixel_shuffle": ("q", 2), "pixel_unshuffle": ("q", 1), "channel_shuffle": ("q", 2),
    "clamp": ("t", 0.0, 1.0), "frobenius_norm": ("t", (0, 1), False), "nuclear_norm": ("t", False), "trapz": ("t", None),
    "chain_matmul": ("s", "s"), "is_nonzero": ("n",), "is_complex": ("t",), "is_same_size": ("t", "t"),
    "can_cast": (torch.float32, torch.float64), "promote_types": (torch.float32, torch.float64), "result_type": ("t", "t"),
    "set_default_dtype": (torch.float32,), "manual_seed": (0,), "einsum": ("ij,jk->ik", "s", "s"), "norm": ("t", 2.0, 0, False),
    "unique": ("t", True, False, False, None), "unique_consecutive": ("t", False, False, None), "meshgrid": ("v", "v"),
    "tensordot": ("s", "s", 1), "lu": ("s", True, False), "stft": ("x", 4, 2, 4, None, True, "reflect", False, True, True),
    "block_diag": ("t", "t"), "atleast_2d": ("t",), "broadcast_tensors": ("t", "t"), "broadcast_shapes": ((2, 3), (1, 3)),
    "split": ("t", 1, 0), "cdist": ("t", "t", 2.0), "quantile": ("t", 0.5, 0, False), "multinomial": ("t", 1, False),
    "normal": (0.0, 1.0, (2,)), "bernoulli": ("t",), "sparse_coo_tensor": ("i", "v", (3, 4)), "from_numpy": ("v",),
    "as_tensor": ("v",), "tensor": ("v",), "gradient": ("v",), "histc": ("t", 4, 0.0, 1.0), "histogram": ("t", 4),
    "repeat_interleave": ("t", 2, 0), "cumulative_trapezoid": ("t", None), "Tensor.uniform_": ("t", 0.0, 1.0),
    "Tensor.normal_": ("t", 0.0, 1.0), "Tensor.exponential_": ("t", 1.0), "Tensor.geometric_": ("t", 0.5),
    "Tensor.cauchy_": ("t", 0.0, 1.0), "Tensor.log_normal_": ("t", 1.0, 2.0), "Tensor.random_": ("t", 0, 5),
    "Tensor.bernoulli_": ("t", 0.5), "Tensor.fill_diagonal_": ("s", 1.0, False), "Tensor.resize_": ("t", (2, 3)),
    "Tensor.apply_": ("t", abs), "Tensor.map_": ("t", "t", max), "Tensor.to": ("t", torch.float64, False, True),
    "Tensor.type": ("t", torch.float64), "Tensor.is_set_to": ("t", "t"), "Tensor.put_": ("v", "w", "v", False),
    "Tensor.element_size": ("t",), "Tensor.stride": ("t", 0), "Tensor.size": ("t", 0), "Tensor.register_hook": ("t", abs),
    "Tensor.set_": ("t", "t"), "Tensor.view": ("t", 3, 2), "Tensor.requires_grad_": ("t", True),
    "Tensor.index_fill_": ("t", 0, "o", 1.0), "Tensor.scatter_": ("v", 0, "w", 1.0), "Tensor.expand": ("v", 2, 4),
    "Tensor.repeat": ("v", 2, 2), "Tensor.permute": ("t", 1, 0), "Tensor.new_full": ("t", (2,), 1.0),
    "Tensor.new_zeros": ("t", (2,)), "Tensor.new_tensor": ("t", "v"), "Tensor.item": ("n",), "Tensor.tolist": ("t",),
    "Tensor.numpy": ("t",), "Tensor.sum_to_size": ("t", 1, 3), "Tensor.unfold": ("t", 1, 2, 1),
    "Tensor.addcmul_": ("t", "t", "t"), "Tensor.backward": ("n", None, None, False), "Tensor.share_memory_": ("t",),
    "Tensor.chunk": ("t", 2, 0), "Tensor.swapaxes": ("t", 0, 1), "Tensor.flip": ("t", 0, 1), "Tensor.roll": ("t", 1, 0),
    "Tensor.std": ("t", 0, True, False), "Tensor.argsort": ("t", 0, False), "Tensor.topk": ("t", 2, 1, True, True),
    "Tensor.median": ("t", 1, False), "Tensor.masked_fill_": ("t", "m", 1.0),
    "asarray": ("v",), "binary_cross_entropy_with_logits": ("t", "t", None, None, 0), "binomial": ("t", "t"),
    "affine_grid_generator": (torch.eye(2, 3)[None], (1, 1, 2, 2), False), "conv2d": ("q", "c", None, 1, 0, 1, 1),
    "conv_transpose2d": ("q", torch.ones(4, 2, 1, 1), None, 1, 0, 0, 1, 1),
    "conv_tbc": ("k", "k", torch.ones(2), 0), "convolution": ("k", "k", None, [1], [0], [1], False, [0], 1),
    "cosine_embedding_loss": ("t", "t", torch.ones(2), 0.0, 0), "cosine_similarity": ("t", "t", 1, 1e-8),
    "hinge_embedding_loss": ("t", "t", 1.0, 0), "kl_div": ("t", "t", 0), "margin_ranking_loss": ("t", "t", "t", 0.0, 0),
    "triplet_margin_loss": ("t", "t", "t", 1.0, 2.0, 1e-6, False, 0), "poisson_nll_loss": ("t", "t", True, False, 1e-8, 0),
    "pairwise_distance": ("t", "t", 2.0, 1e-6, False), "prelu": ("t", torch.ones(1)), "relu": ("t",), "hardshrink": ("t", 0.5),
    "max_pool2d": ("q", 2, 1, 0, 1, False), "max_pool1d_with_indices": ("k", 2, 1, 0, 1, False), "matrix_power": ("s", 2),
    "gru_cell": ("t", torch.ones(2, 2), torch.ones(6, 3), torch.ones(6, 2), None, None), "native_dropout": ("t", 0.5, True),
    "rnn_tanh_cell": ("t", torch.ones(2, 2), torch.ones(2, 3), torch.ones(2, 2), None, None), "native_channel_shuffle": ("q", 2),
    "grid_sampler": ("q", torch.zeros(1, 2, 2, 2), 0, 0, False), "fake_quantize_per_tensor_affine": ("t", 0.1, 0, 0, 255),
    "norm_except_dim": ("t", 2, 0), "fill_": ("t", 1.0), "threshold_": ("t", 0.1, 20.0), "celu_": ("t", 1.0),
    "clamp_": ("t", 0.0, 1.0), "nan_to_num_": ("t", 0.0, 1.0, -1.0), "logit_": ("t", 0.1), "xlogy_": ("t", "t"),
    "moveaxis": ("t", 0, 1), "ger": ("v", "v"), "det": ("s",), "slogdet": ("s",), "inverse": ("s",), "numel": ("t",),
    "orgqr": ("s", torch.ones(3)), "sparse_csr_tensor": ([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)), "dequantize": ("t",),
    "unsafe_split_with_sizes": ("t", [1, 1], 0), "split_copy": ("t", 1, 0), "slice_copy": ("t", 0, 0, 1, 1),
    "select_copy": ("t", 0, 0), "concat": ("p",), "Tensor.copy_": ("t", "t", False), "Tensor.type_as": ("t", "t"),
    "Tensor.to_sparse": ("t", 2), "Tensor.multiply_": ("t", "t"), "Tensor.greater": ("t", "t"),
    "Tensor.swapaxes_": ("t", 0, 1), "Tensor.det": ("s",), "Tensor.module_load": ("t", "t"), "Tensor.is_pinned": ("t",),
    "nn.init.dirac": ("k", 1), "nn.init.kaiming_normal": ("t", 0.0, "fan_in", "relu"), "nn.init.xavier_uniform": ("t", 1.0),
    "nn.utils.clip_grad_norm": ("p", 1.0, 2.0, False), "nn.functional.feature_alpha_dropout": ("t", 0.5, False, False),
    "nn.functional.fractional_max_pool3d_with_indices": (torch.ones(1, 2, 4, 4, 4), 2, (2, 2, 2), None, False, None),
    "arctan2": ("t", "t"), "clip": ("t", 0.0, 1.0), "clip_": ("t", 0.0, 1.0), "clamp_max_": ("t", 1.0), "clamp_min_": ("t", 1.0),
    "concatenate": ("p", 0), "row_stack": (["t", "t"],), "divide": ("t", "t"), "multiply": ("t", "t"), "subtract": ("t", "t"),
    "less": ("t", "t"), "greater_equal": ("t", "t"), "not_equal": ("t", 0.5), "ldexp": ("t", "t"), "gcd_": ("w", "w"),
    "lcm_": ("w", "w"), "swapdims": ("t", 0, 1), "embedding_renorm_": ("s", "o", 1.0, 2.0),
    "index_reduce": ("t", 0, "o", "t", "prod"),
    "scatter_reduce": ("v", 0, "w", "v", "sum"), "index_put_": ("v", ["w"], "v", False), "round_": ("t",),
    "dropout_": ("t", 0.5, True),
    "feature_alpha_dropout": ("t", 0.5, True), "feature_dropout_": ("t", 0.5, True), "as_strided_": ("t", (2, 2), (1, 1), 0),
    "fake_quantize_per_channel_affine": ("t", torch.ones(2), torch.zeros(2), 0, 0, 255), "from_dlpack": ("v",), "mvlgamma": ("t", 2),
    "polygamma": (1, "t"), "native_norm": ("t", 2.0),
    "segment_reduce": ("v", "sum"), "quantize_per_tensor": ("t", 0.1, 0, torch.quint8),
    "lstm": ("k", (torch.ones(1, 2, 2), torch.ones(1, 2, 2)), [torch.ones(8, 2)] * 2, False, 1, 0.0, False, False, False),
    "gru": ("k", torch.ones(1, 2, 2), [torch.ones(6, 2), torch.ones(6, 2)], False, 1, 0.0, False, False, False),
    "rnn_relu": ("k", torch.ones(1, 2, 2), [torch.ones(2, 2), torch.ones(2, 2)], False, 1, 0.0, False, False, False),
    "lstm_cell": ("t", (torch.ones(2, 2), torch.ones(2, 2)), torch.ones(8, 3), torch.ones(8, 2), None, None),
    "rnn_relu_cell": ("t", torch.ones(2, 2), torch.ones(2, 3), torch.ones(2, 2), None, None), "spmm": ("s", "s"),
    "sparse_bsr_tensor": ([0, 1, 2], [0, 1], torch.ones(2, 1, 1), (2, 2)),
    "sparse_csc_tensor": ([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "sym_float": (2,), "sym_int": (1.5,), "sym_max": (2, 3), "sym_min": (2, 3), "sym_not": (True,), "sym_ite": (True, 2, 3),
    "view_as_complex_copy": (torch.ones(2, 2),), "typename": ("t",), "get_device": ("t",), "is_storage": ("t",),
    "distributions.utils.broadcast_all": ("t", "n"), "distributions.utils.clamp_probs": ("t",),
    "distributions.utils.logits_to_probs": ("t", False), "distributions.utils.probs_to_logits": ("t", False),
    "distributions.utils.tril_matrix_to_vec": ("s", 0), "distributions.utils.vec_to_tril_matrix": (torch.arange(6.0), 0),
} | dict.fromkeys("""abs_ acos_ asinh_ atan_ atanh_ ceil_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ floor_ frac_ i0_
    log10_ log1p_ log2_ log_ neg_ negative rad2deg_ reciprocal_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sqrt_ square_ tan_ tanh_ trunc_
    absolute adjoint arccos arcsinh fix detach detach_ detach_copy is_conj is_neg is_signed is_floating_point is_inference
    is_distributed is_tensor ccol_indices_copy values_copy""".split(), ("t",))  # fmt: skip
"""Functions that no database has: their arguments, letters for the tensors of `_tensors`."""


def _tensors() -> dict[str, Any]:
    torch.manual_seed(0)
    return {
        "t": torch.rand(2, 3), "k": torch.rand(3, 2, 2), "q": torch.rand(1, 4, 2, 2), "s": torch.rand(3, 3) + torch.eye(3),
        "v": torch.arange(1.0, 5.0), "w": torch.tensor([0, 1, 1, 0]), "p": [torch.rand(3), torch.rand(2)], "x": torch.rand(12),
        "n": torch.tensor(1.5), "i": torch.tensor([[0, 1, 2, 0], [1, 2, 3, 3]]), "o": torch.tensor([0, 1]),
        "m": torch.rand(2, 3) > 0.5, "c": torch.rand(2, 4, 1, 1),
    }  # fmt: skip


def _named(tensors: dict[str, Any], given: Any) -> Any:
    if isinstance(given, list):
        return [_named(tensors, g) for g in given]
    return tensors.get(given, given) if isinstance(given, str) else given


def _called(torch_: Any, path: str) -> Callable[..., Any]:
    found = torch_
    for part in path.split("."):
        found = getattr(found, part)
    return found


def from_tables(text: str = "") -> Iterator[Call]:
    ours = candidate()
    for name in OPTIMIZERS:
        _, kwargs = with_defaults(getattr(torch.optim, name), ([],), {})
        yield Call("optim." + name, _optimizer(torch, name), _optimizer(ours, name), (), kwargs)
    for name, given in SCHEDULES.items():
        _, kwargs = with_defaults(getattr(torch.optim.lr_scheduler, name), (None,), given)
        yield Call("optim.lr_scheduler." + name, _schedule(torch, name), _schedule(ours, name), (), kwargs)
    for name, given in DISTRIBUTIONS.items():
        yield Call("distributions." + name, _distribution(torch, name), _distribution(ours, name), (), given)
    tensors = _tensors()
    for path, given in PLAIN.items():
        args = tuple([_named(tensors, a) for a in given])
        yield Call(path, _called(torch, path), _called(ours, path), args, {})


def from_lines(text: str = "") -> Iterator[Call]:
    for line in bad_argument_calls.lines():
        if text in line:
            of, given = bad_argument_calls.made(line)
            yield Call(line, of(torch), of(candidate()), (), given)


SOURCES = {"tables": from_tables, "lines": from_lines, "modules": from_modules, "operators": from_operators}


# -- one bad argument ---


@dataclasses.dataclass(frozen=True)
class Case:
    call: Call
    place: int | str
    bad: str

    def __str__(self) -> str:
        return f"{self.call.name}: argument {self.place} = {self.bad}"


def cases(seed: int, each: int, text: str = "", sources: Iterable[str] = SOURCES) -> Iterator[Case]:
    """Of each argument of each call so many bad values, drawn by the seed; 0: all of them."""
    found = (call for source in sources for call in SOURCES[source](text) if text in call.name)
    for number, call in enumerate(found):
        for place, given in [*enumerate(call.args), *call.kwargs.items()]:
            offered = [b.strip() for b in re.split(r";\s+", bad_for(given)) if b.strip()]
            if place == 0 and call.name.startswith("Tensor."):  # whose self is a tensor
                offered = [b for b in offered if b.startswith("given")]
            if call.name == "binomial" and place == 0:  # PyTorch draws without end
                offered.remove("given * nan")
            drawn = random.Random(f"{seed} {number} {call.name} {place}")
            for bad in drawn.sample(offered, min(each or len(offered), len(offered))):
                yield Case(call, place, bad)


UNLIKE = object()


def made(torch_: Any, bad: str, given: Any) -> Any:
    try:
        return eval(bad, {"torch": torch_, "np": np, "nan": float("nan"), "inf": float("inf"), "given": given})
    except Exception:
        return UNLIKE


class TooLong(BaseException):
    pass


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again and again: a callback of a library may have swallowed one
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@functools.cache
def _shown(torch_: Any) -> tuple[type, ...]:
    """Classes whose text is compared."""
    return (
        torch_.nn.Module, torch_.distributions.Distribution, torch_.distributions.Transform, torch_.device, torch_.dtype,
        torch_.distributions.constraints.Constraint,
    )  # fmt: skip


def plain(torch_: Any, value: Any, depth: int = 0) -> Any:
    """What is compared of a result."""
    if isinstance(value, torch_.Tensor):
        if value.layout is not torch_.strided or value.is_quantized:
            return "a tensor without strides", str(value.layout).rpartition(".")[2]
        value = value.detach()
        return (
            str(value.dtype).rpartition(".")[2],
            tuple(value.shape),
            value.to(torch_.complex128).resolve_conj().numpy(),
        )
    if isinstance(value, tuple | list):
        return [plain(torch_, v, depth + 1) for v in value] if depth < 4 else "..."
    if isinstance(value, dict):
        return [(str(k), plain(torch_, v, depth + 1)) for k, v in value.items()] if depth < 4 else "..."
    if isinstance(value, bool | int | float | complex | str | type(None)):
        return value
    if isinstance(value, _shown(torch_)):
        return str(value)
    return type(value).__name__.lstrip("_")


def run(torch_: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The plain result, or the exception."""
    torch_.manual_seed(0)
    try:
        with limited(20), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return plain(torch_, function(*args, **kwargs))
    except TooLong:
        return TimeoutError("20 s")
    except Exception as error:
        return error
    finally:
        torch_.set_default_dtype(torch_.float32)


def copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[copied(v) for v in value])
    if isinstance(value, list | tuple):
        return type(value)(copied(v) for v in value)
    return value


def outcomes(case: Case) -> tuple[Any, Any] | None:
    """What PyTorch and jaxtorch make of it; None where there is no such value."""
    found = []
    for torch_, function in ((torch, case.call.theirs), (candidate(), case.call.ours)):
        args, kwargs = copied(case.call.args), {k: copied(v) for k, v in case.call.kwargs.items()}
        if torch_ is not torch:
            try:
                args, kwargs = converted((args, kwargs))
            except Exception:  # of a kind that has no twin
                return None
        given: Any = args[case.place] if isinstance(case.place, int) else kwargs[case.place]
        bad = made(torch_, case.bad, given)
        if bad is UNLIKE:
            return None
        if isinstance(case.place, int):
            args = (*args[: case.place], bad, *args[case.place + 1 :])
        else:
            kwargs = {**kwargs, case.place: bad}
        found.append(run(torch_, function, args, kwargs))
    if "empty" in case.call.name and not any(isinstance(f, Exception) for f in found):
        return None  # whatever the memory held
    return found[0], found[1]


def alike(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        with np.errstate(all="ignore"):
            return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-2, atol=1e-3, equal_nan=True))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-4 * max(abs(a), abs(b))
    return type(a) is type(b) and a == b


INTERNAL = re.compile(
    r"INTERNAL ASSERT FAILED|SmallVector unable|^20 s$|MKL FFT error|could not create a primitive|descriptor '\w+' (for|requires)"
)
"""Errors that PyTorch does not mean to make, limits of its libraries, and methods of the class that are given no tensor."""
STUMBLED = re.compile(r"object has no attribute|object is not callable")
"""What PyTorch's functions in Python say of an argument of a wrong type; to say so by a TypeError is as good."""


def differs(theirs: Any, ours: Any) -> str:
    """How the two differ: "taken", "refused", "type of error" or "value"; empty where they do not."""
    if isinstance(theirs, Exception):
        if INTERNAL.search(str(theirs)):
            return ""
        if not isinstance(ours, Exception):
            return "taken"
        if STUMBLED.search(str(theirs)) and isinstance(ours, TypeError):
            return ""
        return "" if type(theirs).__name__.lstrip("_") == type(ours).__name__.lstrip("_") else "type of error"
    if isinstance(ours, Exception):
        return "refused"
    return "" if alike(theirs, ours) else "value"


def _text(outcome: Any) -> str:
    shown = f"{type(outcome).__name__}: {outcome}" if isinstance(outcome, Exception) else repr(outcome)
    return " ".join(shown.split())[:150]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--sources", nargs="*", default=list(SOURCES))
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    counts: collections.Counter[str] = collections.Counter()
    for case in itertools.islice(cases(options.seed, options.each, options.only, options.sources), part, None, parts):
        if options.show:
            print(case, file=sys.stderr, flush=True)
        found = outcomes(case)
        if found is None:
            continue
        kind = differs(*found)
        counts[kind or "alike"] += 1
        if kind:
            print(f"{kind} | {case}\n    torch {_text(found[0])}\n    jaxtorch {_text(found[1])}", flush=True)
    total = sum(counts.values())
    print(dict(counts), f"{counts['alike'] / max(total, 1):.2%} of {total} agree")


if __name__ == "__main__":
    main()
