// Reads ONNX's operators on quantized numbers as the integers and scales that they consist of.

#include <span>

#include "ops/array/common.h"
#include "ops/nn/conv.h"
#include "ops/nn/onnx_window.h"
#include "ops/nn/quant_conv.h"
#include "ops/quant/onnx_bytes.h"
#include "ops/quant/own_range.h"

namespace rill::ops {
namespace {

/// Broadcast a list along an axis; with a block size, each number applies to a block of entries.
Result<OutletId> spread(OnnxCtx& ctx, Formula& f, OutletId list, OutletId x, int64_t written_axis) {
  int64_t block = 0;
  if (ctx.has("block_size")) {
    RILL_ASSIGN(block, ctx.integer("block_size"));
  }
  if (block == 0) return along(f, list, x, written_axis);
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t at, axis_in(written_axis, f.rank(x)));
  const int axis = static_cast<int>(at);
  const Fact in = f.fact(list);
  RILL_CHECK(block > 0 && in.rank() == f.rank(x), "blocks of ", block, ", scales ", in,
             " for input ", f.fact(x));
  return over_blocks(f, list, axis, block, f.dim(x, axis));
}

Result<int64_t> axis_of(OnnxCtx& ctx) {
  if (!ctx.has("axis")) return int64_t{1};
  return ctx.integer("axis");
}

Result<Value> quantize(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("x");
  RILL_ASSIGN(const int64_t axis, axis_of(ctx));
  RILL_ASSIGN(OutletId scale, spread(ctx, f, f.arg("y_scale"), x, axis));
  DType type = DType::kU8;
  OutletId zero;
  if (ctx.given("y_zero_point")) {
    RILL_ASSIGN(zero, spread(ctx, f, f.arg("y_zero_point"), x, axis));
    type = f.dtype(zero);
  } else if (ctx.has("output_dtype") && ctx.given("output_dtype")) {
    RILL_ASSIGN(const int64_t number, ctx.integer("output_dtype"));
    const auto named = number == 0 ? type : onnx_type(number);
    if (!named) return fail(Code::kUnsupported, "quantised numbers of ", onnx_type_name(number));
    type = *named;
  }
  if (ctx.has("precision") && ctx.given("precision")) {
    RILL_ASSIGN(const int64_t number, ctx.integer("precision"));
    RILL_CHECK(number == 0 || onnx_type(number) == DType::kF32, "attribute \"precision\" is ",
               onnx_type_name(number), ": expected float");
  }
  x = f.cast(x, DType::kF32);
  scale = f.cast(scale, DType::kF32);
  RILL_ASSIGN(const OutletId out, rounded(f, f.over(x, scale), zero, type));
  return f.value(out);
}

Result<Value> dequantize(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("x");
  RILL_ASSIGN(const int64_t axis, axis_of(ctx));
  RILL_ASSIGN(const OutletId scale, spread(ctx, f, f.arg("x_scale"), x, axis));
  DType type = f.dtype(scale);
  if (ctx.has("output_dtype") && ctx.given("output_dtype")) {
    RILL_ASSIGN(const int64_t number, ctx.integer("output_dtype"));
    const auto named = number == 0 ? type : onnx_type(number);
    if (!named || !is_float(*named)) {
      return fail(Code::kUnsupported, "real numbers of ", onnx_type_name(number));
    }
    type = *named;
  }
  if (!f.ok()) return f.take_status();
  // f32 represents 16-bit integers and their differences. Bytes stay integers for int8 kernels.
  const bool wide = is_int(f.dtype(x)) && dtype_size(f.dtype(x)) == 2;
  const DType within = wide ? DType::kF32 : DType::kI32;
  OutletId steps = f.cast(x, within);
  if (ctx.given("x_zero_point")) {
    RILL_ASSIGN(const OutletId zero, spread(ctx, f, f.arg("x_zero_point"), x, axis));
    steps = f.minus(steps, f.cast(zero, within));
  }
  const OutletId out =
      f.cast(f.times(f.cast(steps, DType::kF32), f.cast(scale, DType::kF32)), type);
  const OutletId point = ctx.given("x_zero_point") ? f.arg("x_zero_point") : OutletId{};
  if (f.ok() && !wide) ctx.keep_quantised(out, {steps, scale, x, point});
  return f.value(out);
}

struct Quantised {
  OutletId values;
  OutletId scale;
  OutletId point;
};

Result<Quantised> in_bytes(Formula& f, OutletId x) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < f.rank(x); ++axis) axes.push_back(axis);
  const OwnRange range = in_own_range(f, x, axes);
  const Quantised out = {f.cast(range.values, DType::kU8), f.reshape(range.scale, {}),
                         f.cast(f.reshape(range.point, {}), DType::kU8)};
  if (!f.ok()) return f.take_status();
  return out;
}

Result<Value> dynamic_quantize(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("x");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const Quantised parts, in_bytes(f, x));
  return f.values({parts.values, parts.scale, parts.point});
}

Result<Value> matmul_integer(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const OutletId a, centered(ctx, f, "A", "a_zero_point", -2, DType::kI32));
  RILL_ASSIGN(const OutletId b, centered(ctx, f, "B", "b_zero_point", -1, DType::kI32));
  return f.value(f.matmul(a, b));
}

Result<Value> qlinear_matmul(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const OutletId a, centered(ctx, f, "a", "a_zero_point", -2, DType::kI32));
  RILL_ASSIGN(const OutletId b, centered(ctx, f, "b", "b_zero_point", -1, DType::kI32));
  RILL_ASSIGN(const OutletId left, along(f, f.arg("a_scale"), a, -2));
  RILL_ASSIGN(const OutletId right, along(f, f.arg("b_scale"), b, -1));
  const OutletId scale = f.times(f.cast(left, DType::kF32), f.cast(right, DType::kF32));
  return requantized(f, f.matmul(a, b), scale);
}

/// Return the matmul of integers times both scales, plus a bias.
Result<Value> scaled_product(OnnxCtx& ctx, Formula& f, OutletId a, OutletId a_scale) {
  RILL_ASSIGN(const OutletId b, centered(ctx, f, "B", "b_zero_point", -1, DType::kI32));
  const OutletId sums = f.cast(f.matmul(a, b), DType::kF32);
  RILL_ASSIGN(const OutletId right, along(f, f.arg("b_scale"), b, -1));
  OutletId out = f.times(sums, f.times(a_scale, right));
  if (ctx.given("bias")) out = f.plus(out, f.arg("bias"));
  return f.value(out);
}

Result<Value> dynamic_matmul(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("A");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const Quantised a, in_bytes(f, x));
  const OutletId steps = f.minus(f.cast(a.values, DType::kI32), f.cast(a.point, DType::kI32));
  return scaled_product(ctx, f, steps, a.scale);
}

Result<Value> matmul_to_float(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const OutletId a, centered(ctx, f, "A", "a_zero_point", -2, DType::kI32));
  RILL_ASSIGN(const OutletId left, along(f, f.arg("a_scale"), a, -2));
  return scaled_product(ctx, f, a, left);
}

/// Quantise real numbers to the scale and the type that the node states.
Result<Value> in_units(OnnxCtx& ctx, Formula& f, OutletId x, DType type) {
  OutletId zero;
  if (ctx.given("Y_zero_point")) zero = f.reshape(f.arg("Y_zero_point"), {});
  const OutletId scaled = f.over(x, f.reshape(f.arg("Y_scale"), {}));
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const OutletId out, rounded(f, scaled, zero, type));
  return f.value(out);
}

template <BinaryKind kKind>
Result<Value> qlinear_binary(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const OutletId a, real(ctx, f, "A", "A_scale", "A_zero_point"));
  RILL_ASSIGN(const OutletId b, real(ctx, f, "B", "B_scale", "B_zero_point"));
  return in_units(ctx, f, f.binary(kKind, a, b), f.dtype(f.arg("A")));
}

/// Read QLinearSoftmax. Before opset 13, `axis` and all later axes are normalised jointly. As in
/// onnxruntime, 1 is a whole number of output steps: 254 for a scale of 1/255, which f32 rounds up.
Result<Value> qlinear_softmax(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const OutletId x, real(ctx, f, "X", "X_scale", "x_zero_point"));
  RILL_ASSIGN(const int64_t opset, ctx.integer("opset"));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t axis, axis_in(written, f.rank(x)));
  std::vector<Value> axes;
  const int64_t end = opset < 13 ? f.rank(x) : axis + 1;
  for (int64_t each = axis; each < end; ++each) axes.emplace_back(Dim(each));
  const OutletId out = f.call("softmax", {{"x", Value(x)}, {"axes", Value(std::move(axes))}});
  const OutletId zero = f.reshape(f.arg("y_zero_point"), {});
  const OutletId steps = f.unary(UnaryKind::kRecip, f.reshape(f.arg("y_scale"), {}));
  const OutletId scaled = f.times(out, f.unary(UnaryKind::kFloor, steps));
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const OutletId bytes, rounded(f, scaled, zero, f.dtype(zero)));
  return f.value(bytes);
}

/// Rescale tensors with their scales and zero points to those of the output.
Result<Value> qlinear_concat(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const std::vector<OutletId> given, ctx.wires("inputs"));
  RILL_CHECK(!given.empty() && given.size() % 3 == 0, given.size(),
             " inputs after those of the output: expected three each, a tensor, its scale and its "
             "zero point");
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  const OutletId zero = f.reshape(f.arg("Y_zero_point"), {});
  const OutletId scale = f.reshape(f.arg("Y_scale"), {});
  std::vector<OutletId> parts;
  for (size_t i = 0; i < given.size(); i += 3) {
    const OutletId point = f.cast(f.reshape(given[i + 2], {}), DType::kI32);
    const OutletId steps = f.minus(f.cast(given[i], DType::kI32), point);
    const OutletId x = f.times(f.cast(steps, DType::kF32), f.reshape(given[i + 1], {}));
    if (!f.ok()) return f.take_status();
    RILL_ASSIGN(const OutletId bytes, rounded(f, f.over(x, scale), zero, f.dtype(zero)));
    parts.push_back(bytes);
  }
  RILL_ASSIGN(const int64_t axis, axis_in(written, f.rank(parts[0])));
  return f.value(f.concat(parts, static_cast<int>(axis)));
}

enum class Function : uint8_t { kSigmoid, kLeakyRelu, kMean };

template <Function kFunction>
Result<Value> qlinear_function(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(OutletId x, real(ctx, f, "X", "X_scale", "X_zero_point"));
  if (kFunction == Function::kSigmoid) x = f.unary(UnaryKind::kSigmoid, x);
  if (kFunction == Function::kLeakyRelu) {
    RILL_ASSIGN(const float alpha, ctx.number("alpha"));
    x = f.add(make_op<Unary>(UnaryKind::kLeakyRelu, alpha), {x});
  }
  if (kFunction == Function::kMean) {
    RILL_ASSIGN(const bool channels_last, ctx.boolean("channels_last"));
    std::vector<int64_t> axes;
    const int first = channels_last ? 1 : 2;
    for (int axis = first; axis < f.rank(x) - (channels_last ? 1 : 0); ++axis) axes.push_back(axis);
    x = f.mean(x, axes);
  }
  return in_units(ctx, f, x, f.dtype(f.arg("X")));
}

/// Return whether f32 represents all sums of a convolution of bytes minus their zero points, and a
/// bias.
bool exact_in_f32(const Formula& f, const ByteConv& conv, std::span<const int64_t> filter) {
  if (dtype_size(f.dtype(conv.x)) != 1 || dtype_size(f.dtype(conv.w)) != 1) return false;
  constexpr int64_t kMostHeld = int64_t{1} << 24;
  int64_t most = 255 * 255;
  for (const int64_t terms : filter.subspan(1)) {
    if (terms == 0 || terms > kMostHeld / most) return false;
    most *= terms;
  }
  const auto largest = largest_start(f, conv.bias);
  return largest && *largest <= kMostHeld - most;
}

/// Return the sums of a convolution of integers, exactly: in f32 for many groups with few terms, by
/// an int8 kernel if filters and zero points are constant, else in f64.
Result<OutletId> integer_conv(OnnxCtx& ctx, Formula& f, bool last, OutletId bias) {
  ByteConv conv;
  conv.x = last ? channels_second(f, f.arg("x")) : f.arg("x");
  conv.w = f.arg("w");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const auto filter, f.fact(conv.w).concrete_shape());
  RILL_CHECK(filter.size() >= 3, "filter ", f.fact(conv.w),
             ": expected [outputs, channels, spatial...]");
  const std::vector<int64_t> kernel(filter.begin() + 2, filter.end());
  if (ctx.given("kernel_shape")) {
    RILL_ASSIGN(const std::vector<int64_t> stated, ctx.integers("kernel_shape"));
    RILL_CHECK(stated == kernel, "attribute \"kernel_shape\" is ", stated, ", but the filter is ",
               f.fact(conv.w));
  }
  RILL_ASSIGN(conv.window, onnx_window(ctx, kernel, f.fact(conv.x)));
  RILL_ASSIGN(conv.groups, ctx.integer("group"));
  RILL_TRY(take_channels(ctx, conv.x, Dim(filter[1]) * Dim(conv.groups)));
  if (ctx.given("x_zero_point")) conv.x_zero = f.arg("x_zero_point");
  if (ctx.given("w_zero_point")) conv.w_zero = f.arg("w_zero_point");
  conv.bias = bias;
  const bool narrow = exact_in_f32(f, conv, filter);
  if (conv.groups == 1 || !narrow) {
    RILL_ASSIGN(const std::optional<OutletId> sums, add_byte_conv(f, conv));
    if (sums) return *sums;
  }
  const DType type = narrow ? DType::kF32 : DType::kF64;
  RILL_ASSIGN(OutletId x, centered(ctx, f, "x", "x_zero_point", 1, type));
  if (last) x = channels_second(f, x);
  RILL_ASSIGN(const OutletId w, centered(ctx, f, "w", "w_zero_point", 0, type));
  Conv op;
  op.window = conv.window;
  op.groups = conv.groups;
  op.has_bias = bias.valid();
  std::vector<OutletId> inputs{x, w};
  if (op.has_bias) inputs.push_back(f.cast(bias, type));
  const OutletId sums = f.add(make_op<Conv>(op), inputs);
  // Cast, because a scale folded into the filters would make f32 sums inexact.
  return narrow ? f.cast(sums, DType::kI32) : sums;
}

Result<Value> conv_integer(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const OutletId out, integer_conv(ctx, f, false, {}));
  return f.value(f.cast(out, DType::kI32));
}

Result<Value> qlinear_conv(OnnxCtx& ctx) {
  Formula f(ctx);
  bool last = false;
  if (ctx.has("channels_last")) {
    RILL_ASSIGN(last, ctx.boolean("channels_last"));
  }
  OutletId bias;
  if (ctx.given("B")) bias = f.arg("B");
  RILL_ASSIGN(const OutletId sums, integer_conv(ctx, f, last, bias));
  RILL_ASSIGN(const OutletId channels, along(f, f.arg("w_scale"), sums, 1));
  const OutletId scale = f.times(f.cast(channels, DType::kF32),
                                 f.cast(f.reshape(f.arg("x_scale"), {}), DType::kF32));
  if (!last) return requantized(f, sums, scale);
  RILL_ASSIGN(const Value out, requantized(f, sums, scale));
  return f.value(channels_last(f, *out.get<OutletId>()));
}

#define RILL_ONNX_WINDOW                                                                       \
  "auto_pad: string = 'NOTSET', dilations: integer[] = [], group: integer = 1, "               \
  "kernel_shape: integer[] = [], pads: integer[] = [], strides: integer[] = []"

#define RILL_ONNX_QUANTIZE(since, attributes)                                                  \
  {                                                                                            \
    "", since, "fragment QuantizeLinear(x: tensor<?>, y_scale: tensor<?>, "                    \
        "y_zero_point: tensor<?> = false" attributes ") -> (y: tensor<?>);",                   \
        quantize                                                                               \
  }

#define RILL_ONNX_DEQUANTIZE(since, attributes)                                                \
  {                                                                                            \
    "", since, "fragment DequantizeLinear(x: tensor<?>, x_scale: tensor<?>, "                  \
        "x_zero_point: tensor<?> = false" attributes ") -> (y: tensor<?>);",                   \
        dequantize                                                                             \
  }

#define RILL_ONNX_QLINEAR_BINARY(name, kind)                                                   \
  {                                                                                            \
    "com.microsoft", 1, "fragment " name "(A: tensor<?>, A_scale: tensor<?>, "                 \
        "A_zero_point: tensor<?> = false, B: tensor<?>, B_scale: tensor<?>, "                  \
        "B_zero_point: tensor<?> = false, Y_scale: tensor<?>, "                                \
        "Y_zero_point: tensor<?> = false) -> (C: tensor<?>);",                                 \
        qlinear_binary<kind>                                                                   \
  }

#define RILL_ONNX_QLINEAR(name, attributes, function)                                          \
  {                                                                                            \
    "com.microsoft", 1, "fragment " name "(X: tensor<?>, X_scale: tensor<?>, "                 \
        "X_zero_point: tensor<?> = false, Y_scale: tensor<?>, "                                \
        "Y_zero_point: tensor<?> = false" attributes ") -> (Y: tensor<?>);",                   \
        qlinear_function<function>                                                             \
  }

const OnnxOp kOps[] = {
    RILL_ONNX_QLINEAR_BINARY("QLinearAdd", BinaryKind::kAdd),
    RILL_ONNX_QLINEAR_BINARY("QLinearMul", BinaryKind::kMul),
    RILL_ONNX_QLINEAR("QLinearSigmoid", "", Function::kSigmoid),
    RILL_ONNX_QLINEAR("QLinearLeakyRelu", ", alpha: scalar = 0.01", Function::kLeakyRelu),
    RILL_ONNX_QLINEAR("QLinearGlobalAveragePool", ", channels_last: logical = false",
                      Function::kMean),
    {"com.microsoft", 1,
     "fragment QLinearSoftmax(X: tensor<?>, X_scale: tensor<?>, x_zero_point: tensor<?> = false, "
     "y_scale: tensor<?>, y_zero_point: tensor<?>, axis: integer = -1, opset: integer) "
     "-> (Y: tensor<?>);",
     qlinear_softmax},
    {"com.microsoft", 1,
     "fragment QLinearConcat(Y_scale: tensor<?>, Y_zero_point: tensor<?>, inputs: tensor<?>[], "
     "axis: integer) -> (Y: tensor<?>);",
     qlinear_concat},
    {"com.microsoft", 1,
     "fragment DynamicQuantizeMatMul(A: tensor<?>, B: tensor<?>, b_scale: tensor<?>, "
     "b_zero_point: tensor<?> = false, bias: tensor<?> = false) -> (Y: tensor<?>);",
     dynamic_matmul},
    {"com.microsoft", 1,
     "fragment MatMulIntegerToFloat(A: tensor<?>, B: tensor<?>, a_scale: tensor<?>, "
     "b_scale: tensor<?>, a_zero_point: tensor<?> = false, b_zero_point: tensor<?> = false, "
     "bias: tensor<?> = false) -> (Y: tensor<?>);",
     matmul_to_float},
    {"com.microsoft", 1,
     "fragment QuantizeLinear(x: tensor<?>, y_scale: tensor<?>, y_zero_point: tensor<?> = false, "
     "axis: integer = 1) -> (y: tensor<?>);",
     quantize},
    {"com.microsoft", 1,
     "fragment DequantizeLinear(x: tensor<?>, x_scale: tensor<?>, "
     "x_zero_point: tensor<?> = false, axis: integer = 1) -> (y: tensor<?>);",
     dequantize},
    RILL_ONNX_QUANTIZE(10, ""),
    RILL_ONNX_QUANTIZE(13, ", axis: integer = 1"),
    RILL_ONNX_QUANTIZE(19, ", axis: integer = 1, saturate: integer = 1"),
    RILL_ONNX_QUANTIZE(21, ", axis: integer = 1, block_size: integer = 0, "
                           "output_dtype: integer = 0, saturate: integer = 1"),
    RILL_ONNX_QUANTIZE(23, ", axis: integer = 1, block_size: integer = 0, "
                           "output_dtype: integer = 0, precision: integer = 0, "
                           "saturate: integer = 1"),
    RILL_ONNX_DEQUANTIZE(10, ""),
    RILL_ONNX_DEQUANTIZE(13, ", axis: integer = 1"),
    RILL_ONNX_DEQUANTIZE(21, ", axis: integer = 1, block_size: integer = 0"),
    RILL_ONNX_DEQUANTIZE(23, ", axis: integer = 1, block_size: integer = 0, "
                             "output_dtype: integer = 0"),
    {"", 11,
     "fragment DynamicQuantizeLinear(x: tensor<?>) "
     "-> (y: tensor<?>, y_scale: tensor<?>, y_zero_point: tensor<?>);",
     dynamic_quantize},
    {"", 10,
     "fragment MatMulInteger(A: tensor<?>, B: tensor<?>, a_zero_point: tensor<?> = false, "
     "b_zero_point: tensor<?> = false) -> (Y: tensor<?>);",
     matmul_integer},
    {"", 10,
     "fragment QLinearMatMul(a: tensor<?>, a_scale: tensor<?>, a_zero_point: tensor<?>, "
     "b: tensor<?>, b_scale: tensor<?>, b_zero_point: tensor<?>, y_scale: tensor<?>, "
     "y_zero_point: tensor<?>) -> (y: tensor<?>);",
     qlinear_matmul},
    {"", 10,
     "fragment ConvInteger(x: tensor<?>, w: tensor<?>, x_zero_point: tensor<?> = false, "
     "w_zero_point: tensor<?> = false, " RILL_ONNX_WINDOW ") -> (y: tensor<?>);",
     conv_integer},
    {"com.microsoft", 1,
     "fragment QLinearConv(x: tensor<?>, x_scale: tensor<?>, x_zero_point: tensor<?>, "
     "w: tensor<?>, w_scale: tensor<?>, w_zero_point: tensor<?>, y_scale: tensor<?>, "
     "y_zero_point: tensor<?>, B: tensor<?> = false, " RILL_ONNX_WINDOW
     ", channels_last: logical = false) -> (y: tensor<?>);",
     qlinear_conv},
    {"", 10,
     "fragment QLinearConv(x: tensor<?>, x_scale: tensor<?>, x_zero_point: tensor<?>, "
     "w: tensor<?>, w_scale: tensor<?>, w_zero_point: tensor<?>, y_scale: tensor<?>, "
     "y_zero_point: tensor<?>, B: tensor<?> = false, " RILL_ONNX_WINDOW ") -> (y: tensor<?>);",
     qlinear_conv},
};

}  // namespace

extern const OnnxModule integer_sums_onnx;
const OnnxModule integer_sums_onnx = {"integer_sums", kOps};

}  // namespace rill::ops
