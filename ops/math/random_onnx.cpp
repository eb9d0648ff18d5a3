// Reads ONNX's generators of random numbers.

#include <cmath>

#include "core/base/bits.h"
#include "ops/math/formula.h"

namespace rill::ops {
namespace {

struct Draw {
  std::string_view dist;
  float first = 0.0F;
  float second = 1.0F;
};

/// Convert a seed, which is a float in ONNX. A fractional or very large seed becomes the integer
/// with its bits, so that 0.25 and 0.75 give different numbers.
int64_t whole_seed(float seed) {
  constexpr float kMost = 0x1p62F;
  if (std::abs(seed) < kMost && seed == std::trunc(seed)) return static_cast<int64_t>(seed);
  return static_cast<int64_t>(bit_cast<uint32_t>(seed));
}

/// Draw numbers. A node without a seed gives other numbers each time the model is loaded.
Result<Value> drawn(OnnxCtx& ctx, const Draw& draw, DType type, const std::vector<Dim>& shape) {
  std::vector<OnnxCtx::Argument> arguments = {
      {"datum_type", Value(std::string(dtype_lower_name(type)))},
      {"shape", Value(std::vector<Value>(shape.begin(), shape.end()))},
      {"dist", Value(std::string(draw.dist))},
      {"parameters", Value(std::vector<Value>{Value(draw.first), Value(draw.second)})}};
  if (ctx.given("seed")) {
    RILL_ASSIGN(const float seed, ctx.number("seed"));
    arguments.push_back({"seed", Value(Dim(whole_seed(seed)))});
  }
  return ctx.call("tract_onnx_random", arguments);
}

Result<Draw> normal(OnnxCtx& ctx) {
  RILL_ASSIGN(const float mean, ctx.number("mean"));
  RILL_ASSIGN(const float scale, ctx.number("scale"));
  return Draw{"normal", mean, scale};
}

Result<Draw> uniform(OnnxCtx& ctx) {
  RILL_ASSIGN(const float low, ctx.number("low"));
  RILL_ASSIGN(const float high, ctx.number("high"));
  return Draw{"uniform", low, high};
}

Result<DType> type_of(OnnxCtx& ctx, DType otherwise) {
  if (!ctx.given("dtype")) return otherwise;
  RILL_ASSIGN(const int64_t number, ctx.integer("dtype"));
  const auto type = onnx_type(number);
  if (!type) return fail(Code::kUnsupported, "random numbers of ", onnx_type_name(number));
  return *type;
}

template <Result<Draw> (*kDraw)(OnnxCtx&)>
Result<Value> of_shape(OnnxCtx& ctx) {
  RILL_ASSIGN(const Draw draw, kDraw(ctx));
  RILL_ASSIGN(const DType type, type_of(ctx, DType::kF32));
  RILL_ASSIGN(const std::vector<Dim> shape, ctx.dims("shape"));
  return drawn(ctx, draw, type, shape);
}

template <Result<Draw> (*kDraw)(OnnxCtx&)>
Result<Value> like_input(OnnxCtx& ctx) {
  RILL_ASSIGN(const Draw draw, kDraw(ctx));
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const DType type, type_of(ctx, ctx.fact(x).dtype));
  return drawn(ctx, draw, type, std::vector<Dim>(ctx.fact(x).shape));
}

/// Draw 1 with the probability that each element gives, else 0.
Result<Value> bernoulli(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId p = f.arg("input");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const DType type, type_of(ctx, f.dtype(p)));
  RILL_ASSIGN(const Value numbers,
              drawn(ctx, {"uniform", 0.0F, 1.0F}, f.dtype(p), f.fact(p).shape));
  return f.value(f.cast(f.binary(BinaryKind::kLt, *numbers.get<OutletId>(), p), type));
}

#define RILL_ONNX_RANDOM(name, first, attributes, reader)                                        \
  {"", 1, "fragment " name "(" first attributes ", seed: scalar = 0.0) -> (output: tensor<?>);", \
   reader}
#define RILL_ONNX_SHAPE "dtype: integer = 1, shape: integer[], "
#define RILL_ONNX_LIKE "input: tensor<?>, dtype: integer = 1, "
#define RILL_ONNX_NORMAL "mean: scalar = 0.0, scale: scalar = 1.0"
#define RILL_ONNX_UNIFORM "high: scalar = 1.0, low: scalar = 0.0"

const OnnxOp kOps[] = {
    RILL_ONNX_RANDOM("RandomNormal", RILL_ONNX_SHAPE, RILL_ONNX_NORMAL, of_shape<normal>),
    RILL_ONNX_RANDOM("RandomUniform", RILL_ONNX_SHAPE, RILL_ONNX_UNIFORM, of_shape<uniform>),
    RILL_ONNX_RANDOM("RandomNormalLike", RILL_ONNX_LIKE, RILL_ONNX_NORMAL, like_input<normal>),
    RILL_ONNX_RANDOM("RandomUniformLike", RILL_ONNX_LIKE, RILL_ONNX_UNIFORM, like_input<uniform>),
    {"", 15,
     "fragment Bernoulli(input: tensor<?>, dtype: integer = 1, seed: scalar = 0.0) "
     "-> (output: tensor<?>);",
     bernoulli},
};

}  // namespace

extern const OnnxModule random_onnx;
const OnnxModule random_onnx = {"random", kOps};

}  // namespace rill::ops
