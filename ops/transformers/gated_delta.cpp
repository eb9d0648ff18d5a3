#include <algorithm>
#include <cmath>

#include "core/base/kept_count.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
namespace {

/// Run the gated delta rule over the frames of a stream: with q and k of unit length, q divided by
/// sqrt(w), and the head of k that head h of v belongs to, per frame and head
/// S <- S exp(g), d = (v - k S) beta, S <- S + k d, y = q S.
/// Shapes: q, k [B, T, hk, w], v [B, T, hv, w], g, beta [B, T, hv], first S [B, hv, w, w]
/// -> y [B, T, hv, w], last S [B, hv, w, w]; hv is a multiple of hk.
/// Types: all f32; or q, k, v, beta f16, g f32, S f16 or f32. y has the type of q, S its own; sums
/// are in f32.
/// Errors: kShape, kDType.
/// Stream: along T the state is kept from pulse to pulse, and the last state is refused; other axes
/// are refused.
/// Source: S. Yang et al., Gated Delta Networks, 2024, equation 10; Hugging Face transformers,
/// `torch_recurrent_gated_delta_rule`; tract, `tract_transformers_gdn_recurrent`.
class GatedDelta final : public OpBase<GatedDelta> {
 public:
  bool streaming = false;  ///< keep the state from step to step
  int64_t skip = 0;        ///< frames of the stream that do not touch it

  std::string_view name() const override { return "GatedDeltaNetRecurrent"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("streaming", streaming);
    visitor.field("skip", skip);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  int64_t state_bytes(FactSpan in) const override;
  bool foldable() const override { return !streaming; }
  Status pulsify(PulseBuilder& builder) const override;
  Cost cost(FactSpan in, FactSpan) const override {
    const Dim width = in[0].dim(3);
    return {Dim(3) * volume(in[2].shape) * width, Dim(8) * volume(in[2].shape) * width};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

Result<Facts> GatedDelta::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 6));
  const Fact& q = in[0];
  const Fact& v = in[2];
  const Fact& state = in[5];
  RILL_CHECK(q.rank() == 4 && v.rank() == 4 && state.rank() == 4, "query ", q, ", value ", v,
             ", state ", state, ": expected rank 4");
  RILL_CHECK(in[1].shape == q.shape, "key ", in[1], ": expected the shape of query ", q);
  RILL_CHECK(v.dim(0) == q.dim(0) && v.dim(1) == q.dim(1) && v.dim(3) == q.dim(3), "value ", v,
             " and query ", q, " differ in batch, frames or width");
  const auto ratio = exact_div(v.dim(2), q.dim(2));
  RILL_CHECK(ratio, v.dim(2), " heads of values for ", q.dim(2), " of keys: expected a multiple");
  const std::vector<Dim> gates(v.shape.begin(), v.shape.begin() + 3);
  RILL_CHECK(in[3].shape == gates && in[4].shape == gates, "log_decay ", in[3], ", beta ", in[4],
             ": expected ", gates);
  const std::vector<Dim> square{v.dim(0), v.dim(2), v.dim(3), v.dim(3)};
  RILL_CHECK(state.shape == square, "state ", state, ": expected ", square);
  const auto is = [&](size_t i, DType type) { return in[i].dtype == type; };
  bool all_f32 = true;
  for (size_t i = 0; i < 6; ++i) all_f32 &= is(i, DType::kF32);
  const bool mixed = is(0, DType::kF16) && is(1, DType::kF16) && is(2, DType::kF16) &&
                     is(3, DType::kF32) && is(4, DType::kF16) &&
                     (is(5, DType::kF16) || is(5, DType::kF32));
  if (!all_f32 && !mixed) {
    return fail(Code::kDType, "query ", q, ", log_decay ", in[3], ", state ", state,
                ": expected all f32, or f16 with an f32 decay");
  }
  return Facts{Fact::of(q.dtype, v.shape), state.without_value()};
}

int64_t GatedDelta::state_bytes(FactSpan in) const {
  if (!streaming) return 0;
  return 8 + 4 * volume(in[5].shape).to_int().value_or(0);
}

float read(const View& view, int64_t at) {
  return view.dtype == DType::kF16 ? static_cast<float>(view.as<const Half>()[at])
                                   : view.as<const float>()[at];
}
void write(const View& view, int64_t at, float value) {
  if (view.dtype == DType::kF16) {
    view.as<Half>()[at] = Half(value);
  } else {
    view.as<float>()[at] = value;
  }
}

/// Offsets of a head's frame in a view of three or four axes.
int64_t place(const View& view, int64_t b, int64_t t, int64_t h) {
  return b * view.step(0) + t * view.step(1) + h * view.step(2);
}

/// 1 / the length of a vector of `width` elements.
float inverse_length(const View& view, int64_t at, int64_t width) {
  float sum = 0.0F;
  for (int64_t i = 0; i < width; ++i) {
    const float x = read(view, at + i * view.step(3));
    sum += x * x;
  }
  return 1.0F / std::sqrt(sum + 1e-6F);
}

/// A state of one head, wherever it is kept.
struct Square {
  const View* view = nullptr;  ///< null: dense floats
  float* dense = nullptr;
  int64_t at = 0;
  int64_t width = 0;

  float get(int64_t row, int64_t col) const {
    if (!view) return dense[at + row * width + col];
    return read(*view, at + row * view->step(2) + col * view->step(3));
  }
  void set(int64_t row, int64_t col, float value) const {
    if (!view) {
      dense[at + row * width + col] = value;
    } else {
      write(*view, at + row * view->step(2) + col * view->step(3), value);
    }
  }
  void copy(const Square& from) const {
    for (int64_t i = 0; i < width * width; ++i) {
      set(i / width, i % width, from.get(i / width, i % width));
    }
  }
};

/// One frame of one head: what the state knows of the key is moved towards the value, and the query
/// reads it.
struct HeadFrame {
  const View& q;
  const View& k;
  const View& v;
  const View& y;
  int64_t at_q = 0;
  int64_t at_k = 0;
  int64_t at_v = 0;
  int64_t at_y = 0;

  void skip(int64_t width) const {
    for (int64_t col = 0; col < width; ++col) write(y, at_y + col * y.step(3), 0.0F);
  }
  void run(const Square& s, float scale, float decay, float beta) const {
    const float q_scale = inverse_length(q, at_q, s.width) * scale;
    const float k_scale = inverse_length(k, at_k, s.width);
    for (int64_t col = 0; col < s.width; ++col) {
      float known = 0.0F;
      for (int64_t row = 0; row < s.width; ++row) {
        known += read(k, at_k + row * k.step(3)) * k_scale * s.get(row, col) * decay;
      }
      const float delta = (read(v, at_v + col * v.step(3)) - known) * beta;
      float sum = 0.0F;
      for (int64_t row = 0; row < s.width; ++row) {
        const float key = read(k, at_k + row * k.step(3)) * k_scale;
        const float next = s.get(row, col) * decay + key * delta;
        s.set(row, col, next);
        sum += read(q, at_q + row * q.step(3)) * q_scale * next;
      }
      write(y, at_y + col * y.step(3), sum);
    }
  }
};

Status GatedDelta::eval(EvalCtx& ctx) const {
  const View& q = ctx.in[0];
  const View& k = ctx.in[1];
  const View& v = ctx.in[2];
  const View& y = ctx.out[0];
  const View& first = ctx.in[5];
  const View& last = ctx.out[1];
  const int64_t heads = v.extent(2);
  const int64_t width = v.extent(3);
  if (q.extent(2) == 0) return {};
  const int64_t group = heads / q.extent(2);
  const float scale = 1.0F / std::sqrt(static_cast<float>(width));
  auto* seen = static_cast<int64_t*>(ctx.state);
  const int64_t begin = seen ? kept_count(*seen) : 0;
  for (int64_t at = 0; at < v.extent(0) * heads; ++at) {
    const int64_t b = at / heads;
    const int64_t h = at % heads;
    const Square given{&first, nullptr, b * first.step(0) + h * first.step(1), width};
    const Square result{&last, nullptr, b * last.step(0) + h * last.step(1), width};
    const Square s = seen ? Square{nullptr, reinterpret_cast<float*>(seen + 1),
                                   at * width * width, width}
                          : result;
    if (begin == 0) s.copy(given);
    for (int64_t t = 0; t < v.extent(1); ++t) {
      const HeadFrame frame{q, k, v, y, place(q, b, t, h / group), place(k, b, t, h / group),
                            place(v, b, t, h), place(y, b, t, h)};
      if (begin + t < skip) {
        frame.skip(width);
        continue;
      }
      const float decay = std::exp(read(ctx.in[3], place(ctx.in[3], b, t, h)));
      const float beta = read(ctx.in[4], place(ctx.in[4], b, t, h));
      frame.run(s, scale, decay, beta);
    }
    if (seen) result.copy(s);
  }
  if (seen) *seen = begin + v.extent(1);
  return {};
}

Status GatedDelta::pulsify(PulseBuilder& b) const {
  for (int i = 0; i < 6; ++i) {
    const auto stream = b.stream(i);
    if (stream.has_value() == (i < 5) && (!stream || stream->axis == 1)) continue;
    return b.refuse("Stream the frames of query, key, value, decay and beta together",
                    "it runs over frames on axis 1 of five inputs, and input ", i,
                    stream ? " streams along another axis" : " does not stream");
  }
  RILL_ASSIGN(PulseBuilder::Synced synced, b.sync());
  const StreamFact& stream = synced.stream;
  auto op = std::make_shared<GatedDelta>(*this);
  op->streaming = true;
  op->skip = skip + std::max<int64_t>(stream.delay, 0);
  RILL_ASSIGN(const auto outs, b.add("", std::move(op), synced.wires));
  b.set(0, outs[0], stream);
  b.set_refused(1,
                b.refuse("Take the output of the frames", "the last state needs the whole stream"));
  return {};
}

Result<Value> load(LoadCtx& ctx) {
  std::vector<OutletId> inputs;
  for (const char* name : {"query", "key", "value", "log_decay", "beta", "initial_state"}) {
    RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
    inputs.push_back(wire);
  }
  RILL_ASSIGN(const auto outs, ctx.add(std::make_shared<GatedDelta>(), std::move(inputs)));
  return Value::of_wires(outs);
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_gdn_recurrent(query: tensor<scalar>, key: tensor<scalar>,"
     " value: tensor<scalar>, log_decay: tensor<scalar>, beta: tensor<scalar>,"
     " initial_state: tensor<scalar>) -> (output: tensor<scalar>, final_state: tensor<scalar>);",
     load},
};

constexpr OpClass kClasses[] = {op_class<GatedDelta>("GatedDelta")};

}  // namespace

Status GatedDelta::save(SaveCtx& ctx) const {
  return streaming ? Op::save(ctx) : ctx.assign_declared(kOps[0]);
}

extern const OpRoom gated_delta_room;
const OpRoom gated_delta_room = {"gated_delta", kOps, kClasses};

}  // namespace rill::ops
