"""What libraries of the ecosystem import or touch: the names are there and do what PyTorch's do, or say what is missing."""

from __future__ import annotations

import collections
import importlib
import sys
import types
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import pytest

from parity import parity_test


def module(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


@parity_test
def test_scattered_arguments(torch: Any) -> Any:
    m = module(torch, "nn.parallel.scatter_gather")
    return m.is_namedtuple(collections.namedtuple("P", "x")(1)), m.is_namedtuple((1,)), m.scatter_kwargs((), {}, [])


def test_the_parts_of_a_batch():
    import jaxtorch as torch
    from jaxtorch.nn.parallel.scatter_gather import gather, scatter_kwargs

    inputs, kwargs = scatter_kwargs((torch.arange(5), "a"), {"k": torch.ones(5, 2)}, ["cpu", "cpu"])
    assert [(x.tolist(), a) for x, a in inputs] == [([0, 1, 2], "a"), ([3, 4], "a")]
    assert [tuple(k["k"].shape) for k in kwargs] == [(3, 2), (2, 2)]
    assert gather([x for x, _ in inputs], "cpu").tolist() == [0, 1, 2, 3, 4]
    assert scatter_kwargs((torch.arange(2),), {}, ["cpu", "cpu"])[1] == ({}, {})


@parity_test
def test_second_names(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    functional, aten = module(torch, "functional"), torch.ops.aten
    return [
        functional.einsum("ij->j", x), functional.tensordot(x, x, dims=([1], [1])), torch.torch is torch,
        torch._shape_as_tensor(x), torch._assert_async(torch.tensor(True)), isinstance(torch.__config__.show(), str),
        aten._to_copy.default(x, dtype=torch.float64), aten.alias.default(x),
        aten.index.Tensor(x, [None, torch.tensor([2, 0])]), aten.slice.Tensor(x, 1, 0, 2),
        aten._unsafe_view.default(x, [3, 2]), aten._local_scalar_dense.default(x[1, 1]), aten.sym_size.int(x, 1),
        list(aten._foreach_add.Scalar([x], 1)), torch.xpu.is_available(), torch.xpu.device_count(), torch.mtia.is_available(),
        torch.autograd._profiler_enabled(), torch._inductor.cudagraph_mark_step_begin(),
    ]  # fmt: skip


@parity_test
def test_the_text_of_tensors(torch: Any) -> Any:
    text = module(torch, "_tensor_str")
    found = [text._tensor_str(t, 7) for t in (torch.arange(6.0).reshape(2, 3) / 7, torch.arange(3), torch.tensor(True))]
    return found, text._add_suffixes("tensor([1]", ["a=1", "b" * 80, "c"], 7, False), text.PRINT_OPTS.threshold


@parity_test
def test_the_parameter_of_split(torch: Any) -> Any:
    x = torch.arange(6)
    errors = []
    for wrong in (lambda: x.split(split_size_or_sections=2), lambda: torch.split(x, split_size=2)):
        with pytest.raises(TypeError) as error:
            wrong()
        errors.append(type(error.value).__name__)
    return x.split(split_size=[4, 2]), x.split(split_size=3, dim=0), torch.split(x, split_size_or_sections=2), errors


@parity_test
def test_a_function_context_is_of_its_class(torch: Any) -> Any:
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(isinstance(ctx, torch.autograd.function.FunctionCtx))
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    return Double.apply(torch.ones(2, requires_grad=True)), seen


@parity_test
def test_an_optimizer_around_another(torch: Any) -> Any:
    """A subclass of `Optimizer` that wraps one and never calls `__init__`, as accelerate's does."""

    class Wrapper(torch.optim.Optimizer):
        def __init__(self, optimizer: Any) -> None:
            self.optimizer = optimizer

        def step(self, closure: Any = None) -> Any:
            return self.optimizer.step(closure)

    p = torch.nn.Parameter(torch.ones(2))
    inner = torch.optim.SGD([p], lr=0.5)
    (p * p).sum().backward()
    Wrapper(inner).step()
    return p


@parity_test
def test_an_optimizer_around_another_with_hooks(torch: Any) -> Any:
    """Wrappers ask for them by `_patch_step_function`, as pytorch_optimizer does; a `step` given later has them too."""

    class Wrapper(torch.optim.Optimizer):
        def __init__(self, optimizer: Any) -> None:
            self.optimizer, self.called = optimizer, []
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()
            self._patch_step_function()

        def step(self, closure: Any = None) -> Any:
            self.called.append("step")
            return self.optimizer.step(closure)

    p = torch.nn.Parameter(torch.ones(2))
    wrapper = Wrapper(torch.optim.SGD([p], lr=0.5))
    wrapper.register_step_post_hook(lambda o, a, k: o.called.append(k))
    (p * p).sum().backward()
    wrapper.step(closure=None)
    step = Wrapper.step
    wrapper._patch_step_function()

    class Later(torch.optim.SGD):
        pass

    seen = []
    Later.step = lambda self: seen.append("step")  # type: ignore[method-assign]
    later = Later([p], lr=0.1)
    later.register_step_pre_hook(lambda o, a, k: seen.append(len(a)))
    later.step()  # type: ignore[call-arg]
    hooked = torch.optim.Optimizer.profile_hook_step(lambda self, n: seen.append(n))
    hooked(later, 3)
    return p, wrapper.called, Wrapper.step is step, wrapper._zero_grad_profile_name, later._zero_grad_profile_name, seen


@parity_test
def test_helpers_of_other_libraries_optimizers(torch: Any) -> Any:
    from_torch = importlib.import_module(f"{torch.__name__}.optim.optimizer")
    p, q = torch.nn.Parameter(torch.ones(2)), torch.ones(3, dtype=torch.float64)
    optimizer = torch.optim.SGD([p], lr=0.5)
    optimizer._cuda_graph_capture_health_check()
    groups = optimizer._group_tensors_by_device_and_dtype([[p, q, p], [q, q, None]], with_indices=True)
    complexes, momenta = [torch.ones(2, dtype=torch.complex64), p], [torch.zeros(2, dtype=torch.complex64), q]
    from_torch._view_as_real(complexes, momenta)
    return (
        sorted((str(k), v) for k, v in groups.items()), complexes, momenta,
        from_torch._get_value(torch.tensor(2)), from_torch._get_value(0.5), from_torch._to_scalar(torch.ones(1)),
        from_torch._to_scalar(2.0), from_torch._stack_if_compiling([1]), from_torch._get_scalar_dtype(),
        from_torch._disable_dynamo_if_unsupported()(lambda x: x + 1)(2),
    )  # fmt: skip


@parity_test
def test_whether_a_gpu_is_in_use(torch: Any) -> Any:
    """Reversible layers ask it before they keep the state of the generators."""
    return torch.cuda._initialized == torch.cuda.is_initialized(), hasattr(torch.cuda, "_no_such_name")


@parity_test
def test_the_size_of_a_storage(torch: Any) -> Any:
    small, large = torch.zeros(10).untyped_storage(), torch.zeros(1000).untyped_storage()
    return sys.getsizeof(large) - sys.getsizeof(small)


MISSING = {
    "torch.classes.mine": lambda t: t.classes.mine,
    "aten._fft_c2c": lambda t: t.ops.aten._fft_c2c.default(t.ones(2)),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_is_named_at_use(name: str):
    import jaxtorch

    with pytest.raises(NotImplementedError, match=name):
        MISSING[name](jaxtorch)


@parity_test
def test_private_helpers_of_workers_and_transforms(torch: Any) -> Any:
    seeds = module(torch, "utils.data._utils.worker")._generate_state
    clipped = module(torch, "distributions.transforms")._clipped_sigmoid(torch.tensor([-200.0, 0.0, 200.0]))
    return seeds(5, 1), seeds(2**40, 3), clipped


def test_a_library_may_declare_datapipes():
    import jaxtorch as torch

    @torch.utils.data.functional_datapipe("twice")
    class Twice(torch.utils.data.IterDataPipe):
        @torch.utils.data.argument_validation
        def __iter__(self) -> Any: ...

    with pytest.raises(NotImplementedError, match="IterDataPipe"):
        Twice()


@parity_test
def test_the_former_name_of_distributed_tensors(torch: Any) -> Any:
    former, now = module(torch, "distributed._tensor.experimental"), module(torch, "distributed.tensor.experimental")
    with former.implicit_replication():
        doubled = torch.ones(2) * 2
    names = [hasattr(module(torch, "distributed._tensor"), n) for n in ("DTensor", "Replicate", "init_device_mesh")]
    return doubled, names, former.implicit_replication is now.implicit_replication


@parity_test
def test_names_that_programs_take_from_the_data_loaders_file(torch: Any) -> Any:
    loader = module(torch, "utils.data.dataloader")
    same = loader.Dataset is torch.utils.data.Dataset, loader._utils is torch.utils.data._utils
    return same, str(loader._collate_fn_t), str(loader._worker_init_fn_t)


@parity_test
def test_which_dimension_is_too_small_to_be_reflected(torch: Any) -> Any:
    """The last one is named first."""
    found = []
    for pad in ((5, 5, 5, 5), (1, 1, 5, 5), (0, 5, 1, 1), (4, 0, 0, 7), (0, 0, 5, 5)):
        with pytest.raises(RuntimeError) as error:
            torch.nn.functional.pad(torch.zeros(2, 3, 4, 4), pad, mode="reflect")
        found.append(str(error.value))
    return found


def test_a_library_may_ask_whether_a_dataset_is_a_shuffler():
    """accelerate does for every iterable dataset."""
    import jaxtorch

    shuffler = module(jaxtorch, "utils.data.datapipes.iter.combinatorics").ShufflerIterDataPipe
    assert not isinstance([1, 2], shuffler)
    with pytest.raises(NotImplementedError, match=r"combinatorics\.ShufflerIterDataPipe: jaxtorch has no DataPipes"):
        shuffler([1, 2])


class Pinned:
    """An object of a program's own, with a `pin_memory`."""

    def pin_memory(self) -> str:
        return "pinned"


class PinnedList(list):
    def pin_memory(self) -> str:
        return "whole"


class Mappings(Mapping):
    """A mapping that cannot be made from a dictionary."""

    def __getitem__(self, key: Any) -> Any:
        return {"a": Pinned()}[key]

    def __iter__(self) -> Any:
        return iter("a")

    def __len__(self) -> int:
        return 1


Pair = collections.namedtuple("Pair", "a b")


@parity_test
def test_a_batch_is_pinned_in_its_own_types(torch: Any) -> Any:
    pin = module(torch, "utils.data._utils.pin_memory").pin_memory
    batches = [
        Pinned(), PinnedList([Pinned()]), "text", b"bytes", 3, None, {"a": Pinned(), "b": [1, Pinned()]}, Mappings(),
        Pair(Pinned(), 1), (Pinned(), (2, Pinned())), range(3), collections.OrderedDict(a=Pinned()), collections.UserList([Pinned()]),
    ]  # fmt: skip
    found = [pin(batch) for batch in batches]
    return [type(x).__name__ for x in found], [list(x) if isinstance(x, collections.UserList) else x for x in found]


@parity_test
def test_a_device_as_a_mode_and_as_a_decorator(torch: Any) -> Any:
    devices = module(torch, "utils._device")
    with devices.DeviceContext("meta") as entered:
        seen = [entered, str(torch.ones(2).device)]
    seen += [str(torch.ones(2).device), str(devices.set_device("meta")(torch.zeros)(3).device)]
    seen += [str(devices.device_decorator(torch.device("meta"), torch.zeros)(3).device)]
    makers = devices._device_constructors()
    return [*seen, torch.zeros in makers, torch.rand in makers, torch.zeros_like in makers, torch.fft.fftfreq in makers]


@parity_test
def test_a_tensor_from_the_parts_that_a_file_names(torch: Any) -> Any:
    parts = module(torch, "_utils")
    base, numbers = torch.arange(12.0), torch.tensor([1 + 2j])
    storage = torch.storage.TypedStorage(wrap_storage=base.untyped_storage(), dtype=torch.float32, _internal=True)
    leaf = parts._rebuild_tensor_v2(storage, 2, (2, 3), (4, 1), True, {})
    whole = parts._rebuild_tensor(storage, 0, torch.Size([12]), (1,))
    whole[2] = 100.0
    storage = torch.storage.TypedStorage(wrap_storage=numbers.untyped_storage(), dtype=torch.complex64, _internal=True)
    conjugated = parts._rebuild_tensor_v2(storage, 0, (1,), (1,), False, None, {"conj": True})
    return [leaf.detach(), leaf.is_leaf, leaf.requires_grad, leaf.storage_offset(), base, conjugated]


@parity_test
def test_what_libraries_ask_of_a_backward_pass(torch: Any) -> Any:
    engine, seen = torch.autograd.variable.Variable._execution_engine, []
    numbers: list[int] = []

    def hook(grad: Any) -> None:
        numbers.append(torch._C._current_graph_task_id())
        engine.queue_callback(lambda: seen.append("end"))

    x = torch.ones(2, requires_grad=True)
    x.register_hook(hook)
    for _ in range(2):
        (x * 2).sum().backward()
        seen.append("after")
    with pytest.raises(RuntimeError, match="during backward pass"):
        engine.queue_callback(print)
    return seen, numbers[0] >= 0, numbers[1] > numbers[0], torch._C._current_graph_task_id()


@parity_test
def test_a_function_that_may_write_to_its_input(torch: Any) -> Any:
    class Double(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx: Any, x: Any, inplace: bool) -> Any:
            if inplace:
                ctx.mark_dirty(x)
            return (x if inplace else x.clone()).mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2, None

    found = []
    for inplace in (False, True):
        leaf = torch.ones(2, requires_grad=True)
        x = leaf * 1
        Double.apply(x, inplace).sum().backward()
        found += [leaf.grad, x.detach()]
    return found


@parity_test
def test_switches_and_second_names(torch: Any) -> Any:
    found = [torch._C._jit_set_profiling_mode(False), torch._C._jit_set_profiling_mode(True)]
    found += [torch._C._jit_set_profiling_executor(True), torch._C._get_cudnn_enabled(), torch.xpu.is_bf16_supported()]
    with pytest.warns(FutureWarning, match="ReduceOp"):
        found.append(str(torch.distributed.reduce_op.SUM))
    found.append(torch.distributed.nn.all_gather is torch.distributed.nn.functional.all_gather)
    found.append(torch.nn.functional._mha_shape_check(*[torch.ones(2, 3)] * 3, None, None, 1))
    with pytest.raises(RuntimeError):
        torch.mps.get_rng_state()
    return found


def test_programs_packed_with_their_code_are_refused():
    import jaxtorch as torch

    package = module(torch, "package")
    assert package.is_from_package(torch.ones(1)) is False
    with pytest.raises(NotImplementedError, match=r"torch\.package\.PackageExporter"):
        package.PackageExporter("file.pt")


SIZES = [
    (3, 1, 2),
    ((3, 1, 2),),
    ([3, 1, 2],),
    (0, 1),
    ((0, 1),),
    (0,),
    (1.5,),
    ((0,), 1),
    (0, "a"),
    (0, 0),
    (-1, -1, 2),
    (),
]


@parity_test
def test_sizes_and_dimensions_number_by_number(torch: Any) -> Any:
    x, found = torch.arange(2.0).reshape(1, 1, 2), []
    for name in ("broadcast_to", "count_nonzero", "tile"):
        for given in SIZES:
            try:
                found.append(getattr(x, name)(*given))
            except Exception as error:
                found.append(type(error).__name__)
    leaf = torch.ones(2, 1, requires_grad=True)
    leaf.broadcast_to(2, 3).sum().backward()
    with pytest.raises(TypeError):
        x.count_nonzero(2, dim=1)
    return found, x.broadcast_to(size=(3, 1, 2)), x.count_nonzero(dim=(0, 2)), x.count_nonzero(axis=2), leaf.grad


@parity_test
def test_saved_tensors_under_their_old_name(torch: Any) -> Any:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            with pytest.warns(DeprecationWarning, match="saved_tensors"):
                (x,) = ctx.saved_variables
            return 2 * x * grad

    leaf = torch.tensor([3.0], requires_grad=True)
    Twice.apply(leaf).sum().backward()
    return leaf.grad


@parity_test
def test_an_old_base_of_transposed_convolutions(torch: Any) -> Any:
    base = module(torch, "nn.modules.conv")._ConvTransposeMixin
    with pytest.warns(FutureWarning, match="deprecated internal class"):
        layer = base(3, 4, (1, 2), (1, 1), (0, 0), (1, 1), True, (0, 0), 1, True, "zeros")
    return str(layer), layer.weight.shape, isinstance(torch.nn.ConvTranspose2d(1, 1, 1), base)


def test_the_writers_under_the_name_of_their_file(monkeypatch):
    import jaxtorch.utils.tensorboard.writer as writers

    class SummaryWriter:
        pass

    given = types.ModuleType("tensorboardX")
    given.SummaryWriter = SummaryWriter  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "tensorboardX", given)
    assert writers.SummaryWriter is SummaryWriter
    with pytest.raises(ImportError):
        from jaxtorch.utils.tensorboard.writer import Nonsense  # noqa: F401  # pyright: ignore[reportAttributeAccessIssue]


@parity_test
def test_aten_names_of_what_are_methods_and_attributes_of_tensors(torch: Any) -> Any:
    aten = torch.ops.aten
    x = torch.arange(12.0).reshape(3, 4)
    compressed, indexed = x.to_sparse_csr(), x.to_sparse()
    seen: list[Any] = [
        getattr(aten, name).default(x)
        for name in (
            "is_pinned dim is_contiguous numpy_T matrix_H mT mH size stride storage_offset is_leaf output_nr get_device "
            "is_inference retains_grad lift"
        ).split()
    ]
    seen += [
        aten.is_pinned(x),
        aten.item.default(x[1, 1]),
        aten.is_set_to(x, x),
        aten.requires_grad_.default(x.clone()),
    ]
    seen += [getattr(aten, name).default(compressed) for name in ("values", "crow_indices", "col_indices")]
    seen += [getattr(aten, name).default(indexed) for name in ("_nnz", "sparse_dim", "dense_dim", "is_coalesced")]
    seen += [aten.indices.default(indexed.coalesce()), aten._to_dense.default(aten.to_sparse.default(x))]
    seen += [aten._unsafe_index.Tensor(x, [torch.tensor([0, 2])]), str(aten.is_pinned.default), repr(aten.dim)]
    return seen


@parity_test
def test_overloads_of_aten(torch: Any) -> Any:
    """All of each operation, and no others; nor names of functions that are no operations."""
    names = "add add_ sin sum mm conv2d native_layer_norm select pow _foreach_add index_put item elu max_pool2d_with_indices".split()
    found: list[Any] = [(name, getattr(torch.ops.aten, name).overloads()) for name in names]
    for name in "add.nonsense sin.Tensor sum.dim mm.Tensor add_.default select.default relu.out manual_seeds compile no_grad".split():
        packet, _, overload = name.partition(".")
        try:
            found.append(str(getattr(getattr(torch.ops.aten, packet), overload or "default")))
        except AttributeError as error:
            found.append(str(error))
    return found


@parity_test
def test_names_of_operations_that_stand_in_tables(torch: Any) -> Any:
    importlib.import_module(f"{torch.__name__}.distributed")
    functional = torch.ops._c10d_functional
    packets = [
        functional.all_reduce,
        functional.wait_tensor,
        torch.ops.c10d.scatter_,
        torch.ops.aten._weight_int4pack_mm,
    ]
    return [(str(p), repr(p), str(p.default), repr(p.default), p.default.name()) for p in packets]


def test_operations_that_stand_in_tables_only_say_so_when_called():
    import jaxtorch as torch
    from jaxtorch._higher_order_ops.inline_asm_elementwise import inline_asm_elementwise

    x = torch.ones(2)
    for name in ("_c10d_functional", "c10d_functional"):
        with pytest.raises(NotImplementedError, match=f"{name}.all_reduce"):
            getattr(torch.ops, name).all_reduce(x, "sum", "0")
    with pytest.raises(NotImplementedError, match="_convert_weight_to_int4pack"):
        torch.ops.aten._convert_weight_to_int4pack(x, 2)
    with pytest.raises(NotImplementedError, match="inline_asm_elementwise"):
        inline_asm_elementwise(x, asm_str="", constraints="", dtype=torch.float32)
    assert torch._C.Tag is torch.Tag
