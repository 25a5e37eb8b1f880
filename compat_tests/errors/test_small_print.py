"""Arguments, results and errors at the edges of public functions, each compared with PyTorch's."""

import copy
import importlib
import io
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch


def told(fn, lib):
    """What `fn(lib)` gives, or the type of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fn(lib)
        except Exception as e:
            return type(e).__name__


def plain(x):
    """Tensors as what they show, in any nesting; types and values otherwise."""
    if isinstance(x, torch.Tensor | jaxtorch.Tensor):
        x = x.to_dense() if str(x.layout) != "torch.strided" else x
        return str(x.dtype), tuple(x.shape), x.requires_grad, x.tolist()
    if isinstance(x, list | tuple):
        return ("list" if type(x) is list else "tuple"), [plain(i) for i in x]
    return repr(x).replace("jaxtorch", "torch")


def _leaf(t, *values):
    return t.tensor(values or (1.0, 2.0), requires_grad=True)


def _assigned(t, x, name, value):
    setattr(x, name, value)
    return x


def _half_gradient(t):
    x = _leaf(t)
    x.grad_dtype = t.float16
    seen = []
    x.register_hook(lambda g: seen.append(g.dtype))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    return x.grad, str(seen[0]), t.autograd.grad((x * 2).sum(), x)


def _any_gradient(t):
    x = _leaf(t)
    x.grad_dtype = None
    x.grad = t.tensor([1.0, 5.0], dtype=t.float64)
    return x.grad, x.grad_dtype


def _sparse(t):
    return t.arange(1, 17).reshape(2, 4, 2).to_sparse(2)


def _backward_with(t, gradient):
    x = t.tensor([2.0, 3.0], requires_grad=True)
    (x * 3).backward(gradient)
    return x.grad


def _message(fn):
    try:
        return fn()
    except RuntimeError as e:
        return str(e)


def _csr(t):
    return t.tensor([[1.0, 0, 2], [0, 0, 3]]).to_sparse_csr()


ALIKE = {
    "sizes that are tensors": lambda t: repr(
        t.Size((2, t.tensor(3), t.tensor([4]), t.tensor(True), -1)) + (t.tensor(5),)
    ),
    "the types of sizes": lambda t: [type(n).__name__ for n in t.Size([t.tensor(3), np.array(3), np.int64(3), True])],
    "a size from a tensor": lambda t: t.Size(t.tensor([2, 3])),
    "a size that is a float tensor": lambda t: t.Size((2, t.tensor(3.0))),
    "a size that is two": lambda t: t.Size((2, t.tensor([3, 4]))),
    "a product that does not fit": lambda t: _message(lambda: t.matmul(t.ones(60, 3), t.ones(3, 1, 3))),
    "gradients in a sequence": lambda t: [_backward_with(t, g) for g in ([t.ones(2)], (t.ones(2), None), t.ones(2))],
    "no gradient in a sequence": lambda t: _backward_with(t, []),
    "a number for a gradient": lambda t: _backward_with(t, 3.0),
    "asarray keeps the history": lambda t: t.asarray(_leaf(t) + 1),
    "asarray, with it": lambda t: t.asarray(_leaf(t) + 1, requires_grad=True),
    "asarray, without": lambda t: t.asarray(_leaf(t) + 1, requires_grad=False),
    "asarray, without, of another type": lambda t: t.asarray(_leaf(t), dtype=t.float64, requires_grad=False),
    "grad_dtype": lambda t: (_leaf(t).grad_dtype, t.arange(3).grad_dtype),
    "grad_dtype set": _half_gradient,
    "grad_dtype None": _any_gradient,
    "grad_dtype of a number": lambda t: _assigned(t, _leaf(t), "grad_dtype", 3),
    "grad_dtype of no leaf": lambda t: (_leaf(t) + 1).grad_dtype,
    "grad_dtype with another gradient": lambda t: _assigned(
        t, _assigned(t, _leaf(t), "grad", t.ones(2)), "grad_dtype", t.float64
    ),
    "grad of another type": lambda t: _assigned(t, _assigned(t, _leaf(t), "grad_dtype", t.half), "grad", t.ones(2)),
    "dim_order": lambda t: t.empty(1, 4, 3).dim_order(),
    "dim_order, ambiguous": lambda t: t.empty(1, 4, 3).dim_order(ambiguity_check=True),
    "dim_order, clear": lambda t: t.empty(5, 4, 3).transpose(0, 1).dim_order(ambiguity_check=True),
    "dim_order by format": lambda t: t.empty(1, 2, 3, 4).dim_order(
        ambiguity_check=[t.contiguous_format, t.channels_last]
    ),
    "dim_order by another": lambda t: t.empty(1, 2, 3, 4).dim_order(ambiguity_check=[t.channels_last]),
    "dim_order by text": lambda t: t.empty(4, 3).dim_order(ambiguity_check="yes"),
    "set_grad_enabled": lambda t: t.set_grad_enabled(True),
    "a generator's state": lambda t: (lambda g: g.set_state(g.get_state()) is g)(t.Generator()),
    "bin_edges": lambda t: t.histogramdd(t.tensor([[0.0, 3.0], [1.0, 2.0], [2.0, 5.0]]), bins=[2, 3])[1],
    "TypedStorage": lambda t: (lambda s: (s.tolist(), s.dtype, len(s)))(t.TypedStorage([4, 5], dtype=t.int16)),
    "TypedStorage of a size": lambda t: (lambda s: (len(s), s.dtype))(t.TypedStorage(7)),
    "TypedStorage of two": lambda t: t.TypedStorage(2, 3),
    "narrow_copy of sparse dimensions": lambda t: t.narrow_copy(_sparse(t), 1, 1, 2),
    "narrow_copy of dense ones": lambda t: _sparse(t).narrow_copy(2, 1, 1),
    "narrow_copy beyond the end": lambda t: _sparse(t).narrow_copy(0, 1, 2),
    "narrow_copy of a dimension beyond the last": lambda t: t.ones(2, 3).narrow_copy(2, 0, 1),
    "narrow_copy of a dimension before the first": lambda t: t.narrow_copy(t.ones(2, 3), -3, 0, 1),
    "narrow_copy of a number": lambda t: t.narrow_copy(t.tensor(1.0), dim=1, start=0, length=1),
    "mm by max": lambda t: t.sparse.mm(_csr(t), t.tensor([[1.0, 2], [3, 4], [5, -6]]), "max"),
    "mm by min": lambda t: t.sparse.mm(_csr(t), t.tensor([[1.0, 2], [3, 4], [5, -6]]), "min"),
    "mm by what there is not": lambda t: t.sparse.mm(_csr(t), t.ones(3, 2), "median"),
    "blocks of vectors": lambda t: t.arange(24.0).reshape(4, 3, 2).to_sparse_bsr((2, 3), 1),
    "blocks of vectors by columns": lambda t: t.arange(24.0).reshape(4, 3, 2).to_sparse_bsc((2, 1), 1),
    "blocks that do not fit": lambda t: t.ones(5, 3).to_sparse_bsc((2, 1)),
    "rows with blocks": lambda t: t.ones(4, 3).to_sparse(layout=t.sparse_csr, blocksize=(2, 1)),
    "blocks without a size": lambda t: t.ones(4, 3).to_sparse(layout=t.sparse_bsr),
    "an event on the CPU": lambda t: (str(t.Event().device), t.Event().query(), repr(t.Event(enable_timing=True))),
    "its record": lambda t: t.Event().record(),
    "times of events never recorded": lambda t: t.Event(enable_timing=True).elapsed_time(t.Event(enable_timing=True)),
    "times of events without timing": lambda t: t.Event().elapsed_time(t.Event()),
    "a stream on the CPU": lambda t: (str(t.Stream().device), t.Stream().query(), repr(t.Stream(device="cpu"))),
}


@pytest.mark.parametrize("name", ALIKE)
def test_alike(name):
    expected, found = told(ALIKE[name], torch), told(ALIKE[name], jaxtorch)
    assert plain(found) == plain(expected)


def test_an_absent_device_is_an_error_each_time():
    """Not the first time only."""
    if jaxtorch.cuda.is_available():
        pytest.skip("there is a GPU")
    for _ in range(3):
        for make in (
            lambda: jaxtorch.ones(2).cuda(),
            lambda: jaxtorch.ones(2).to("cuda:0", dtype=jaxtorch.float64),
            lambda: jaxtorch.zeros(2, device="cuda"),
            lambda: jaxtorch.nn.Linear(2, 2).to("cuda"),
        ):
            with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
                make()


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_numbers_of_half_precision_are_refused():
    """PyTorch makes a complex32 tensor, which cannot be here; it must not become a real one."""
    before = jaxtorch.get_default_dtype()
    try:
        jaxtorch.set_default_dtype(jaxtorch.float16)
        with pytest.raises(NotImplementedError, match="complex32"):
            jaxtorch.tensor([1.5, 2j])
        assert jaxtorch.tensor([1.5, 2j], dtype=jaxtorch.complex64).tolist() == [1.5, 2j]
    finally:
        jaxtorch.set_default_dtype(before)


def test_asarray_warns_where_the_history_is_kept_unasked(monkeypatch):
    monkeypatch.setattr("jaxtorch._core.types.warn_once._said", set())
    for lib in (torch, jaxtorch):
        x = _leaf(lib)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            lib.asarray(x, requires_grad=True), lib.asarray(x, requires_grad=False), lib.asarray(x)
        if lib is jaxtorch:
            assert [str(w.message)[:55] for w in said] == ["torch.asarray: unspecified requires_grad now defaults t"]


REARRANGED = [
    ("a b c -> c a b", {}), ("a b c -> (b a) c", {}), ("a b (c d) -> d a (c b)", {"c": 2}), ("a ... -> ... a", {}),
    ("... c -> c (...)", {}), ("a b c -> a 1 (c b) ()", {}), ("(x a) b c -> x (a b c)", {"x": 2, "a": 1}), ("a b -> b a", {}),
    ("a b c", {}), ("a b c -> a b", {}), ("a b c -> a (b c", {}), ("a a b -> a a b", {}), ("a b c -> a b c", {"q": 2}),
    ("a b 4 -> a b", {}), ("a_ b c -> a_ b c", {}), ("(...) -> ...", {}),
]  # fmt: skip


@pytest.mark.parametrize("pattern, sizes", REARRANGED)
def test_rearrange(pattern, sizes):
    def run(t):
        x = t.arange(24.0).reshape(2, 3, 4).requires_grad_()
        y = t.func.rearrange(x, pattern, **sizes)
        (y * t.arange(24.0).reshape(y.shape)).sum().backward()
        return y, x.grad

    assert plain(told(run, jaxtorch)) == plain(told(run, torch))


def test_rearrange_that_does_not_fit():
    x = jaxtorch.arange(24).reshape(2, 3, 4)
    for pattern, sizes in (("a b (c d) -> a b c d", {}), ("a b (c d) -> a b c d", {"c": 3}), ("a b c -> b", {})):
        with pytest.raises(ValueError, match="rearrange"):
            jaxtorch.func.rearrange(x, pattern, **sizes)
    parts = [jaxtorch.ones(2, 3), jaxtorch.zeros(2, 3)]
    assert jaxtorch.func.rearrange(parts, "n a b -> a n b").tolist() == [[[1.0] * 3, [0.0] * 3]] * 2


def _logged(t):
    import datetime
    import importlib

    m = importlib.import_module(f"{t.__name__}.monitor")
    seen = []
    handle = m.register_event_handler(lambda e: seen.append((e.name, e.timestamp.year, sorted(e.data.items()))))
    event = m.Event("steps", datetime.datetime(2024, 5, 6), {"count": 3, "what": "x"})
    m.log_event(event)
    m.unregister_event_handler(handle)
    m.log_event(event)
    stat = m.Stat("s", [m.Aggregation.SUM, m.Aggregation.COUNT], datetime.timedelta(hours=9))
    stat.add(3.0)
    return seen, stat.count, stat.name, [a.name for a in stat.get()], list(m.Aggregation.__members__)


def _default_backend(t):
    before = t.compiler.get_default_backend()
    t.compiler.set_default_backend("eager")
    try:
        return before, t.compiler.get_default_backend(), t.compile(lambda x: x + 1)(t.ones(1))
    finally:
        t.compiler.set_default_backend(None)


def _capsule(t):

    x = t.arange(4)
    y = t.from_dlpack(t.utils.dlpack.to_dlpack(x))
    y[1] = -7
    return x, y


def _tagged(t):
    @t.library.custom_op(f"small_print::{t.__name__}_double_", mutates_args={"x"})
    def double_(x: t.Tensor) -> None:
        x.mul_(2)

    x = t.ones(2)
    return double_(x), x, t.Tag.inplace.name, t.Tag.view_copy.value


def _taken(t):
    """Tensors in lists by type and size, as gradients are before they are averaged over processes."""
    many = [
        t.ones(3),
        t.ones(4).long(),
        t.ones(2),
        t.ones(10),
        t.ones(1),
        t.eye(2).to_sparse(),
        t.ones(2).long(),
        t.ones(0),
    ]
    lists = [
        [[tuple(x.shape) for x in part] for part in t._utils._take_tensors(iter(many), n)] for n in (0, 8, 20, 64, 999)
    ]
    return lists, t._utils._reorder_tensors_as([t.ones(1), t.ones(2).long()], [t.ones(1).long(), t.ones(3)])


def _layout_policy(t):
    with t.autograd.enforce_grad_layout_policy(False) as entered:
        return entered


def _module_text(t):
    """What modules print: NumPy's numbers, and a child's lines of blanks."""

    class Told(t.nn.Module):
        def extra_repr(self):
            return "one\n\ntwo\n \n"

    number = np.int64(4)
    bag = t.nn.EmbeddingBag(number, number, max_norm=np.float64(0.5), norm_type=np.float64(1), padding_idx=np.int64(0))
    inner = t.nn.Sequential(Told(), t.nn.ModuleList([Told()]))
    return [repr(x) for x in (Told(), inner, t.nn.ModuleDict({"a": inner}), bag, t.nn.Upsample(number))]


def _weighted_mean(t):
    try:
        t.nn.functional.embedding_bag(t.tensor([[1]]), t.ones(2, 2), per_sample_weights=t.ones(1, 1), mode="mean")
    except NotImplementedError as error:
        return str(error)


def _not_allowed(t):
    file = io.BytesIO()
    t.save({"a": np.zeros(2)}, file)
    try:
        t.load(io.BytesIO(file.getvalue()))
    except Exception as error:
        said = str(error)
        return [
            said.startswith("Weights only load failed."),
            "WeightsUnpickler error: Unsupported global: GLOBAL numpy._core.multiarray._reconstruct was not" in said,
            "add_safe_globals([numpy._core.multiarray._reconstruct])" in said,
        ]


RARE = {
    "modules as text": _module_text,
    "weights of a mean": _weighted_mean,
    "a class that is not allowed": _not_allowed,
    "tensors in lists": _taken,
    "monitor": _logged,
    "default backend": _default_backend,
    "backend of a number": lambda t: t.compiler.set_default_backend(3),
    "a NumPy function": lambda t: t.compiler.wrap_numpy(lambda a, k=1: {"s": a * k, "n": [3]})(t.arange(3.0), k=2)["s"],
    "of a tensor with gradient": lambda t: t.compiler.wrap_numpy(lambda a: a)(_leaf(t)),
    "a substitute": lambda t: t.compiler.substitute_in_graph(divmod)(lambda a, b: 3),
    "memory budget": lambda t: t.autograd.graph.region_activation_memory_budget(0.5),
    "memory budget of 2": lambda t: t.autograd.graph.region_activation_memory_budget(2.0),
    "layout policy": _layout_policy,
    "no thread": lambda t: t.random.thread_safe_generator(),
    "no device": lambda t: t.accelerator.device_index(None).__enter__(),
    "as_subclass is not asked": lambda t: t.Tensor.as_subclass in t.overrides.get_ignored_functions(),
    "define gives nothing": lambda t: t.library.define(f"small_print::{t.__name__}_f", "(Tensor x) -> Tensor"),
    "a capsule is written to": _capsule,
    "tags": _tagged,
}


@pytest.mark.parametrize("name", RARE)
def test_rare(name):
    expected, found = told(RARE[name], torch), told(RARE[name], jaxtorch)
    assert plain(found) == plain(expected)


def test_the_error_function_stays_within_its_bounds():
    """In float32 too, whatever computes it: NumPy the first time, one compiled program later. A probability made of it is one."""
    x = jaxtorch.linspace(-8, 8, 40001, requires_grad=True)
    for _ in range(4):
        y = jaxtorch.erf(x)
        assert (y.min().item(), y.max().item()) == (-1, 1)
        jaxtorch.distributions.Bernoulli(0.5 * (1 + y.detach()))
    theirs = torch.linspace(-8, 8, 40001, requires_grad=True)
    torch.erf(theirs).sum().backward()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), rtol=1e-4, atol=1e-30)


def test_copies_of_subclasses() -> None:
    def copies(t: Any) -> list[Any]:
        class Plain(t.Tensor):
            pass

        class Makes(t.Tensor):
            def new_empty(self, *args: Any, **kwargs: Any) -> Any:
                return super().new_empty(*args, **kwargs).as_subclass(Makes)

        class Weight(t.nn.Parameter):
            pass

        seen: list[Any] = []
        for x in (
            t.ones(2).as_subclass(Plain),
            t.ones(2).as_subclass(Makes),
            Weight(t.ones(2)),
            t.nn.Buffer(t.ones(2)),
        ):
            x.tag = [1]
            try:
                copied = copy.deepcopy(x)
                seen.append((type(copied).__name__, copied.tolist(), sorted(copied.__dict__)))
            except RuntimeError as error:
                seen.append(str(error)[:150])
        return seen

    assert copies(jaxtorch) == copies(torch)


def test_tensorboard_missing(monkeypatch: Any) -> None:
    module = importlib.import_module("jaxtorch.utils.tensorboard")
    for name in ("tensorboard", "tensorboardX", "jaxtorch.utils.tensorboard._writer"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'tensorboard'"):
        module.SummaryWriter  # noqa: B018
