"""Random calls with random arguments, on PyTorch and on jaxtorch: crashes, hangs, and errors that are nobody's.

    python compat_tests/kits/fuzz_calls.py --seed 1 --count 2000 --seconds 600

Every public function of `torch`, `torch.nn.functional`, `linalg`, `fft` and `special`, every method of Tensor and every module of
`torch.nn` is called with arguments that may be right for its parameters, some of them exchanged for anything at all. A worker process
with little memory runs the calls, an alarm ends each; where a signal ends the worker, the next one goes on behind that call.

A call ends as one of these kinds:
    same          equal results, or errors of the same class
    leaked        jaxtorch's error is one of JAX, NumPy or Python that no line of jaxtorch raises, and PyTorch does otherwise
    hang          over ten seconds
    signal        the process ended
    class         both raise, other classes
    taken         jaxtorch gives a result, PyTorch raises
    refused       PyTorch gives a result, jaxtorch raises
    different     both give results, which differ
    pytorch_fails PyTorch cannot make the arguments or read the result, has too little memory, or says that a mistake is its own
"""

from __future__ import annotations

import argparse
import collections
import functools
import inspect
import json
import opcode
import os
import random
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from typing import Any

import numpy as np

from fuzz_arguments import Drawing, make, show

KINDS = ("same", "leaked", "hang", "signal", "class", "taken", "refused", "different", "pytorch_fails")
ALARM = 10
MEMORY = 6 << 30
SKIPPED = set(
    """save load compile from_file seed manual_seed initial_seed get_rng_state set_rng_state fork init_num_threads
    import_ir_module import_ir_module_from_buffer parse_ir parse_schema parse_type_comment wait vitals_enabled set_vital
    read_vitals typename merge_type_from_type_comment autocast_increment_nesting autocast_decrement_nesting
    clear_autocast_cache classproperty share_memory_ pin_memory cuda xpu ipu mtia hpu data_ptr storage untyped_storage
    typename cond vmap hub jit register_hook register_post_accumulate_grad_hook get_device_module get_file_path
    prepare_multiprocessing_environment thread_safe_generator unify_type_list record_function no_grad enable_grad
    inference_mode stft_ storage_type to_dlpack from_dlpack set_ __reduce__ __reduce_ex__ empty empty_like empty_strided
    new_empty new_empty_strided empty_permuted resize_ resize_as_ empty_quantized new Tensor reinforce module_load classes
    ops library dtype_abbrs reset_vital frombuffer sys_info has_torch_function handle_torch_function boolean_dispatch
    Stream Event Generator Future FatalError LockingLogger ThroughputBenchmark ExecutionPlan Graph layout Module Container
    DataParallel data_parallel DistributedDataParallel SymInt SymFloat SymBool sym_ite sym_max sym_min sym_not sym_sum
    sym_fresh_size sym_sqrt sym_float sym_int chunk_ cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution
    miopen_rnn scaled_mm scaled_grouped_mm grouped_mm multi_head_attention_forward parametrize apply_ map_ map2_ random_
    as_subclass""".split()
)
SKIPPED_PREFIXES = ("set_", "use_", "init_", "is_autocast", "get_autocast", "cudnn", "miopen", "mkldnn", "fbgemm", "quantize", "q_",
                    "sym_", "import_", "async", "thread", "fake_quant", "choose_q", "fused_moving", "quantized",
                    "dequantize")  # fmt: skip
RANDOM = ("rand", "dropout", "bernoulli", "multinomial", "normal", "poisson", "exponential", "uniform", "cauchy", "geometric",
          "rrelu", "gumbel", "fractional", "lowrank", "Dropout", "RReLU", "empty", "binomial", "dirichlet", "Fractional")  # fmt: skip
UNIQUE = (
    "eig",
    "svd",
    "qr",
    "geqrf",
    "orgqr",
    "lobpcg",
    "ormqr",
    "householder",
    "sort",
    "topk",
    "mode",
    "median",
    "kthvalue",
    "argsort",
)
"""Functions whose results need not be the same numbers: random, or one of several that are right."""


def _public(space: Any) -> list[str]:
    names = [n for n in dir(space) if not n.startswith("_") and n not in SKIPPED and not n.startswith(SKIPPED_PREFIXES)]
    return [n for n in names if callable(getattr(space, n)) and not inspect.isclass(getattr(space, n))]


def targets(torch: Any) -> list[tuple[str, str]]:
    """All that is called: (kind, name)."""
    found = [("torch", n) for n in _public(torch)]
    for kind in ("nn.functional", "linalg", "fft", "special"):
        space = torch
        for part in kind.split("."):
            space = getattr(space, part)
        module = f"torch.{kind}"
        found += [(kind, n) for n in _public(space) if not inspect.ismodule(getattr(space, n))
                  and getattr(getattr(space, n), "__module__", module) not in ("typing", "warnings", "importlib")]  # fmt: skip
    methods = [n for n in _public(torch.Tensor) if not inspect.isclass(getattr(torch.Tensor, n))]
    found += [("Tensor", n) for n in methods]
    found += [
        ("Tensor", n) for n in ("__getitem__", "__setitem__", "__add__", "__matmul__", "__pow__", "__rsub__", "__and__")
    ]
    modules = [
        n for n in dir(torch.nn) if inspect.isclass(getattr(torch.nn, n)) and n not in SKIPPED and not n.startswith("_")
    ]
    return found + [("nn", n) for n in modules if issubclass(getattr(torch.nn, n), torch.nn.Module)]


def _space(torch: Any, kind: str) -> Any:
    space = torch
    for part in kind.split(".") if kind != "torch" else ():
        space = getattr(space, part)
    return space


def _parameters(function: Any) -> list[Any]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _arguments(
    r: random.Random, drawing: Drawing, parameters: list[Any], least: int = 0
) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    positional = True
    for p in parameters:
        note = str(p.annotation)
        if p.kind is p.VAR_POSITIONAL:
            args += [drawing.named(p.name, note) for _ in range(r.choice([0, 1, 1, 2, 3]))]
            positional = False
        elif p.kind is p.VAR_KEYWORD:
            continue
        elif p.default is p.empty or r.random() < 0.3:
            if positional and p.kind is not p.KEYWORD_ONLY:
                args.append(drawing.named(p.name, note))
            else:
                kwargs[p.name] = drawing.named(p.name, note)
        else:
            positional = False
    odd = r.random()
    if odd < 0.03 and args:
        args.pop()
    elif odd < 0.06:
        args.append(drawing.anything())
    elif odd < 0.07:
        kwargs["nonsense"] = 1
    return args, kwargs


class Call:
    """One random call: number `number` of a seed."""

    def __init__(self, jaxtorch: Any, known: list[tuple[str, str]], seed: int, number: int) -> None:
        r = random.Random(f"{seed}:{number}")
        self.kind, self.name = r.choice(known)
        drawing = Drawing(r)
        self.backward = drawing.grad
        given = getattr(_space(jaxtorch, self.kind), self.name, None)
        if self.kind == "nn":
            parameters = _parameters(given.__init__)[1:] if given is not None else []
            self.args, self.kwargs = _arguments(
                r, drawing, [p for p in parameters if p.name not in ("device", "dtype")]
            )
            forward = _parameters(given.forward)[1:] if given is not None else []
            self.inputs = _arguments(r, drawing, forward)
        else:
            parameters = _parameters(given)
            if self.kind == "Tensor" and parameters:
                parameters = [p for p in parameters[1:] if p.name not in ("out", "_out")]  # which no method has
            if not parameters or r.random() < 0.05:
                self.args, self.kwargs = [drawing.anything() for _ in range(r.randrange(4))], {}
            else:
                self.args, self.kwargs = _arguments(r, drawing, parameters)
            if self.kind == "Tensor":
                self.args.insert(0, drawing.tensor())

    def make(self, torch: Any) -> tuple[Any, ...]:
        """Its arguments, of one library."""
        inputs = self.inputs if self.kind == "nn" else ([], {})
        made = [([make(torch, a) for a in args], {k: make(torch, a) for k, a in kwargs.items()})
                for args, kwargs in ((self.args, self.kwargs), inputs)]  # fmt: skip
        return tuple(made)

    def run(self, torch: Any, made: tuple[Any, ...]) -> Any:
        """What the call gives for arguments made before."""
        torch.manual_seed(0)
        (args, kwargs), (inputs, named) = made
        if self.kind == "nn":
            return getattr(torch.nn, self.name)(*args, **kwargs)(*inputs, **named)
        return getattr(_space(torch, self.kind), self.name)(*args, **kwargs)

    def derive(self, torch: Any, result: Any) -> None:
        """Backward from the result, where there is a gradient and the call is one of those that try it."""
        if not (self.backward and isinstance(result, torch.Tensor) and result.requires_grad):
            return
        if result.layout == torch.strided:
            result.backward(torch.ones_like(result))

    def __str__(self) -> str:
        parts = [show(a) for a in self.args] + [f"{k}={show(a)}" for k, a in self.kwargs.items()]
        text = f"{self.kind}.{self.name}({', '.join(parts)})"
        if self.kind == "nn":
            parts = [show(a) for a in self.inputs[0]] + [f"{k}={show(a)}" for k, a in self.inputs[1].items()]
            text += f"({', '.join(parts)})"
        return text


def _plain(torch: Any, result: Any, depth: int = 0) -> Any:
    """A result as plain data; its values are read."""
    if isinstance(result, torch.Tensor):
        kind, shape = str(result.dtype), tuple(result.shape)
        if result.device.type == "meta" or result.layout != torch.strided:
            return "tensor", kind, shape, str(result.layout), str(result.device)
        if result.numel() > 100_000:
            return "tensor", kind, shape
        values = result.detach().resolve_conj().resolve_neg()
        if not kind.startswith("torch.complex"):
            values = values.to(torch.float64)
        return "tensor", kind, shape, values.tolist()
    if depth < 3 and isinstance(result, (tuple, list)):
        return "several", [_plain(torch, x, depth + 1) for x in result]
    if isinstance(result, (bool, int, float, complex, str, type(None))):
        return "value", type(result).__name__, result
    return ("object",)


def _leaked(error: BaseException) -> bool:
    """Is this an error that no line of jaxtorch raises: out of JAX, NumPy, or a mistake inside?"""
    if isinstance(error, MemoryError):
        return False
    if type(error).__module__.partition(".")[0] in ("jax", "jaxlib", "numpy") or type(error).__name__ in (
        "NoContent",
        "Stranger",
    ):
        return True
    frames = list(traceback.walk_tb(error.__traceback__))
    if isinstance(error, RecursionError):
        return True
    frame = frames[-1][0]
    if "jaxtorch" not in frame.f_code.co_filename:
        return len(frames) > 2  # not: by the call itself
    at = list(_links(error.__traceback__))[-1].tb_lasti
    raised = frame.f_code.co_code[at] in (opcode.opmap["RAISE_VARARGS"], opcode.opmap["RERAISE"])
    return (
        not raised
        and not isinstance(error, RuntimeError)
        and isinstance(error, (KeyError, AttributeError, AssertionError, LookupError, ArithmeticError, NameError))
    )


def _links(tb: Any) -> Any:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def outcome(call: Call, torch: Any) -> tuple[str, Any, bool, str]:
    """How a call ends, and in which part: ("ok", result, False, "") or (class, message, leaked, part).

    The parts: its arguments are made, the call, its result is read, and backward, which keeps the result in the message's place.
    """
    part, read = "make", None
    try:
        made = call.make(torch)
        part = "call"
        result = call.run(torch, made)
        part = "read"
        read = _plain(torch, result)
        part = "backward"
        call.derive(torch, result)
        return "ok", read, False, ""
    except TimeoutError as error:
        return "hang", "".join(traceback.format_tb(error.__traceback__)[-3:]), True, part
    except Exception as error:
        leaked = torch.__name__ == "jaxtorch" and _leaked(error)
        where = ""
        if leaked:
            own = [f for f in traceback.extract_tb(error.__traceback__) if "jaxtorch" in f.filename]
            where = " @ " + " < ".join(f"{os.path.basename(f.filename)}:{f.lineno}" for f in own[:-5:-1])
        text = str(error).splitlines()[0][:150] + where if str(error) else where
        return type(error).__name__, (text, read) if part == "backward" else text, leaked, part


def same(a: Any, b: Any) -> bool:
    """Are two results equal, numbers up to rounding?"""
    if a[0] != b[0] or a[0] == "object":
        return a[0] == b[0]
    if a[0] == "several":
        return len(a[1]) == len(b[1]) and all(map(same, a[1], b[1]))
    if a[0] == "value" or len(a) != 4:
        return a[1] == b[1] and (a[1] == "str" or a[:3] == b[:3] or (a[0] == "value" and _close(a[2], b[2], "float32")))
    return a[1:3] == b[1:3] and _close(a[3], b[3], a[1])


def _close(a: Any, b: Any, dtype: str) -> bool:
    tolerance = 0.1 if "float8" in dtype else 2e-2 if "16" in dtype else 2e-3
    try:
        return bool(np.allclose(np.asarray(a), np.asarray(b), tolerance, tolerance, equal_nan=True))
    except (TypeError, ValueError):
        return False


def _lacks_memory(ending: str) -> bool:
    """Did PyTorch end so because there was too little memory, or by a mistake of its own?"""
    return ending.startswith("MemoryError") or (
        ending.startswith("RuntimeError") and ("alloc" in ending or "INTERNAL ASSERT" in ending)
    )


def compare(call: Call, torch: Any, jaxtorch: Any, note: Any = None) -> tuple[str, str]:
    """The kind that a call's two ends make, and a text."""
    results = []
    for library in (torch, jaxtorch):
        if note is not None:
            note(library.__name__, f"{results[0][0]} {results[0][1]}"[:200] if results else "")
        signal.alarm(ALARM)
        try:
            results.append(outcome(call, library))
        except TimeoutError:
            results.append(("hang", "", True, "call"))
        finally:
            signal.alarm(0)
    theirs, ours = results
    text = f"{call}\n      PyTorch  {_ending(theirs)}\n      jaxtorch {_ending(ours)}"
    return _kind(call, theirs, ours), text


def _kind(call: Call, theirs: Any, ours: Any) -> str:
    (a, x, _, part), (b, y, leaked, own) = theirs, ours
    if a == "hang" or part in ("make", "read") or _lacks_memory(f"{a} {x}"):
        return "pytorch_fails"
    if b == "hang":
        return "hang"
    results = [content[1] if where == "backward" else content for content, where in ((x, part), (y, own))]
    gave = [name == "ok" or where == "backward" for name, where in ((a, part), (b, own))]
    if all(gave):
        if not any(w in call.name for w in RANDOM + UNIQUE) and not same(*results):
            return "different"
    else:
        a, b = ("ok" if given else name for given, name in zip(gave, (a, b), strict=True))
    if a == b:
        return "same"
    if leaked:
        return "leaked"
    return "taken" if b == "ok" else "refused" if a == "ok" else "class"


def _ending(ending: Any) -> str:
    name, content, _, part = ending
    if part == "backward":
        return f"{name} {content[0]} (in backward, after {_short(content[1])})"
    return f"{name} {_short(content) if name == 'ok' else content}{f' (in {part})' * (part in ('make', 'read'))}"


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 160 else text[:150] + "..."


def _ring(*ignored: Any) -> None:
    raise TimeoutError("the alarm")


def prepare() -> None:
    """The state of a process that makes such calls."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _ring)
    sys.setrecursionlimit(1000)


def _tell(write: int, number: int, what: str, kind: str, text: str = "") -> None:
    os.write(write, (json.dumps([number, [what, kind, text]]) + "\n").encode())


def _work(seed: int, first: int, last: int, until: float, only: str | None, write: int) -> None:
    """Calls `first` to `last`, told through a pipe, a line each."""
    import torch

    import jaxtorch

    prepare()
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    known = [t for t in targets(torch) if only is None or {t[0], f"{t[0]}.{t[1]}"} & set(only.split(","))]
    for number in range(first, last):
        if time.time() > until:
            break
        call = Call(jaxtorch, known, seed, number)
        _tell(write, number, "start", "", str(call))
        kind, text = compare(call, torch, jaxtorch, functools.partial(_tell, write, number, "in"))
        _tell(write, number, "end", kind, text)
        if kind == "hang":
            break  # a thread of XLA's may still be at it
    os._exit(0)


def run(seed: int, count: int, seconds: float, only: str | None, report: Any, first: int = 0) -> dict[str, int]:
    """How many calls ended as each kind; `report(number, kind, text)` gets each."""
    counts: dict[str, int] = collections.Counter()
    until = time.time() + seconds
    number = first
    while number < count and time.time() < until:
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(read)
            try:
                _work(seed, number, count, until, only, write)
            finally:
                os._exit(1)
        os.close(write)
        buffer, library, text, theirs = b"", "", "", ""
        while True:
            ready, _, _ = select.select([read], [], [], 120 if not buffer and not text else 3 * ALARM)
            if not ready:
                os.kill(pid, signal.SIGKILL)
                break
            got = os.read(read, 1 << 16)
            if not got:
                break
            *lines, buffer = (buffer + got).split(b"\n")
            for line in lines:
                number, (what, kind, more) = json.loads(line)
                if what == "start":
                    text, library = more, ""
                elif what == "in":
                    library, theirs = kind, more
                else:
                    counts[kind] += 1
                    report(number, kind, more)
                    number, text = number + 1, ""
        os.close(read)
        status = os.waitpid(pid, 0)[1]
        if text:
            name = "pytorch_fails" if library == "torch" or _lacks_memory(theirs) else "hang" if not ready else "signal"
            counts[name] += 1
            report(number, name, f"{text}\n      in {library}, status {status}")
            number += 1
        elif time.time() < until and not number >= count and status:
            raise RuntimeError(f"the worker ended by itself, status {status}, before call {number}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first call's number")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument(
        "--only", help="kinds (nn.functional, Tensor, ...), or names with their kinds, with commas between"
    )
    parser.add_argument(
        "--kinds", default="leaked,hang,signal", help="which ends are printed, with commas between; all"
    )
    given = parser.parse_args()
    wanted = KINDS if given.kinds == "all" else given.kinds.split(",")

    def report(number: int, kind: str, text: str) -> None:
        if kind in wanted:
            print(f"{number} {kind}: {text}", flush=True)

    counts = run(given.seed, given.count, given.seconds, given.only, report, given.first)
    print(f"seed {given.seed}: {sum(counts.values())} calls:", ", ".join(f"{k} {counts.get(k, 0)}" for k in KINDS))


if __name__ == "__main__":
    main()
