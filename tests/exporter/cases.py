"""Small PyTorch modules, one or more for each kind of operator that the exporter writes.

CASES is a list as `modules.py` describes.
"""

import torch
from torch import nn
from torch.nn import functional as F

from modules import Cases, noise

torch.manual_seed(0)
CASES = Cases()
case = CASES.case


def elementwise():
    x = noise(2, 3, 5)
    for name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
                 "erf", "exp", "expm1", "floor", "frac", "log", "log10", "log1p", "log2", "neg",
                 "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
                 "square", "tan", "tanh", "trunc"):
        positive = name in ("acosh", "log", "log10", "log1p", "log2", "rsqrt", "sqrt", "reciprocal")
        value = x.abs() + 1.1 if positive else x.clamp(-0.9, 0.9)
        case(f"unary_{name}", getattr(torch, name), value)
    for name in ("elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid",
                 "mish", "relu6", "selu", "silu", "softplus", "softsign", "celu", "hardshrink",
                 "softshrink", "tanhshrink"):
        case(f"activation_{name}", getattr(F, name), x * 2)
    case("activation_gelu_tanh", lambda v: F.gelu(v, approximate="tanh"), x)
    case("activation_prelu", nn.PReLU(3), x)
    case("activation_glu", lambda v: F.glu(v, dim=0), x)
    case("activation_threshold", lambda v: F.threshold(v, 0.1, 20.0), x)
    y = noise(2, 1, 5)
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "atan2"):
        case(f"binary_{name}", getattr(torch, name), x, y)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        case(f"compare_{name}", getattr(torch, name), x, y)
    case("pow_scalar", lambda v: v.abs() ** 1.7, x)
    case("pow_tensor", lambda v, w: v.abs() ** w, x, y)
    case("pow_square", lambda v: v ** 2, x)
    case("rsub", lambda v: 1.0 - v, x)
    case("clamp", lambda v: v.clamp(-0.5, 0.5), x)
    case("clamp_min", lambda v: v.clamp(min=0.1), x)
    case("remainder", lambda v: torch.remainder(v, 0.7), x)
    case("fmod", lambda v: torch.fmod(v, 0.7), x)
    case("floor_divide", lambda v: torch.floor_divide(v, 0.3), x)
    case("where", lambda v, w: torch.where(v > 0, v, w), x, y)
    case("masked_fill", lambda v: v.masked_fill(v > 0.2, -1.0), x)
    case("logical", lambda v, w: (v > 0) & ~(w > 0) | (v > 1) ^ (w < -1), x, y)
    case("isnan", lambda v: torch.isnan(v / v.floor()), x)
    case("lerp", lambda v, w: torch.lerp(v, w, 0.3), x, noise(2, 3, 5))
    case("addcmul", lambda v, w: torch.addcmul(v, w, w, value=0.5), x, y)
    case("nan_to_num", lambda v: torch.nan_to_num(v / 0.0), x)
    case("bitwise", lambda v, w: (v & w) | (v ^ w), torch.arange(12).reshape(3, 4),
         torch.arange(4))


def shapes():
    x = noise(2, 6, 4)
    case("reshape", lambda v: v.reshape(2, 3, 2, 4), x)
    case("view_minus_one", lambda v: v.view(2, -1), x)
    case("flatten", nn.Flatten(), x)
    case("unflatten", lambda v: v.unflatten(1, (2, 3)), x)
    case("transpose", lambda v: v.transpose(1, 2), x)
    case("permute", lambda v: v.permute(2, 0, 1), x)
    case("squeeze", lambda v: v.squeeze(1), noise(2, 1, 4))
    case("unsqueeze", lambda v: v.unsqueeze(-1), x)
    case("expand", lambda v: v.expand(2, 6, 4), noise(2, 1, 4))
    case("repeat", lambda v: v.repeat(1, 2, 3), x)
    case("repeat_interleave", lambda v: v.repeat_interleave(3, dim=1), x)
    case("tile", lambda v: v.tile(2, 1, 1), x)
    case("cat", lambda v, w: torch.cat([v, w, v], dim=1), x, noise(2, 3, 4))
    case("stack", lambda v, w: torch.stack([v, w], dim=1), x, noise(2, 6, 4))
    case("split", lambda v: v.split(2, dim=1), x)
    case("chunk", lambda v: v.chunk(3, dim=1), x)
    case("unbind", lambda v: v.unbind(0), x)
    case("narrow", lambda v: v.narrow(1, 2, 3), x)
    case("select", lambda v: v.select(1, -1), x)
    case("slice", lambda v: v[:, 1:-1], x)
    case("slice_step", lambda v: v[:, 1::2], x)
    case("index_tensor", lambda v: v[:, torch.tensor([0, 3, 3])], x)
    case("index_select", lambda v: v.index_select(1, torch.tensor([5, 0])), x)
    case("gather", lambda v: v.gather(1, torch.tensor([[[0, 1, 2, 5]], [[3, 3, 3, 0]]])), x)
    case("flip", lambda v: v.flip(1), x)
    case("roll", lambda v: v.roll(2, 1), x)
    case("pad_constant", lambda v: F.pad(v, (1, 2), value=0.5), x)
    case("pad_reflect", lambda v: F.pad(v, (1, 2), mode="reflect"), x)
    case("pad_replicate", lambda v: F.pad(v, (1, 2), mode="replicate"), x)
    case("tril", lambda v: v.tril(1), x)
    case("triu", lambda v: v.triu(-1), x)
    case("diff", lambda v: v[:, 1:] - v[:, :-1], x)
    case("pixel_shuffle", nn.PixelShuffle(2), noise(1, 8, 3, 3))
    case("pixel_unshuffle", nn.PixelUnshuffle(2), noise(1, 2, 6, 4))
    case("unfold", lambda v: v.unfold(1, 3, 2), x)
    case("zeros_like", lambda v: torch.zeros_like(v) + v, x)
    case("full_like", lambda v: torch.full_like(v, 2.5) * v, x)
    case("arange", lambda v: v + torch.arange(4), x)
    case("movedim", lambda v: v.movedim(0, 2), x)
    case("meshgrid", lambda v: torch.meshgrid(v[0, :, 0], v[0, 0], indexing="ij")[0], x)
    case("broadcast_to", lambda v: torch.broadcast_to(v, (3, 2, 6, 4)), x)
    case("embedding", nn.Embedding(11, 5), torch.tensor([[1, 2, 10], [0, 3, 3]]))
    case("one_hot", lambda v: F.one_hot(v, 5), torch.tensor([[1, 2, 4], [0, 3, 3]]))
    case("scatter", lambda v: v.scatter(1, torch.zeros(2, 1, 4, dtype=torch.int64), 9.0), x)
    case("index_put", lambda v: v.index_put((torch.tensor([0, 1]),), torch.zeros(2, 6, 4)), x)
    case("slice_assign", SliceAssign(), x)


class SliceAssign(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 1:3] = x[:, :2] * 0.5
        return y


def reductions():
    x = noise(2, 6, 4)
    for name in ("sum", "mean", "amax", "amin", "prod", "logsumexp", "std", "var"):
        case(f"reduce_{name}", lambda v, f=getattr(torch, name): f(v, 1), x)
        case(f"reduce_{name}_keep", lambda v, f=getattr(torch, name): f(v, 2, keepdim=True), x)
    case("reduce_sum_all", lambda v: v.sum(), x)
    case("reduce_mean_two", lambda v: v.mean(dim=(1, 2)), x)
    case("argmax", lambda v: v.argmax(1), x)
    case("argmin", lambda v: v.argmin(2, keepdim=True), x)
    case("max_with_index", lambda v: v.max(dim=1), x)
    case("norm", lambda v: v.norm(dim=1), x)
    case("norm_p1", lambda v: v.norm(p=1, dim=2), x)
    case("any", lambda v: (v > 1).any(dim=1), x)
    case("all", lambda v: (v > -3).all(dim=1), x)
    case("cumsum", lambda v: v.cumsum(1), x)
    case("cumsum_open", lambda v: v.cumsum(1), x, axes={1: "S"})
    case("topk", lambda v: v.topk(2, dim=1), x)
    case("sort", lambda v: v.sort(dim=1), x)
    case("softmax", lambda v: v.softmax(1), x)
    case("log_softmax", lambda v: v.log_softmax(-1), x)
    case("softmin", lambda v: F.softmin(v, 1), x)
    case("normalize", lambda v: F.normalize(v, dim=1), x)
    case("cosine_similarity", lambda v, w: F.cosine_similarity(v, w, dim=1), x, noise(2, 6, 4))


def layers():
    seq = noise(2, 9, 6)
    chan = noise(2, 6, 9)
    image = noise(1, 4, 8, 7)
    case("linear", nn.Linear(6, 5), seq, axes={0: "B", 1: "S"})
    case("linear_no_bias", nn.Linear(6, 5, bias=False), seq)
    case("bilinear_matmul", torch.matmul, seq, noise(2, 6, 3))
    case("bmm", torch.bmm, seq, noise(2, 6, 3))
    case("einsum", lambda v, w: torch.einsum("bti,bij->btj", v, w), seq, noise(2, 6, 3))
    case("baddbmm", torch.baddbmm, noise(2, 9, 3), seq, noise(2, 6, 3))
    for stride, dilation, groups in ((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 3), (1, 1, 6)):
        case(f"conv1d_{stride}_{dilation}_{groups}",
             nn.Conv1d(6, 12, 3, stride=stride, dilation=dilation, groups=groups, padding=2), chan,
             axes={0: "B", 2: "S"})
    case("conv1d_same", nn.Conv1d(6, 4, 4, padding="same"), chan)
    case("conv1d_reflect", nn.Conv1d(6, 4, 3, padding=1, padding_mode="reflect"), chan)
    case("conv2d", nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0)), image)
    case("conv2d_depthwise", nn.Conv2d(4, 8, 3, groups=4, padding=1), image)
    case("conv3d", nn.Conv3d(2, 3, 2), noise(1, 2, 4, 5, 3))
    case("deconv1d", nn.ConvTranspose1d(6, 4, 4, stride=2, padding=1), chan)
    case("deconv1d_output_padding", nn.ConvTranspose1d(6, 4, 3, stride=2, output_padding=1), chan)
    case("deconv1d_groups", nn.ConvTranspose1d(6, 4, 3, groups=2), chan)
    case("deconv2d", nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1), image)
    case("max_pool1d", nn.MaxPool1d(3, stride=2, padding=1), chan)
    case("max_pool2d", nn.MaxPool2d(2), image)
    case("max_pool2d_ceil", nn.MaxPool2d(3, stride=2, ceil_mode=True), image)
    case("avg_pool1d", nn.AvgPool1d(3, stride=2, padding=1), chan)
    case("avg_pool1d_without_padding", nn.AvgPool1d(3, padding=1, count_include_pad=False), chan)
    case("avg_pool2d", nn.AvgPool2d(2), image)
    case("adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(1), chan)
    case("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((1, 1)), image)
    case("adaptive_max_pool2d", nn.AdaptiveMaxPool2d(1), image)
    case("batch_norm1d", nn.BatchNorm1d(6), chan)
    case("batch_norm2d", nn.BatchNorm2d(4), image)
    case("layer_norm", nn.LayerNorm(6), seq, axes={0: "B", 1: "S"})
    case("layer_norm_two_axes", nn.LayerNorm((9, 6)), seq)
    case("group_norm", nn.GroupNorm(2, 6), chan)
    case("instance_norm", nn.InstanceNorm1d(6, affine=True), chan)
    case("rms_norm", nn.RMSNorm(6), seq)
    case("local_response_norm", nn.LocalResponseNorm(3), image)
    case("weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)), seq)
    case("dropout", nn.Dropout(0.5), seq)
    case("upsample_nearest", nn.Upsample(scale_factor=2), chan)
    case("upsample_nearest2d", nn.Upsample(scale_factor=2), image)
    case("upsample_bilinear", nn.Upsample(scale_factor=2, mode="bilinear"), image)
    case("upsample_bilinear_corners",
         nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), image)
    case("grid_sample", lambda v, g: F.grid_sample(v, g, align_corners=False), image,
         noise(1, 3, 3, 2).tanh())


def recurrent():
    seq = noise(2, 9, 6)
    open_axes = {0: "B", 1: "S"}
    for name, kind in (("gru", nn.GRU), ("lstm", nn.LSTM), ("rnn", nn.RNN)):
        case(f"{name}", kind(6, 5, batch_first=True), seq, axes=open_axes)
        case(f"{name}_two_layers", kind(6, 5, num_layers=2, batch_first=True), seq, axes=open_axes)
        case(f"{name}_both_ways", kind(6, 5, bidirectional=True, batch_first=True), seq)
        case(f"{name}_time_first", kind(6, 5), seq)
        case(f"{name}_no_bias", kind(6, 5, bias=False, batch_first=True), seq)
    case("lstm_projected", nn.LSTM(6, 5, proj_size=3, batch_first=True), seq)
    case("rnn_relu", nn.RNN(6, 5, nonlinearity="relu", batch_first=True), seq)
    case("gru_cell", nn.GRUCell(6, 5), noise(2, 6), noise(2, 5))
    case("lstm_cell", LstmCell(), noise(2, 6), noise(2, 5), noise(2, 5))


class LstmCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(6, 5)

    def forward(self, x, h, c):
        return self.cell(x, (h, c))


def attention():
    seq = noise(2, 9, 8)
    q, k, v = noise(2, 2, 9, 4), noise(2, 2, 9, 4), noise(2, 2, 9, 4)
    case("sdpa", F.scaled_dot_product_attention, q, k, v)
    case("sdpa_causal", lambda a, b, c: F.scaled_dot_product_attention(a, b, c, is_causal=True), q,
         k, v)
    case("sdpa_mask", lambda a, b, c, m: F.scaled_dot_product_attention(a, b, c, attn_mask=m), q, k,
         v, noise(9, 9))
    case("multi_head", SelfAttention(), seq)
    case("encoder_layer", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), seq)


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


def signals():
    wave = noise(1, 64)
    case("rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), wave)
    case("stft", lambda x: torch.view_as_real(
        torch.stft(x, 16, 4, window=torch.hann_window(16), center=False, return_complex=True)), wave)
    case("power_spectrum", lambda x: torch.stft(
        x, 16, 8, window=torch.hann_window(16), center=True, return_complex=True).abs() ** 2, wave)


def types():
    x = noise(2, 6, 4)
    case("to_int", lambda v: (v * 10).to(torch.int64), x)
    case("to_bool", lambda v: v.to(torch.bool), (x * 2).round())
    case("from_int", lambda v: v.to(torch.float32) * 0.5, torch.arange(12).reshape(3, 4))
    case("int_arithmetic", lambda v: (v * 3 + 1) // 2, torch.arange(12).reshape(3, 4))
    case("half_linear", nn.Linear(4, 3).half(), x.half())
    case("half_chain", lambda v: (v.exp() + 1).log(), x.half())
    case("sizes_open", lambda v: v / v.shape[1], x, axes={1: "S"})
    case("reshape_open", lambda v: v.reshape(v.shape[0], -1, 2), x, axes={1: "S"})
    case("mean_open", lambda v: v.mean(1), x, axes={1: "S"})
    case("two_outputs", lambda v: (v + 1, v * 2), x)


for group in (elementwise, shapes, reductions, layers, recurrent, attention, signals, types):
    group()
