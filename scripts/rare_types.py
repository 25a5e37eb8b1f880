"""Which operations PyTorch's CPU kernels lack for 8-bit floats and wide unsigned integers: prints the tables of
`jaxtorch/_core/define/missing_dtypes.py`.

    python scripts/rare_types.py
"""

from __future__ import annotations

import collections
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from jaxtorch._core.define.op import registry

SAMPLES = 40
TYPES = {"FLOAT8": [torch.float8_e4m3fn, torch.float8_e5m2], "UNSIGNED": [torch.uint16, torch.uint32, torch.uint64]}


def own_name(name: str) -> str:
    """The name that an operation of the samples has here."""
    name = name.removeprefix("nn.functional.")
    for space in ("linalg.", "special.", "fft."):
        if name.startswith(space):
            name = name.replace(".", "_", 1)
    return name if "." not in name else ""


def converted(x: Any, base: torch.dtype, kind: torch.dtype) -> Any:
    if isinstance(x, torch.Tensor) and x.dtype == base and x.layout == torch.strided:
        return (x.detach() if kind.is_floating_point else x.detach().abs()).to(kind)
    return type(x)(converted(y, base, kind) for y in x) if type(x) in (list, tuple) else x


def tensors(x: Any) -> Iterator[torch.Tensor]:
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (list, tuple)):
        for y in x:
            yield from tensors(y)


def ends(op: Any, kind: torch.dtype) -> set[str]:
    """The kernels that samples of an operation with elements lack; "ok" where one has a result ("scalar" where its input has no
    dimensions), "" for another error."""
    base = next((d for d in (torch.float32, torch.int64) if d in op.dtypes), None)
    found = set()
    for sample in list(op.sample_inputs("cpu", base))[:SAMPLES] if base else ():
        given = [sample.input, *sample.args, *sample.kwargs.values()]
        if sample.kwargs.get("dtype") is not None or not all(t.numel() for t in tensors(given)):
            continue
        try:
            named = {k: converted(v, base, kind) for k, v in sample.kwargs.items()}
            op.op(converted(sample.input, base, kind), *converted(sample.args, base, kind), **named)
            found.add("ok" if getattr(sample.input, "ndim", 1) else "scalar")
        except NotImplementedError as error:
            found.add(str(error).split('"')[1] if "not implemented for" in str(error) else "")
        except Exception as error:
            if "Promotion for" not in str(error):
                found.add("")
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    for title, kinds in TYPES.items():
        found: dict[str, set[str]] = collections.defaultdict(set)
        for op in op_db:
            name = own_name(op.name)
            if name in registry and registry[name].operands:
                for kind in kinds:
                    found[name] |= ends(op, kind)
        kernels: dict[str, list[str]] = collections.defaultdict(list)
        for name, lacks in sorted(found.items()):
            if lacks - {"scalar", ""} and "ok" not in lacks:
                kernels[min(lacks - {"scalar", ""})].append(name + "*" * ("scalar" in lacks))
        print(f'_{title} = """\\')
        for kernel, names in sorted(kernels.items()):
            print(textwrap.fill(f"{kernel}: {' '.join(names)}", 130, subsequent_indent="  ", break_on_hyphens=False))
        print('"""')


if __name__ == "__main__":
    main()
