"""Short programs from what PyTorch's own tests check, a table for each mechanism; what they tell is PyTorch's."""

from __future__ import annotations

import collections
import copy
import importlib
import io
import tempfile
import warnings
from typing import Any

import numpy as np
import pytest

from parity import attempt, parity_test

PROGRAMS = {
    # orders in which NaN stands where it stood
    "rows with nan": """
for rows in ([nan, 1, 0], [3, nan, 1, nan, 0], [nan, nan, 2, 1], [2, 1, nan, 3, 1]):
    x = t.tensor(rows)
    tell(t.unique, x[:, None], dim=0, return_inverse=True, return_counts=True)
    tell(lambda: t.unique(t.stack([x, x.flip(0)]), dim=1).contiguous())
    tell(t.unique, t.stack([x, x.flip(0)]), dim=0, return_inverse=True)
""",
    # arguments that are refused
    "outputs of a function": """
class Fn(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(1)
        return x
tell(Fn.apply, t.ones(2, requires_grad=True))
""",
    "segments": """
d = t.tensor([1.0, 2.0, 3.0])
for n in (t.tensor([1.0, 2.0]), t.tensor([1, 2], dtype=t.int32), t.tensor([1, 2]), t.tensor([1, 2], dtype=t.int16)):
    tell(t.segment_reduce, d, "sum", lengths=n), tell(t.segment_reduce, d, "sum", offsets=n)
""",
    "buffers": """
for order in ("little", "big", "native", "x", ""):
    tell(lambda: t.ShortStorage.from_buffer(bytearray(b"\\1\\0\\2\\0"), order).tolist())
tell(lambda: t.ones(2).map_(t.ones(3), lambda a, b: a)), tell(lambda: t.ones(2, 2).map_(t.ones(2), lambda a, b: a + b))
""",
    "parts of a transform": """
f = t.distributions.transforms
c = f.CatTransform([f.ExpTransform(), f.ExpTransform()])
tell(c, t.ones(2)), tell(c, t.ones(4)), tell(c, t.tensor(1.0)), tell(c.inv, t.ones(3))
tell(c.log_abs_det_jacobian, t.ones(3), t.ones(3))
""",
    # sparse tensors
    "sparse beside dense": """
d = t.tensor([[1.0, 2.0], [3.0, 4.0]])
s = t.tensor([[0, 1.0], [2, 0]]).to_sparse()
c = s.to_sparse_csr()
tell(lambda: d.clone().mul_(s)), tell(lambda: t.hstack([s, s]).to_dense()), tell(lambda: t.vstack([s, s]).to_dense())
tell(lambda: s.new_tensor([[1, 2]])), tell(lambda: t.pca_lowrank(s, 1)[1])
for made in (s.new_zeros(2), s.new_zeros((2, 3), dtype=t.int32), s.new_empty(2)):
    found.append([str(made.layout), made.dtype, made.shape, made._nnz()])
for make in (
    lambda: c.clone().fill_(2), lambda: t.ones_like(c), lambda: t.full_like(c, 3.0), lambda: c.angle(), lambda: c.resize_as_sparse_(c)
):
    made = make()
    found.append([str(made.layout), made.crow_indices(), made.col_indices(), made.values()])
tell(lambda: c.resize_as_sparse_(s)), tell(lambda: c.resize_as_sparse_(s.to_sparse_csc())), tell(lambda: s.clone().fill_(2))
tell(lambda: c.new_zeros(2)), tell(lambda: s.new_ones(2)), tell(lambda: c.new_tensor([1.0])), tell(lambda: t.ones_like(s))
""",
    # names that begin with an underscore, and some that PyTorch has kept from before
    "hooks of a tensor": """
x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
b = x * 2
found.append([x._backward_hooks, b._backward_hooks])
h = x.register_hook(lambda g: g)
b.register_hook(lambda g: g * 3)
found.append([len(x._backward_hooks), list(x._backward_hooks) == [h.id], len(b._backward_hooks)])
y._backward_hooks = collections.OrderedDict({0: lambda g: g * 5})
(y * 1).sum().backward(), b.sum().backward()
x._backward_hooks = None
(x * 7).sum().backward()
found.extend([y.grad, x.grad, x._backward_hooks, x.volatile])
x.volatile = True
""",
    "private names": """
z, v = t.tensor([1 + 1j]), t.arange(6.0).view(2, 3)[1]
for f in (z._conj, lambda: z._conj().is_conj(), t.ones(1)._conj, z._conj_physical, z._is_zerotensor, t.ones(2)._is_all_true):
    tell(f)
for x in (t.tensor([True, False]), t.tensor([], dtype=t.bool)):
    tell(x._is_all_true), tell(x._is_any_true), tell(t._is_all_true, x)
tell(lambda: t.eye(2)._to_sparse_csr().to_dense()), tell(lambda: str(t.eye(2)._to_sparse_bsr((1, 1)).layout))
tell(t._addmm_activation, t.ones(2), -t.ones(2, 2), t.ones(2, 2))
tell(lambda: t.ones(2)._addmm_activation(t.ones(2, 2), t.ones(2, 2), use_gelu=True))
tell(v._view_func, t.arange(6.0) * 2), tell(t.ones(1)._view_func, t.ones(1)), tell(v._view_func_unsafe, t.arange(9.0))
tell(v._view_func, t.arange(9.0)), tell(v._view_func, t.arange(12.0)[::2]), tell(v._view_func, t.arange(9.0)[3:])
found.append([z._has_symbolic_sizes_strides, z._python_dispatch, t.ones(1).__long__(), t.ones(1).__nonzero__()])
g = t.Generator()
tell(g.get_offset), tell(lambda: g.set_offset(1)), tell(g.graphsafe_get_state)
""",
    "storages and files": """
s = t.arange(3, dtype=t.int16).untyped_storage()
for sized in (True, False):
    b = tempfile.TemporaryFile()
    s._write_file(b, True, sized, 2)
    b.seek(0)
    found.append(b.read())
b = tempfile.TemporaryFile()
s._write_file(b, True, True, 2)
b.seek(0)
found.append(t.UntypedStorage._new_with_file(b, 2).tolist())
m = t.UntypedStorage(6)
m._set_from_file(b, 0, True, 2)
b.seek(0)
found.append(m.tolist()), tell(t.UntypedStorage(4)._set_from_file, b, None, True, 2)
s._byteswap(2)
found.extend([s.tolist(), t.UntypedStorage._new_shared(8).is_shared(), s._get_filename(), t.FloatStorage._new_shared(3).size()])
""",
    # modules that run code of the program's
    "passes": """
base = importlib.import_module(t.__name__ + ".fx.passes.infra.pass_base")
pm = importlib.import_module(t.__name__ + ".fx.passes.infra.pass_manager")
class A(base.PassBase):
    def call(s, g):
        found.append("A")
        return base.PassResult(g, True)
    def requires(s, g):
        found.append("requires")
    def ensures(s, g):
        found.append("ensures")
class B(base.PassBase):
    def call(s, g):
        return base.PassResult(g, False)
class C(base.PassBase):
    def call(s, g):
        raise ValueError("no")
def f(g):
    return None
g = t.fx.symbolic_trace(lambda x: x + 1)
for passes in ([A()], [B(), B()], [B(), A()], [f], [C()], [pm.pass_result_wrapper(f)], []):
    tell(lambda: pm.PassManager(passes, steps=2)(g).modified)
m = pm.PassManager([A()], run_checks_after_each_pass=True)
m.add_checks(lambda g: found.append("check"))
m(g), tell(m.add_checks, lambda a, b: 1), tell(base.PassBase)
a, b = A(), B()
m = pm.PassManager([b, a])
m.add_constraint(pm.this_before_that_pass_constraint(a, b))
tell(m.validate_constraints), m.solve_constraints()
found.append([type(p).__name__ for p in m.passes])
m.add_constraint(pm.this_before_that_pass_constraint(b, a))
tell(m, g)
""",
    "futures": """
f = t.futures.Future()
k, n = f.then(lambda x: 1 / 0), f.then(lambda x: x.wait() + 1)
f.set_result(1)
tell(k.wait), tell(n.wait), tell(k.then(lambda x: x.wait()).wait)
""",
    # files
    "several in one file": """
b = io.BytesIO()
for x in (1, [t.ones(2), 2], t.arange(3)):
    t.save(x, b, _use_new_zipfile_serialization=False)
b.seek(0)
for _ in range(3):
    tell(t.load, b)
found.append(b.read())
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@parity_test
def test_program(torch: Any, name: str) -> Any:
    found: list[Any] = []

    def tell(function: Any, *args: Any, **kwargs: Any) -> None:
        told = attempt(lambda: function(*args, **kwargs))
        kind = getattr(told, "kind", None)  # which layouts an operation is there for is told by either of two types
        found.append(told if kind is None else kind.replace("NotImplementedError", "RuntimeError"))

    scope = {
        "t": torch,
        "F": torch.nn.functional,
        "nn": torch.nn,
        "np": np,
        "io": io,
        "copy": copy,
        "collections": collections,
        "tempfile": tempfile,
        "importlib": importlib,
        "nan": float("nan"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(PROGRAMS[name], {**scope, "found": found, "tell": tell})
    return found
