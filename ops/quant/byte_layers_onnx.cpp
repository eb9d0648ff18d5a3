// Reads more quantized layers of onnxruntime: matmuls with a bias, attention, pools, selections,
// and rows of tables.

#include "ops/nn/onnx_pool.h"
#include "ops/quant/onnx_bytes.h"
#include "ops/transformers/onnx_heads.h"

namespace rill::ops {
namespace {

/// Read QGemm: alpha * (A B + C), times both scales; without `y_scale`, the output is a float.
Result<Value> qgemm(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const bool transposes_a, ctx.boolean("transA"));
  RILL_ASSIGN(const bool transposes_b, ctx.boolean("transB"));
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  const int64_t columns = transposes_b ? 0 : 1;
  RILL_ASSIGN(OutletId a, centered(ctx, f, "A", "a_zero_point", 0, DType::kI32));
  RILL_ASSIGN(const OutletId b, centered(ctx, f, "B", "b_zero_point", columns, DType::kI32));
  RILL_CHECK(f.rank(a) == 2 && f.rank(b) == 2, "inputs ", f.fact(a), " and ", f.fact(b),
             ": expected matrices");
  if (transposes_a) a = f.transpose(a, {1, 0});
  OutletId sums = f.matmul(a, b, transposes_b);
  if (ctx.given("C")) sums = f.plus(sums, f.arg("C"));
  OutletId scale = f.times(f.reshape(f.arg("a_scale"), {}), f.number(alpha, f.arg("a_scale")));
  RILL_ASSIGN(const OutletId of_columns, along(f, f.arg("b_scale"), sums, 1));
  scale = f.times(scale, of_columns);
  if (ctx.given("y_scale")) return requantized(f, sums, scale);
  return f.value(f.times(f.cast(sums, DType::kF32), scale));
}

/// Read QAttention: queries, keys and values come from one integer matmul; the rest is in floats.
Result<Value> qattention(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const OutletId x, centered(ctx, f, "input", "input_zero_point", 0, DType::kI32));
  RILL_ASSIGN(const OutletId w, centered(ctx, f, "weight", "weight_zero_point", 1, DType::kI32));
  const OutletId sums = f.cast(f.matmul(x, w), DType::kF32);
  RILL_ASSIGN(const OutletId columns, along(f, f.arg("weight_scale"), sums, -1));
  const OutletId scale = f.times(f.reshape(f.arg("input_scale"), {}), columns);
  return onnx_attention(ctx, f, f.plus(f.times(sums, scale), f.arg("bias")));
}

Result<Value> qlinear_average_pool(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(OutletId x, real(ctx, f, "X", "x_scale", "x_zero_point"));
  RILL_ASSIGN(const bool last, ctx.boolean("channels_last"));
  if (last) x = channels_second(f, x);
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(OutletId out, onnx_average_pool(ctx, x, true));
  if (last) out = channels_last(f, out);
  OutletId zero;
  if (ctx.given("y_zero_point")) zero = f.reshape(f.arg("y_zero_point"), {});
  out = f.over(out, f.reshape(f.arg("y_scale"), {}));
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const OutletId bytes, rounded(f, out, zero, f.dtype(f.arg("X"))));
  return f.value(bytes);
}

Result<Value> nhwc_max_pool(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = channels_second(f, f.arg("x"));
  if (!f.ok()) return f.take_status();
  Window window;
  RILL_ASSIGN(const OutletId out, onnx_max_pool(ctx, x, &window));
  return f.value(channels_last(f, out));
}

/// Read QLinearWhere: both sides are rescaled to the output.
Result<Value> qlinear_where(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId zero = f.reshape(f.arg("z_zero_point"), {});
  const OutletId scale = f.reshape(f.arg("z_scale"), {});
  RILL_ASSIGN(const OutletId x, real(ctx, f, "X", "x_scale", "x_zero_point"));
  RILL_ASSIGN(const OutletId y, real(ctx, f, "Y", "y_scale", "y_zero_point"));
  const OutletId found = f.over(f.select(f.arg("condition"), x, y), scale);
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const OutletId bytes, rounded(f, found, zero, f.dtype(zero)));
  return f.value(bytes);
}

/// Unpack codes of a few bits that are adjacent on the last axis, the first one in the low bits.
OutletId unpacked(Formula& f, OutletId bytes, int64_t bits, const Dim& count) {
  if (bits == 8 || !f.ok()) return bytes;
  const int rank = f.rank(bytes);
  std::vector<Dim> shape = f.fact(bytes).shape;
  shape.back() *= Dim(8 / bits);
  const OutletId size = f.number(static_cast<double>(int64_t{1} << bits), bytes);
  std::vector<OutletId> parts;
  OutletId rest = bytes;
  for (int64_t at = 0; at < 8; at += bits) {
    const OutletId above = f.over(rest, size);
    parts.push_back(f.with_axis(f.minus(rest, f.times(above, size)), rank));
    rest = above;
  }
  return f.slice(f.reshape(f.concat(parts, rank), shape), rank - 1, Dim(0), count);
}

/// Gather rows of a table of packed codes, and unpack only these rows.
Result<Value> gather_blocks(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId data = f.arg("data");
  const OutletId scales = f.arg("scales");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t bits, ctx.integer("bits"));
  RILL_ASSIGN(const int64_t block, ctx.integer("block_size"));
  RILL_ASSIGN(const int64_t along_axis, ctx.integer("quantize_axis"));
  RILL_ASSIGN(const int64_t gathered, ctx.integer("gather_axis"));
  const int64_t rank = f.rank(data);
  const bool last = along_axis == rank - 1 || along_axis == -1;
  if (f.dtype(data) != DType::kU8 || !last || gathered != 0 || rank < 2) {
    return fail(Code::kUnsupported, "a table ", f.fact(data), ", taken along axis ", gathered,
                " with blocks along axis ", along_axis,
                ": expected bytes, taken along the first axis with blocks along the last");
  }
  RILL_CHECK(bits == 2 || bits == 4 || bits == 8, "attribute \"bits\" is ", bits);
  RILL_CHECK(block >= 16 && block < (int64_t{1} << 30), "attribute \"block_size\" is ", block);
  const Dim count = f.dim(data, static_cast<int>(rank) - 1) * Dim(8 / bits);
  const auto rows = [&](OutletId table) {
    return f.call("tract_core_gather", {{"input", Value(table)},
                                        {"indices", Value(f.arg("indices"))},
                                        {"axis", Value(Dim(0))}});
  };
  const auto whole = [&](OutletId codes) { return f.cast(codes, DType::kI32); };
  const OutletId codes = whole(unpacked(f, rows(data), bits, count));
  const OutletId scale = over_blocks(f, rows(scales), -1, block, count);
  OutletId zero = f.number(static_cast<double>(int64_t{1} << (bits - 1)), codes);
  if (ctx.given("zero_points")) {
    const Dim blocks = f.dim(scales, static_cast<int>(rank) - 1);
    const OutletId points = unpacked(f, rows(f.arg("zero_points")), bits, blocks);
    zero = over_blocks(f, whole(points), -1, block, count);
  }
  const OutletId steps = f.cast(f.minus(codes, zero), DType::kF32);
  return f.value(f.cast(f.times(steps, f.cast(scale, DType::kF32)), f.dtype(scales)));
}

#define RILL_ONNX_POOL_OF_BYTES                                                                   \
  "auto_pad: string = 'NOTSET', ceil_mode: logical = false, kernel_shape: integer[], "            \
  "pads: integer[] = [], strides: integer[] = []"

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment QGemm(A: tensor<?>, a_scale: tensor<?>, a_zero_point: tensor<?>, B: tensor<?>, "
     "b_scale: tensor<?>, b_zero_point: tensor<?>, C: tensor<integer> = false, "
     "y_scale: tensor<?> = false, y_zero_point: tensor<?> = false, alpha: scalar = 1.0, "
     "transA: logical = false, transB: logical = false) -> (Y: tensor<?>);",
     qgemm},
    {"com.microsoft", 1,
     "fragment QAttention(input: tensor<?>, weight: tensor<?>, bias: tensor<?>, "
     "input_scale: tensor<?>, weight_scale: tensor<?>, mask_index: tensor<?> = false, "
     "input_zero_point: tensor<?> = false, weight_zero_point: tensor<?> = false, "
     "past: tensor<?> = false, mask_filter_value: scalar = -10000.0, num_heads: integer, "
     "scale: scalar = 0.0, unidirectional: logical = false) "
     "-> (output: tensor<?>, present: tensor<?>);",
     qattention},
    {"com.microsoft", 1,
     "fragment GatherBlockQuantized(data: tensor<?>, indices: tensor<integer>, "
     "scales: tensor<?>, zero_points: tensor<?> = false, bits: integer = 4, "
     "block_size: integer = 128, gather_axis: integer = 0, quantize_axis: integer = 1) "
     "-> (output: tensor<?>);",
     gather_blocks},
    {"com.microsoft", 1,
     "fragment QLinearAveragePool(X: tensor<?>, x_scale: tensor<?>, "
     "x_zero_point: tensor<?> = false, y_scale: tensor<?>, y_zero_point: tensor<?> = false, "
     RILL_ONNX_POOL_OF_BYTES ", channels_last: logical = false, "
     "count_include_pad: logical = false) -> (Y: tensor<?>);",
     qlinear_average_pool},
    {"com.microsoft", 1,
     "fragment NhwcMaxPool(x: tensor<?>, " RILL_ONNX_POOL_OF_BYTES ", dilations: integer[] = []) "
     "-> (y: tensor<?>);",
     nhwc_max_pool},
    {"com.microsoft", 1,
     "fragment QLinearWhere(condition: tensor<logical>, X: tensor<?>, x_scale: tensor<?>, "
     "x_zero_point: tensor<?>, Y: tensor<?>, y_scale: tensor<?>, y_zero_point: tensor<?>, "
     "z_scale: tensor<?>, z_zero_point: tensor<?>) -> (Z: tensor<?>);",
     qlinear_where},
};

}  // namespace

extern const OnnxModule byte_layers_onnx;
const OnnxModule byte_layers_onnx = {"byte_layers", kOps};

}  // namespace rill::ops
