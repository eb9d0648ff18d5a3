// The gates of one step of an LSTM, downstream of its matmuls. The reader makes the slices and the
// elementwise operations. Source: tract, `tract_core_lstm_epilogue`; ONNX, `LSTM`.

#include <array>

#include "ops/array/common.h"
#include "ops/math/wiring.h"

namespace rill::ops {
namespace {

/// Return the gate at `index`; gates are adjacent on the last axis.
OutletId gate(Wiring& w, OutletId x, int64_t index, int64_t hidden) {
  return w.slice(x, w.rank(x) - 1, Dim(index * hidden), Dim((index + 1) * hidden));
}

/// Fail unless the last axis of a wire has `width` features.
Status expect_width(const Wiring& w, OutletId x, int64_t width, std::string_view what) {
  const Fact& fact = w.fact(x);
  const bool fits = fact.rank() > 0 && fact.shape.back() == Dim(width);
  if (fits && (fact.dtype == DType::kF32 || fact.dtype == DType::kF16)) return {};
  return fail(Code::kShape, what, " ", fact, ": expected f32 or f16, ", width, " on the last axis");
}

Result<int64_t> hidden_of(LoadCtx& ctx) {
  RILL_ASSIGN(const int64_t hidden, ctx.integer("hidden"));
  RILL_CHECK(hidden >= 1 && hidden < (int64_t{1} << 40), "hidden ", hidden);
  return hidden;
}

Result<Value> load_lstm(LoadCtx& ctx) {
  RILL_ASSIGN(const int64_t hidden, hidden_of(ctx));
  Wiring w(ctx);
  const OutletId x = w.arg("preact");
  const OutletId c_prev = w.arg("c_prev");
  if (!w.ok()) return w.take_status();
  RILL_TRY(expect_width(w, x, 4 * hidden, "preact"));
  RILL_TRY(expect_width(w, c_prev, hidden, "c_prev"));
  const OutletId i = w.unary(UnaryKind::kSigmoid, gate(w, x, 0, hidden));
  const OutletId o = w.unary(UnaryKind::kSigmoid, gate(w, x, 1, hidden));
  const OutletId f = w.unary(UnaryKind::kSigmoid, gate(w, x, 2, hidden));
  const OutletId g = w.unary(UnaryKind::kTanh, gate(w, x, 3, hidden));
  const OutletId c = w.plus(w.times(f, c_prev), w.times(i, g));
  const std::array<OutletId, 2> outs = {w.times(o, w.unary(UnaryKind::kTanh, c)), c};
  return w.done(outs);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_lstm_epilogue(preact: tensor<scalar>, c_prev: tensor<scalar>,"
     " hidden: integer) -> (ht: tensor<scalar>, ct: tensor<scalar>);",
     load_lstm},
};

}  // namespace

extern const OpModule lstm_epilogue_module;
const OpModule lstm_epilogue_module = {"lstm_epilogue", kOps};

}  // namespace rill::ops
