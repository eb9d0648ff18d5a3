#include <algorithm>
#include <cmath>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/binary.h"
#include "ops/transformers/moe_step.h"

namespace rill::ops {
namespace {

/// Send each token through the `k` experts with the highest logits of the router, and sum their
/// outputs, weighted by the gate.
/// Router: logits = x wg^T + bg. Gate: softmax over the chosen logits (softmax_topk) or over all of
/// them (softmax_all), sigmoid, or the logits (raw); of equal logits the lower expert is chosen.
/// Expert: h = act(x w1 + b1), times (x w3 + b3) where there is a w3; y = h w2 + b2. With a limit:
/// h = (u + 1) g sigmoid(alpha g), g = min(x w1 + b1, limit), u = clamp(x w3 + b3, -limit, limit).
/// Shapes: x [T, D] or [B, T, D], wg [E, D], w1 and w3 [E, D, H], w2 [E, H, D], biases [E], [E, H],
/// [E, H], [E, D] -> the shape of x. `linear`: w1 and w3 are [E, H, D], w2 [E, D, H].
/// Types: f32. Errors: kShape, kDType, kArg.
/// Stream: token by token.
/// Accuracy: sums in f32 over ascending index.
/// Source: N. Shazeer et al., Outrageously Large Neural Networks, 2017, section 2; tract,
/// `tract_moe_ffn`.
class MoeFfn final : public OpBase<MoeFfn> {
 public:
  int64_t k = 1;
  std::string activation = "silu";
  std::string gate = "softmax_topk";
  bool linear = false;
  bool clamped = false;
  float alpha = 1.0F;
  float limit = 0.0F;
  // The optional inputs after x, wg, w1 and w2, in this order.
  bool has_w3 = false;
  bool has_bias_g = false;
  bool has_bias_1 = false;
  bool has_bias_3 = false;
  bool has_bias_2 = false;

  std::string_view name() const override { return "MoeFfn"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("k", k);
    visitor.field("activation", activation);
    visitor.field("gate", gate);
    visitor.field("linear", linear);
    visitor.field("clamped", clamped);
    visitor.field("alpha", alpha);
    visitor.field("limit", limit);
    visitor.field("has_w3", has_w3);
    visitor.field("has_bias_g", has_bias_g);
    visitor.field("has_bias_1", has_bias_1);
    visitor.field("has_bias_3", has_bias_3);
    visitor.field("has_bias_2", has_bias_2);
  }
  /// Return the input of an optional flag; -1 if it is not set.
  int optional_input(int which) const {
    const bool flags[] = {has_w3, has_bias_g, has_bias_1, has_bias_3, has_bias_2};
    if (!flags[which]) return -1;
    return 4 + static_cast<int>(std::count(flags, flags + which, true));
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int axis = 0; axis + 1 < in[0].rank(); ++axis) {
      std::vector<int> track(in.size(), -1);
      track[0] = axis;
      tracks.push_back({track, {axis}});
    }
    return tracks;
  }
  Cost cost(FactSpan in, FactSpan) const override {
    const Dim hidden = in[2].dim(linear ? 1 : 2);
    const Dim tokens = volume(std::span(in[0].shape).first(in[0].shape.size() - 1));
    const Dim per_token = in[0].shape.back() * (in[1].shape[in[1].shape.size() - 2] +
                                                hidden * Dim(k * (has_w3 ? 3 : 2)));
    return {tokens * per_token, Dim(4) * tokens * per_token};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

constexpr const char* kOptional[] = {"w3", "wg_bias", "w1_bias", "w3_bias", "w2_bias"};

Result<Facts> MoeFfn::infer(FactSpan in) const {
  const size_t flags = static_cast<size_t>(has_w3) + static_cast<size_t>(has_bias_g) +
                       static_cast<size_t>(has_bias_1) + static_cast<size_t>(has_bias_3) +
                       static_cast<size_t>(has_bias_2);
  RILL_TRY(expect_inputs(in, 4 + flags));
  const Fact& x = in[0];
  RILL_CHECK(x.rank() == 2 || x.rank() == 3, "x ", x, ": expected rank 2 or 3");
  for (const Fact& fact : in) {
    if (fact.dtype != DType::kF32) return fail(Code::kDType, "input ", fact, ": expected f32");
  }
  RILL_CHECK(in[1].rank() == 2 && in[2].rank() == 3 && in[3].rank() == 3, "wg ", in[1], ", w1 ",
             in[2], ", w2 ", in[3], ": expected ranks 2, 3 and 3");
  const Dim width = x.shape.back();
  const Dim experts = in[1].dim(0);
  const Dim hidden = in[2].dim(linear ? 1 : 2);
  const auto expect = [&](int input, const char* what, const std::vector<Dim>& shape) -> Status {
    if (input < 0) return {};
    const Fact& fact = in[static_cast<size_t>(input)];
    RILL_CHECK(fact.shape == shape, what, " ", fact, ": expected ", shape);
    return {};
  };
  const auto matrix = [&](const Dim& from, const Dim& to) {
    return linear ? std::vector<Dim>{experts, to, from} : std::vector<Dim>{experts, from, to};
  };
  RILL_TRY(expect(1, "wg", {experts, width}));
  RILL_TRY(expect(2, "w1", matrix(width, hidden)));
  RILL_TRY(expect(3, "w2", matrix(hidden, width)));
  RILL_TRY(expect(optional_input(0), "w3", matrix(width, hidden)));
  RILL_TRY(expect(optional_input(1), "wg_bias", {experts}));
  RILL_TRY(expect(optional_input(2), "w1_bias", {experts, hidden}));
  RILL_TRY(expect(optional_input(3), "w3_bias", {experts, hidden}));
  RILL_TRY(expect(optional_input(4), "w2_bias", {experts, width}));
  const auto count = experts.to_int();
  RILL_CHECK(k >= 1 && (!count || k <= *count), "k = ", k, " of ", experts, " experts");
  const bool acts = activation == "silu" || activation == "relu" || activation == "gelu" ||
                    (activation == "swiglu" && has_w3);
  const bool gates =
      gate == "softmax_topk" || gate == "softmax_all" || gate == "sigmoid" || gate == "raw";
  if (!acts || !gates || (clamped && !has_w3) || (has_bias_3 && !has_w3)) {
    return fail(Code::kArg, "activation \"", activation, "\", gate \"", gate, "\", act_limit ",
                clamped ? "given" : "not given", ", w3 ", has_w3 ? "given" : "not given",
                ": no such combination");
  }
  RILL_CHECK(!clamped || (std::isfinite(alpha) && std::isfinite(limit) && limit > 0.0F),
             "act_alpha ", alpha, ", act_limit ", limit, ": expected finite, the limit above 0");
  return one_fact(x.without_value());
}

constexpr std::string_view kActivations[] = {"silu", "relu", "gelu", "swiglu"};
constexpr std::string_view kGates[] = {"softmax_topk", "softmax_all", "sigmoid", "raw"};

template <class Kind, size_t kCount>
Kind kind_of(const std::string_view (&names)[kCount], std::string_view name) {
  return static_cast<Kind>(std::find(names, names + kCount, name) - names);
}

/// Return the arguments of a step, from a checked operator.
MoeHow how_of(const MoeFfn& op) {
  MoeHow how;
  how.k = op.k;
  how.activation = kind_of<MoeActivation>(kActivations, op.activation);
  how.gate = kind_of<MoeGate>(kGates, op.gate);
  how.linear = op.linear;
  how.clamped = op.clamped;
  how.alpha = op.alpha;
  how.limit = op.limit;
  how.has_w3 = op.has_w3;
  how.has_bias[0] = op.has_bias_g;
  how.has_bias[1] = op.has_bias_1;
  how.has_bias[2] = op.has_bias_3;
  how.has_bias[3] = op.has_bias_2;
  return how;
}

/// The reference implementation for one token; it recomputes values, and so needs no memory.
class PlainToken {
 public:
  PlainToken(const MoeFfn& op, const EvalCtx& ctx, const float* x, float* y)
      : op_(op), ctx_(ctx), x_(x), y_(y) {}

  void run() {
    double max = -INFINITY;
    for_chosen([&](int64_t, double logit) { max = std::fmax(max, logit); });
    const std::string_view gate = op_.gate;
    const bool all = gate == "softmax_all";
    double sum = 0.0;
    const auto count = [&](int64_t, double logit) { sum += std::exp(logit - max); };
    for (int64_t e = 0; all && e < ctx_.in[1].extent(0); ++e) count(e, logit_of(e));
    if (!all) for_chosen(count);
    for_chosen([&](int64_t expert, double logit) {
      double weight = logit;
      if (gate == "sigmoid") weight = 1.0 / (1.0 + std::exp(-logit));
      if (gate.find("softmax") == 0) weight = std::exp(logit - max) / sum;
      add_expert(expert, static_cast<float>(weight));
    });
  }

 private:
  float bias(int which, int64_t row, int64_t column) const {
    const int input = op_.optional_input(which);
    if (input < 0) return 0.0F;
    const View& b = ctx_.in[static_cast<size_t>(input)];
    const int64_t at = b.rank == 1 ? row * b.step(0) : row * b.step(0) + column * b.step(1);
    return b.as<const float>()[at];
  }
  float logit_of(int64_t expert) const {
    const View& wg = ctx_.in[1];
    float sum = bias(1, expert, 0);
    for (int64_t i = 0; i < wg.extent(1); ++i) sum += x(i) * element(wg, expert, i);
    return sum;
  }
  static float element(const View& view, int64_t row, int64_t column) {
    return view.as<const float>()[row * view.step(0) + column * view.step(1)];
  }
  float x(int64_t i) const {
    const View& x = ctx_.in[0];
    return x_[i * x.step(x.rank - 1)];
  }
  /// Return an element of the matrix of an expert that maps `from` to `to`.
  float entry(const View& w, int64_t expert, int64_t from, int64_t to) const {
    const int64_t row = op_.linear ? to : from;
    const int64_t column = op_.linear ? from : to;
    return w.as<const float>()[expert * w.step(0) + row * w.step(1) + column * w.step(2)];
  }
  float projected(int input, int bias_index, int64_t expert, int64_t to) const {
    float sum = bias(bias_index, expert, to);
    const int64_t width = ctx_.in[1].extent(1);
    for (int64_t i = 0; i < width; ++i) {
      sum += x(i) * entry(ctx_.in[static_cast<size_t>(input)], expert, i, to);
    }
    return sum;
  }
  void add_expert(int64_t expert, float weight) {
    const View& w2 = ctx_.in[3];
    const View& y = ctx_.out[0];
    const int64_t step = y.step(y.rank - 1);
    const int64_t width = ctx_.in[1].extent(1);
    for (int64_t o = 0; o < width; ++o) y_[o * step] += weight * bias(4, expert, o);
    const int64_t hidden = ctx_.in[2].extent(op_.linear ? 1 : 2);
    for (int64_t j = 0; j < hidden; ++j) {
      const float up = op_.has_w3 ? projected(op_.optional_input(0), 3, expert, j) : 0.0F;
      const float h = hidden_value(how_of(op_), projected(2, 2, expert, j), up);
      for (int64_t o = 0; o < width; ++o) y_[o * step] += weight * h * entry(w2, expert, j, o);
    }
  }
  /// Call `body(expert, logit)` for the k experts with the highest logits, best first.
  template <class Body>
  void for_chosen(const Body& body) const {
    int64_t before = -1;
    float bound = 0.0F;
    for (int64_t i = 0; i < op_.k; ++i) {
      int64_t best = -1;
      float best_logit = 0.0F;
      for (int64_t e = 0; e < ctx_.in[1].extent(0); ++e) {
        const float logit = logit_of(e);
        const bool taken = before >= 0 && (logit > bound || (logit == bound && e <= before));
        if (taken || (best >= 0 && !(logit > best_logit))) continue;
        best = e;
        best_logit = logit;
      }
      if (best < 0) return;
      body(best, static_cast<double>(best_logit));
      before = best;
      bound = best_logit;
    }
  }

  const MoeFfn& op_;
  const EvalCtx& ctx_;
  const float* x_;
  float* y_;
};

Status MoeFfn::eval(EvalCtx& ctx) const {
  View x = ctx.in[0];
  View y = ctx.out[0];
  const int64_t width = y.extent(y.rank - 1);
  const int64_t step = y.step(y.rank - 1);
  --x.rank;
  --y.rank;
  for_each_element<2>({x, y}, [&](const std::array<int64_t, 2>& at) {
    float* out = y.as<float>() + at[1];
    for (int64_t o = 0; o < width; ++o) out[o * step] = 0.0F;
    PlainToken(*this, ctx, x.as<const float>() + at[0], out).run();
  });
  return {};
}

Status MoeFfn::lower(Lowering& lowering) const {
  MoeArgs args;
  args.how = how_of(*this);
  std::vector<Touched> reads;
  const auto dense = [&](int i) {
    const Operand operand = lowering.row_major(lowering.in(i));
    reads.emplace_back(operand);
    return operand;
  };
  const Operand x = dense(0);
  const Operand wg = dense(1);
  const Operand w1 = dense(2);
  args.x = x.ref;
  args.wg = wg.ref;
  args.w1 = w1.ref;
  args.w2 = dense(3).ref;
  args.width = x.extent(x.rank - 1);
  args.experts = wg.extent(0);
  args.hidden = w1.extent(linear ? 1 : 2);
  args.tokens = args.width == 0 ? 0 : x.volume() / args.width;
  if (has_w3) args.w3 = dense(optional_input(0)).ref;
  for (int i = 0; i < 4; ++i) {
    if (optional_input(i + 1) >= 0) args.bias[i] = dense(optional_input(i + 1)).ref;
  }
  const Operand y = lowering.make_out(0);
  Operand target = y;
  if (!y.contiguous()) {
    const std::vector<int64_t> shape(y.shape.begin(), y.shape.begin() + y.rank);
    target = lowering.scratch(DType::kF32, shape);
  }
  args.y = target.ref;
  args.logits = lowering.scratch_bytes(4 * args.experts + 4);
  args.chosen = lowering.scratch_bytes(8 * k);
  args.h = lowering.scratch_bytes(4 * args.hidden + 4);
  args.up = lowering.scratch_bytes(4 * std::max(args.hidden, args.width) + 4);
  lowering.step(kMoe, args, reads, {target, args.logits, args.chosen, args.h, args.up});
  if (!y.contiguous()) lowering.copy(target, y);
  return {};
}

Status MoeFfn::save(SaveCtx& ctx) const {
  std::string list;
  for (int i = 0; i < 4; ++i) {
    RILL_ASSIGN(const std::string wire, ctx.in(i));
    list += (i == 0 ? "" : ", ") + wire;
  }
  for (int i = 0; i < 5; ++i) {
    if (optional_input(i) < 0) continue;
    RILL_ASSIGN(const std::string wire, ctx.in(optional_input(i)));
    list += str_cat(", ", kOptional[i], " = ", wire);
  }
  if (clamped) {
    list += str_cat(", act_alpha = ", nnef_text(alpha), ", act_limit = ", nnef_text(limit));
  }
  ctx.need_registry("tract_transformers");
  ctx.assign(str_cat("tract_moe_ffn(", list, ", k = ", k, ", activation = \"", activation,
                     "\", gate = \"", gate, "\", expert_layout = \"",
                     linear ? "linear" : "canonical", "\")"));
  return {};
}

/// Read a tensor as f32; a router may have a leading unit axis.
Result<OutletId> in_f32(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
  const DType type = ctx.fact(wire).dtype;
  if (type != DType::kF32 && type != DType::kF16) {
    return fail(Code::kDType, name, " ", ctx.fact(wire), ": expected f32 or f16");
  }
  return cast_to(ctx, wire, DType::kF32);
}

Result<bool> is_given(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(const Value value, ctx.value(name));
  return value.get<bool>() == nullptr;
}

Result<Value> load(LoadCtx& ctx) {
  auto op = draft_op<MoeFfn>();
  std::vector<OutletId> inputs;
  for (const char* name : {"x", "wg", "w1", "w2"}) {
    RILL_ASSIGN(const OutletId wire, in_f32(ctx, name));
    inputs.push_back(wire);
  }
  RILL_ASSIGN(const OutletId x, ctx.wire("x"));
  const DType type = ctx.fact(x).dtype;
  if (ctx.fact(inputs[1]).rank() == 3 && ctx.fact(inputs[1]).dim(0) == Dim(1)) {
    RILL_ASSIGN(inputs[1], ctx.add1(make_op<RmAxis>(0), {inputs[1]}, "router"));
  }
  bool* const flags[] = {&op->has_w3, &op->has_bias_g, &op->has_bias_1, &op->has_bias_3,
                         &op->has_bias_2};
  for (int i = 0; i < 5; ++i) {
    RILL_ASSIGN(*flags[i], is_given(ctx, kOptional[i]));
    if (!*flags[i]) continue;
    RILL_ASSIGN(const OutletId wire, in_f32(ctx, kOptional[i]));
    inputs.push_back(wire);
  }
  RILL_TRY(ctx.fields(*op));
  RILL_CHECK(op->k >= 1 && op->k <= (int64_t{1} << 31), "k = ", op->k);
  RILL_ASSIGN(const std::string layout, ctx.text("expert_layout"));
  if (layout != "linear" && layout != "canonical") {
    return fail(Code::kArg, "expert_layout \"", layout, "\": expected canonical or linear");
  }
  op->linear = layout == "linear";
  RILL_ASSIGN(op->clamped, is_given(ctx, "act_limit"));
  RILL_ASSIGN(const bool has_alpha, is_given(ctx, "act_alpha"));
  if (op->clamped) {
    RILL_ASSIGN(op->limit, ctx.number("act_limit"));
  }
  if (op->clamped && has_alpha) {
    RILL_ASSIGN(op->alpha, ctx.number("act_alpha"));
  }
  RILL_ASSIGN(OutletId out, ctx.add1(std::move(op), inputs));
  RILL_ASSIGN(out, cast_to(ctx, out, type));
  return as_value(out);
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_moe_ffn(x: tensor<scalar>, wg: tensor<scalar>, w1: tensor<scalar>,"
     " w2: tensor<scalar>, w3: tensor<scalar> = false, wg_bias: tensor<scalar> = false,"
     " w1_bias: tensor<scalar> = false, w3_bias: tensor<scalar> = false,"
     " w2_bias: tensor<scalar> = false, k: integer, activation: string, gate: string,"
     " act_alpha: scalar = false, act_limit: scalar = false,"
     " expert_layout: string = 'canonical') -> (output: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule moe_module;
const OpModule moe_module = {"moe", kOps};

}  // namespace rill::ops
