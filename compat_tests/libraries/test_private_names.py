"""Inner modules of PyTorch that libraries reach into: weak dictionaries, exchanged members, functorch, types without storage."""

from __future__ import annotations

import collections
import copy
import importlib
import pickle
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from parity import parity_test


def outcome(call: Any) -> Any:
    """What a call gives, or the exception that it raises."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


@parity_test
def test_weak_dictionaries_find_keys_by_identity(torch: Any) -> Any:
    weak = importlib.import_module(f"{torch.__name__}.utils.weak")
    a, b, c = torch.ones(2), torch.ones(2), torch.zeros(1)
    d = weak.WeakIdKeyDictionary({a: "a", b: ["b"]})
    seen = [len(d), d[a], c in d, 3 in d, d.get(c), d.pop(c, "none"), d == {a: "a", b: ["b"]}, d == {a: "a"}]
    seen += [outcome(lambda: d[c]), outcome(lambda: d[3]), outcome(lambda: d.__setitem__(3, 1)), outcome(lambda: {}[d])]
    twin, deep = copy.copy(d), copy.deepcopy(d)
    twin[c] = "c"
    deep[b].append("more")
    seen += [len(twin), len(d), d[b], deep[b], (d | {c: 1})[c], ({a: 1, c: 2} | d)[a], len(d.keyrefs())]
    d |= {c: "later"}
    seen.append([v for _, v in d.items()])
    del b
    seen.append(len(d))
    d.clear()
    reference = weak.TensorWeakRef(a)
    seen += [len(d), reference() is a, outcome(lambda: weak.TensorWeakRef(3)), weak.WeakIdRef(a) == weak.WeakIdRef(a)]
    del a
    gone = weak.WeakTensorKeyDictionary is weak.WeakIdKeyDictionary, weak.WeakIdRef(c) == weak.WeakIdRef(torch.zeros(1))
    return [*seen, gone, hash(weak.WeakIdRef(c)) == hash(weak.WeakIdRef(c))]


def test_an_entry_goes_with_its_key():
    import jaxtorch as torch
    from jaxtorch.utils.weak import TensorWeakRef, WeakIdKeyDictionary

    a = torch.ones(2)
    d, reference = WeakIdKeyDictionary({a: 1}), TensorWeakRef(a)
    del a
    assert len(d) == 0 and list(d) == [] and reference() is None


@parity_test
def test_members_are_exchanged_by_name(torch: Any) -> Any:
    m = importlib.import_module(f"{torch.__name__}.nn.utils._named_member_accessor")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    names = m.NamedMemberAccessor(net)
    wrong = [
        lambda: m.swap_tensor(net[0], "x", torch.ones(1)), lambda: m.swap_tensor(net[0], "a.b", torch.ones(1)),
        lambda: m.swap_tensor(net[0], "", torch.ones(1)), lambda: m.swap_tensor(net[0], "weight", 3),
        lambda: m.swap_tensor(3, "weight", torch.ones(1)), lambda: m.swap_tensor(net[0], "forward", torch.ones(1)),
        lambda: names.get_tensor("1.nope"), lambda: names.get_tensor("7.nope"), lambda: names.set_tensors(["0.bias"], []),
        lambda: m.swap_submodule(net, "9", torch.nn.ReLU()), lambda: m.swap_submodule(net[0], "weight", torch.nn.ReLU()),
        lambda: names.swap_tensors_dict({"1.weight": torch.zeros(2), "zz": torch.ones(1)}),
    ]  # fmt: skip
    seen: list[Any] = [outcome(call) for call in wrong]
    seen += [net[1].weight, type(net[1].weight).__name__, m.swap_tensor(net[0], "bias", torch.ones(2)), net[0].bias]
    seen += [
        names.swap_tensors_dict({"1.bias": torch.ones(2), "1.running_mean": torch.ones(2)}),
        names.check_keys(["0.bias", "q"]),
    ]
    names.del_tensor("0.bias")
    seen += [
        hasattr(net[0], "bias"),
        names.get_tensors(["1.running_mean"]),
        type(names.swap_submodule("0", torch.nn.ReLU())).__name__,
    ]
    return [*seen, repr(net)]


def functorch(torch: Any) -> Any:
    return importlib.import_module("functorch" if torch.__name__ == "torch" else "jaxtorch._functorch.functorch")


@parity_test
def test_functorch_under_its_older_names(torch: Any) -> Any:
    f = functorch(torch)
    torch.manual_seed(0)
    x = torch.randn(3, 2)
    nets = [torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)) for _ in range(2)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        linear, parameters = f.make_functional(torch.nn.Linear(2, 1))
        with_buffers, weights, buffers = f.make_functional_with_buffers(nets[0].eval())
        nets[1].eval()
        ensemble, stacked, their_buffers = f.combine_state_for_ensemble(nets)
        seen = [
            linear(parameters, x), [p.requires_grad for p in parameters], with_buffers(weights, buffers, x),
            f.vmap(ensemble, in_dims=(0, 0, None))(stacked, their_buffers, x).contiguous(), [p.requires_grad for p in stacked],
            f.grad(lambda p: linear(p, x).sum())(tuple(p.detach() for p in parameters)),
            f.jacrev(torch.sin)(x[0]), f.vjp(torch.sin, x[0])[0],
            [p.requires_grad for p in f.make_functional(torch.nn.Linear(1, 1), disable_autograd_tracking=True)[1]],
            repr(linear), outcome(lambda: f.make_functional(nets[0])),
        ]  # fmt: skip
    return seen, {w.category.__name__ for w in caught}


@parity_test
def test_types_without_storage(torch: Any) -> Any:
    seen = []
    for name in (
        "qint8",
        "quint8",
        "qint32",
        "quint4x2",
        "quint2x4",
        "uint1",
        "uint7",
        "int4",
        "bits8",
        "bits16",
        "float4_e2m1fn_x2",
    ):
        d = getattr(torch, name)
        seen.append([repr(d), d.itemsize, d.is_floating_point, d.is_complex, pickle.loads(pickle.dumps(d)) is d])
    return seen, torch.uint3.is_signed, torch.int3.is_signed


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("name", ["qint8", "int4", "bits8", "float4_e2m1fn_x2", "complex32"])
def test_a_tensor_of_a_type_without_storage_is_refused(name: str):
    import jaxtorch as torch

    dtype = getattr(torch, name)
    for make in (
        lambda: torch.zeros(2, dtype=dtype), lambda: torch.tensor([1], dtype=dtype), lambda: torch.ones(2).to(dtype),
        lambda: torch.empty(2, dtype=dtype), lambda: torch.randn(2).type(dtype),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=f"no storage for torch.{name}"):
            make()


def test_what_a_program_with_its_own_tensors_calls_first_asks_them(run_python: Run, tmp_path: Path):
    """A class with `__torch_function__` that is no tensor is asked from the first call on, whatever function that is."""
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
            import functorch
            import torch
            from torch._C import _is_alias_of, _is_torch_function_mode_enabled
            from torch._ops import HigherOrderOperator, OpOverload
            from torch._guards import active_fake_mode

            class Named:
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    return func.__name__

            print(torch.stack([Named(), Named()]), torch.split(Named(), 2), torch.nn.functional.interpolate(Named(), 2))
            x = torch.ones(3)
            try:
                x + [1, 2]  # a list that is refused is none that is not looked into from then on
            except TypeError:
                print(torch.stack([Named(), Named()]))
            print(_is_alias_of(x, x[1:]), _is_alias_of(x, x.clone()), _is_torch_function_mode_enabled(), active_fake_mode())
            torch.library.define("mine::twice", "(Tensor x) -> Tensor")
            print(isinstance(torch.ops.mine.twice.default, OpOverload), isinstance(torch.cond, HigherOrderOperator))
            print(functorch.make_functional(torch.nn.Linear(1, 1))[1][0].shape)
        """)
    )
    out = run_python("-W", "ignore", "-m", "jaxtorch", "program.py").stdout
    assert out == "stack split interpolate\nstack\nTrue False False None\nTrue False\ntorch.Size([1, 1])\n"


@parity_test
def test_each_tensor_has_its_own_number(torch: Any) -> Any:
    a = torch.ones(2)
    p = torch.nn.Parameter(a)
    module = torch.nn.Linear(2, 2)
    numbers = [x._cdata for x in (a, p, p.data, p.view(2))]
    return [
        type(numbers[0]),
        a._cdata == numbers[0],
        p._cdata == a._cdata,
        module.weight._cdata == next(iter(module.parameters()))._cdata,
    ]


@parity_test
def test_the_first_vmap_returns_tensors_only(torch: Any) -> Any:
    first = importlib.import_module(f"{torch.__name__}._vmap_internals")
    x = torch.arange(6.0).view(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found: list[Any] = [first.vmap(lambda a: a.sum(), 1)(x)]
    for function, settings in (
        (lambda a: (a, a + 1), {"out_dims": (0, 1)}),
        (lambda a: (a, a + 1), {"out_dims": (0,)}),
        (lambda a: (a, a + 1), {"out_dims": 1}),
        (lambda a: a, {"out_dims": (1,)}),
        (lambda a: [a, a], {}),
        (lambda a: (a, None), {}),
        (lambda a: None, {}),
        (lambda a: (a, None), {"out_dims": (1, 0), "allow_none_pass_through": True}),
        (lambda a: (a, None, a * 2), {"out_dims": (1, 0, -1), "allow_none_pass_through": True}),
        (lambda a: a.sum(), {"in_dims": None}),
    ):
        found.append(outcome(lambda f=function, s=settings: first._vmap(f, **s)(x)))
    return found


@parity_test
def test_helpers_of_autograd_functional(torch: Any) -> Any:
    helpers = torch.autograd.functional
    x = torch.ones(2, requires_grad=True)
    pair = torch.zeros(2, 3), torch.zeros(2, dtype=torch.float64)
    found = list(helpers._construct_standard_basis_for(pair, (6, 2)))
    found += [helpers._tuple_postprocess((x,), unpack) for unpack in (True, False)]
    found += [helpers._tuple_postprocess(((x,), (x * 2,)), (a, b)) for a in (True, False) for b in (True, False)]
    found += [helpers._as_tuple(x), helpers._as_tuple((x, 3)), helpers._as_tuple(x, "inputs", "jacobian")]
    found.append(outcome(lambda: helpers._as_tuple((x, 3), "inputs", "jacobian")))
    found += [t.requires_grad for graph in (True, False) for t in helpers._grad_postprocess((x * 2, x * 3), graph)]
    return [*found, helpers._grad_postprocess(((x * 2,), (x * 3,)), False)[1][0].requires_grad]


@parity_test
def test_utilities_of_elastic_launchers(torch: Any) -> Any:
    elastic = importlib.import_module(f"{torch.__name__}.distributed.elastic.utils")
    ports = importlib.import_module(f"{torch.__name__}.distributed.elastic.utils.distributed")
    with ports.get_socket_with_port() as listening:
        taken = listening.getsockname()[1]
        free = ports.get_free_port()
    return (
        0 < free < 65536,
        free != taken,
        outcome(lambda: elastic.get_env_variable_or_raise("JAXTORCH_NOT_SET_ANYWHERE")),
    )


@parity_test
def test_states_beside_modules(torch: Any) -> Any:
    states = importlib.import_module(f"{torch.__name__}.distributed._composable_state")
    module, state = torch.nn.Linear(2, 2), states._State()
    found = [states._get_module_state(module), states._get_module_state(state) is state]
    states._insert_module_state(module, state)
    found.append(states._get_module_state(module) is state)
    return [*found, outcome(lambda: states._insert_module_state(module, state))]


@parity_test
def test_settings_of_sharded_models(torch: Any) -> Any:
    fsdp = importlib.import_module(f"{torch.__name__}.distributed.fsdp")
    api = importlib.import_module(f"{torch.__name__}.distributed.fsdp.api")
    enums = "ShardingStrategy BackwardPrefetch StateDictType".split()
    found: list[Any] = [[(member.name, member.value) for member in getattr(fsdp, name)] for name in enums]
    for name in (
        "CPUOffload StateDictConfig FullStateDictConfig LocalStateDictConfig ShardedStateDictConfig OptimStateDictConfig "
        "FullOptimStateDictConfig LocalOptimStateDictConfig ShardedOptimStateDictConfig"
    ).split():
        found += [
            repr(getattr(fsdp, name)()),
            getattr(fsdp, name) is getattr(api, name),
            getattr(fsdp, name).__mro__[1].__name__,
        ]
    half = fsdp.MixedPrecision(param_dtype=torch.bfloat16)
    found += [half.param_dtype, half.reduce_dtype, half._module_classes_to_ignore[0].__name__]
    return [*found, torch.distributed.GradBucket.__name__]


@parity_test
def test_classes_of_operations_as_attributes(torch: Any) -> Any:
    names = "OpOverload OpOverloadPacket HigherOrderOperator _OpNamespace".split()
    assert all(isinstance(getattr(torch._ops, name), type) for name in names)
    packet = torch.ops.aten.add
    return (
        isinstance(packet, torch._ops.OpOverloadPacket),
        isinstance(packet.Tensor, torch._ops.OpOverload),
        isinstance(torch.ops.aten, torch._ops._OpNamespace),
        hasattr(torch._ops, "no_such_name"),
    )


@parity_test
def test_the_line_search_of_lbfgs_called_by_itself(torch: Any) -> Any:
    lbfgs = importlib.import_module(f"{torch.__name__}.optim.lbfgs")
    found = []
    for start, t, direction in (([1.3, 0.7], 1.0, None), ([-1.2, 1.0], 0.5, None), ([-1.2, 1.0], 4.0, [1.0, 1.0])):
        x = torch.tensor(start, dtype=torch.float64)

        def at(point: Any) -> Any:
            point = point.clone().requires_grad_()
            loss = (1 - point[0]) ** 2 + 100 * (point[1] - point[0] ** 2) ** 2
            loss.backward()
            return loss.item(), point.grad

        f, g = at(x)
        d = -g if direction is None else torch.tensor(direction, dtype=torch.float64)
        loss, gradient, t, n = lbfgs._strong_wolfe(
            lambda x, t, d: at(x + t * d), x, torch.tensor(t, dtype=torch.float64), d, f, g, g.dot(d)
        )
        found += [loss, gradient, float(t), n]
    number = lambda v: torch.tensor(v, dtype=torch.float64)  # noqa: E731
    for case in ((0.0, 1.0, -2.0, 1.0, 0.5, 0.3), (1.0, 0.5, 0.3, 0.0, 1.0, -2.0), (0.0, 1.0, -2.0, 1.0, -4.0, -6.0)):
        for bounds in (None, (0.2, 0.4)):
            found.append(float(lbfgs._cubic_interpolate(*[number(v) for v in case], bounds)))
    return found


@parity_test
def test_parts_of_trees_of_each_kind(torch: Any) -> Any:
    tree = importlib.import_module(f"{torch.__name__}.utils._pytree")
    pair = collections.namedtuple("pair", "a b")
    given = {
        "tuple": (1, 2),
        "list": [1, 2],
        "deque": collections.deque([1, 2], maxlen=3),
        "dict": {"b": 1, "a": 2},
        "ordereddict": collections.OrderedDict(b=1, a=2),
        "defaultdict": collections.defaultdict(int, b=1),
        "namedtuple": pair(1, 2),
    }
    found = []
    for kind, value in given.items():
        leaves, context = getattr(tree, f"_{kind}_flatten")(value)
        again = getattr(tree, f"_{kind}_unflatten")(leaves, context)
        keys, _ = getattr(tree, f"_{kind}_flatten_with_keys")(value)
        found.append((leaves, again == value and type(again) is type(value), [(str(k), v) for k, v in keys]))
    return found


@parity_test
def test_names_that_need_a_compiler_or_a_device(torch: Any) -> Any:
    """What libraries import for GPUs: calls that wait for one, warnings said once, leaving the fake mode."""
    called: list[int] = []
    waits = torch.cuda._lazy_call(lambda: called.append(1))
    utilities = importlib.import_module(f"{torch.__name__}._dynamo.utils")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        utilities.warn_once("said once")
        utilities.warn_once("said once")
    with importlib.import_module(f"{torch.__name__}._subclasses.fake_tensor").unset_fake_temporarily() as mode:
        pass
    return waits, called, [(str(w.message), Path(w.filename).name) for w in said], mode


def test_parameters_of_triton_kernels_are_importable():
    """torchao imports them at its own import; there are none, and asking says so."""
    from jaxtorch.sparse._triton_ops_meta import get_meta, minimize, update

    for name in (get_meta, minimize, update):
        with pytest.raises(NotImplementedError, match=f"torch.sparse._triton_ops_meta.{name.__name__}.*Triton"):
            name("bsr_dense_addmm", (1, 2))


@parity_test
def test_is_there_triton(torch: Any) -> Any:
    triton = importlib.import_module(f"{torch.__name__}.utils._triton")
    names = "has_triton has_triton_package has_triton_tma has_triton_tma_device has_triton_stable_tma_api"
    return [getattr(triton, n)() for n in names.split()], triton.get_triton_version(), triton.get_triton_version((3, 1))


@parity_test
def test_products_in_another_type(torch: Any) -> Any:
    out_dtype = importlib.import_module(f"{torch.__name__}._higher_order_ops.out_dtype").out_dtype
    aten, x = torch.ops.aten, torch.arange(-6, 6.0).reshape(3, 4) / 7
    a = torch.arange(-100, 100, dtype=torch.int8)[:12].reshape(3, 4)
    results = [
        out_dtype(aten.mm.default, torch.int32, a, a.t()),
        out_dtype(aten.mul.Tensor, torch.int32, a, a),
        out_dtype(aten.mul.Scalar, torch.int32, a, 3),
        out_dtype(aten.mm.default, torch.float16, x, x.t()),
        out_dtype(aten.mm.default, torch.float32, x.bfloat16(), x.bfloat16().t()),
        out_dtype(aten.div.Tensor, torch.float64, x, x + 1),
    ]
    refused = (
        outcome(lambda: out_dtype(torch.mm, torch.int32, a, a)),
        outcome(lambda: out_dtype(aten.relu.default, torch.int32, a)),
    )
    return results, refused


@parity_test
def test_strides_and_memory_formats(torch: Any) -> Any:
    common = importlib.import_module(f"{torch.__name__}._prims_common")
    shapes = ((2, 3, 4), (), (3,), (2, 0, 4), (2, 0))
    x = torch.ones(2, 3, 4, 5)
    formats = [
        x,
        x.to(memory_format=torch.channels_last),
        x[None].to(memory_format=torch.channels_last_3d),
        x[0, 0].t(),
    ]
    return (
        [common.make_contiguous_strides_for(s, row_major=r) for s in shapes for r in (True, False)],
        [str(common.suggest_memory_format(f)) for f in formats],
        [(n, v.value) for n, v in vars(torch.nn.functional.ScalingType).items() if n.endswith(("Wise", "x16", "x128"))],
    )


@parity_test
def test_contents_that_could_be_exchanged(torch: Any) -> Any:
    kinds = [torch.ones(2), torch.ones(2, dtype=torch.int32), torch.ones(2, device="meta"), torch.eye(2).to_sparse()]
    return [[torch._has_compatible_shallow_copy_type(a, b) for a in kinds] for b in kinds]


@parity_test
def test_whether_a_backward_pass_may_begin_within_another(torch: Any) -> Any:
    autograd, seen = torch.autograd, []

    class Asking(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(autograd._is_checkpoint_valid())
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    Asking.apply(x).sum().backward()
    autograd.grad(Asking.apply(x).sum(), x)
    Asking.apply(x).sum().backward(inputs=[x])
    return [*seen, autograd.Variable._execution_engine.is_checkpoint_valid()]


@parity_test
def test_functions_for_several_devices(torch: Any) -> Any:
    older = importlib.import_module(f"{torch.__name__}.cuda.comm")
    newer = importlib.import_module(f"{torch.__name__}.nn.parallel.comm")
    names = sorted(name for name in dir(older) if not name.startswith("_"))
    return names, [getattr(older, name) is getattr(newer, name) for name in names]


def test_functions_for_several_devices_say_that_there_is_one():
    from jaxtorch.nn.parallel import comm

    with pytest.raises(NotImplementedError, match=r"torch\.nn\.parallel\.comm\.scatter: models run on one device"):
        getattr(comm, "scatter")([], [0])  # noqa: B009 - made by a table


@parity_test
def test_the_older_name_of_a_global_rank(torch: Any) -> Any:
    dist = importlib.import_module(f"{torch.__name__}.distributed")
    inner = importlib.import_module(f"{torch.__name__}.distributed.distributed_c10d")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = inner._get_global_rank(dist.group.WORLD, 0)
    finally:
        dist.destroy_process_group()
    return found, [(w.category.__name__, str(w.message)) for w in caught]
