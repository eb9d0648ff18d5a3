#include <algorithm>
#include <cmath>

#include "core/base/checked.h"
#include "core/base/kept_count.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/axis_argument.h"
#include "ops/array/common.h"
#include "ops/math/binary.h"

namespace rill::ops {
namespace {

constexpr int64_t kHeaderBytes = 8;  ///< the count of positions seen

/// Attend to the last `window` positions of all runs. Rings keep keys and values from run to run. A
/// run first adds its keys and values; then each of its queries sees all kept positions.
/// Shapes: q [B, Hq, T, D], k and v [B, Hk, T', D] -> the shape of q; Hq is a multiple of Hk.
/// Types: f32. Errors: kShape, kDType.
/// Stream: refused: a query sees later keys of its run too, so pulses differ from a whole run.
/// Accuracy: f32, sums over ascending position.
/// Source: tract, `tract_transformers_window_kv_sdpa`.
class WindowAttention final : public OpBase<WindowAttention> {
 public:
  int64_t window = 1;
  float scale = 1.0F;

  std::string_view name() const override { return "WindowKvSdpa"; }
  void fields(FieldVisitor& visitor) override {
    ranged_field(visitor, "window", 1, int64_t{1} << 24, window);
    visitor.field("scale", scale);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  int64_t state_bytes(FactSpan in) const override {
    const Dim row = in[1].dim(0) * in[1].dim(1) * in[1].dim(3);
    const Checked bytes = checked(window) * 8 * row.to_int().value_or(-1) + kHeaderBytes;
    return bytes.at_most(INT64_MAX);
  }
  Status pulsify(PulseBuilder& b) const override {
    return b.refuse("Mask the attention, so that frames see no later ones",
                    "its queries see all keys of a run, including later ones");
  }
  Cost cost(FactSpan in, FactSpan) const override {
    const Dim work = volume(in[0].shape) * Dim(2 * window);
    return {work, Dim(4) * work};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

Result<Facts> WindowAttention::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 3));
  for (const Fact& fact : in) {
    RILL_CHECK(fact.rank() == 4, "input ", fact, ": expected [batch, heads, frames, width]");
    if (fact.dtype != DType::kF32) return fail(Code::kDType, "input ", fact, ": expected f32");
  }
  RILL_CHECK(
      in[1].shape == in[2].shape && in[0].dim(0) == in[1].dim(0) && in[0].dim(3) == in[1].dim(3),
      "q ", in[0], ", k ", in[1], ", v ", in[2], ": batch or width differ");
  RILL_CHECK(exact_div(in[0].dim(1), in[1].dim(1)), in[0].dim(1), " query heads for ", in[1].dim(1),
             " of keys: expected a multiple");
  RILL_CHECK(window >= 1 && window <= (int64_t{1} << 24), "window ", window);
  return one_fact(in[0].without_value());
}

int64_t place(const View& view, int64_t b, int64_t h, int64_t t) {
  return b * view.step(0) + h * view.step(1) + t * view.step(2);
}

/// A row of keys or of values.
struct Row {
  const float* at;
  int64_t step;
  float operator[](int64_t d) const { return at[d * step]; }
};

/// The keys and values that queries see: those in the rings, after this run's are added. Without
/// rings, this run's own.
class Kept {
 public:
  Kept(const WindowAttention& op, const EvalCtx& ctx)
      : window_(op.window), k_(ctx.in[1]), v_(ctx.in[2]) {
    auto* seen = static_cast<int64_t*>(ctx.state);
    if (seen) {
      memory_ = reinterpret_cast<float*>(seen + 1);
      *seen = kept_count(*seen);
      add(*seen);
      *seen += k_.extent(2);
      total_ = *seen;
    } else {
      total_ = k_.extent(2);
    }
  }
  int64_t count() const { return std::min(total_, window_); }
  Row key(int64_t b, int64_t h, int64_t i) const { return row(k_, 0, b, h, i); }
  Row value(int64_t b, int64_t h, int64_t i) const { return row(v_, 1, b, h, i); }

 private:
  float* ring(int64_t which, int64_t b, int64_t h) const {
    return memory_ + ((b * k_.extent(1) + h) * 2 + which) * window_ * k_.extent(3);
  }
  Row row(const View& view, int64_t which, int64_t b, int64_t h, int64_t i) const {
    const int64_t position = total_ - count() + i;
    if (!memory_) return {view.as<const float>() + place(view, b, h, position), view.step(3)};
    return {ring(which, b, h) + position % window_ * view.extent(3), 1};
  }
  void add(int64_t seen) const {
    const int64_t fresh = k_.extent(2);
    for (int64_t b = 0; b < k_.extent(0); ++b) {
      for (int64_t h = 0; h < k_.extent(1); ++h) {
        for (int64_t t = std::max<int64_t>(0, fresh - window_); t < fresh; ++t) {
          const int64_t to = (seen + t) % window_ * k_.extent(3);
          for (int64_t d = 0; d < k_.extent(3); ++d) {
            ring(0, b, h)[to + d] = k_.as<const float>()[place(k_, b, h, t) + d * k_.step(3)];
            ring(1, b, h)[to + d] = v_.as<const float>()[place(v_, b, h, t) + d * v_.step(3)];
          }
        }
      }
    }
  }

  int64_t window_;
  const View& k_;
  const View& v_;
  float* memory_ = nullptr;
  int64_t total_ = 0;
};

Status WindowAttention::eval(EvalCtx& ctx) const {
  const View& q = ctx.in[0];
  const View& k = ctx.in[1];
  const View& y = ctx.out[0];
  const Kept kept(*this, ctx);
  const int64_t per = k.extent(1) == 0 ? 1 : q.extent(1) / k.extent(1);
  for (int64_t b = 0; b < q.extent(0); ++b) {
    for (int64_t h = 0; h < q.extent(1); ++h) {
      for (int64_t t = 0; t < q.extent(2); ++t) {
        const float* query = q.as<const float>() + place(q, b, h, t);
        float* out = y.as<float>() + place(y, b, h, t);
        const auto score = [&](int64_t i) {
          const Row key = kept.key(b, h / per, i);
          float sum = 0.0F;
          for (int64_t d = 0; d < q.extent(3); ++d) sum += query[d * q.step(3)] * key[d];
          return sum * scale;
        };
        float max = -INFINITY;
        for (int64_t i = 0; i < kept.count(); ++i) max = std::fmax(max, score(i));
        for (int64_t d = 0; d < q.extent(3); ++d) out[d * y.step(3)] = 0.0F;
        float total = 0.0F;
        for (int64_t i = 0; i < kept.count(); ++i) {
          const float weight = std::exp(score(i) - max);
          const Row value = kept.value(b, h / per, i);
          total += weight;
          for (int64_t d = 0; d < q.extent(3); ++d) out[d * y.step(3)] += weight * value[d];
        }
        for (int64_t d = 0; d < q.extent(3); ++d) out[d * y.step(3)] /= total;
      }
    }
  }
  return {};
}

Result<Value> load(LoadCtx& ctx) {
  std::vector<OutletId> inputs;
  for (const char* name : {"q", "k", "v"}) {
    RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
    if (!is_float(ctx.fact(wire).dtype)) {
      return fail(Code::kDType, name, " ", ctx.fact(wire), ": expected floats");
    }
    RILL_ASSIGN(const OutletId wide, cast_to(ctx, wire, DType::kF32));
    inputs.push_back(wide);
  }
  RILL_ASSIGN(const OutletId q, ctx.wire("q"));
  const Fact in = ctx.fact(q);
  RILL_CHECK(in.rank() == 4, "q ", in, ": expected [batch, heads, frames, width]");
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, 4));
  RILL_CHECK(axis == 2, "axis ", axis, ": expected 2, that of the frames");
  auto op = draft_op<WindowAttention>();
  RILL_ASSIGN(op->window, ctx.integer("window"));
  RILL_ASSIGN(const Value given, ctx.value("scale"));
  if (given.get<bool>()) {
    RILL_ASSIGN(const int64_t width, in.dim(3).as_int());
    op->scale = 1.0F / std::sqrt(static_cast<float>(width));
  } else {
    RILL_ASSIGN(op->scale, ctx.number("scale"));
  }
  RILL_ASSIGN(OutletId out, ctx.add1(std::move(op), inputs));
  RILL_ASSIGN(out, cast_to(ctx, out, in.dtype));
  return as_value(out);
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_window_kv_sdpa(q: tensor<scalar>, k: tensor<scalar>,"
     " v: tensor<scalar>, axis: integer, window: integer, scale: scalar = false)"
     " -> (output: tensor<scalar>);",
     load},
};

constexpr OpClass kClasses[] = {op_class<WindowAttention>("WindowAttention")};

}  // namespace

Status WindowAttention::save(SaveCtx& ctx) const {
  return ctx.assign_declared(kOps[0], {{"axis", "2"}});
}

extern const OpModule window_attention_module;
const OpModule window_attention_module = {"window_attention", kOps, kClasses};

}  // namespace rill::ops
