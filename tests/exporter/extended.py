"""Exports beyond PyTorch's operators: quantized models and weights, the exporter's own operators, mixtures of
experts, and the options of its target.

EXTENDED_CASES is a list as `modules.py` describes.
"""

import copy
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import torch_to_nnef.op.extras  # noqa: F401, registers the exporter's operators
from modules import Cases, Fn, noise
from torch_to_nnef.inference_target.tract import TractCheckTolerance
from torch_to_nnef.op.custom_extractors import MoEFFN
from torch_to_nnef.tensor.quant import fp_to_tract_q4_0_with_min_max_calibration

EXTENDED_CASES = Cases()
case, made = EXTENDED_CASES.case, EXTENDED_CASES.made
SUPER = {"check_io_tolerance": TractCheckTolerance.SUPER}


def quantised(name, module, x):
    """Add a module with weights and activations of 8 bits, with ranges calibrated on x."""
    def make():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch.ao import quantization
            torch.backends.quantized.engine = "qnnpack"
            wrapped = quantization.QuantWrapper(copy.deepcopy(module)).eval()
            wrapped.qconfig = quantization.get_default_qconfig("qnnpack")
            prepared = quantization.prepare(wrapped)
            for _ in range(3):
                prepared(x)
            return quantization.convert(prepared).eval(), (x,), None
    made(f"quantised_{name}", make)


class Joined(nn.Module):
    def __init__(self, operation):
        super().__init__()
        from torch.ao.nn.quantized import FloatFunctional
        self.operation = operation
        self.functions = FloatFunctional()

    def forward(self, x):
        return getattr(self.functions, self.operation)(x, x)


def eight_bits():
    from torch.ao import quantization
    from torch.ao.nn import intrinsic
    six = torch.tensor([[0.0, 2, 4], [8, 16, 8]])
    quantised("add", Joined("add"), six)
    quantised("mul", Joined("mul"), six)
    quantised("relu", nn.ReLU(), torch.tensor([[-1, -0.5, -0.3], [-0.2, 0, 1]]))
    quantised("sigmoid_of_floats", nn.Sequential(quantization.DeQuantStub(), nn.Sigmoid(),
                                                 quantization.QuantStub()),
              torch.tensor([-5.0, -4, -3, 0, -3, 5, 1]))
    wide = torch.arange(24.0).reshape(1, 3, 8)
    quantised("conv1d", nn.Conv1d(3, 2, 3), wide)
    quantised("conv1d_no_bias", nn.Conv1d(3, 2, 1, bias=False), wide)
    quantised("conv1d_strided", nn.Conv1d(3, 2, 3, stride=2, padding=1), wide)
    quantised("conv1d_relu", intrinsic.ConvReLU1d(nn.Conv1d(3, 2, 3), nn.ReLU()), wide)
    quantised("conv2d", nn.Conv2d(2, 2, (2, 3), bias=False), torch.arange(24.0).reshape(1, 2, 3, 4))
    quantised("linear", nn.Linear(8, 3), wide[0])
    quantised("linear_no_bias", nn.Linear(8, 3, bias=False), wide[0])
    quantised("linear_relu", intrinsic.LinearReLU(nn.Linear(8, 3), nn.ReLU()), wide[0])
    quantised("two_layers", nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU(), nn.Conv1d(4, 2, 2)), wide)
    image = torch.arange(96.0).reshape(1, 2, 6, 8) - 30
    quantised("max_pool2d", nn.MaxPool2d(3, 2, 1), image)
    quantised("average1d", nn.AvgPool1d(2), wide - 7)
    quantised("depthwise", nn.Conv2d(2, 2, 3, groups=2, padding=1), image)
    quantised("mlp", nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3)), wide[0])
    quantised("linear_of_rank_3", nn.Linear(8, 4), wide)
    for name, function in (("flatten", torch.flatten), ("joined", lambda v: torch.cat([v, v], 1)),
                           ("permuted", lambda v: v.permute(0, 2, 1)),
                           ("sliced", lambda v: v[:, :, 1:5]), ("clamped", lambda v: v.clamp(0.0, 3.0)),
                           ("repeated", lambda v: v.repeat(1, 2, 1)), ("largest", lambda v: v.max(2)[0])):
        quantised(name, Fn(function), wide - 7)
    quantised("pooled", nn.Sequential(nn.Conv1d(3, 4, 3), nn.MaxPool1d(2)), wide)


def four_bits(module):
    """Return the module with the weights of all layers packed as Q4_0."""
    for layer in list(module.modules()):
        if isinstance(layer, (nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d)):
            packed = fp_to_tract_q4_0_with_min_max_calibration(layer.weight.detach())
            packed.nnef_name = f"packed_{len(EXTENDED_CASES)}_{id(layer)}"
            layer.weight = nn.Parameter(packed, requires_grad=False)
    return module


def packed_weights():
    rows = noise(3, 64)
    made("packed_linear", lambda: (four_bits(nn.Linear(64, 32)), (rows,), None), **SUPER)
    made("packed_linear_no_bias", lambda: (four_bits(nn.Linear(64, 32, bias=False)), (rows,), None),
         **SUPER)
    made("packed_linear_open", lambda: (four_bits(nn.Linear(64, 32)), (rows.unsqueeze(0),), {1: "S"}),
         **SUPER)
    made("packed_embedding", lambda: (four_bits(nn.Embedding(40, 32)), (torch.tensor([[1, 39, 0]]),),
                                      None), **SUPER)
    made("packed_conv1d", lambda: (four_bits(nn.Conv1d(32, 4, 3)), (noise(1, 32, 9),), None), **SUPER)
    made("packed_conv2d", lambda: (four_bits(nn.Conv2d(32, 4, (3, 2))), (noise(1, 32, 9, 5),), None),
         **SUPER)
    made("packed_mlp", lambda: (four_bits(nn.Sequential(nn.Linear(64, 96), nn.GELU(),
                                                        nn.Linear(96, 32))), (rows,), None), **SUPER)


def own_op(schema, function):
    name = f"t2n_extra::{function.__name__}"
    op = torch.library.custom_op(name, function, mutates_args=(), schema=schema)
    op.register_fake(function)


def ssm_scan(decay, drive, c, state):
    outputs = []
    for t in range(decay.shape[2]):
        state = decay[:, :, t] * state + drive[:, :, t]
        outputs.append((state @ c[:, t].unsqueeze(-1)).squeeze(-1))
    return torch.stack(outputs, -1), state.clone()


def ssm_scan_y(decay, drive, c, state):
    return ssm_scan(decay, drive, c, state)[0]


def gated_delta_scan(q, k, v, decay, beta, state):
    outputs = []
    for t in range(q.shape[2]):
        state = state * decay[:, :, t].exp()[..., None, None]
        recalled = (state * k[:, :, t].unsqueeze(-1)).sum(-2)
        change = (v[:, :, t] - recalled) * beta[:, :, t].unsqueeze(-1)
        state = state + k[:, :, t].unsqueeze(-1) * change.unsqueeze(-2)
        outputs.append((state * q[:, :, t].unsqueeze(-1)).sum(-2))
    return torch.stack(outputs, 2), state.clone()


def exp_unit_norm(x, state, axis, alpha, epsilon, complex):  # noqa: A002, the exporter's name
    rows = []
    for frame in x.unbind(axis):
        size = frame.square().sum(-1).sqrt() if complex else frame.abs()
        state = alpha * state + (1 - alpha) * size.clamp(min=epsilon)
        rows.append(frame / (state.unsqueeze(-1) if complex else state).sqrt())
    return torch.stack(rows, axis)


def exp_mean_norm(x, state, axis, alpha, scaling_factor):
    rows = []
    for frame in x.unbind(axis):
        state = alpha * state + (1 - alpha) * frame
        rows.append((frame - state) / scaling_factor)
    return torch.stack(rows, axis)


def own_operators():
    own_op("(Tensor decay, Tensor drive, Tensor c, Tensor state) -> (Tensor, Tensor)", ssm_scan)
    own_op("(Tensor decay, Tensor drive, Tensor c, Tensor state) -> Tensor", ssm_scan_y)
    own_op("(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor beta, Tensor state)"
           " -> (Tensor, Tensor)", gated_delta_scan)
    own_op("(Tensor x, Tensor state, int axis, float alpha, float epsilon, bool complex) -> Tensor",
           exp_unit_norm)
    own_op("(Tensor x, Tensor state, int axis, float alpha, float scaling_factor) -> Tensor",
           exp_mean_norm)
    ops = torch.ops.t2n_extra
    scanned = (torch.rand(1, 4, 5, 8), noise(1, 4, 5, 8), noise(1, 5, 8), torch.zeros(1, 4, 8))
    case("own_ssm_scan", lambda *inputs: ops.ssm_scan(*inputs), *scanned)
    case("own_ssm_scan_y", lambda *inputs: ops.ssm_scan_y(*inputs), *scanned)
    every = {f"input_{i}": {axis: "S"} for i, axis in enumerate((2, 2, 1))}
    case("own_ssm_scan_open", lambda *inputs: ops.ssm_scan_y(*inputs), *scanned, axes=every)
    deltas = (F.normalize(noise(1, 2, 3, 8), dim=-1), F.normalize(noise(1, 2, 3, 8), dim=-1),
              noise(1, 2, 3, 8), -noise(1, 2, 3).abs(), torch.rand(1, 2, 3), noise(1, 2, 8, 8) * 0.1)
    case("own_gated_delta", lambda *inputs: ops.gated_delta_scan(*inputs), *deltas)
    q, k, v = (F.normalize(noise(1, 2, 1, 128), dim=-1) for _ in range(3))
    case("own_gated_delta_native", lambda *inputs: ops.gated_delta_scan(*inputs),
         (q / 128 ** 0.5).half(), k.half(), v.half(), -noise(1, 2, 1).abs(),
         torch.rand(1, 2, 1).half(), noise(1, 2, 128, 128) * 0.1, **SUPER)
    case("own_exp_unit_norm", lambda x, s: ops.exp_unit_norm(x, s, 1, 0.9, 1e-12, False),
         noise(1, 6, 5), torch.rand(1, 5) + 0.5)
    case("own_exp_unit_norm_complex", lambda x, s: ops.exp_unit_norm(x, s, 1, 0.9, 1e-12, True),
         noise(1, 6, 5, 2), torch.rand(1, 5) + 0.5)
    case("own_exp_mean_norm", lambda x, s: ops.exp_mean_norm(x, s, 1, 0.9, 40.0), noise(1, 6, 5),
         noise(1, 5))
    case("own_exp_mean_norm_open", lambda x, s: ops.exp_mean_norm(x, s, 1, 0.9, 40.0), noise(1, 6, 5),
         noise(1, 5), axes={1: "S"})


def experts():
    def moe(count=4, width=32, hidden=64, linear=False, packed=False, **options):
        block = MoEFFN(count, width, hidden, **options)
        if linear:
            block._t2n_moe_expert_layout = "linear"
        block._t2n_quantize_moe_experts_q40 = packed
        return nn.Sequential(block).eval()

    tokens = noise(8, 32)
    for activation in ("silu", "gelu", "relu"):
        made(f"experts_{activation}", lambda a=activation: (moe(k=1, activation=a), (tokens,), None))
    made("experts_two", lambda: (moe(), (tokens,), None))
    made("experts_two_open", lambda: (moe(), (tokens,), {0: "S"}))
    made("experts_raw_gates", lambda: (moe(normalize_gates=False), (tokens,), None))
    made("experts_linear_layout", lambda: (moe(linear=True), (tokens,), None))
    made("experts_packed", lambda: (moe(packed=True), (tokens,), None), **SUPER)
    made("experts_packed_linear_layout", lambda: (moe(packed=True, linear=True), (tokens,), None),
         **SUPER)


def options():
    x = noise(1, 3, 4).half()
    f32 = dict(force_attention_inner_in_f32=True, force_norm_in_f32=True,
               force_linear_accumulation_in_f32=True)
    q, k, v = (noise(1, 2, 5, 8).half() for _ in range(3))
    for reified in (True, False):
        chosen = dict(reify_sdpa_operator=reified)
        tail = "reified" if reified else "as_fragment"
        case(f"attention_{tail}", F.scaled_dot_product_attention, q.float(), k.float(), v.float(),
             **chosen)
        case(f"attention_causal_{tail}",
             Fn(lambda a, b, c: F.scaled_dot_product_attention(a, b, c, is_causal=True)), q.float(),
             k.float(), v.float(), **chosen)
        case(f"attention_half_{tail}", F.scaled_dot_product_attention, q, k, v, **chosen, **SUPER)
        case(f"attention_half_f32_{tail}", F.scaled_dot_product_attention, q, k, v, **chosen, **f32,
             **SUPER)
    case("batch_norm_half_f32", nn.BatchNorm1d(3).half(), x, **f32, **SUPER)
    case("layer_norm_half_f32", nn.LayerNorm(4).half(), x, **f32, **SUPER)
    case("group_norm_half_f32", nn.GroupNorm(3, 6).half(), noise(1, 6, 2).half(), **f32, **SUPER)
    case("rms_norm_half_f32", nn.RMSNorm(4).half(), x, **f32, **SUPER)
    case("norm_half_f32", lambda t: t.norm(p=2, dim=1, keepdim=True), x, **f32, **SUPER)
    case("linear_half_f32", nn.Linear(4, 3).half(), x, **f32, **SUPER)
    case("conv_half_f32", nn.Conv1d(3, 2, 3, padding=1).half(), x, **f32, **SUPER)
    case("matmul_half_f32", torch.matmul, x, x.transpose(1, 2).contiguous(), **f32, **SUPER)
    case("upsample_by_debox", nn.Upsample(scale_factor=2), noise(1, 2, 4, 5), upsample_with_debox=True)
    case("upsample_by_deconv", nn.Upsample(scale_factor=2), noise(1, 2, 4, 5),
         upsample_with_debox=False)
    both = {"input_0": {1: "S"}, "input_1": {1: "S"}}
    case("two_open_inputs", lambda a, b: torch.cat([a + b, a * b], 2), noise(1, 5, 3), noise(1, 5, 3),
         axes=both)
    case("two_open_symbols", torch.matmul, noise(1, 5, 3), noise(1, 3, 6),
         axes={"input_0": {1: "S"}, "input_1": {2: "T"}})


for group in (eight_bits, packed_weights, own_operators, experts, options):
    group()
