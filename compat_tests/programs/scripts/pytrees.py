"""torch.utils._pytree."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import torch
from torch.utils import _pytree as pytree

Point = namedtuple("Point", ["x", "y"])
tree = {
    "b": [1, (2, 3)],
    "a": OrderedDict(z=4),
    "d": deque([5], maxlen=2),
    "p": Point(6, None),
    "f": defaultdict(list, k=7),
}
leaves, spec = pytree.tree_flatten(tree)
print(leaves, spec.num_leaves, spec.num_nodes, spec)
print(pytree.tree_unflatten([n if n is None else n * 10 for n in leaves], spec))
print([(pytree.keystr(path), leaf) for path, leaf in pytree.tree_flatten_with_path(tree)[0]])
print(pytree.tree_map(lambda a, b: a + b, [1, {"k": 2}], [10, {"k": 20}]))
print(pytree.tree_map_only(torch.Tensor, lambda t: tuple(t.shape), {"a": torch.ones(2, 3), "b": "text"}))
print(pytree.tree_all(lambda x: x != 0, leaves), pytree.tree_any_only(int, lambda x: x > 6, tree))
print(
    pytree.treespec_loads(pytree.treespec_dumps(pytree.tree_structure({"a": [1, 2]})))
    == pytree.tree_structure({"a": [3, 4]})
)
print(pytree._broadcast_to_and_flatten([1, 2], pytree.tree_structure([0, (0, 0)])))
print(pytree.tree_structure(5).is_leaf(), pytree.tree_leaves(torch.max(torch.tensor([[1.0, 2.0]]), 1)))


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], "context"), lambda c, _: Pair(*c))
print(pytree.tree_leaves([Pair(1, Pair(2, 3))]), pytree.tree_map(lambda x: -x, Pair(1, 2)).b)
for wrong in (lambda: pytree.tree_unflatten([1], spec), lambda: pytree.tree_map(lambda a, b: a, [1], (1,))):
    try:
        wrong()
    except ValueError as error:
        print(str(error)[:40])
