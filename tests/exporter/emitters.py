"""Small PyTorch modules for forms that the exporter does not write in `cases.py` and `rarer_cases.py`.

EMITTER_CASES is a list as `modules.py` describes.
"""

import torch
from torch import nn
from torch.nn import functional as F

from modules import Cases, chance, noise, whole

EMITTER_CASES = Cases()
case = EMITTER_CASES.case


def functions_of_one():
    x = noise(2, 3, 5)
    positive = x.abs() + 0.3
    for name in ("deg2rad", "rad2deg", "erfc", "exp2", "isfinite", "positive", "ravel", "sgn",
                 "signbit", "sinc", "fliplr", "flipud", "mT", "i0", "atleast_1d", "atleast_2d",
                 "atleast_3d", "nanmean", "nansum", "count_nonzero", "conj", "conj_physical"):
        function = getattr(torch, name, None) or (lambda v, n=name: getattr(v, n))
        case(f"one_{name}", function, x)
    for name in ("digamma", "lgamma"):
        case(f"one_{name}", getattr(torch, name), positive)
    case("one_mvlgamma", lambda v: torch.mvlgamma(v, 2), positive + 1)
    for name in ("i0e", "i1", "i1e"):
        case(f"special_{name}", getattr(torch.special, name), x)
    for name in ("entr", "digamma"):
        case(f"special_{name}", getattr(torch.special, name), positive)
    case("logit", torch.logit, chance(2, 3))
    case("logit_eps", lambda v: torch.logit(v, eps=0.1), chance(2, 3))
    case("frexp", torch.frexp, x)
    case("float_power", lambda v: torch.float_power(v, 2.5).float(), positive)
    case("clip", lambda v: torch.clip(v, -0.3, 0.7), x)
    case("clamp_max", lambda v: v.clamp(max=0.1), x)
    case("nan_sums", lambda v: v.nansum(1) + v.nanmean(1),
         torch.where(x > 0.5, torch.tensor(float("nan")), x))
    case("logcumsumexp", lambda v: torch.logcumsumexp(v, 1), x)
    case("cummax", lambda v: torch.cummax(v, 1), x)
    case("cummin", lambda v: torch.cummin(v, 2), x)
    case("aminmax", lambda v: torch.aminmax(v, dim=1), x)
    case("renorm", lambda v: torch.renorm(v, 2, 1, 1.5), x)
    case("std_mean", lambda v: torch.std_mean(v, 1), x)
    case("var_mean", lambda v: torch.var_mean(v, (0, 2), keepdim=True), x)
    case("alpha_dropouts", nn.Sequential(nn.AlphaDropout(), nn.FeatureAlphaDropout(), nn.Dropout2d()),
         noise(1, 2, 3, 4))


def functions_of_two():
    x, y = noise(2, 3, 5), noise(3, 5)
    for name in ("copysign", "fmax", "fmin", "hypot", "heaviside", "logaddexp", "logaddexp2", "less",
                 "less_equal", "greater", "greater_equal", "isclose", "not_equal", "true_divide"):
        case(f"two_{name}", getattr(torch, name), x, y)
    case("ldexp", torch.ldexp, x, whole(3, 5, low=-3, high=4).float())
    case("xlog1py", torch.special.xlog1py, y.abs(), noise(3, 5).abs() + 0.1)
    case("xlogy", torch.xlogy, x.abs(), y.abs() + 0.1)
    case("dist", torch.dist, x, noise(2, 3, 5))
    case("dist_one", lambda v, w: torch.dist(v, w, 1), x, noise(2, 3, 5))
    case("polar", lambda r, t: torch.view_as_real(torch.polar(r, t)), x.abs(), y)
    case("complex_angle", lambda v: torch.view_as_complex(v).angle(), noise(3, 4, 2))
    case("complex_sgn", lambda v: torch.view_as_real(torch.sgn(torch.view_as_complex(v))),
         noise(3, 4, 2))
    case("shift_left", torch.bitwise_left_shift, whole(2, 4), whole(2, 4, high=4))
    case("shift_right", torch.bitwise_right_shift, whole(2, 4, high=99), whole(2, 4, high=4))
    case("shift_operators", lambda v: (v << 2) + (v >> 1), whole(2, 4, high=99))
    case("copy", lambda v, w: v.clone().copy_(w) * 2, x, noise(2, 3, 5))
    case("cross", lambda v, w: torch.cross(v, w, dim=1), x, noise(2, 3, 5))
    case("linalg_cross", torch.linalg.cross, noise(4, 3), noise(4, 3))
    case("reshape_as", lambda v, w: v.reshape_as(w), x, noise(6, 5))
    case("expand_as", lambda v, w: v.expand_as(w), y, x)
    case("broadcast_tensors", lambda v, w: torch.broadcast_tensors(v, w), x, noise(3, 1))


def products():
    a, b = noise(3, 4), noise(4, 5)
    case("mm", torch.mm, a, b)
    case("mv", torch.mv, a, noise(4))
    case("vdot", torch.vdot, noise(4), noise(4))
    case("inner", torch.inner, a, noise(2, 4))
    case("tensordot", lambda v, w: torch.tensordot(v, w, dims=1), noise(2, 3, 4), b)
    case("tensordot_axes", lambda v, w: torch.tensordot(v, w, dims=([0, 1], [1, 0])), noise(2, 3, 4),
         noise(3, 2, 5))
    case("kron", torch.kron, a, noise(2, 3))
    case("addmv", torch.addmv, noise(3), a, noise(4))
    case("addr", torch.addr, a, noise(3), noise(4))
    case("addr_factors", lambda m, v, w: torch.addr(m, v, w, beta=0.5, alpha=2.0), a, noise(3),
         noise(4))
    case("addbmm", torch.addbmm, noise(3, 5), noise(2, 3, 4), noise(2, 4, 5))
    case("addcdiv", lambda v, w: torch.addcdiv(v, v, w.abs() + 1, value=0.5), a, noise(3, 4))
    case("cartesian_product", torch.cartesian_prod, noise(3), noise(4))
    case("block_diagonal", torch.block_diag, a, noise(2, 2))
    case("pdist", F.pdist, noise(4, 3))
    case("vander", lambda v: torch.vander(v, 4), noise(3))
    case("trapezoid", lambda v: torch.trapezoid(v, dx=0.5), a)
    case("diff", lambda v: torch.diff(v, dim=1), noise(2, 5))
    case("matrix_norm", lambda v: torch.linalg.matrix_norm(v), noise(2, 3, 4))
    case("linalg_norm", lambda v: torch.linalg.norm(v, dim=1), a)
    case("functional_conv1d", F.conv1d, noise(1, 3, 9), noise(3, 3, 3))
    case("functional_conv2d", F.conv2d, noise(1, 3, 9, 8), noise(2, 3, 3, 2), noise(2))
    case("functional_linear", F.linear, a, noise(2, 4), noise(2))


def losses():
    x, y, target = noise(4, 5), noise(4, 5), whole(4, high=5)
    for name in ("smooth_l1_loss", "huber_loss", "mse_loss", "l1_loss"):
        for reduction in ("none", "sum", "mean"):
            case(f"{name}_{reduction}", lambda v, w, n=name, r=reduction: getattr(F, n)(
                v, w, reduction=r), x, y)
    case("soft_margin_loss", F.soft_margin_loss, x, y.sign())
    case("hinge_embedding_loss", F.hinge_embedding_loss, x, y.sign())
    case("margin_ranking_loss", F.margin_ranking_loss, noise(4), noise(4), noise(4).sign())
    case("cosine_embedding_loss", F.cosine_embedding_loss, x, y, noise(4).sign())
    case("triplet_margin_loss", F.triplet_margin_loss, x, y, noise(4, 5))
    case("kl_div_log", lambda v, w: F.kl_div(v.log_softmax(1), w.log_softmax(1), log_target=True,
                                             reduction="sum"), x, y)
    case("binary_cross_entropy", F.binary_cross_entropy, chance(4, 5), chance(4, 5))
    case("binary_cross_entropy_with_logits", F.binary_cross_entropy_with_logits, x, chance(4, 5))
    case("cross_entropy", F.cross_entropy, x, target)
    case("cross_entropy_each", lambda v, t: F.cross_entropy(v, t, reduction="none"), x, target)
    case("nll_loss", lambda v, t: F.nll_loss(v.log_softmax(1), t), x, target)
    case("nll_loss2d", lambda v, t: F.nll_loss(v.log_softmax(1), t), noise(2, 5, 3, 4),
         whole(2, 3, 4, high=5))


def shapes():
    x = noise(3, 4, 2)
    case("dstack", lambda v, w: torch.dstack([v, w]), x, noise(3, 4, 1))
    for name in ("hstack", "vstack", "column_stack"):
        case(f"{name}_two", lambda v, w, n=name: getattr(torch, n)([v, w]), noise(3, 4), noise(3, 4))
    for name, count in (("hsplit", 2), ("vsplit", 3), ("dsplit", 2)):
        case(name, lambda v, n=name, c=count: getattr(torch, n)(v, c), x)
    case("rot90", lambda v: torch.rot90(v, 1, (0, 1)), x)
    case("rot90_thrice", lambda v: torch.rot90(v, 3, (1, 2)), x)
    case("numpy_T", lambda v: v.T, noise(3, 4))
    case("t", torch.t, noise(3, 4))
    case("diag_of_matrix", torch.diag, noise(4, 4))
    case("diag_of_vector", torch.diag, noise(4))
    case("diag_embed", torch.diag_embed, noise(2, 3))
    
    case("diagflat", torch.diagflat, noise(2, 2))
    case("diagonal_offset", lambda v: torch.diagonal(v, 1), noise(4, 4))
    case("linalg_diagonal", torch.linalg.diagonal, noise(2, 3, 3))
    case("channel_shuffle", nn.ChannelShuffle(2), noise(1, 4, 3, 3))
    case("unfold_copy", lambda v: torch.unfold_copy(v, 1, 2, 1), x)
    case("unsafe_split", lambda v: torch.unsafe_split(v, 2, 1), x)
    case("unsafe_chunk", lambda v: torch.unsafe_chunk(v, 2, 1), x)
    case("reflect1d", nn.ReflectionPad1d((2, 1)), noise(3, 4, 5))
    case("replicate1d", nn.ReplicationPad1d((2, 1)), x)
    case("replicate3d", nn.ReplicationPad3d(1), noise(1, 2, 3, 4, 3))
    case("constant1d", nn.ConstantPad1d((2, 1), 0.5), x)
    case("zero_pad2d", nn.ZeroPad2d((1, 2, 0, 1)), noise(1, 2, 3, 4))
    case("nearest_exact1d", nn.Upsample(scale_factor=2, mode="nearest-exact"), noise(1, 2, 5))
    case("nearest_exact2d", nn.Upsample(scale_factor=2, mode="nearest-exact"), noise(1, 2, 5, 4))
    case("trilinear", nn.Upsample(scale_factor=2, mode="trilinear"), noise(1, 2, 3, 4, 3))
    case("bilinear_sizes", lambda v: F.interpolate(v, size=(7, 9), mode="bilinear"), noise(1, 2, 5, 4))
    case("bilinear_down", lambda v: F.interpolate(v, scale_factor=0.5, mode="bilinear"),
         noise(1, 2, 6, 8))
    case("nearest_down", lambda v: F.interpolate(v, size=(3, 4)), noise(1, 2, 6, 8))
    case("affine_grid", lambda t: F.affine_grid(t, (1, 2, 5, 4), align_corners=False), noise(1, 2, 3))
    case("grid_sample_corners", lambda v, g: F.grid_sample(v, g, align_corners=True),
         noise(1, 2, 5, 6), noise(1, 3, 4, 2).tanh())
    case("grid_sample_nearest", lambda v, g: F.grid_sample(v, g, mode="nearest", align_corners=True),
         noise(1, 2, 5, 6), noise(1, 3, 4, 2).tanh())
    case("grid_sample_border", lambda v, g: F.grid_sample(v, g, padding_mode="border",
                                                          align_corners=False),
         noise(1, 2, 5, 6), noise(1, 3, 4, 2))
    case("grid_sample_open", lambda v, g: F.grid_sample(v, g, align_corners=False), noise(2, 2, 5, 6),
         noise(2, 3, 4, 2).tanh(), axes={"input_0": {0: "B"}, "input_1": {0: "C"}})
    case("unbind_one", lambda v: v.unbind(0), noise(1, 4))
    case("grid_sample3d", lambda v, g: F.grid_sample(v, g, align_corners=False),
         noise(1, 2, 3, 5, 4), noise(1, 2, 3, 4, 3).tanh())


def new_tensors():
    x = noise(3, 4)
    case("ones_like", lambda v: torch.ones_like(v) * v, x)
    case("new_ones", lambda v: v.new_ones((2, 3)), x)
    case("new_full", lambda v: v.new_full((2, 3), 1.5), x)
    case("eye", lambda v: v @ torch.eye(4), x)
    case("eye_rows", lambda v: v @ torch.eye(4, 3), x)
    case("linspace", lambda v: v + torch.linspace(-1, 1, 4), x)
    case("logspace", lambda v: v + torch.logspace(-1, 1, 4), x)
    case("triangle_indices", lambda v: v[:3, :3][tuple(torch.tril_indices(3, 3))], x)
    case("upper_indices", lambda v: v.sum() + torch.triu_indices(3, 4), x)
    for name in ("bartlett_window", "kaiser_window", "hamming_window", "blackman_window"):
        case(f"window_{name}", lambda v, n=name: v * getattr(torch, n)(4), x)
    case("rfftfreq", lambda v: v + torch.fft.rfftfreq(6), x)
    case("fill_in_place", lambda v: v.clone().fill_(2.0) + v, x)
    case("zero_in_place", lambda v: v.clone().zero_() + v, x)
    case("select_scatter", lambda v, w: torch.select_scatter(v, w, 0, 1), x, noise(4))
    case("slice_scatter", lambda v, w: torch.slice_scatter(v, w, 1, 1, 3), x, noise(3, 2))


def places():
    x = noise(3, 4, 5)
    rows = torch.tensor([2, 0])
    case("take", torch.take, x, torch.tensor([0, 7, 59]))
    case("take_along", lambda v, i: torch.take_along_dim(v, i, 1), x, whole(3, 2, 5, high=4))
    case("index_add", lambda v, s: v.index_add(0, rows, s), x, noise(2, 4, 5))
    case("index_copy", lambda v, s: v.index_copy(0, rows, s), x, noise(2, 4, 5))
    case("index_fill", lambda v: v.index_fill(1, rows, -1.5), x)
    case("index_put_add", lambda v, s: v.index_put((rows,), s, accumulate=True), x, noise(2, 4, 5))
    index = whole(3, 2, 5, high=4)
    case("scatter_add", lambda v, i, s: v.scatter_add(1, i, s), x, index, noise(3, 2, 5))
    for reduce in ("sum", "prod", "amax", "amin"):
        case(f"scatter_reduce_{reduce}", lambda v, i, s, r=reduce: v.scatter_reduce(1, i, s, r), x,
             index, noise(3, 2, 5))
    case("bucketize", torch.bucketize, noise(3, 4), torch.tensor([-1.0, 0.0, 0.5, 1.0]))
    case("bucketize_right", lambda v, e: torch.bucketize(v, e, right=True),
         torch.tensor([-1.0, 0.2, 1.0]), torch.tensor([-1.0, 0.0, 0.5, 1.0]))
    case("searchsorted", torch.searchsorted, noise(6).sort()[0], noise(2, 3))
    case("max_pool1d_index", nn.MaxPool1d(2, stride=1, return_indices=True),
         torch.randperm(20).reshape(1, 2, 10).float())
    case("adaptive_max_pool3d", nn.AdaptiveMaxPool3d(1), noise(1, 2, 3, 4, 3))
    case("max_unpooled", lambda v: F.max_pool2d(v, 2)[:, :, :1].expand(-1, -1, 3, -1),
         noise(1, 2, 6, 4))


def packed_and_rounded():
    case("spectral_norm", nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), noise(2, 4))
    case("reduce_to_double", lambda v: v.prod(1, dtype=torch.float64).float(), noise(3, 4))
    case("bool_reduce", lambda v: (v > 0).sum(1), noise(3, 4))
    case("sum_to_one", lambda v: v / v.sum(-1, keepdim=True), chance(3, 4))
    case("einsum_three", lambda a, b, c: torch.einsum("bi,bj,ij->b", a, b, c), noise(2, 3),
         noise(2, 4), noise(3, 4))
    case("layer_scale", lambda v: v * torch.tensor([[0.5], [2.0], [1.0]]), noise(3, 4))


for group in (functions_of_one, functions_of_two, products, losses, shapes, new_tensors, places,
              packed_and_rounded):
    group()
