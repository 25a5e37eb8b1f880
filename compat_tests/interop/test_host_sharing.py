"""Memory shared between tensors and NumPy: each body must see on jaxtorch what it sees on PyTorch."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import jaxtorch
from jaxtorch._core.record import program
from parity import attempt, candidate, differences, outcome, reference

BODIES: list[Callable[[Any], Any]] = []


def body(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    BODIES.append(fn)
    return fn


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("fn", BODIES, ids=lambda f: f.__name__)
def test_as_pytorch(fn: Callable[[Any], Any]):
    found = differences(outcome(reference(), fn), outcome(candidate(), fn))
    assert not found, "\n".join(found)


def grid(*shape: int, dtype: Any = np.float32) -> Any:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


# -- from NumPy --


@body
def writing_the_array_is_seen_in_the_tensor(torch):
    a = grid(2, 3)
    t = torch.from_numpy(a)
    before = t.clone()
    a[0, 1] = 100
    first = t.tolist()
    a += 1
    return before, first, t, (t * 2).sum()


@body
def writing_the_tensor_is_seen_in_the_array(torch):
    a = grid(2, 3)
    t = torch.from_numpy(a)
    t.add_(1)
    first = a.copy()
    t[0] = -1
    t[:, 1] *= 10
    t.view(-1)[5] = 7
    return first, a


@body
def an_array_in_fortran_order(torch):
    a = np.asfortranarray(grid(3, 4))
    t = torch.from_numpy(a)
    t[1, 2] = -5
    a[2] = 9
    return t, t.stride(), a, t.t().is_contiguous()


@body
def a_strided_slice_of_an_array(torch):
    whole = grid(6, 8)
    t = torch.from_numpy(whole[1::2, ::3])
    t.mul_(-1)
    whole[3, 3] = 50
    return t, t.stride(), whole


@body
def a_transposed_array(torch):
    a = grid(3, 4)
    t = torch.from_numpy(a.T)
    t[0].fill_(8)
    a[1, 1] = -3
    return t, a, t.contiguous().stride()


@body
def a_broadcast_array_has_stride_0(torch):
    a = np.lib.stride_tricks.as_strided(grid(4), (3, 4), (0, 4))
    t = torch.from_numpy(a)
    return t, t.stride(), attempt(lambda: t.add_(1))


@body
def a_negative_stride_is_refused(torch):
    return attempt(lambda: torch.from_numpy(grid(4)[::-1]), "negative")


@body
def a_type_that_torch_lacks_is_refused(torch):
    return [attempt(lambda d=d: torch.from_numpy(np.zeros(2, d))) for d in ("U3", "O", "complex64", "uint16")], attempt(
        lambda: torch.from_numpy([1, 2])
    )


@body
def every_dtype_goes_there_and_back(torch):
    names = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
    made = [torch.from_numpy(grid(3, dtype=n)) for n in names]
    return made, [t.numpy() for t in made]


@body
def an_empty_array_and_a_scalar_array(torch):
    empty, scalar = torch.from_numpy(np.zeros((0, 3))), torch.from_numpy(np.array(2.0))
    scalar.add_(1)
    return empty, scalar, scalar.numpy()


@body
def as_tensor_shares_and_tensor_copies(torch):
    a = grid(4)
    shared, copied, typed = torch.as_tensor(a), torch.tensor(a), torch.as_tensor(a, dtype=torch.float64)
    a[:] = -1
    return shared, copied, typed


@body
def two_tensors_on_one_array(torch):
    a = grid(4)
    s, t = torch.from_numpy(a), torch.from_numpy(a[1:3])
    s.add_(1)
    t.mul_(10)
    return s, t, a


@body
def views_of_a_shared_tensor(torch):
    a = grid(4, 6)
    t = torch.from_numpy(a)
    row, column, block, flat = t[1], t[:, 2], t[1:3, 2:5], t.view(-1)
    diagonal, permuted = t.diagonal(), t.t()
    a[1, 2] = 100
    seen = [x.clone() for x in (row, column, block, flat, diagonal, permuted)]
    block.zero_()
    row += 1
    diagonal.fill_(-7)
    permuted[5, 3] = 55
    return seen, a, row, column, block, flat, diagonal, permuted


@body
def the_order_of_reads_and_writes_is_kept(torch):
    a = grid(3)
    t = torch.from_numpy(a)
    results = []
    for k in range(4):
        results.append(t * k)  # recorded before the next write
        a += 1
        results.append(t + 0.5)
        t.sub_(0.25)
    return results, a


@body
def a_pending_result_is_written_into_shared_memory(torch):
    a = grid(3)
    t = torch.from_numpy(a)
    x = torch.ones(3)
    for _ in range(5):
        x = x * 2
    t.copy_(x)
    x = x + t
    a[0] = -1
    return x, t, a


@body
def out_arguments_write_shared_memory(torch):
    a = grid(3)
    torch.add(torch.ones(3), 2, out=torch.from_numpy(a))
    return a


@body
def index_writes_into_shared_memory(torch):
    a = grid(3, 4)
    t = torch.from_numpy(a)
    t[torch.tensor([0, 2]), 1] = torch.tensor([-1.0, -2.0])
    t[t > 7] = 0
    t.index_fill_(0, torch.tensor([1]), 5)
    t.masked_fill_(t == 5, 6)
    return a


@body
def gradients_through_a_shared_leaf(torch):
    a = grid(3)
    w = torch.from_numpy(a).requires_grad_()
    (w**2).sum().backward()
    g = w.grad.clone()
    a[:] = 10
    w.grad = None
    (w**2).sum().backward()
    return g, w.grad, w


@body
def a_write_to_the_array_between_forward_and_backward_is_not_noticed(torch):
    a = grid(3)
    w = torch.from_numpy(a).requires_grad_()
    y = (w * 2).sum()
    a[:] = 10
    y.backward()
    return w.grad


@body
def versions_count_tensor_writes_only(torch):
    a = grid(3)
    t = torch.from_numpy(a)
    a += 1
    before = t._version
    t.add_(1)
    return before, t._version


# -- to NumPy --


@body
def numpy_shares_both_ways(torch):
    t = torch.arange(6.0).reshape(2, 3)
    a = t.numpy()
    a[0, 0] = 42
    t[1, 1] = -1
    t.add_(1)
    return t, a, a.flags.writeable


@body
def numpy_of_a_view_shares_with_the_whole(torch):
    t = torch.arange(12.0).reshape(3, 4)
    column, part = t[:, 1].numpy(), t.t()[1:3].numpy()
    column[:] = -1
    part[0, 2] = 77
    t[0, 2] = 5
    return t, column, part, column.strides, part.strides


@body
def numpy_taken_twice_is_one_memory(torch):
    t = torch.zeros(4)
    a, b = t.numpy(), t.numpy()
    a[0], b[1] = 1, 2
    t[2] = 3
    return t, a, b, np.shares_memory(a, b)


@body
def numpy_of_detached_parameter_follows_updates(torch):
    w = torch.ones(3, requires_grad=True)
    a = w.detach().numpy()
    optimizer = torch.optim.SGD([w], lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        (w * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
        optimizer.step()
    first = a.copy()
    a[0] = 9
    return first, w


@body
def numpy_is_refused_where_pytorch_refuses(torch):
    w = torch.ones(3, requires_grad=True)
    return [
        attempt(lambda: w.numpy(), "requires grad"),
        attempt(lambda: np.asarray(w), "requires grad"),
        attempt(lambda: torch.ones(2, dtype=torch.bfloat16).numpy(), "BFloat16"),
        w.numpy(force=True),
        attempt(lambda: torch.ones(2, device="meta").numpy()),
    ]


@body
def numpy_of_what_requires_grad_is_given_where_grad_is_off(torch):
    w = torch.nn.Parameter(torch.ones(3))
    y = w * 2
    with torch.no_grad():
        a, b = w.numpy(), y.view(-1).numpy()
        a[0], b[1] = 5, 7
        seen = np.asarray(w), y.numpy().copy(), w.requires_grad, y.requires_grad
    with torch.inference_mode():
        inside = w.numpy()
    y.sum().backward()
    return w, y, seen, inside, w.grad


@body
def numpy_protocols(torch):
    t = torch.arange(4.0)
    a = np.asarray(t)
    a[0] = 10
    b = np.array(t)
    b[1] = 10
    c = np.asarray(t, dtype=np.int64)
    c[2] = 10
    d = t.__array__()
    d[3] = -1
    return t, a, b, c, np.add(t, 1), np.exp(torch.zeros(2))


@body
def numpy_and_tensor_operands(torch):
    t, a = torch.arange(3.0), np.arange(3.0)
    return t + a.tolist()[1], t * np.float32(2), np.float64(2) * t, t == np.float64(1)


@body
def a_clone_leaves_the_shared_memory(torch):
    a = grid(3)
    t = torch.from_numpy(a)
    c, d, e = t.clone(), copy.deepcopy(t), t.contiguous()
    a[:] = 7
    return c, d, e, t.to(torch.float32), t.float() is t


@body
def a_tensor_keeps_its_content_when_the_array_dies(torch):
    t = torch.arange(4.0)
    a = t.numpy()
    a[1] = 100
    view = t[1:3]
    del a
    gc.collect()
    t.add_(1)
    u = t * 2
    t[0] = -1
    return t, view, u


@body
def an_adopted_tensor_keeps_its_content_when_the_array_dies(torch):
    a = grid(2, 3)
    t = torch.from_numpy(a)
    a[0, 0] = 9
    del a
    gc.collect()
    t.add_(1)
    view = t[1]
    view.mul_(2)
    return t, view


@body
def sharing_again_after_the_array_died(torch):
    t = torch.arange(3.0)
    t.numpy()[0] = 5
    t.add_(1)
    a = t.numpy()
    a[1] = -1
    t.mul_(2)
    return t, a


@body
def resize_and_data_under_sharing(torch):
    a = grid(4)
    t = torch.from_numpy(a)
    t.data.fill_(2)
    t.detach()[1] = 3
    other = torch.zeros(4)
    other.data = t
    a[3] = 8
    return t, other, a


# -- DLPack --


@body
def dlpack_shares(torch):
    t = torch.arange(4.0)
    s = torch.from_dlpack(t)
    a = np.from_dlpack(t)
    t[0] = 10
    s[1] = 20
    return t, s, np.array(a), t.__dlpack_device__() == (1, 0)


@body
def dlpack_bfloat16(torch):
    t = torch.arange(6, dtype=torch.bfloat16).view(2, 3)
    capsule = torch.utils.dlpack.to_dlpack(t[1])
    return torch.from_dlpack(t), torch.utils.dlpack.from_dlpack(capsule)


@body
def dlpack_from_numpy(torch):
    a = grid(2, 3)
    t = torch.from_dlpack(a)
    a[0, 0] = 5
    t[1, 1] = -1
    return t, a


@body
def dlpack_is_refused_for_parameters(torch):
    return attempt(lambda: torch.ones(2, requires_grad=True).__dlpack__(), "require gradient")


# -- pickles and copies --


def repickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


@body
def pickling(torch):
    a = grid(2, 3)
    t = torch.from_numpy(a)
    w = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    p = repickled(t)
    a[0] = -1
    return p, repickled(t), repickled(t[:, 1]), repickled(t.t()), repickled(w), repickled(torch.tensor(True))


@body
def pickling_a_result_is_refused(torch):
    y = torch.ones(2, requires_grad=True) * 2
    return attempt(lambda: copy.deepcopy(y), "graph leaves")


@body
def a_deepcopy_of_a_list_keeps_what_is_shared(torch):
    t = torch.arange(3.0)
    s = copy.deepcopy([t, t, {"again": t}])
    s[0].add_(1)
    return s, s[0] is s[1], t


@body
def a_deepcopy_keeps_attributes_and_gradient(torch):
    w = torch.ones(2, requires_grad=True)
    w.note = ["x"]
    (w * 3).sum().backward()
    c = copy.deepcopy(w)
    c.grad.add_(1)
    return c, c.grad, w.grad, c.note, c.note is w.note


@body
def a_deepcopy_keeps_views_sharing(torch):
    t = torch.arange(4.0)
    s, v = copy.deepcopy([t, t[1:3]])
    s.mul_(10)
    return s, v, v.stride(), v.storage_offset()


# -- what only jaxtorch can be asked --


@pytest.mark.usefixtures("few_objects")
def test_a_shared_array_is_released_when_its_tensors_die():
    owner = np.arange(4.0, dtype=np.float32).view(np.ndarray)

    class Tracked(np.ndarray):
        pass

    array = owner.view(Tracked)
    ref = weakref.ref(array)
    t = jaxtorch.from_numpy(array)
    v = t[1:]
    assert (t + v.sum()).sum().item() > 0
    del array, t, v
    gc.collect()
    assert ref() is None


def test_the_tensor_leaves_the_shared_memory_when_the_user_has():
    t = jaxtorch.arange(4.0)
    a = t.numpy()
    assert t._alias.storage.host is not None
    a[0] = 3
    t.add_(1)
    assert t._alias.storage.host is not None
    del a
    assert t.sum().item() == 3 + 1 + 2 + 3 + 4
    assert t._alias.storage.host is None
    view = t.numpy()[1:]
    t.add_(1)
    assert t._alias.storage.host is not None  # a view of the array is alive
    view[0] = -5
    assert t.tolist() == [5.0, -5.0, 4.0, 5.0]


def test_a_write_while_a_program_is_pending():
    a = grid(3)
    t = jaxtorch.from_numpy(a)
    y = t * 2
    assert program.IMMEDIATE or y._value.array is None
    a[:] = 100
    t.sub_(1)
    assert y.tolist() == [0.0, 2.0, 4.0] and t.tolist() == [99.0] * 3


def test_a_shared_value_is_never_donated():
    w = jaxtorch.ones(4, requires_grad=True)
    optimizer = jaxtorch.optim.SGD([w], lr=0.5)
    kept = []
    for _ in range(4):
        optimizer.zero_grad()
        (w * 1).sum().backward()
        optimizer.step()
        kept.append(w.detach().clone().numpy())
    assert [k[0] for k in kept] == [0.5, 0.0, -0.5, -1.0]


def test_jax_arrays_are_snapshots():
    """`t.jax()` gives an immutable array: later writes to the tensor do not change it."""
    t = jaxtorch.arange(3.0)
    snapshot = t.jax()
    back = jaxtorch.from_jax(snapshot)
    t.add_(1)
    back.mul_(2)
    assert (snapshot.tolist(), t.tolist(), back.tolist()) == ([0, 1, 2], [1, 2, 3], [0, 2, 4])


def test_conjugating_views_of_shared_memory() -> None:
    def run(t: Any) -> list[Any]:
        array = np.array([1 + 2j, -0.5 + 1j])
        z = t.from_numpy(array)
        c, n = z.conj(), z.conj().imag
        found = [c.tolist(), (c * 2).tolist(), n.tolist()]
        array[0] = 5 + 5j
        found += [c.tolist(), c.imag.tolist(), z.imag.tolist()]
        c[1] = 3 + 1j
        found.append(array.tolist())
        n[0] = -9
        found += [array.tolist(), c.mul_(2).tolist(), array.tolist()]
        w = t.from_numpy(np.array([1 + 2j, -0.5 + 1j])).requires_grad_()
        (w * w.conj() * w).sum().real.backward()
        return [*found, w.grad.tolist()]

    assert run(reference()) == run(jaxtorch)


@pytest.mark.skipif(program.IMMEDIATE, reason="about recorded programs")
@pytest.mark.parametrize("compiled", [False, True])
def test_a_batch_that_comes_again_moves_to_the_device(compiled: bool) -> None:
    """What several programs read is copied for XLA once; memory that the user may write is read as it is each time."""
    given = np.ones((128, 128), np.float32)
    shared, kept, w = jaxtorch.from_numpy(given), jaxtorch.tensor(given), jaxtorch.ones(128, 128)

    def product(x: Any) -> Any:
        return (x @ w @ w @ w).sum()

    if compiled:
        product = jaxtorch.compile(product)
    for k in range(8):
        given[0, 0] = k
        assert product(shared).item() == (128 * 128 + k - 1) * 128**3
        assert product(kept).item() == 128**5
    assert isinstance(kept._value.array, jax.Array)
    kept.numpy()[0, 0] = 8
    assert product(kept).item() == (128 * 128 + 7) * 128**3
    assert shared[0, 0] == 7
