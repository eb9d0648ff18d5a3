#include <cmath>
#include <random>

#include "core/base/splitmix.h"
#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
namespace {

/// A stream of random bits: xoshiro256++, seeded by SplitMix64.
/// Source: D. Blackman and S. Vigna, Scrambled Linear Pseudorandom Number Generators, 2021.
struct Generator {
  uint64_t s[4] = {};

  bool seeded() const { return (s[0] | s[1] | s[2] | s[3]) != 0; }
  void seed(uint64_t from) {
    Splitmix64 words(from);
    for (uint64_t& word : s) word = words.next();
  }
  static uint64_t rotated(uint64_t x, unsigned by) { return (x << by) | (x >> (64U - by)); }
  uint64_t next() {
    const uint64_t result = rotated(s[0] + s[3], 23) + s[0];
    const uint64_t t = s[1] << 17U;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return result;
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// Normal with mean 0 and deviation 1, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    return radius * std::cos(6.283185307179586 * unit());
  }
};

/// Return a random seed.
uint64_t entropy() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32U) | device();
}

/// The seed of a generator.
struct Seed {
  bool given = false;
  int64_t value = 0;
  uint64_t own = 0;  ///< a random seed; used if none is given

  void fields(FieldVisitor& visitor) {
    visitor.field("seeded", given);
    visitor.field("seed", value);
  }
  void all_fields(FieldVisitor& visitor) {
    auto bits = static_cast<int64_t>(own);
    fields(visitor);
    visitor.field("own", bits);
    own = static_cast<uint64_t>(bits);
  }
  void begin(Generator* generator) const {
    generator->seed(given ? static_cast<uint64_t>(value) : own);
  }
};

Result<Seed> seed_of(LoadCtx& ctx) {
  Seed seed;
  RILL_ASSIGN(const Value given, ctx.value("seed"));
  seed.given = given.get<bool>() == nullptr;
  if (seed.given) {
    RILL_ASSIGN(seed.value, ctx.integer("seed"));
  } else {
    seed.own = entropy();
  }
  return seed;
}

/// Draw numbers: uniform in [a, b), or normal with mean a and deviation b. Each run continues the
/// sequence of the previous one. With a seed, every session draws the same numbers. Without one, so
/// do the sessions of one loaded model, but each loading gives another sequence.
/// Shapes: none -> `shape`. Types: f16, f32, f64. Errors: kArg, kDType.
/// Stream: refused, because the numbers of a stream would depend on its pulses.
/// Source: ONNX, `RandomUniform` and `RandomNormal`; tract, `tract_onnx_random`.
class Random final : public OpBase<Random> {
 public:
  DType dtype = DType::kF32;
  std::vector<Dim> shape;
  std::string dist = "uniform";
  float a = 0.0F;
  float b = 1.0F;
  Seed seed;

  std::string_view name() const override { return "Random"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("dtype", dtype);
    visitor.field("shape", shape);
    visitor.field("dist", dist);
    visitor.field("a", a);
    visitor.field("b", b);
    seed.fields(visitor);
  }
  void all_fields(FieldVisitor& visitor) {
    fields(visitor);
    seed.all_fields(visitor);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 0));
    if (!is_float(dtype)) return fail(Code::kDType, "random ", dtype_name(dtype));
    if (dist != "uniform" && dist != "normal") {
      return fail(Code::kArg, "dist \"", dist, "\": expected uniform or normal");
    }
    const bool ordered = dist == "uniform" ? a < b : b >= 0.0F;
    RILL_CHECK(std::isfinite(a) && std::isfinite(b) && ordered, "parameters ", a, " and ", b,
               " of a ", dist, " distribution");
    return one_fact(Fact::of(dtype, shape));
  }
  bool foldable() const override { return false; }
  bool draws() const override { return !seed.given; }
  int64_t state_bytes(FactSpan) const override { return sizeof(Generator); }
  Status eval(EvalCtx& ctx) const override;
  Tolerance tolerance() const override { return Tolerance::kRandom; }
  Status save(SaveCtx& ctx) const override {
    ctx.need_registry("tract_onnx");
    const std::string seeded = seed.given ? str_cat(", seed = ", seed.value) : std::string();
    ctx.assign(str_cat("tract_onnx_random(datum_type = \"", dtype_lower_name(dtype),
                       "\", shape = ", ctx.dims(shape), ", dist = \"", dist, "\", parameters = [",
                       nnef_text(a), ", ", nnef_text(b), "]", seeded, ")"));
    return {};
  }
};

Status Random::eval(EvalCtx& ctx) const {
  Generator local;
  Generator& generator = ctx.state ? *static_cast<Generator*>(ctx.state) : local;
  if (!generator.seeded()) seed.begin(&generator);
  const View& y = ctx.out[0];
  const bool uniform = dist == "uniform";
  visit_number(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    using W = Wide<T>;
    if constexpr (std::is_floating_point_v<W>) {
      for_each_element<1>({y}, [&](const std::array<int64_t, 1>& at) {
        const double low = static_cast<double>(a);
        const double high = static_cast<double>(b);
        const double drawn =
            uniform ? low + (high - low) * generator.unit() : low + high * generator.normal();
        auto value = static_cast<W>(drawn);
        // Keep rounding from reaching the upper end.
        if (uniform && !(value < static_cast<W>(b))) {
          value = std::nextafter(static_cast<W>(b), static_cast<W>(a));
        }
        y.as<T>()[at[0]] = narrow<T>(value);
      });
    }
  });
  return {};
}

/// Draw classes from unnormalised log-probabilities. With a seed, every run draws the same; without
/// one, each run continues the sequence.
/// Shapes: [N, C] -> [N, `samples`]. Types: f16, f32, f64 -> i32 or i64. Errors: kShape, kDType.
/// Stream: refused, because the numbers of a stream would depend on its pulses.
/// Source: ONNX, `Multinomial`; tract, `tract_onnx_multinomial`.
class Multinomial final : public OpBase<Multinomial> {
 public:
  DType dtype = DType::kI32;
  int64_t samples = 1;
  Seed seed;

  std::string_view name() const override { return "Multinomial"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("dtype", dtype);
    ranged_field(visitor, "samples", 0, INT64_MAX, samples);
    seed.fields(visitor);
  }
  void all_fields(FieldVisitor& visitor) {
    fields(visitor);
    seed.all_fields(visitor);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    RILL_CHECK(in[0].rank() == 2, "input ", in[0], ": expected [batch, classes]");
    RILL_CHECK(samples >= 0 && !(in[0].dim(1) == Dim(0)), counted(samples, "sample"), " of ",
               in[0]);
    if (!is_float(in[0].dtype)) return fail(Code::kDType, "input ", in[0], ": expected floats");
    if (dtype != DType::kI32 && dtype != DType::kI64) {
      return fail(Code::kDType, "samples as ", dtype_name(dtype), ": expected i32 or i64");
    }
    return one_fact(Fact::of(dtype, {in[0].dim(0), Dim(samples)}));
  }
  Dim work(FactSpan in, FactSpan) const override {
    return volume(in[0].shape) * (Dim(samples) + Dim(1));
  }
  bool foldable() const override { return false; }
  bool draws() const override { return !seed.given; }
  int64_t state_bytes(FactSpan) const override { return seed.given ? 0 : sizeof(Generator); }
  Status eval(EvalCtx& ctx) const override;
  Tolerance tolerance() const override { return Tolerance::kRandom; }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    ctx.need_registry("tract_onnx");
    const std::string seeded = seed.given
                                   ? str_cat(", seed = ", nnef_text(static_cast<float>(seed.value)))
                                   : std::string();
    ctx.assign(str_cat("tract_onnx_multinomial(", x, ", dtype = ", dtype == DType::kI64 ? 7 : 6,
                       ", sample_size = ", samples, seeded, ")"));
    return {};
  }
};

Status Multinomial::eval(EvalCtx& ctx) const {
  Generator local;
  Generator& generator = ctx.state ? *static_cast<Generator*>(ctx.state) : local;
  if (seed.given || !generator.seeded()) seed.begin(&generator);
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const int64_t classes = x.extent(1);
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t n = 0; n < y.extent(0); ++n) {
      const auto weight = [&](int64_t c) {
        const T* at = x.as<const T>() + n * x.step(0) + c * x.step(1);
        return std::exp(static_cast<double>(upcast(*at)));
      };
      double total = 0.0;
      for (int64_t c = 0; c < classes; ++c) total += weight(c);
      for (int64_t i = 0; i < y.extent(1); ++i) {
        double rest = generator.unit() * total;
        int64_t drawn = 0;
        while (drawn + 1 < classes && !(rest < weight(drawn))) rest -= weight(drawn++);
        const int64_t at = n * y.step(0) + i * y.step(1);
        if (dtype == DType::kI64) {
          y.as<int64_t>()[at] = drawn;
        } else {
          y.as<int32_t>()[at] = static_cast<int32_t>(drawn);
        }
      }
    }
  });
  return {};
}

Result<Value> load_random(LoadCtx& ctx) {
  auto op = draft_op<Random>();
  RILL_ASSIGN(const std::string type, ctx.text("datum_type"));
  const auto dtype = dtype_from_name(type);
  if (!dtype) return fail(Code::kDType, "no type \"", type, "\"");
  op->dtype = *dtype;
  RILL_ASSIGN(op->shape, ctx.dims("shape"));
  RILL_ASSIGN(op->dist, ctx.text("dist"));
  RILL_ASSIGN(const OutletId parameters, ctx.wire("parameters"));
  const TensorPtr values = ctx.fact(parameters).konst;
  RILL_CHECK(values && values->volume() == 2, "parameters ", ctx.fact(parameters),
             ": expected two numbers");
  RILL_ASSIGN(const double a, element_as_double(*values, 0));
  RILL_ASSIGN(const double b, element_as_double(*values, 1));
  op->a = static_cast<float>(a);
  op->b = static_cast<float>(b);
  RILL_ASSIGN(op->seed, seed_of(ctx));
  return ctx.add_value(std::move(op), {});
}

Result<Value> load_multinomial(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  auto op = draft_op<Multinomial>();
  RILL_ASSIGN(const int64_t type, ctx.integer("dtype"));
  RILL_CHECK(type == 6 || type == 7, "dtype ", type, ": expected 6 (i32) or 7 (i64)");
  op->dtype = type == 7 ? DType::kI64 : DType::kI32;
  RILL_ASSIGN(op->samples, ctx.integer("sample_size"));
  RILL_ASSIGN(op->seed, seed_of(ctx));
  return ctx.add_value(std::move(op), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_onnx",
     "fragment tract_onnx_random(datum_type: string, shape: integer[], dist: string,"
     " parameters: scalar[], seed: integer = false) -> (output: tensor<scalar>);",
     load_random},
    {"tract_onnx",
     "fragment tract_onnx_multinomial(input: tensor<scalar>, dtype: integer = 6,"
     " sample_size: integer = 1, seed: scalar = false) -> (output: tensor<integer>);",
     load_multinomial},
};

constexpr OpClass kClasses[] = {op_class<Random>("Random"), op_class<Multinomial>("Multinomial")};

}  // namespace

extern const OpModule random_module;
const OpModule random_module = {"random", kOps, kClasses};

}  // namespace rill::ops
