"""Every class of `torch.nn` is compared with PyTorch's somewhere: what PyTorch's own table of modules leaves out is listed here.

Text, initial values from the same seed, and a `state_dict` that goes through files to the other library and back.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as reference
from torch.testing._internal.common_modules import module_db

import jaxtorch
from module_kit import lines

pytestmark = pytest.mark.filterwarnings("ignore:Lazy modules", "ignore::UserWarning")

MODULES = lines("""
    AdaptiveLogSoftmaxWithLoss(16, 40, [5, 12], div_value=2., head_bias=True)
    AlphaDropout(.3)
    ChannelShuffle(2)
    Container(first=nn.Linear(2, 3))
    CosineSimilarity(dim=2, eps=1e-6)
    CrossMapLRN2d(3, 1e-3, .5, 2)
    DataParallel(nn.Linear(2, 3))
    Dropout(.3, True)
    Dropout1d(.3)
    Dropout2d()
    Dropout3d(.1)
    EmbeddingBag(10, 3, max_norm=1., mode='sum', padding_idx=2)
    FeatureAlphaDropout()
    Flatten(0, 1)
    Fold((4, 5), 2, padding=1)
    Hardsigmoid(True)
    Identity(3, unused=4)
    LazyBatchNorm1d(momentum=None)
    LazyBatchNorm2d(affine=False)
    LazyBatchNorm3d(track_running_stats=False)
    LazyInstanceNorm1d()
    LazyInstanceNorm2d(affine=True, track_running_stats=True)
    LazyInstanceNorm3d(eps=1e-3)
    LazyLinear(4, bias=False)
    MaxUnpool1d(2)
    MaxUnpool2d(2, (2, 1), (1, 0))
    MaxUnpool3d(3)
    Module()
    ModuleDict({'b': nn.Linear(2, 3), 'a': nn.ModuleList([nn.PReLU()])})
    ModuleList([nn.Bilinear(2, 3, 4), nn.Linear(1, 2), nn.Linear(1, 2)])
    NLLLoss2d()
    PairwiseDistance(1, keepdim=True)
    ParameterDict({'b': torch.ones(2), 'a': nn.Parameter(torch.zeros(3, 1))})
    ParameterList([torch.ones(2), nn.Parameter(torch.zeros(3, 1))])
    PixelShuffle(3)
    PixelUnshuffle(3)
    RNNBase('GRU', 3, 4, 2, bidirectional=True, dropout=.1)
    RNNCellBase(3, 4, True, 2)
    RReLU(.1, .4)
    Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.BatchNorm2d(4), nn.ReLU())
    SyncBatchNorm(4, momentum=.2)
    TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8))
    TripletMarginLoss(.5, swap=True)
    TripletMarginWithDistanceLoss(margin=2., distance_function=nn.PairwiseDistance())
    Unflatten(1, (2, 3))
    Unfold((2, 3), dilation=2)
    Upsample(scale_factor=2, mode='bilinear', align_corners=True)
    UpsamplingBilinear2d(scale_factor=2)
    UpsamplingNearest2d((4, 5))
""")


def made(torch: Any, case: str) -> Any:
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval("nn." + case, {"nn": torch.nn, "torch": torch})


def values(state: Any) -> dict[str, Any]:
    return {
        k: type(v).__name__ if "Uninit" in type(v).__name__ else np.array(v.detach().numpy()) for k, v in state.items()
    }


def same(ours: Any, theirs: Any) -> None:
    ours, theirs = values(ours), values(theirs)
    assert list(ours) == list(theirs)
    for k, x in theirs.items():
        if isinstance(x, str):
            assert ours[k] == x
        else:
            np.testing.assert_array_equal(ours[k], x, strict=True)


def test_every_class_is_tried():
    tried = {case.split("(")[0] for case in MODULES} | {info.name.split(".")[-1] for info in module_db}
    classes = inspect.getmembers(reference.nn, inspect.isclass)
    there = {name for name, c in classes if issubclass(c, reference.nn.Module)}
    assert there - tried == set()
    assert {name for name in there if not issubclass(getattr(jaxtorch.nn, name, int), jaxtorch.nn.Module)} == set()


@pytest.mark.parametrize("case", MODULES)
def test_text_and_state(case: str, tmp_path: Path):
    theirs, ours = made(reference, case), made(jaxtorch, case)
    assert repr(ours) == repr(theirs)
    same(ours.state_dict(), theirs.state_dict())
    assert jaxtorch.rand(2).tolist() == reference.rand(2).tolist()  # as many numbers were drawn
    if "Lazy" in case:
        return
    assert repr(copy.deepcopy(ours)) == repr(theirs)
    changed = made(reference, case)
    for x in changed.state_dict().values():
        x.copy_(reference.rand(x.shape) * 4)
    reference.save(changed.state_dict(), tmp_path / "theirs.pt")
    ours.load_state_dict(jaxtorch.load(tmp_path / "theirs.pt"))
    same(ours.state_dict(), changed.state_dict())
    jaxtorch.save(ours.state_dict(), tmp_path / "ours.pt")
    theirs.load_state_dict(reference.load(tmp_path / "ours.pt"))
    same(ours.state_dict(), theirs.state_dict())
