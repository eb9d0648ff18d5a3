#include "ops/transformers/gated_delta.h"

#include <algorithm>

#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"

namespace rill::ops {

Status LinearAttention::check_types(FactSpan in) const {
  const size_t last = state_input();
  const auto all = [&](DType type, size_t but) {
    for (size_t i = 0; i < last; ++i) {
      if (i != but && in[i].dtype != type) return false;
    }
    return true;
  };
  const DType state = in[last].dtype;
  if (all(DType::kF32, last) && state == DType::kF32) return {};
  const size_t decay = decays ? 3 : last;
  const bool is_f16 = all(DType::kF16, decay) && (!decays || in[3].dtype == DType::kF32);
  if (is_f16 && state == DType::kF32) return {};
  return fail(Code::kDType, "query ", in[0], ", log_decay ", in[3], ", state ", in[last],
              ": expected all f32, or f16 with decay and state in f32");
}

Status LinearAttention::check_gates(FactSpan in) const {
  const Fact& v = in[2];
  const std::vector<Dim> gates(v.shape.begin(), v.shape.begin() + 3);
  if (decays) {
    std::vector<Dim> by_key = gates;
    by_key.push_back(in[0].dim(3));
    RILL_CHECK(in[3].shape == gates || in[3].shape == by_key, "log_decay ", in[3], ": expected ",
               gates, " or ", by_key);
  }
  if (corrects) {
    const Fact& beta = in[beta_input()];
    RILL_CHECK(beta.shape == gates, "beta ", beta, ": expected ", gates);
  }
  return {};
}

Result<Facts> LinearAttention::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, static_cast<int>(state_input()) + 1));
  const Fact& q = in[0];
  const Fact& k = in[1];
  const Fact& v = in[2];
  const Fact& state = in[state_input()];
  RILL_CHECK(q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && state.rank() == 4, "query ", q,
             ", key ", k, ", value ", v, ", state ", state, ": expected rank 4");
  for (const Fact* other : {&k, &v}) {
    RILL_CHECK(other->dim(0) == q.dim(0) && other->dim(1) == q.dim(1), "query ", q, ", key ", k,
               ", value ", v, " differ in batch or frames");
  }
  RILL_CHECK(k.dim(3) == q.dim(3), "query ", q, " and key ", k, " differ in width");
  RILL_CHECK(exact_div(v.dim(2), k.dim(2)), v.dim(2), " heads of values for ", k.dim(2),
             " of keys: expected a multiple");
  const bool queries_share = exact_div(v.dim(2), q.dim(2)).has_value();
  RILL_CHECK(queries_share || exact_div(q.dim(2), v.dim(2)), v.dim(2), " heads of values for ",
             q.dim(2), " of queries: expected that one is a multiple of the other");
  RILL_TRY(check_gates(in));
  const std::vector<Dim> square{v.dim(0), v.dim(2), q.dim(3), v.dim(3)};
  RILL_CHECK(state.shape == square, "state ", state, ": expected ", square);
  RILL_TRY(check_types(in));
  std::vector<Dim> shape = v.shape;
  if (!queries_share) shape[2] = q.dim(2);
  return Facts{Fact::of(q.dtype, std::move(shape)), state.without_value()};
}

int64_t LinearAttention::state_bytes(FactSpan in) const {
  if (!streaming) return 0;
  return 8 + 4 * volume(in[state_input()].shape).to_int().value_or(0);
}

Status LinearAttention::pulsify(PulseBuilder& b) const {
  const int frames = static_cast<int>(state_input());
  for (int i = 0; i <= frames; ++i) {
    const auto stream = b.stream(i);
    if (stream.has_value() == (i < frames) && (!stream || stream->axis == 1)) continue;
    return b.refuse("Stream the frames of query, key, value, decay and beta together",
                    "it runs over frames on axis 1 of all inputs but the state, and input ", i,
                    stream ? " streams along another axis" : " does not stream");
  }
  RILL_ASSIGN(PulseBuilder::Synced synced, b.sync());
  const StreamFact& stream = synced.stream;
  auto op = draft_op<LinearAttention>(*this);
  op->streaming = true;
  op->skip = skip + std::max<int64_t>(stream.delay, 0);
  RILL_ASSIGN(const auto outs, b.add("", std::move(op), synced.wires));
  b.set(0, outs[0], stream);
  b.set_refused(1,
                b.refuse("Take the output of the frames", "the last state needs the whole stream"));
  return {};
}

namespace {

/// An f16 state is upcast first and downcast at the end, so that it rounds once and not after each
/// frame: streams and whole runs have the same sums.
Result<Value> add_over_frames(LoadCtx& ctx, OpPtr op, std::vector<OutletId> inputs) {
  const DType state = ctx.fact(inputs.back()).dtype;
  if (state == DType::kF16) {
    RILL_ASSIGN(inputs.back(), cast_to(ctx, inputs.back(), DType::kF32));
  }
  RILL_ASSIGN(auto outs, ctx.add(std::move(op), inputs));
  RILL_ASSIGN(outs[1], cast_to(ctx, outs[1], state));
  return Value::of_wires(outs);
}

Result<Value> load_gated_delta(LoadCtx& ctx) {
  std::vector<OutletId> inputs;
  for (const char* name : {"query", "key", "value", "log_decay", "beta", "initial_state"}) {
    RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
    inputs.push_back(wire);
  }
  return add_over_frames(ctx, make_op<LinearAttention>(), std::move(inputs));
}

Result<Value> load(LoadCtx& ctx) {
  auto op = draft_op<LinearAttention>();
  RILL_TRY(ctx.fields(*op));
  op->decays = ctx.given("log_decay");
  op->corrects = ctx.given("beta");
  std::vector<OutletId> inputs;
  for (const char* name : {"query", "key", "value", "log_decay", "beta", "initial_state"}) {
    if (!ctx.given(name)) continue;
    RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
    inputs.push_back(wire);
  }
  return add_over_frames(ctx, std::move(op), std::move(inputs));
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_gdn_recurrent(query: tensor<scalar>, key: tensor<scalar>,"
     " value: tensor<scalar>, log_decay: tensor<scalar>, beta: tensor<scalar>,"
     " initial_state: tensor<scalar>) -> (output: tensor<scalar>, final_state: tensor<scalar>);",
     load_gated_delta},
    {"rill_onnx",
     "fragment rill_onnx_linear_attention(query: tensor<scalar>, key: tensor<scalar>,"
     " value: tensor<scalar>, initial_state: tensor<scalar>, log_decay: tensor<scalar> = false,"
     " beta: tensor<scalar> = false, scale: scalar = 0.0, normalise: logical = false)"
     " -> (output: tensor<scalar>, final_state: tensor<scalar>);",
     load},
};

constexpr OpClass kClasses[] = {op_class<LinearAttention>("GatedDelta")};

}  // namespace

Status LinearAttention::save(SaveCtx& ctx) const {
  if (streaming) return Op::save(ctx);
  if (is_gated_delta()) return ctx.assign_declared(kOps[0]);
  RILL_ASSIGN(const std::string state, ctx.in(static_cast<int>(state_input())));
  std::string decay;
  std::string beta;
  if (decays) {
    RILL_ASSIGN(decay, ctx.in(3));
  }
  if (corrects) {
    RILL_ASSIGN(beta, ctx.in(static_cast<int>(beta_input())));
  }
  return ctx.assign_declared(kOps[1],
                             {{"initial_state", state}, {"log_decay", decay}, {"beta", beta}});
}

extern const OpModule gated_delta_module;
const OpModule gated_delta_module = {"gated_delta", kOps, kClasses};

}  // namespace rill::ops
