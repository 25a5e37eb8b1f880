"""`torch.fx.immutable_collections`: lists and dictionaries among a node's arguments."""

from .node import immutable_dict, immutable_list

__all__ = ["immutable_dict", "immutable_list"]
