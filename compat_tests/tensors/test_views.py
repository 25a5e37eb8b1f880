"""Aliasing: what is a view of what, and that writes are seen through every chain, in both directions."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity import attempt, candidate, grad_fn_name, parity_test, reference

View = Callable[[Any, Any], Any]

# Views of a (2, 3, 4) tensor; most also apply to what another one of them returns.
VIEWS: dict[str, View] = {
    "view": lambda torch, x: x.view(-1),
    "view_two": lambda torch, x: x.view(x.shape[0], -1),
    "reshape": lambda torch, x: x.reshape(x.numel(), 1),
    "flatten": lambda torch, x: x.flatten(),
    "unflatten": lambda torch, x: x.unflatten(-1, (-1, 2)),
    "view_as": lambda torch, x: x.view_as(torch.ones(4, 6)),
    "mT": lambda torch, x: x.mT,
    "transpose": lambda torch, x: x.transpose(0, -1),
    "permute": lambda torch, x: x.permute(*range(x.ndim)[::-1]),
    "movedim": lambda torch, x: x.movedim(0, -1),
    "select": lambda torch, x: x.select(0, 1),
    "index_int": lambda torch, x: x[-1],
    "slice": lambda torch, x: x[1:],
    "slice_step": lambda torch, x: x[..., ::2],
    "index_mixed": lambda torch, x: x[:, None, 1:],
    "ellipsis": lambda torch, x: x[...],
    "narrow": lambda torch, x: x.narrow(-1, 1, 2),
    "chunk": lambda torch, x: x.chunk(2, -1)[1],
    "split": lambda torch, x: x.split(1, -1)[1],
    "split_sizes": lambda torch, x: x.split([1, x.shape[-1] - 1], -1)[1],
    "tensor_split": lambda torch, x: x.tensor_split(2, -1)[0],
    "unbind": lambda torch, x: x.unbind(-1)[0],
    "expand": lambda torch, x: x[:1].expand(3, *x.shape[1:]),
    "expand_new_axis": lambda torch, x: x.expand(2, *x.shape),
    "diagonal": lambda torch, x: x.diagonal(0, -2, -1),
    "as_strided": lambda torch, x: x.as_strided((2, 2), (2, 1), 3),
    "squeeze": lambda torch, x: x[:1].squeeze(0),
    "unsqueeze": lambda torch, x: x.unsqueeze(1),
    "unfold": lambda torch, x: x.unfold(-1, 2, 1),
    "unfold_step": lambda torch, x: x.unfold(-1, 2, 2),
    "swapaxes": lambda torch, x: x.swapaxes(0, 1),
    "detach": lambda torch, x: x.detach(),
    "data": lambda torch, x: x.data,
    "positive": lambda torch, x: torch.positive(x),
    "hsplit": lambda torch, x: x.hsplit([1])[0],
    "contiguous_of_contiguous": lambda torch, x: x.contiguous(),
    "to_own_dtype": lambda torch, x: x.to(x.dtype),
}
COPIES: dict[str, View] = {
    "clone": lambda torch, x: x.clone(),
    "contiguous": lambda torch, x: x.mT.contiguous(),
    "reshape": lambda torch, x: x.mT.reshape(-1),
    "flatten": lambda torch, x: x.mT.flatten(),
    "index_tensor": lambda torch, x: x[torch.tensor([0, 1])],
    "index_list": lambda torch, x: x[[0]],
    "mask": lambda torch, x: x[x > 3],
    "repeat": lambda torch, x: x.repeat(1, 1, 1),
    "cast": lambda torch, x: x.to(torch.float32),
    "flip": lambda torch, x: x.flip(0),
    "roll": lambda torch, x: x.roll(1, 0),
    "tensor": lambda torch, x: torch.stack([x])[0],
}
COMPLEX_VIEWS: dict[str, View] = {
    "real": lambda torch, x: x.real,
    "imag": lambda torch, x: x.imag,
    "view_as_real": lambda torch, x: torch.view_as_real(x),
    "view_real_select": lambda torch, x: torch.view_as_real(x)[..., 1],
    "view_as_complex": lambda torch, x: torch.view_as_complex(torch.view_as_real(x)),
    "view_dtype": lambda torch, x: x.view(torch.float64),
    "imag_slice": lambda torch, x: x[1:].imag,
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda torch, v: v.add_(10),
    "mul_": lambda torch, v: v.mul_(-2),
    "zero_": lambda torch, v: v.zero_(),
    "copy_": lambda torch, v: v.copy_(torch.arange(1.0, 1.0 + v.shape[-1])),
    "assign": lambda torch, v: v.__setitem__(0, 99.0),
    "assign_slice": lambda torch, v: v.__setitem__((..., slice(None, 1)), -5.0),
    "assign_tensor": lambda torch, v: v.__setitem__(torch.tensor([0]), 42.0),
    "assign_mask": lambda torch, v: v.__setitem__(v > 9, 0.5),
    "index_fill_": lambda torch, v: v.index_fill_(0, torch.tensor([0]), 7),
    "out": lambda torch, v: torch.neg(v.clone(), out=v),
}


ARITHMETIC = ("add_", "mul_", "out", "assign_tensor")


def depends_on_order(name: str, write: str = "add_") -> bool:
    """Would the write change an element once for each time that it is viewed? jaxtorch refuses (docs/differences.md)."""
    return name == "unfold" and write in ARITHMETIC


def base(torch: Any) -> Any:
    return torch.arange(24, dtype=torch.float64).reshape(2, 3, 4).clone()


def relation(view: Any, x: Any) -> list[Any]:
    """How a view stands to what it was made from; addresses compare only inside one storage."""
    shared = view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    return [
        shared,
        view.data_ptr() - x.data_ptr() if shared and view.numel() else None,
        view._is_view(),
        view._base is x,
        view._base is None,
        view.storage_offset(),
        view.stride(),
        view.is_contiguous(),
        view._version,
        x._version,
    ]


@pytest.mark.parametrize("name", VIEWS)
@parity_test
def test_relation(torch: Any, name: str) -> Any:
    x = base(torch)
    v = VIEWS[name](torch, x)
    return v, relation(v, x)


@pytest.mark.parametrize(("name", "write"), [(n, w) for n in VIEWS for w in WRITES if not depends_on_order(n, w)])
@parity_test
def test_write_through_view(torch: Any, name: str, write: str) -> Any:
    x = base(torch)
    v, other = VIEWS[name](torch, x), x.view(24)
    seen = [attempt(lambda: WRITES[write](torch, v)), v, x, other, v._version, x._version, other._version]
    x.mul_(3)
    other[5] = -7
    return seen, v, x, v._version, x._version


@pytest.mark.parametrize("outer", [name for name in VIEWS if not depends_on_order(name)])
@parity_test
def test_chains_of_two(torch: Any, outer: str) -> Any:
    """Every view of every view: written through the end, the middle, and the base."""

    def chain(second: View) -> Any:
        x = base(torch)
        middle = VIEWS[outer](torch, x)
        end = second(torch, middle)
        seen = [relation(end, x), attempt(lambda: end.add_(100)), x.clone(), middle.clone()]
        x[1, 1] = -1
        seen += [
            end.clone(),
            attempt(lambda: middle.mul_(2)),
            middle,
            end,
            x,
            end._version,
            middle._version,
            x._version,
        ]
        return seen

    others = [second for name, second in VIEWS.items() if not depends_on_order(outer) and not depends_on_order(name)]
    return [attempt(lambda s=second: chain(s)) for second in others]


@pytest.mark.parametrize("name", VIEWS)
@parity_test
def test_gradient_through_written_view(torch: Any, name: str) -> Any:
    """A write through a view enters the history of its base; a write to the base enters that of the view."""

    def one(into_view: bool) -> Any:
        leaf = base(torch).requires_grad_()
        x = leaf * 1
        v = VIEWS[name](torch, x)
        names = [grad_fn_name(v)]
        (v if into_view and not depends_on_order(name) else x).mul_(3)
        names += [grad_fn_name(v), grad_fn_name(x), v.requires_grad, v._is_view(), v._base is x]
        (v.pow(2).sum() + (x * 2).sum()).backward()
        return names, v.detach(), leaf.grad

    return [attempt(lambda: one(True)), attempt(lambda: one(False))]


@pytest.mark.parametrize("name", VIEWS)
@parity_test
def test_gradient_written_value(torch: Any, name: str) -> Any:
    """What is written gets a gradient, what is overwritten gets zero."""

    def one(leaf_dtype: Any) -> Any:
        leaf = torch.tensor(2.0, dtype=leaf_dtype, requires_grad=True)
        x = base(torch).requires_grad_()
        y = x * 2
        VIEWS[name](torch, y).copy_(leaf)
        y.pow(2).sum().backward()
        return y.detach(), leaf.grad, x.grad

    return [attempt(lambda d=d: one(d)) for d in (torch.float64, torch.float32)]


@pytest.mark.parametrize("name", VIEWS)
@parity_test
def test_base_dies(torch: Any, name: str) -> Any:
    """A view keeps its storage, and its siblings, when the base's name goes."""
    x = base(torch)
    v, w = VIEWS[name](torch, x), x[1]
    del x
    w.fill_(5)
    seen = [v.clone(), attempt(lambda: v.add_(1)) if not depends_on_order(name) else None, w]
    return seen, v._version, w._version, v.untyped_storage().nbytes()


@pytest.mark.parametrize("name", COPIES)
@parity_test
def test_copies_do_not_alias(torch: Any, name: str) -> Any:
    x = base(torch)
    y = COPIES[name](torch, x)
    y.zero_()
    x.add_(1)
    return y, x, y._is_view(), y._base is None, y._version, x._version, attempt(lambda: y.storage_offset())


@pytest.mark.parametrize("name", COMPLEX_VIEWS)
@parity_test
def test_complex_views(torch: Any, name: str) -> Any:
    x = torch.complex(base(torch)[0], base(torch)[1]).clone()
    v = COMPLEX_VIEWS[name](torch, x)
    seen = [v.clone(), relation(v, x), v.mul_(2), x.clone(), x.add_(1j), v, x._version, v._version]
    leaf = x.detach().clone().requires_grad_()
    return seen, attempt(lambda: COMPLEX_VIEWS[name](torch, leaf * 2).abs().sum().backward()), leaf.grad


RETYPED: dict[str, Callable[[Any, Any], Any]] = {
    "real": lambda torch, c: c.real,
    "imag": lambda torch, c: c.imag[1:],
    "view_as_real": lambda torch, c: torch.view_as_real(c),
    "view": lambda torch, c: c.view(torch.float32),
    "conj": lambda torch, c: c[:2].conj(),
    "halves": lambda torch, c: c.real.contiguous().view(torch.int16)[1:],
}


@pytest.mark.parametrize("name", RETYPED)
@parity_test
def test_as_strided_counts_elements_of_the_view(torch: Any, name: str) -> Any:
    seen = []
    for layout in (((2, 2), (1, 1), 0), ((2,), (1,), 1), ((2,), (2,), 2)):
        c = torch.complex(torch.arange(1.0, 7.0), torch.arange(6.0))
        v = RETYPED[name](torch, c)
        s = v.as_strided(*layout)
        seen += [s.clone(), s.dtype, relation(s, c), s.zero_(), v, c]
    x = torch.arange(4.0, requires_grad=True)
    x.to(torch.complex64).real.as_strided((2,), (2,), 2).sum().backward()
    return *seen, x.grad


@parity_test
def test_real_of_real_is_self(torch: Any) -> Any:
    x = base(torch)
    x.real.add_(1)
    return x, x.real is x, x.conj() is x, attempt(lambda: x.imag)


@parity_test
def test_no_grad_and_inference_views(torch: Any) -> Any:
    leaf = base(torch).requires_grad_()
    with torch.no_grad():
        v = leaf[0]
        v.add_(1)
        seen = [v.requires_grad, v._is_view(), v._base is leaf, leaf._version, v._version]
    seen += [attempt(lambda: v.add_(1)), attempt(lambda: v.requires_grad), attempt(lambda: v.is_leaf), leaf]
    with torch.inference_mode():
        w = base(torch)
        u = w.view(-1)
        u.add_(1)
        seen += [w.clone(), w.is_inference(), u._is_view(), attempt(lambda: w._version)]
    seen += [
        attempt(lambda: w.add_(1)),
        attempt(lambda: w.copy_(w)),
        w.resize_(w.shape) is w,
        attempt(lambda: w.requires_grad_()),
        attempt(lambda: (w * leaf).sum()),
    ]
    return seen


ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "expanded_add": lambda torch, x: x[:1].expand(3, 3, 4).add_(1),
    "expanded_zero": lambda torch, x: x[:1].expand(3, 3, 4).zero_(),
    "expanded_copy": lambda torch, x: x[:1].expand(3, 3, 4).copy_(torch.ones(3, 3, 4)),
    "expanded_assign": lambda torch, x: x[:1].expand(3, 3, 4).__setitem__(slice(None), 1),
    "expanded_out": lambda torch, x: torch.neg(torch.ones(3, 3, 4), out=x[:1].expand(3, 3, 4)),
    "overlapping_input": lambda torch, x: x.view(24)[1:].copy_(x.view(24)[:-1]),
    "overlapping_add": lambda torch, x: x.view(24)[1:].add_(x.view(24)[:-1]),
    "view_of_transposed": lambda torch, x: x.mT.view(-1),
    "view_wrong_size": lambda torch, x: x.view(5, 5),
    "view_two_unknown": lambda torch, x: x.view(-1, -1),
    "view_as_wrong": lambda torch, x: x.view_as(torch.ones(5)),
    "select_out_of_range": lambda torch, x: x.select(0, 2),
    "narrow_too_long": lambda torch, x: x.narrow(0, 1, 2),
    "as_strided_out_of_storage": lambda torch, x: x.as_strided((5, 5), (5, 1), 1),
    "unfold_too_large": lambda torch, x: x.unfold(0, 3, 1),
    "diagonal_same_axis": lambda torch, x: x.diagonal(0, 1, 1),
    "squeeze_range": lambda torch, x: x.squeeze(3),
    "expand_smaller": lambda torch, x: x.expand(1, 3, 4),
    "expand_negative_new": lambda torch, x: x.expand(-1, 2, 3, 4),
    "broadcast_in_place": lambda torch, x: x[0].add_(torch.ones(2, 3, 4)),
    "cast_in_place": lambda torch, x: x.to(torch.int64).add_(0.5),
    "copy_shape": lambda torch, x: x.copy_(torch.ones(5)),
    "leaf_in_place": lambda torch, x: x.requires_grad_().add_(1),
    "leaf_assign": lambda torch, x: x.requires_grad_().__setitem__(0, 1),
    "view_of_leaf": lambda torch, x: x.requires_grad_()[0].add_(1),
    "view_of_leaf_view": lambda torch, x: x.requires_grad_().view(24)[2:].zero_(),
    "detached_leaf": lambda torch, x: x.requires_grad_().detach().add_(1),
    "data_of_leaf": lambda torch, x: x.requires_grad_().data.add_(1),
    "multi_output": lambda torch, x: (x.requires_grad_() * 2).unbind(0)[0].add_(1),
    "multi_output_chunk": lambda torch, x: (x.requires_grad_() * 2).chunk(2)[0].add_(1),
    "detach_in_place_view": lambda torch, x: (x.requires_grad_() * 2)[0].detach_(),
    "resize_view": lambda torch, x: x.requires_grad_().resize_(3),
    "view_as_complex_odd": lambda torch, x: torch.view_as_complex(x[..., :3]),
    "no_grad_view_written": lambda torch, x: _no_grad_view(torch, x).add_(1),
}


def _no_grad_view(torch: Any, x: Any) -> Any:
    y = x.requires_grad_() * 2
    with torch.no_grad():
        return y[0]


def test_in_place_on_repeated_elements_is_refused() -> None:
    """PyTorch changes such elements once, twice or not at all, depending on how it goes through them."""
    torch = candidate()
    x = base(torch)
    with pytest.raises(NotImplementedError, match="several elements in one place"):
        x.unfold(-1, 2, 1).add_(1)
    assert x.tolist() == base(torch).tolist()
    x.unfold(-1, 2, 1).fill_(3)
    assert x.tolist() == torch.full((2, 3, 4), 3.0).tolist()


REPEATED_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "expanded": lambda torch, x: x.expand(2, 4),
    "unfolded": lambda torch, x: x.unfold(0, 2, 1),
    "unfolded_expanded": lambda torch, x: x.unfold(0, 2, 2).expand(3, 2, 2)[:2],
    "strided": lambda torch, x: x.as_strided((2, 2), (0, 1)),
    "strided_part": lambda torch, x: x.as_strided((2, 3), (0, 1))[:, 1:],
}


@pytest.mark.parametrize("name", REPEATED_VIEWS)
@parity_test
@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors")
def test_fills_of_some_of_the_elements_in_one_place(torch: Any, name: str) -> Any:
    """A place that is filled through any of its elements is filled."""

    def filled(fill: Callable[[Any], Any], shared: bool = False, graph: bool = False) -> Any:
        x = torch.arange(4.0, requires_grad=graph) * 1
        array = x.numpy() if shared else None
        v = REPEATED_VIEWS[name](torch, x)
        fill(v)
        return x, v, array

    def chosen(v: Any, row: int) -> Any:
        return (torch.arange(2) == row).view(2, *[1] * (v.dim() - 1))

    seen = []
    for options in ({}, {"shared": True}, {"graph": True}):
        for row in (0, 1):
            seen.append(filled(lambda v, row=row: v.index_fill_(0, torch.tensor([row]), 7), **options))
            if name != "unfolded":  # refused
                seen.append(filled(lambda v, row=row: v.masked_fill_(chosen(v, row), float("nan")), **options))
    return seen


@pytest.mark.parametrize("name", ERRORS)
@parity_test
def test_errors_leave_things_alone(torch: Any, name: str) -> Any:
    x = base(torch)
    result = attempt(lambda: ERRORS[name](torch, x))
    return result, x.detach(), x._version, x.requires_grad


@parity_test
def test_metadata_in_place(torch: Any) -> Any:
    """Shape changed in place: the handle changes, its views and its base do not."""
    x = base(torch)
    v = x[0]
    seen = [x.transpose_(0, 2), x.shape, x.stride(), v, x._version, v._version]
    x[0, 0] = -3
    seen += [v, v.unsqueeze_(0), v.shape, v.squeeze_(), v.t_(), v._version, x._version, v._base is x]
    v.add_(1)
    return seen, x, v, x.swapaxes_(0, 1)


@parity_test
def test_set_data_and_resize(torch: Any) -> Any:
    x = base(torch)
    v = x[0]
    x.data = torch.ones(2, 2, dtype=torch.float64)
    x.add_(1)
    return x, v, x._version, x.shape


@parity_test
def test_numpy_shares_memory(torch: Any) -> Any:
    a = np.arange(6.0).reshape(2, 3)
    x = torch.from_numpy(a)
    view, array = x[1], x.numpy()
    a[1, 0] = 70
    seen = [x.clone(), view.clone()]
    x.mul_(2)
    seen += [a.copy(), array.copy(), np.shares_memory(a, array)]
    view.fill_(-1)
    array[0] += 1
    y = torch.ones(3)
    b, c = y.numpy(), y[1:].numpy()
    y.add_(1)
    b *= 3
    c[0] = 0
    d = torch.from_numpy(a.T)
    d[0] = 5
    e = torch.as_tensor(a)
    e[0, 0] = 11
    f = torch.tensor(a)
    f.zero_()
    return seen, a, x, view, y, b, c, d, x._version, y._version, d.stride(), f


@parity_test
def test_numpy_errors(torch: Any) -> Any:
    return [
        attempt(lambda: torch.from_numpy([1, 2])),
        attempt(lambda: torch.from_numpy(np.array(["a"]))),
        attempt(lambda: torch.from_numpy(np.arange(4)[::-1])),
        attempt(lambda: torch.ones(2, requires_grad=True).numpy(), match="requires grad"),
        attempt(lambda: torch.ones(2, dtype=torch.bfloat16).numpy()),
        attempt(lambda: np.asarray(torch.ones(2)).dtype.name),
        attempt(lambda: np.add(np.ones(2), torch.ones(2).numpy())),
    ]


@parity_test
def test_parameters_share(torch: Any) -> Any:
    """Tied weights and views of a parameter's data see each other's updates."""
    p = torch.nn.Parameter(base(torch))
    row, same = p.data[0], p.detach()
    with torch.no_grad():
        p.sub_(1)
        p[0, 0] = 100
    row.mul_(2)
    return row, same, p, p._version, row._version, same._version


def test_a_view_that_was_made_before_reports_the_same() -> None:
    """What is known of views from earlier calls: strides, offsets and contents of chains, met a second time and with other bases."""

    def several(torch: Any) -> Any:
        x = torch.arange(120.0).reshape(4, 5, 6)
        found = []
        for base in (x, x.transpose(0, 2), x[1:, :, ::2], x.transpose(0, 2)[1], x.expand(2, 4, 5, 6)[1]):
            for _ in range(2):
                views = [
                    base[..., 1],
                    base[1:3, None],
                    base[0],
                    base[-1],
                    base.unsqueeze(-1),
                    base.transpose(0, -1),
                    base.contiguous(),
                ]
                views += [
                    *base.split(2, -1),
                    *base.chunk(2),
                    *base.unbind(-1),
                    base[..., 1:],
                    base[..., :-1],
                    base[True],
                    base.clone(),
                ]
                found += [(v.tolist(), v.stride(), v.storage_offset(), v.is_contiguous()) for v in views]
        return found

    assert several(candidate()) == several(reference())


@parity_test
def test_copies_of_expanded_and_conjugating_tensors(torch: Any) -> Any:
    spread = torch.tensor([2.0, 6.0])[:, None].expand(2, 2)
    found = []
    for write in (lambda t: t.copy_(t[0]), lambda t: t.add_(1), lambda t: t.__setitem__(0, 1.0), lambda t: t.zero_()):
        t = pickle.loads(pickle.dumps(spread))
        found += [getattr(attempt(lambda w=write, t=t: w(t)), "kind", None), t, t._version, t.stride()]
    for x in (torch.tensor(2 + 1j).conj(), torch.tensor([2 + 1j]).conj().imag):
        y = copy.deepcopy(x)
        found += [y, y._version, y.is_conj(), y.is_neg()]
    for size in ((), (0,), (2, 0), (2,)):
        t = torch.ones(size, dtype=torch.bool)
        found += [getattr(attempt(lambda t=t: t.cumsum_(0)), "kind", None), t, t._version]
    return found


def test_basic_indices_are_assigned_as_one_operation() -> None:
    def content(lib: Any) -> list[Any]:
        found = []
        for dtype in (lib.float32, lib.int64, lib.bool, lib.float64):
            x = lib.zeros(4, 5, dtype=dtype)
            x[1] = 1
            x[-1, 2:] = lib.tensor([1, 0, 1])
            x[::2, None, 1] = lib.tensor(1.0)
            x[0, ..., 3] = True
            x[2, -2] = x[1, 0]
            x[1:3] = lib.ones(2, 5, dtype=lib.uint8)
            found.append((x.tolist(), x._version, x.dtype == dtype))
            base = lib.zeros(3, dtype=dtype)
            view = base[1:]  # shared memory: written through
            base[1] = 1
            found.append((view.tolist(), base._version, view._version))
        return found

    mine, theirs = content(candidate()), content(reference())
    assert mine == theirs


def test_what_is_assigned_over_cannot_be_saved() -> None:
    for lib in (candidate(), reference()):
        w, x = lib.ones(3, requires_grad=True), lib.arange(3.0)
        y = (w * x).sum()
        x[1] = 7.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
        grown = lib.zeros(3)
        grown[0] = w[1] * 2  # a gradient flows in
        assert grown.requires_grad
        grown.sum().backward()
        assert w.grad.tolist() == [0, 2, 0]
        with pytest.raises((RuntimeError, ValueError)):
            lib.zeros(3)[0:2] = lib.ones(3)
        with pytest.raises(RuntimeError, match="overflow"):
            lib.zeros(3, dtype=lib.uint8)[0] = 256


SHOWN = """x[0]; x[:, 1]; x[..., 0]; x[None]; x[:]; x.select(0, 1); x.narrow(0, 0, 1); x.view(6); x.reshape(3, 2); x.expand(2, 2, 3)
    x.as_strided((2,), (1,)); x.split(1)[0]; x.unbind()[1]; x.chunk(2, 1)[0]; x.diagonal(); x.t(); x.unfold(1, 2, 1); x.unsqueeze(0)
    x.squeeze(); x.permute(1, 0); x.detach(); x.data; x.view_as(x); x.flatten(); x.real; x.mT; x.movedim(0, 1)[1:]; x[0][1:]"""


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("kind", ["leaf", "leaf of constant memory", "view of a leaf", "result", "view of that leaf"])
@parity_test
def test_which_views_without_gradients_require_one(torch: Any, kind: str, mode: str) -> Any:
    """What counts is the tensor that the memory was first seen as: a leaf may be a view of one that requires no gradient."""
    seen = []
    for call in re.split(r"[;\n]\s*", SHOWN):
        x = torch.arange(6.0) if kind == "leaf of constant memory" or kind == "view of that leaf" else torch.ones(6)
        if kind == "leaf":
            x = torch.ones(2, 3, requires_grad=True)
        elif kind == "view of a leaf":
            x = x.requires_grad_().view(2, 3)
        elif kind == "result":
            x = (x.requires_grad_() * 2).view(2, 3)
        else:
            x = x.view(2, 3).requires_grad_()
            x = x[:] if kind == "view of that leaf" else x
        with getattr(torch, mode)():
            shown = eval(call)
        seen.append((call, shown.requires_grad, shown.is_leaf, shown._is_view()))
    return seen
