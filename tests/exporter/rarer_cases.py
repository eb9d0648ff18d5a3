"""Small PyTorch modules: the rarer types, ranks and parameters of the operators in `cases.py`.

RARER_CASES is a list as `modules.py` describes.
"""

import torch
from torch import nn
from torch.nn import functional as F

from modules import Cases, noise, whole

RARER_CASES = Cases()
case = RARER_CASES.case


def ranks():
    for rank, shape in enumerate(((), (5,), (2, 3), (2, 3, 4), (1, 2, 1, 3))):
        x = noise(*shape)
        case(f"rank{rank}_exp", torch.exp, x)
        case(f"rank{rank}_round", torch.round, x * 3)
        case(f"rank{rank}_unsqueeze", lambda v: v.unsqueeze(0), x)
        case(f"rank{rank}_add", torch.add, x, noise(*shape))
        case(f"rank{rank}_add_alpha", lambda v, w: torch.add(v, w, alpha=2.5), x, noise(*shape))
        case(f"rank{rank}_sub_alpha", lambda v, w: torch.sub(v, w, alpha=-0.5), x, noise(*shape))
        if rank > 0:
            case(f"rank{rank}_full_like", lambda v: torch.full_like(v, 2.0), x)
        case(f"rank{rank}_clone", lambda v: v.clone().contiguous(), x)
    x = noise(3, 1, 1, 4)
    case("broadcast_lower_rank", torch.mul, x, noise(4))
    case("broadcast_both_ways", torch.sub, noise(1, 5), noise(3, 1))
    case("broadcast_scalar", torch.div, x, torch.tensor(3.0))
    case("expand_new_axis", lambda v: v.expand(2, 3, 2, 1, 4), x)
    case("expand_keeping", lambda v: v.expand(-1, 2, -1, -1), x)
    case("expand_from_vector", lambda v: v.expand(1, -1), noise(5))
    case("repeat_new_axis", lambda v: v.repeat(1, 2, 1), noise(2, 3))
    case("view_as_other", lambda v, w: v.view_as(w), noise(2, 6), noise(3, 4))
    case("size_as_value", lambda v: torch.tensor(v.numel()), noise(2, 3))
    case("shape_of_ones", lambda v: torch.ones(v.shape, dtype=v.dtype), noise(2, 3))
    case("shape_of_zeros", lambda v: v.new_zeros(v.shape), noise(2, 3))
    case("shape_of_full", lambda v: torch.full(v.shape, -1.25), noise(2, 3))
    case("zeros_of_size", lambda v: v.new_zeros((3, 2)), noise(2, 3))


def integers():
    x, y = whole(2, 4, low=-9), whole(2, 4, low=1)
    for name in ("add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge",
                 "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
                 "logical_xor", "div"):
        case(f"integers_{name}", getattr(torch, name), x, y)
    for mode in ("trunc", "floor", None):
        case(f"integers_div_{mode}", lambda v, w, m=mode: torch.div(v, w, rounding_mode=m), x, y)
        case(f"scalars_div_{mode}", lambda v, w, m=mode: torch.div(v, w, rounding_mode=m),
             torch.tensor(1), torch.tensor(3))
        case(f"floats_div_{mode}", lambda v, w, m=mode: torch.div(v, w, rounding_mode=m),
             noise(3, 4), noise(3, 4).abs() + 0.5)
    for name in ("abs", "neg", "sign", "square", "bitwise_not", "floor", "ceil"):
        case(f"integers_{name}", getattr(torch, name), x)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.uint8):
        short = str(dtype).split(".")[1]
        v = whole(2, 3, low=0, high=100, dtype=dtype)
        case(f"{short}_not", torch.bitwise_not, v)
        case(f"{short}_add", torch.add, v, v)
        case(f"{short}_to_float", lambda t: t.to(torch.float32) / 3, v)
        case(f"to_{short}", lambda t, d=dtype: t.to(d), noise(2, 3, scale=20.0).abs())
    case("to_uint16", lambda v: v.to(torch.uint16), noise(2, 3, scale=20.0).abs())
    case("to_double", lambda v: v.to(torch.float64), noise(2, 3))
    case("double_arange", lambda v: v + torch.arange(4, dtype=torch.float64).to(v.dtype), noise(1, 4))
    case("type_as", lambda v, w: v.type_as(w), noise(2, 3, scale=4.0), x)
    case("integers_sum", lambda v: v.sum(1), x)
    case("integers_sum_all", lambda v: v.sum(), x)
    case("integers_prod", torch.prod, whole(1, 2, 5, low=1, high=4))
    case("integers_mean_float", lambda v: v.float().mean(0), x)
    case("integers_cumsum", lambda v: v.cumsum(1), x)
    case("integers_max", lambda v: v.max(dim=1), torch.randperm(8).reshape(2, 4))
    case("integers_argmax", lambda v: v.argmax(0), torch.randperm(8).reshape(2, 4))
    case("integers_sort", lambda v: v.sort(dim=1), torch.randperm(8).reshape(2, 4))
    case("integers_argsort", lambda v: v.argsort(dim=0), torch.randperm(8).reshape(2, 4))
    case("integers_topk", lambda v: v.topk(3, dim=1), torch.randperm(8).reshape(2, 4))
    case("integers_matmul", torch.matmul, whole(2, 3), whole(3, 2))
    case("integers_where", lambda v, w: torch.where(v > w, v, w), x, y)
    case("integers_clamp", lambda v: v.clamp(-2, 3), x)
    case("integers_cat", lambda v, w: torch.cat([v, w]), x, y)
    case("integers_pad", lambda v: F.pad(v, (1, 1), value=7), x)
    case("integers_step", lambda v: v[..., 0::2], whole(1, 2, 10))
    case("integers_narrow", lambda v: torch.narrow(v, 1, 1, 2), whole(1, 3, 4))
    case("integers_embedding_bag", lambda v: v * 2 - 1, whole(3))
    case("arange_of_inputs", torch.arange, torch.tensor(1), torch.tensor(6), torch.tensor(3))
    case("arange_downwards", torch.arange, torch.tensor(10), torch.tensor(-1), torch.tensor(-1))
    case("arange_from_to", lambda v: torch.arange(2, 14, 3) + v.sum() * 0, noise(2, 3))
    for name in ("ii->i", "ij", "ji", "ii", "ii->", "ij->i"):
        case(f"integers_einsum_{name}", lambda v, e=name: torch.einsum(e, v), whole(3, 3))


def truths():
    x, y = whole(3, 4, high=2).bool(), whole(3, 4, high=2).bool()
    for name in ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
                 "bitwise_xor", "eq", "ne"):
        case(f"truths_{name}", getattr(torch, name), x, y)
    case("truths_not", torch.bitwise_not, x)
    case("truths_logical_not", torch.logical_not, x)
    case("truths_sum", lambda v: v.sum(dim=1), x)
    case("truths_any", lambda v: v.any(dim=1), x)
    case("truths_all_keep", lambda v: v.all(dim=1, keepdim=True), x)
    case("truths_zeros_like", torch.zeros_like, x)
    case("truths_to_float", lambda v: v.float(), x)
    case("truths_cat", lambda v, w: torch.cat([v, w], 1), x, y)
    case("truths_transpose", lambda v: v.transpose(0, 1), x)
    case("truths_index", lambda v: v[:, 1:3], x)
    mixed = torch.tensor([55.0, 1.0, -1.0, float("inf")])
    flags = torch.tensor([False, True, False, True])
    for name in ("ge", "le", "gt", "lt", "logical_and", "logical_or", "max", "min", "add", "mul"):
        case(f"mixed_{name}", getattr(torch, name), mixed, flags)
    case("mixed_int_float", lambda v, w: v * w + 1, whole(2, 3), noise(2, 3))
    case("mixed_int_half", lambda v, w: v * w, whole(2, 3), noise(2, 3).half())
    special = torch.tensor([float("nan"), 1.0, -1.0, float("inf"), -float("inf")])
    for name in ("isnan", "isinf", "isposinf", "isneginf", "abs", "sigmoid", "tanh", "exp"):
        case(f"special_{name}", getattr(torch, name), special)


def norms_and_powers():
    x = noise(3, 5, 2)
    for p in (2, 1, -2, float("inf"), -float("inf"), "fro"):
        case(f"norm_{p}", lambda v, q=p: v.norm(p=q, dim=1, keepdim=True), x)
    for exponent in (2.0, -2.0, -0.5, 3, 0.5, -1, 1.7):
        case(f"pow_{exponent}", lambda v, e=exponent: torch.pow(v, e), x.abs() + 0.2)
    case("pow_of_base", lambda v: torch.pow(2.0, v), x)
    case("cdist", torch.cdist, noise(2, 3, 4), noise(2, 5, 4))
    case("pairwise_distance", F.pairwise_distance, noise(4, 3), noise(4, 3))
    for correction in (0, 1):
        case(f"var_{correction}", lambda v, c=correction: torch.var(v, dim=1, correction=c), x)
        case(f"std_{correction}", lambda v, c=correction: torch.std(v, dim=1, correction=c,
                                                                  keepdim=True), x)
    case("var_all", lambda v: torch.var(v, correction=0), noise(10))
    case("sum_two", lambda v: v.sum(dim=(0, 2), keepdim=True), x)
    case("sum_double", lambda v: v.sum(dim=1, dtype=torch.float64), x)
    case("mean_all", lambda v: v.mean(), x)
    case("prod_all", lambda v: v.prod(), x)
    case("amax_two", lambda v: v.amax(dim=(0, 1)), x)
    case("argmax_all", lambda v: v.argmax(), x)
    case("logcumsum", lambda v: v.cumsum(0).log1p(), x.abs())
    case("cumprod", lambda v: v.cumprod(1), x)
    case("mse", F.mse_loss, x, noise(3, 5, 2))
    case("l1", F.l1_loss, x, noise(3, 5, 2))
    case("outer", torch.outer, noise(4), noise(3))
    case("vstack", lambda v, w: torch.vstack([v, w]), noise(2, 3), noise(4, 3))
    case("hstack", lambda v, w: torch.hstack([v, w]), noise(2, 3, 4), noise(2, 1, 4))
    case("addmm", torch.addmm, noise(2, 3), noise(2, 3), noise(3, 3))
    case("addmm_factors", lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2.0), noise(2, 3),
         noise(2, 3), noise(3, 3))
    case("matmul_vector", torch.matmul, noise(2, 3, 4), noise(4))
    case("vector_matmul", torch.matmul, noise(4), noise(4, 3))
    case("dot", torch.dot, noise(4), noise(4))
    case("matmul_broadcast", torch.matmul, noise(2, 1, 3, 4), noise(5, 4, 2))
    for expr, a, b in (("ij,jk->ik", (2, 3), (3, 4)), ("i,j->ij", (3,), (4,)),
                       ("ij,ij->ij", (3, 4), (3, 4)), ("ij,j->i", (3, 4), (4,)),
                       ("ij,jk->ijk", (2, 3), (3, 4)), ("ij,kl->ijkl", (1, 2), (3, 4)),
                       ("bhqd,bhkd->bhqk", (1, 2, 3, 4), (1, 2, 5, 4))):
        case(f"einsum_{expr}", lambda v, w, e=expr: torch.einsum(e, v, w), noise(*a), noise(*b))


def places():
    x = noise(3, 4, 5)
    case("index_rows", lambda v, i: v[i], x, torch.tensor([0, 2]))
    case("index_columns", lambda v, i: v[:, i], x, torch.tensor([1]))
    case("index_last", lambda v, i: v[:, :, i], x, torch.tensor([4, 4, 0]))
    case("index_grid", lambda v, i: v[i], x, torch.tensor([[0, 2], [1, 1]]))
    case("index_select_of_input", lambda v, i: torch.index_select(v, 2, i), x, torch.tensor([3, 0]))
    for dim in range(3):
        shape = [3, 4, 5]
        shape[dim] = 2
        index = torch.randint(0, 3, shape)
        case(f"gather_{dim}", lambda v, i, d=dim: v.gather(d, i), x, index)
        case(f"scatter_{dim}", lambda v, i, s, d=dim: v.scatter(d, i, s), x,
             torch.arange(2).reshape([2 if k == dim else 1 for k in range(3)]).expand(shape)
             .contiguous(), noise(*shape))
        case(f"select_{dim}", lambda v, d=dim: v.select(d, 1), x)
        case(f"flip_{dim}", lambda v, d=dim: v.flip(d), x)
        case(f"unbind_{dim}", lambda v, d=dim: v.unbind(d), noise(2, 2, 2))
        case(f"glu_{dim}", lambda v, d=dim: F.glu(v, d), noise(2, 4, 6))
        case(f"repeat_interleave_{dim}", lambda v, d=dim: v.repeat_interleave(2, dim=d), x)
        case(f"roll_{dim}", lambda v, d=dim: v.roll(-1, d), x)
        case(f"softmax_{dim}", lambda v, d=dim: v.softmax(d), x)
        case(f"cumsum_{dim}", lambda v, d=dim: v.cumsum(d), x)
        case(f"topk_{dim}", lambda v, d=dim: v.topk(2, dim=d), x)
    case("roll_two", lambda v: torch.roll(v, (-1, -2), (1, 2)), x)
    case("slice_both", lambda v: v[..., :2, 1::2], x)
    case("slice_negative", lambda v: v[:, -3:], x)
    case("slice_beyond", lambda v: v[:, :1000], x)
    case("split_sizes", lambda v: torch.split(v, [1, 3], dim=1), x)
    case("tensor_split", lambda v: torch.tensor_split(v, 2, dim=1), x)
    case("masked_fill_of_input", lambda v, m: v.masked_fill(m, -2.0), x, x > 0)
    case("where_scalar", lambda v: torch.where(v > 0, v, 0.0), x)
    case("trunc", torch.trunc, x * 3)
    case("pad_all_axes", lambda v: F.pad(v, (0, 0, 0, 0, 0, 1)), x)
    case("pad_value", lambda v: F.pad(v, (2, 0, 0, 1), value=2.0), x)
    case("pad_reflect3d", nn.ReflectionPad3d(1), noise(1, 4, 4, 5))
    case("pad_replicate2d", nn.ReplicationPad2d((1, 2, 0, 1)), noise(1, 2, 4, 5))
    case("pad_negative", lambda v: F.pad(v, (-1, 1)), x)
    case("fill", lambda v: v.clone().fill_(5), x)
    case("triu_ones", torch.triu, torch.ones(5, 5))
    case("tril_ones", torch.tril, torch.ones(5, 5))
    case("diagonal", lambda v: torch.diagonal(v, dim1=1, dim2=2), noise(2, 3, 3))
    case("meshgrid_xy", lambda v, w: torch.meshgrid(v, w, indexing="xy"), noise(3), noise(4))
    case("swapaxes", lambda v: v.swapaxes(0, 2), x)
    case("unflatten_last", lambda v: v.unflatten(-1, (2, 2)), whole(1, 1, 4))
    case("flatten_middle", nn.Flatten(1, 2), noise(2, 3, 4, 2))


def windows():
    line, image, box = noise(1, 6, 20), noise(1, 4, 9, 8), noise(1, 2, 6, 7, 5)
    case("conv2d_same", nn.Conv2d(4, 3, (3, 5), padding="same"), image)
    case("conv2d_dilated", nn.Conv2d(4, 3, 3, dilation=2, padding=2), image)
    case("conv2d_groups", nn.Conv2d(4, 8, (4, 1), groups=2), image)
    case("conv3d_strided", nn.Conv3d(2, 3, 3, stride=2, padding=1), box)
    case("conv1d_replicate", nn.Conv1d(6, 4, 3, padding=1, padding_mode="replicate"), line)
    case("deconv1d_dilated", nn.ConvTranspose1d(6, 4, 3, padding=2, dilation=4), line)
    case("deconv2d_groups", nn.ConvTranspose2d(4, 8, (4, 1), groups=2), image)
    case("deconv2d_output_padding",
         nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1), image)
    case("deconv3d", nn.ConvTranspose3d(2, 3, 2, stride=2), box)
    case("max_pool1d_wide", nn.MaxPool1d(10, stride=3, padding=2), line)
    case("max_pool2d_dilated", nn.MaxPool2d(3, stride=4, dilation=2), image)
    case("max_pool2d_padded", nn.MaxPool2d(3, stride=2, padding=1), image)
    case("max_pool2d_index", nn.MaxPool2d(2, stride=1, return_indices=True),
         torch.randperm(288).reshape(1, 4, 9, 8).float())
    case("max_pool3d", nn.MaxPool3d(2), box)
    case("avg_pool2d_padded", nn.AvgPool2d(3, stride=2, padding=1), image)
    case("avg_pool3d", nn.AvgPool3d(2), box)
    case("adaptive_avg_pool1d_parts", nn.AdaptiveAvgPool1d(5), line)
    case("adaptive_avg_pool2d_parts", nn.AdaptiveAvgPool2d((3, 4)), image)
    case("adaptive_avg_pool3d", nn.AdaptiveAvgPool3d(1), box)
    case("adaptive_max_pool1d", nn.AdaptiveMaxPool1d(20), line)
    case("upsample1d", nn.Upsample(scale_factor=3), line)
    case("upsample3d", nn.Upsample(scale_factor=2), box)
    case("upsample_sizes", lambda v: F.interpolate(v, size=(18, 16)), image)
    case("upsample_linear1d", nn.Upsample(scale_factor=2, mode="linear"), line)
    case("upsample_bicubic", nn.Upsample(scale_factor=2, mode="bicubic"), image)
    case("group_norm_one", nn.GroupNorm(1, 4), image)
    case("group_norm_each", nn.GroupNorm(4, 4), image)
    case("batch_norm3d", nn.BatchNorm3d(2), box)
    case("instance_norm2d", nn.InstanceNorm2d(4), image)
    case("layer_norm_plain", nn.LayerNorm(8, elementwise_affine=False), image)
    case("rms_norm_plain", nn.RMSNorm(8, elementwise_affine=False), image)
    case("fold", lambda v: F.fold(v, (4, 4), 2, stride=2), noise(1, 8, 4))
    case("im2col", lambda v: F.unfold(v, (2, 3), stride=2), image)


def spectra():
    pairs = noise(3, 5, 2)
    case("fft_there_and_back", lambda v: torch.view_as_real(torch.fft.ifft(torch.fft.fft(v)))[..., 0],
         noise(2, 6))
    case("fft_first_axis", lambda v: torch.view_as_real(torch.fft.rfft(v, dim=0)), noise(4, 3))
    case("irfft", lambda v: torch.fft.irfft(torch.fft.rfft(v)), noise(2, 8))
    case("irfft_first_axis", lambda v: torch.fft.irfft(torch.fft.rfft(v, dim=0), dim=0), noise(6, 2))
    case("fftn", lambda v: torch.view_as_real(torch.fft.fftn(v, dim=[1, 2])), noise(2, 3, 4))
    case("ifftn", lambda v: torch.view_as_real(torch.fft.ifftn(
        torch.view_as_complex(torch.stack((v, torch.zeros_like(v)), dim=-1)), dim=[1, 2])),
        noise(2, 3, 4))
    case("complex", lambda v, w: torch.view_as_real(torch.complex(v, w)), noise(2, 3), noise(2, 3))
    case("conj", lambda v: torch.view_as_real(torch.conj(torch.view_as_complex(v)).resolve_conj()),
         pairs)
    case("real", lambda v: torch.real(torch.view_as_complex(v)), pairs)
    case("imag", lambda v: torch.imag(torch.view_as_complex(v)), pairs)
    case("complex_abs", lambda v: torch.view_as_complex(v).abs(), pairs)
    case("complex_transpose", lambda v: torch.view_as_real(torch.view_as_complex(v).transpose(0, 1)),
         pairs)
    window = torch.tensor([0.1, 0.5, 0.5, 0.1])
    for size, options in ((6, {}), (7, {}), (7, {"center": True}), (6, {"normalized": True}),
                          (8, {"onesided": False})):
        name = "_".join([f"stft_short_window_{size}", *options])
        case(name, lambda v, s=size, o=options: torch.view_as_real(torch.stft(
            v, s, 1, 4, window, **{"center": False, "return_complex": True, **o})), noise(12))
    case("istft", Inverse(), torch.sin(torch.arange(64.0) * 0.5).unsqueeze(0))
    case("windows", lambda v: v * torch.hamming_window(8) + torch.blackman_window(8), noise(8))
    case("frequencies", lambda v: v + torch.fft.fftfreq(8, d=0.5), noise(8))


class Inverse(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(8))

    def forward(self, x):
        spectrum = torch.stft(x, 8, 4, 8, self.window, center=True, return_complex=True)
        return torch.istft(spectrum, 8, 4, 8, self.window, center=True)


def halves():
    x = noise(2, 3, 4).half()
    for name in ("abs", "neg", "sin", "cos", "exp", "sqrt", "tanh", "sigmoid", "relu", "floor",
                 "square", "reciprocal", "rsqrt", "log"):
        case(f"half_{name}", getattr(torch, name), x.abs() + 0.5)
    for name in ("add", "sub", "mul", "div", "maximum", "lt", "eq", "pow"):
        case(f"half_{name}_two", getattr(torch, name), x.abs() + 0.5, x.abs().flip(0) + 0.5)
    for name in ("gelu", "silu", "softplus", "elu", "leaky_relu", "hardswish"):
        case(f"half_{name}", getattr(F, name), x)
    case("half_softmax", lambda v: v.softmax(-1), x)
    case("half_sum", lambda v: v.sum(1), x)
    case("half_mean", lambda v: v.mean(-1, keepdim=True), x)
    case("half_max", lambda v: v.amax(1), x)
    case("half_layer_norm", nn.LayerNorm(4).half(), x)
    case("half_conv", nn.Conv1d(3, 2, 3, padding=1).half(), x)
    case("half_conv2d", nn.Conv2d(2, 3, 3).half(), noise(1, 2, 5, 6).half())
    case("half_matmul", torch.matmul, x, x.transpose(1, 2).contiguous())
    case("half_cat", lambda v: torch.cat([v, v * 2], 1), x)
    case("half_cast_up", lambda v: v.float() * 2, x)
    case("half_cast_down", lambda v: (v * 3).half(), noise(2, 3))
    case("half_where", lambda v: torch.where(v > 0, v, v * 0.5), x)
    case("half_embedding", nn.Embedding(7, 3).half(), whole(2, 4, high=7))
    case("half_attention", F.scaled_dot_product_attention, *(noise(1, 2, 5, 4).half(),) * 3)


def open_axes():
    x = noise(1, 2, 6)
    case("open_ones", lambda v: torch.ones(v.shape, dtype=torch.float32), x, axes={2: "S"})
    case("open_full", lambda v: torch.full(v.shape, fill_value=5.0), x, axes={2: "S"})
    case("open_zeros_like", lambda v: torch.zeros_like(v) + 1, x, axes={2: "S"})
    case("open_repeat_interleave", lambda v: v.repeat_interleave(3, dim=2), whole(3, 1, 4),
         axes={2: "S"})
    case("open_first_half", lambda v: v[..., : v.shape[-1] // 2], x, axes={2: "S"})
    case("open_second_half", lambda v: v[..., v.shape[-1] // 2:], x, axes={2: "S"})
    case("open_last_three", lambda v: v[:, :, -3:], x, axes={2: "S"})
    case("open_at_most", lambda v: v[:, :, :1000], x, axes={2: "S"})
    case("open_arange", lambda v: v + torch.arange(v.shape[2]), x, axes={2: "S"})
    case("open_flatten", lambda v: v.flatten(1), x, axes={2: "S"})
    case("open_view", lambda v: v.view(v.shape[0], -1, 3), noise(1, 4, 6), axes={1: "S"})
    case("open_transposed_view", lambda v: v.transpose(1, 2).reshape(v.shape[2], -1), x,
         axes={2: "S"})
    case("open_cat", lambda v: torch.cat([v, v[:, :, :2]], 2), x, axes={2: "S"})
    case("open_pad", lambda v: F.pad(v, (2, 1)), x, axes={2: "S"})
    case("open_flip", lambda v: v.flip(1), x, axes={2: "S"})
    case("open_softmax", lambda v: v.softmax(-1), x, axes={2: "S"})
    case("open_layer_norm", nn.LayerNorm(6), x, axes={1: "S"})
    case("open_sum", lambda v: v.sum(2), x, axes={2: "S"})
    case("open_max", lambda v: v.amax(2, keepdim=True), x, axes={2: "S"})
    case("open_var", lambda v: v.var(2, correction=0), x, axes={2: "S"})
    case("open_matmul", lambda v: v @ v.transpose(1, 2), x, axes={2: "S"})
    case("open_scores", lambda v: (v.transpose(1, 2) @ v).softmax(-1), x, axes={2: "S"})
    case("open_tril", lambda v: torch.ones(v.shape[2], v.shape[2]).tril() * v[0, 0], x,
         axes={2: "S"})
    case("open_conv_same", nn.Conv1d(2, 3, 3, padding="same"), x, axes={2: "S"})
    case("open_deconv", nn.ConvTranspose1d(2, 3, 4, stride=2, padding=1), x, axes={2: "S"})
    case("open_max_pool", nn.MaxPool1d(2), x, axes={2: "S"})
    case("open_avg_pool", nn.AvgPool1d(3, stride=2, padding=1), x, axes={2: "S"})
    case("open_upsample", nn.Upsample(scale_factor=2), x, axes={2: "S"})
    case("open_adaptive_pool", nn.AdaptiveAvgPool1d(1), x, axes={2: "S"})
    case("open_group_norm", nn.GroupNorm(1, 2), x, axes={2: "S"})
    case("open_instance_norm", nn.InstanceNorm1d(2), x, axes={2: "S"})
    case("open_embedding", nn.Embedding(9, 3), whole(1, 5), axes={1: "S"})
    case("open_batch_linear", nn.Linear(6, 2), x, axes={0: "B", 1: "S"})
    case("open_gru_both_ways", nn.GRU(6, 3, bidirectional=True, batch_first=True), noise(1, 5, 6),
         axes={1: "S"})
    case("open_lstm_projected", nn.LSTM(6, 5, proj_size=3, batch_first=True), noise(1, 5, 6),
         axes={1: "S"})
    case("open_attention", nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), noise(1, 5, 6),
         axes={1: "S"})
    case("open_stft", lambda v: torch.view_as_real(torch.stft(
        v, 16, 4, window=torch.hann_window(16), center=False, return_complex=True)), noise(1, 64),
        axes={1: "S"})
    case("open_image", nn.Conv2d(2, 3, 3, stride=2, padding=1), noise(1, 2, 9, 8),
         axes={2: "H", 3: "W"})


class LastLayer(nn.Module):
    """The last state of a one-layer RNN, as a classifier reads it."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 5)

    def forward(self, x):
        return self.gru(x)[1][-1]


def layers():
    case("rnn_three", nn.RNN(6, 5, num_layers=3, bidirectional=True), noise(7, 1, 6))
    case("gru_three", nn.GRU(6, 5, num_layers=3), noise(7, 1, 6))
    case("lstm_two_projected", nn.LSTM(6, 5, proj_size=3, num_layers=2), noise(7, 1, 6))
    case("gru_with_state", nn.GRU(6, 5), noise(7, 1, 6), noise(1, 1, 5))
    case("gru_last_layer", LastLayer(), noise(7, 1, 6))
    case("select_last_of_one", lambda v: v[-1] * 2.0, noise(1, 3, 4))
    case("linear_to_one_frame", lambda v: F.interpolate(v, scale_factor=0.5, mode="linear"),
         noise(1, 2, 3))
    case("rnn_cell", nn.RNNCell(6, 5), noise(2, 6), noise(2, 5))
    case("multi_head_keys", nn.MultiheadAttention(4, 2, batch_first=True), noise(1, 2, 4),
         noise(1, 3, 4), noise(1, 3, 4))
    case("decoder_layer", nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), noise(1, 4, 8),
         noise(1, 5, 8))
    case("grouped_queries", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
         noise(1, 4, 5, 4), noise(1, 2, 5, 4), noise(1, 2, 5, 4))
    case("sdpa_scale", lambda q: F.scaled_dot_product_attention(q, q, q, scale=1.3), noise(1, 2, 3))
    case("sdpa_truth_mask", lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
         noise(1, 2, 4, 4), torch.ones(4, 4).tril().bool())
    case("weight_norm_conv", nn.utils.parametrizations.weight_norm(nn.Conv2d(1, 1, 3, padding=1)),
         noise(1, 1, 5, 5))
    case("fused_split", FusedSplit(), noise(2, 9))
    for name in ("hardtanh", "glu", "softmin", "log_softmax", "hardsigmoid"):
        options = {"dim": 1} if name in ("softmin", "log_softmax", "glu") else {}
        case(f"functional_{name}", lambda v, n=name, o=options: getattr(F, n)(v, **o), noise(2, 4, 3))
    case("prelu_one", nn.PReLU(), noise(2, 4))
    case("elu_alpha", nn.ELU(0.4), noise(2, 4))
    case("softplus_beta", nn.Softplus(2.0, 10.0), noise(2, 4))
    case("leaky_relu_slope", nn.LeakyReLU(0.3), noise(2, 4))
    case("threshold_value", nn.Threshold(0.2, -1.0), noise(2, 4))
    case("hardtanh_bounds", nn.Hardtanh(-1.0, 10.0), noise(2, 4, scale=5.0))
    case("bilinear", nn.Bilinear(3, 4, 2), noise(5, 3), noise(5, 4))
    case("channel_shuffle", nn.ChannelShuffle(2), noise(1, 4, 2, 2))
    case("cosine", nn.CosineSimilarity(dim=-1), noise(2, 4), noise(2, 4))
    case("embedding_padding", nn.Embedding(10, 3, padding_idx=0), whole(2, 4))


class FusedSplit(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection = nn.Linear(9, 9)

    def forward(self, x):
        h = self.projection(x)
        size = h.shape[-1] // 3
        q, k, v = torch.split(h, [size, size, size], dim=-1)
        return q + k * v


for group in (ranks, integers, truths, norms_and_powers, places, windows, spectra, halves, open_axes,
              layers):
    group()
