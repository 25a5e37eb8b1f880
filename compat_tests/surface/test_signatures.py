"""Functions take their arguments by the positions and names that PyTorch's own stubs give, and calls by name give its results."""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import jaxtorch
from parity import candidate

STUBS = Path(torch.__file__).parent / "_C"
ANY = object()

# What PyTorch's stubs offer beyond that: the reason, and functions.
_EXCEPTIONS = {
    "a number first is given by position only": """bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
        bucketize float_power pow remainder result_type searchsorted where xlogy numel""",
    "another element type of a product exists on accelerators only": "addmm baddbmm bmm mm",
    "sparse tensors: no out=": """
        ccol_indices_copy col_indices_copy crow_indices_copy row_indices_copy indices_copy values_copy hspmm
        saddmm sspaddmm hsmm""",
    "the stub is wrong: PyTorch refuses the name or takes none": """set_num_threads set_num_interop_threads new new_tensor
        as_tensor full tensor record_stream requires_grad_ map_ cpu""",
    "alpha by position": "rsub",
    "a parameter is named as the function": "threshold",
    "quantised, mkldnn and XPU tensors do not exist": """q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
        q_scale q_zero_point qscheme int_repr to_mkldnn xpu""",
    "takes any arguments, and says itself what is wrong": """gru lstm rnn_relu rnn_tanh reshape to resize_as_sparse_
        sparse_bsc_tensor sparse_bsr_tensor sparse_csc_tensor sparse_csr_tensor sparse_resize_ sparse_resize_and_clear_
        to_padded_tensor unsafe_chunk unsafe_split unsafe_split_with_sizes""",
}  # fmt: skip
EXCEPTIONS = {name: reason for reason, names in _EXCEPTIONS.items() for name in names.split()}
OLD = {"add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addmv_", "addr", "baddbmm", "sspaddmm", "sub",
       "sub_", "subtract", "subtract_", "add_"}  # fmt: skip
"""Take numbers by position too, which `test_calls` tries: no signature says so."""


def overloads(file: str, owner: str = "") -> Iterator[tuple[str, ast.arguments]]:
    body: Any = ast.parse((STUBS / file).read_text()).body
    if owner:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == owner).body
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node.args


def differs(ours: Any, args: ast.arguments, method: bool) -> str:
    """How a function refuses what a stub offers; empty where it takes it."""
    names = [a.arg for a in args.posonlyargs + args.args]
    required = len(names) - len(args.defaults)
    needed = {a.arg: ANY for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is None}
    signature = inspect.signature(ours)
    also = ours.op.also if hasattr(ours, "op") else {}
    first = len(args.posonlyargs) or int(method)
    by_name = {also.get(n, n): ANY for n in [*names[first:], *[a.arg for a in args.kwonlyargs]]}
    tries = [
        ([ANY] * len(names), needed),
        ([ANY] * required, needed),
        ([ANY] * first, by_name),
    ]
    for given, keywords in tries:
        try:
            signature.bind(*given, **keywords)
        except TypeError as error:
            return f"{error}: {names}, {sorted(by_name)}; {signature}"
    return ""


@pytest.mark.parametrize(
    "file, owner", [("_VariableFunctions.pyi", ""), ("__init__.pyi", "TensorBase")], ids=["torch", "Tensor"]
)
def test_stubs(file: str, owner: str):
    home, theirs = (jaxtorch.Tensor, torch.Tensor) if owner else (jaxtorch, torch)
    seen: set[str] = set()
    found = []
    for name, args in overloads(file, owner):
        ours = getattr(home, name, None)
        if not callable(ours) or not hasattr(theirs, name) or name in EXCEPTIONS:
            continue
        if name in OLD and ("alpha" in (n := [a.arg for a in args.args]) or "beta" in n or "value" in n):
            continue
        seen.add(name)
        if line := differs(ours, args, bool(owner)):
            found.append(f"{name}: {line}")
    assert not found
    assert len(seen) > 400


def test_exceptions_are_needed():
    needed = set()
    for file, owner in (("_VariableFunctions.pyi", ""), ("__init__.pyi", "TensorBase")):
        home = jaxtorch.Tensor if owner else jaxtorch
        for name, args in overloads(file, owner):
            ours = getattr(home, name, None)
            if callable(ours) and name in EXCEPTIONS:
                opaque = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(ours).parameters.values())
                if opaque or differs(ours, args, bool(owner)):
                    needed.add(name)
    assert set(EXCEPTIONS) == needed


CALLS = """
t.det(input=m) | t.inverse(input=m) | t.matrix_exp(input=m) | t.matrix_power(input=m, n=2) | t.linalg.det(A=m) | t.linalg.inv(A=m)
t.linalg.norm(input=m) | t.linalg.matrix_norm(input=m) | t.linalg.cond(input=m, p=2) | t.linalg.matrix_rank(input=m, tol=1e-3)
t.linalg.pinv(input=m, rcond=1e-3) | t.linalg.matrix_power(input=m, n=-1) | t.linalg.cholesky(input=m @ m.mT)
t.linalg.eigvalsh(input=m @ m.mT, UPLO="U") | t.linalg.ldl_factor(input=m @ m.mT).LD | t.linalg.lstsq(input=m, b=v[:, None]).solution
t.linalg.tensorsolve(input=m, other=v) | t.linalg.solve_triangular(input=m, B=m, upper=True) | t.linalg.matrix_exp(input=m)
t.linalg.vector_norm(x=v) | t.linalg.slogdet(A=m).logabsdet | t.orgqr(m, input2=v) | m.ormqr(input2=v, input3=m)
t.swapaxes(m, axis0=0, axis1=1) | m.swapaxes(axis0=0, axis1=1) | m.clone().swapaxes_(axis0=0, axis1=1) | t.swapdims(m, dim0=0, dim1=1)
t.repeat_interleave(repeats=t.tensor([2, 3])) | t.repeat_interleave(t.tensor([2, 3]), output_size=5)
t.result_type(tensor=m, other=2)
t.tril_indices(3, 3, requires_grad=False) | t.histogram(v).hist | v.clone().copy_(other=v * 2) | v.tile(dims=(2,))
v.clone().resize_(size=(1,)) | v.to_sparse(sparse_dim=1).to_dense() | t.smm(m.to_sparse(), mat2=m).to_dense()
t.special.airy_ai(x=v) | t.special.chebyshev_polynomial_t(x=v, n=2) | t.special.scaled_modified_bessel_k0(x=v)
t.special.softmax(v, 0, t.float64) | t.fft.fftfreq(4, d=2.0, pin_memory=False) | m.sum(axis=0, keepdims=True)
t.cat(tensors=[v, v], axis=0) | t.div(v, 2, rounding_mode="floor") | t.norm(m, p=2, dim=0, keepdim=True)
t.gradient(v, spacing=None)[0] | t.tensor_split(v, tensor_indices_or_sections=t.tensor(1))[0] | v.to("cpu", t.float64, True)
t.isin(element=1, test_elements=v) | t.isin(elements=v, test_element=1) | t.scatter(v, 0, t.tensor([1]), value=2.0)
t.cumulative_trapezoid(v, dx=2) | t.conv1d(v[None, None], v[None, None, :1], padding="same") | t.trapezoid(v, dx=2)
"""


@pytest.mark.parametrize("call", [c.strip() for c in CALLS.replace("\n", "|").split("|") if c.strip()])
def test_calls(call: str):
    def run(t: Any) -> Any:
        m = t.tensor([[2.0, 0.5], [0.25, 1.5]])
        return eval(call, {"t": t, "m": m, "v": t.tensor([0.5, 1.25])})

    expected, actual = run(torch), run(candidate())
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(torch.from_numpy(actual.numpy()), expected)
    else:
        assert str(actual).replace("jaxtorch", "torch") == str(expected)


@pytest.mark.parametrize(
    "call",
    ["linalg.cholesky(-m)", "linalg.inv(m * 0)", "linalg.solve(m * 0, m)", "cholesky_inverse(m * 0)", "linalg.eig(m / 0)",
     "linalg.lu_factor(m * 0)", "linalg.svd(m * float('nan'))"],
)  # fmt: skip
def test_failures_are_raised_where_they_happen(call: str):
    """Programs catch them there: nothing has asked for the result yet."""
    told = []
    for t in (torch, candidate()):
        with pytest.raises(RuntimeError) as info:
            eval("t." + call, {"t": t, "m": t.tensor([[2.0, 0.5], [0.5, 1.5]], requires_grad=True)})
        told.append((info.type.__name__, str(info.value)))
    assert told[0] == told[1]


def test_numbers_by_position():
    """Deprecated, with a warning once a process."""
    for t in (torch, candidate()):
        v = t.tensor([0.5, 1.25])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [t.subtract(v, 3, 2), t.add(v, 3, 2), v.clone().add_(3, v)]
        assert [x.tolist() for x in found] == [[-5.5, -4.75], [6.5, 7.25], [2.0, 5.0]]


def test_name_of_the_error():
    ours = candidate().linalg.LinAlgError
    assert ours.__name__ == torch.linalg.LinAlgError.__name__ and ours.__module__.endswith("._C")
    assert ours is candidate()._C._LinAlgError
