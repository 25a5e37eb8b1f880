"""Functions of `torch` that are better known from `torch.nn.functional`."""

from __future__ import annotations

from parity import Case, M, V, X, bad, code

_SIGNS = V([1.0, -1.0, 1.0, -1.0], grad=False)


def _reductions(name: str, call: str, *args: object) -> list[Case]:
    def made(reduction: int) -> Case:
        def body(torch, *inputs):
            return getattr(torch, name)(*inputs, *_REST[call], reduction)

        return code(f"{name} {reduction}", body, *args).upto(1).any_name()

    return [made(r) for r in (0, 1, 2)]


_REST: dict[str, tuple[object, ...]] = {
    "plain": (), "margin": (0.1,), "triplet": (1.0, 2.0, 1e-6, False), "logits": (None, None), "poisson": (True, False, 1e-8),
}  # fmt: skip

CASES = [
    *_reductions("kl_div", "plain", X(4, 5), X(4, 5, low=0.1)),
    *_reductions("cosine_embedding_loss", "margin", X(4, 5), X(4, 5), _SIGNS),
    *_reductions("hinge_embedding_loss", "margin", X(4), _SIGNS),
    *_reductions("margin_ranking_loss", "margin", X(4), X(4), _SIGNS),
    *_reductions("triplet_margin_loss", "triplet", X(4, 5), X(4, 5), X(4, 5)),
    *_reductions("binary_cross_entropy_with_logits", "logits", X(4, 5), X(4, 5, low=0, high=1)),
    *_reductions("poisson_nll_loss", "poisson", X(4, 5), X(4, 5, low=0)),
    code("convolution", lambda torch, x, w: torch.convolution(x, w, None, [1], [1], [1], False, [0], 1), X(2, 3, 8), X(4, 3, 3)),
    code("convolution adjoint", lambda torch, x, w: torch.convolution(x, w, None, [2], [1], [1], True, [1], 1),
         X(2, 3, 8), X(3, 4, 3)).any_name(),
    code("batch_norm", lambda torch, x: torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False), X(4, 3, 5)),
    code("instance_norm", lambda torch, x: torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
         X(4, 3, 5)).any_name(),
    code("detach", lambda torch, x: (torch.detach(x), torch.detach(x).data_ptr() == x.data_ptr()), X(4)).upto(0),
    code("resize_as_", lambda torch, x, y: torch.resize_as_(x.detach(), y.detach()), X(6), X(2, 3)).upto(0),
    code("norm_except_dim", lambda torch, x: torch.norm_except_dim(x, 2, 1), X(3, 4, 2)).any_name().any_stride(),
    code("masked", lambda torch, x, m: [torch.masked.sum(x, 1, mask=m), torch.masked.softmax(x, 1, mask=m),
                                        torch.masked.median(x, 1, mask=m), torch.masked.var(x, 0, mask=m)],
         X(3, 5), M(3, 5)).any_name().upto(1),
    code("apply_", lambda torch, x: [x.apply_(lambda v: v * 2 + 1), x[0].apply_(abs), x], X(3, 2, grad=False)).upto(0),
    code("map_", lambda torch, x, y: [x.map_(y, lambda a, b: a + b), x.map2_(y, y, lambda a, b, c: a * b - c)],
         X(3, 2, grad=False), X(2, grad=False)).upto(0),
    bad("apply_", X(3), body=lambda torch, x: x.requires_grad_().apply_(abs)),
    code("frobenius_norm", lambda torch, x: torch.frobenius_norm(x, [0, 1]), X(3, 4)).any_name().upto(1),
    code("stft aligned to its window", lambda torch, x, w: [torch.stft(x, 16, hop, n, w[:n], center=False, return_complex=True,
                                                                       align_to_window=True) for n, hop in ((10, 4), (9, 3))],
         X(2, 37), X(10)).any_name().any_stride().upto(1),
    bad("stft", X(12), X(8), body=lambda torch, x, w: torch.stft(x, 16, 4, 8, w, center=False, return_complex=True,
                                                                 align_to_window=True)),
    code("kron of bools", lambda torch, x, y: torch.kron(x, y), M(2, 3), M(2, 2)).upto(0),
    bad("kl_div", X(3), X(3), body=lambda torch, x, y: torch.kl_div(x, y, "mean")),
]  # fmt: skip
