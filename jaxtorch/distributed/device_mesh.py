"""`torch.distributed.device_mesh`: processes in rows and columns, with a group for each row and each column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._core.tensor.tensor import Tensor, from_host
from .._private_names.absent import absent_function
from . import process_group as groups

__all__ = ["DeviceMesh", "init_device_mesh"]

_API = "torch.distributed.device_mesh.DeviceMesh"
_SEVERAL = (
    "Found the DeviceMesh have {} dimensions",
    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
)
_ALL = "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use `get_all_groups()` instead."


class DeviceMesh:
    """Processes in a grid of any number of dimensions, and for each of these the group of the processes that differ in it alone.

    mesh: the processes' numbers in the default group, nested as the grid is. mesh_dim_names: names for its dimensions, by which it
    is sliced: `mesh["dp"]` has of the grid what this process sees along `dp`. All processes make meshes in the same order, also those
    that are not in them. The default group is made where there is none.

    RuntimeError for more processes than there are. Unlike in PyTorch, meshes are neither flattened nor put in force with `with`, and
    `backend_override` raises NotImplementedError.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
    ) -> None:
        if mesh is None:
            raise TypeError("The mesh argument is required except for PRIVATE USAGE ONLY!")
        if backend_override is not None:
            raise NotImplementedError(f"{_API}: backend_override is missing; jaxtorch has the backend 'gloo'")
        if not groups.is_initialized():
            groups.init_process_group()
        self._lay_out(device_type, mesh, mesh_dim_names)
        count, world = self.size(), groups.get_world_size()
        if count > world:
            raise RuntimeError(f"Mesh should not be bigger than default world size {world}, but found {count} ranks!")
        found = [self._grouped(d) for d in range(self.ndim)]
        self._groups = [name for name in found if name is not None]  # none of its own in a process outside the mesh
        self._place()

    def _lay_out(self, device_type: str, mesh: Any, names: Sequence[str] | None) -> None:
        """Everything but the groups and this process's place."""
        given = mesh.detach().cpu().numpy() if isinstance(mesh, Tensor) else np.asarray(mesh)
        self._root = given.astype(np.int32)
        self._ranks: np.ndarray[Any, Any] | None = self._root
        self._device_type = device_type
        self._names = None if names is None else tuple(names)
        self._shape = given.shape
        self._strides = tuple(math.prod(given.shape[d + 1 :]) for d in range(given.ndim))

    def _place(self) -> None:
        """Find this process's coordinates."""
        found = np.argwhere(self._root == groups.get_rank())
        if len(found) > 1:
            raise AssertionError(f"rank_coords.size(0) must be 0 or 1, got {len(found)}")
        self._coordinate = tuple(found[0].tolist()) if len(found) else None

    def _grouped(self, dim: int) -> str | None:
        """Make the groups along a dimension; the name of the one that this process is in."""
        if self._shape[dim] == groups.get_world_size():
            return groups.default_group().group_name
        own, desc = None, f"mesh_{self._names[dim] if self._names else f'dim_{dim}'}"
        for ranks in np.moveaxis(self._root, dim, -1).reshape(-1, self._shape[dim]).tolist():
            made = groups.new_group(ranks, group_desc=desc)
            if groups.get_rank() in ranks:
                own = made.group_name
        return own

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> DeviceMesh:
        """A mesh of a group's processes, or over several groups, one for each dimension of `mesh`.

        ValueError where `mesh` has other processes than the group, and where it or the names are missing for several groups.
        """
        made = DeviceMesh.__new__(DeviceMesh)
        if isinstance(group, groups.ProcessGroup):
            ranks = groups.get_process_group_ranks(group)
            if mesh is not None and np.asarray(mesh).tolist() != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            made._lay_out(device_type, ranks, mesh_dim_names)
            made._groups = [group.group_name]
            made._place()
            return made
        several = list(group)
        if not several:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        if mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        made._lay_out(device_type, mesh, mesh_dim_names)
        if made.ndim != len(several):
            raise ValueError(
                f"from_group(): mesh has {made.ndim} dimensions; expected {len(several)}, one for each group"
            )
        made._groups = [g.group_name for g in several]
        made._place()
        return made

    # -- what it is

    @property
    def device_type(self) -> str:
        """The name of the devices' kind."""
        return self._device_type

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the dimensions."""
        return self._names

    @property
    def mesh(self) -> Tensor:
        """The processes' numbers, of element type int32; RuntimeError for a slice of a mesh that this process is not in."""
        if self._ranks is None:
            raise RuntimeError(
                "this process is not in the mesh of which this is a slice, so no part of it is this one's"
            )
        return from_host(self._ranks.copy())

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of processes along each dimension."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes, along one dimension or altogether."""
        return math.prod(self._shape) if mesh_dim is None else self._shape[mesh_dim]

    def __repr__(self) -> str:
        parts = map(str, self._shape) if self._names is None else map("{}={}".format, self._names, self._shape)
        inside = ", ".join(parts) + "," * (self._names is None and self.ndim == 1)
        strides = tuple(() if n == 1 else s for n, s in zip(self._shape, self._strides, strict=True))
        return f"DeviceMesh(({inside}), '{self._device_type}', stride={strides})"

    def _key(self) -> Any:
        return self._device_type, tuple(self._root.reshape(-1).tolist()), self._shape, self._strides, self._names

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    # -- where this process is

    def get_rank(self) -> int:
        """This process's number in the default group."""
        return groups.get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's place in the grid; None where it is not in it."""
        return self._coordinate

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's number in the group of a dimension, which need not be given where there is but one."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(_SEVERAL[0].format(self.ndim), _SEVERAL[1])
        return groups.get_rank(self.get_group(0 if mesh_dim is None else mesh_dim))

    # -- groups and parts

    def get_group(self, mesh_dim: int | str | None = None) -> groups.ProcessGroup:
        """The group along a dimension, given by number or name, which need not be given where there is but one.

        KeyError for a name that there is not, RuntimeError where the dimension has to be given or the group has been destroyed, and
        IndexError in a process outside the mesh.
        """
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(_SEVERAL[0].format(self.ndim), _SEVERAL[1], _ALL)
        if mesh_dim is None and self.ndim == 1:
            mesh_dim = 0
        if isinstance(mesh_dim, str):
            mesh_dim = self._number_of(mesh_dim)
        if not isinstance(mesh_dim, int):
            raise AssertionError(f"mesh_dim must be an int, got {type(mesh_dim)}")
        return groups.named_group(self._groups[mesh_dim])

    def get_all_groups(self) -> list[groups.ProcessGroup]:
        """The group along each dimension."""
        return [self.get_group(d) for d in range(self.ndim)]

    def _number_of(self, name: str) -> int:
        if self._names is None:
            raise KeyError("No `mesh_dim_names` found.")
        if name not in self._names:
            raise KeyError(
                f"Mesh dimension '{name}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self._names}",
            )
        return self._names.index(name)

    def __getitem__(self, mesh_dim_names: str | Sequence[str]) -> DeviceMesh:
        """The part of the mesh with these dimensions, in this order, that this process sees. KeyError for other names."""
        if self._names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        chosen = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if any(name not in self._names for name in chosen):
            raise KeyError(f"Invalid mesh_dim_names {chosen} specified. Valid mesh_dim_names are {list(self._names)}.")
        dims = [self._names.index(name) for name in chosen]
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"Slicing overlapping dim_names {chosen} is not allowed.")
        if any(a > b for a, b in pairwise(d for d in dims if self._shape[d] > 1)):
            raise KeyError(f"Invalid mesh_dim_names {chosen} specified. Mesh dim indices should be in ascending order.")
        made = DeviceMesh.__new__(DeviceMesh)
        made._device_type, made._root = self._device_type, self._root
        made._names = chosen or None
        made._shape, made._strides = tuple(self._shape[d] for d in dims), tuple(self._strides[d] for d in dims)
        made._groups = [self._groups[d] for d in dims if d < len(self._groups)]
        made._ranks = made._coordinate = None
        if self._ranks is not None and self._coordinate is not None:
            index: tuple[Any, ...] = tuple(slice(None) if d in dims else c for d, c in enumerate(self._coordinate))
            made._ranks = self._ranks[index].reshape(made._shape)  # dimensions of one process may stand anywhere
            made._coordinate = tuple(self._coordinate[d] for d in dims)
        elif self._ranks is not None and made.size() == self.size():  # all of it
            made._ranks = self._ranks.reshape(made._shape)
        return made

    _flatten = absent_function(f"{_API}._flatten", "make a mesh of one dimension")
    _unflatten = absent_function(f"{_API}._unflatten", "make a mesh of more dimensions")
    _concatenate = absent_function(f"{_API}._concatenate", "make a mesh of these dimensions")
    __enter__ = absent_function(f"{_API}.__enter__", "nothing here takes a mesh from around it")
    __exit__ = absent_function(f"{_API}.__exit__", "nothing here takes a mesh from around it")


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of the first processes, as many as `mesh_shape` says, row by row.

        mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))

    RuntimeError for names that come twice or are not as many as dimensions, for a number in `device_type` ("cuda:0"), and for more
    processes than there are.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    count = math.prod(mesh_shape)
    if count < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    ranks = np.arange(count).reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backend_override)
