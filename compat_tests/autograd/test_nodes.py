"""What the nodes of the autograd graph show: what they have saved, hooks on that, their types, and calling one alone."""

from __future__ import annotations

from typing import Any

import pytest

from parity import attempt, parity_test

SAVED = {
    "a+1": "alpha",
    "a-1": "alpha",
    "1-a": "alpha",
    "2**a": "exponent result self",
    "a@a": "mat2 self self_sym_sizes",
    "a.mT": "dim0 dim1",
    "a[0]": "dim index self_sym_sizes",
    "a[0,0]": "dim index self_sym_sizes",
    "a[:1]": "dim end self_sym_sizes start step",
    "a[...,0]": "dim index self_sym_sizes",
    "a.mean()": "self_sym_numel self_sym_sizes",
    "a.std()": "dim keepdim result self",
    "a.clamp(0,1)": "max min self",
    "a.clamp(min=0)": "max min self",
    "a.prod()": "result self",
    "a.max()": "result self",
    "a.min()": "result self",
    "a.norm()": "dim keepdim result self",
    "a.roll(1)": "dims shifts",
    "a.det()": "A result",
    "a.logsumexp(0)": "dim keepdim result self",
    "a.gather(0,t.zeros(1,2).long())": "dim index self sparse_grad",
    "a.take(t.tensor([0]))": "index self",
    "a.topk(1)[0]": "dim indices self_sym_sizes",
    "a.sort()[0]": "dim indices self_sym_sizes",
    "t.mm(a,a)": "mat2 mat2_sym_sizes self self_sym_sizes",
    "t.addmm(a,a,a)": "alpha beta mat1 mat1_sym_sizes mat2 mat2_sym_sizes",
    "t.matmul(a,a)": "mat2 self self_sym_sizes",
    "F.linear(a,a,a[0])": "mat1",
    "F.layer_norm(a,(2,))": "bias input normalized_shape weight",
    "F.mse_loss(a,a.detach())": "reduction self target",
    "F.l1_loss(a,a.detach())": "self_sym_numel self_sym_sizes",
    "F.cross_entropy(a,t.tensor([0,1]))": "ignore_index reduction target weight",
    "F.nll_loss(a,t.tensor([0,1]))": "ignore_index reduction self target weight",
    "F.binary_cross_entropy(a*.5,a.detach()*.5)": "reduction self target weight",
    "F.binary_cross_entropy_with_logits(a,a.detach())": "pos_weight reduction self target weight",
    "F.kl_div(a,a.detach())": "self_sym_numel self_sym_sizes",
    "F.smooth_l1_loss(a,a.detach())": "beta reduction self target",
    "F.huber_loss(a,a.detach())": "delta reduction self target",
    "F.embedding(t.tensor([0]),a)": "indices padding_idx scale_grad_by_freq weight_sym_argsize_0",
    "F.pad(a[None],(1,1),mode='reflect')": "self",
    "F.cosine_similarity(a,a)": "dim",
    "F.max_pool2d(a[None,None],1)": "ceil_mode dilation kernel_size padding stride",
    "F.avg_pool2d(a[None,None],1)": "ceil_mode count_include_pad divisor_override kernel_size padding self stride",
    "F.adaptive_avg_pool2d(a[None,None],1)": "self_sym_numel self_sym_sizes",
    "F.interpolate(a[None,None],scale_factor=2)": "output_size scales_h scales_w self_sym_sizes",
    "F.glu(a)": "dim self",
    "t.lerp(a,a,.5)": "weight",
    "t.addcmul(a,a,a)": "tensor1 tensor2 value",
    "t.addcdiv(a,a,a)": "tensor1 tensor2 value",
    "a.square()": "exponent self",
    "t.cdist(a,a)": "p result x1 x2",
    "t.linalg.vector_norm(a)": "dim keepdim ord result self",
    "t.linalg.matrix_norm(a)": "keepdim result",
    "a.index_add(0,t.tensor([0]),a[:1])": "alpha dim index source source_dim",
    "a.index_fill(0,t.tensor([0]),1.)": "dim index",
    "a.masked_select(a>0)": "self",
    "a.narrow(0,0,1)": "dim end self_sym_sizes start step",
    "a.select(0,0)": "dim index self_sym_sizes",
    "a.split(1)[0]": "dim self_sym_sizes split_size",
    "a.chunk(2)[0]": "dim self_sym_sizes split_size",
    "a.mean(0)": "dim keepdim self_sym_numel self_sym_sizes",
    "a.sum(0)": "dim keepdim self_sym_sizes",
    "a.logcumsumexp(0)": "dim result self",
    "t.fft.fft(a)": "self",
    "t.complex(a,a)": "imag real",
    "F.group_norm(a,1)": "eps input weight",
    "F.unfold(a[None,None],1)": "dilation kernel_size padding self_sym_argsize_minus_1 self_sym_argsize_minus_2 stride",
    "F.grid_sample(a[None,None],t.zeros(1,1,1,2))": "align_corners grid input interpolation_mode padding_mode",
    "F.hinge_embedding_loss(a,a.detach())": "self_sym_numel self_sym_sizes",
    "F.poisson_nll_loss(a,a.detach())": "self_sym_numel self_sym_sizes",
    "F.gaussian_nll_loss(a,a.detach(),a.detach())": "self_sym_numel self_sym_sizes",
    "F.multi_margin_loss(a,t.tensor([0,1]))": "margin p reduction self target weight",
    "F.soft_margin_loss(a,a.detach())": "reduction self target",
    "F.conv1d(a[None],t.ones(1,2,1))": "bias_sym_sizes_opt dilation input padding stride transposed weight",
    "F.conv_transpose1d(a[None],t.ones(2,1,1))": "bias_sym_sizes_opt dilation input padding stride transposed weight",
    "F.embedding_bag(t.tensor([[0]]),a)": "mode scale_grad_by_freq weight_sym_argsize_0",
}
"""Of each expression, the names of what its node has saved that are the same here."""


def _shown(saved: Any) -> Any:
    if isinstance(saved, (tuple, list)):
        return [_shown(s) for s in saved]
    return saved.detach() if hasattr(saved, "detach") else saved if isinstance(saved, (int, float)) else str(saved)


@pytest.mark.parametrize("expression", SAVED)
@parity_test
def test_saved(torch: Any, expression: str) -> Any:
    scope = {"t": torch, "F": torch.nn.functional, "a": torch.ones(2, 2, requires_grad=True)}
    node = eval(expression, scope).grad_fn
    return [(name, _shown(getattr(node, f"_saved_{name}"))) for name in SAVED[expression].split()]


PROGRAMS = {
    "indices": """
b = t.ones(4, 3, 2, requires_grad=True)
i = t.tensor([0, 1])
for o in (b[:, i], b[i, :, i], b[..., i]):
    found.append([o.grad_fn._saved_indices, o.grad_fn._saved_self_sym_sizes, len(o.grad_fn._raw_saved_indices)])
o.sum().backward()
tell(lambda: o.grad_fn._saved_indices), tell(lambda: o.grad_fn._raw_saved_indices)
""",
    "hooks on one saved tensor": """
o = a.sin()
o.grad_fn._raw_saved_self.register_hooks(lambda x: x * 2, lambda x: x / 4)
found.append([o.grad_fn._saved_self.detach(), o.grad_fn._raw_saved_self.data.detach()])
o.sum().backward()
found.append(a.grad)
tell(lambda: o.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x))
""",
    "hooks beside others": """
d = a.detach().clone()
b = a.exp()
o = t.addcmul(a, b, b) + d * a
o = t.addcmul(o, d, b)
o.grad_fn._raw_saved_tensor1.register_hooks(lambda x: x, lambda x: x * 3)
o.sum().backward(retain_graph=True)
found.append(a.grad)
d.add_(1)
tell(lambda: o.sum().backward())
""",
    "hooks where there are hooks": """
with t.autograd.graph.saved_tensors_hooks(lambda x: x * 2, lambda x: x):
    o = a * a.exp()
tell(lambda: o.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x))
o.sum().backward()
found.append(a.grad)
""",
    "hooks that are refused": """
n = (a * a).grad_fn
tell(lambda: n._raw_saved_self.register_hooks(1, 2))
tell(lambda: n._raw_saved_self.register_hooks(lambda x: x.mul_(2), lambda x: x))
tell(lambda: n._raw_saved_nothing)
tell(lambda: (a * 2).grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x))
n = a.exp().grad_fn
n._raw_saved_result.register_hooks(lambda x: x, lambda x: 1)
tell(lambda: n._raw_saved_result.register_hooks(lambda x: x, lambda x: x)), tell(lambda: n._saved_result)
""",
    "called": """
for n in ((a * 3).grad_fn, (a * a).grad_fn, a.exp().grad_fn, a.max(0).values.grad_fn):
    g = t.ones(2) if n.name() == "MaxBackward0" else t.full((2, 2), 2.0)
    with t.no_grad():
        found.append(n(g))
    tell(lambda: n()), tell(lambda: n(1)), tell(lambda: n(g, g))
""",
    "metadata": """
m = a[0].grad_fn
found.append([m._input_metadata[0].shape, m._input_metadata[0].dtype, str(m._input_metadata[0].device), m._sequence_nr() >= 0])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@parity_test
def test_node(torch: Any, name: str) -> Any:
    found: list[Any] = []

    def tell(action: Any) -> None:
        told = attempt(action)
        found.append(getattr(told, "kind", told))

    exec(PROGRAMS[name], {"t": torch, "a": torch.ones(2, 2, requires_grad=True), "found": found, "tell": tell})
    return found
