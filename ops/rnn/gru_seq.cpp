// A whole GRU as one operator. The reader makes the matmul with the input's filters, and the loop
// over the cell.
// Source: tract, `tract_core_gru_seq`; ONNX, `GRU` with linear_before_reset.

#include <array>

#include "ops/array/common.h"
#include "ops/control/scan.h"
#include "ops/math/wiring.h"
#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

/// The gates, in the order in which `r`, `w` and `b` stack them.
enum Gate : int64_t { kZ, kR, kN, kGates };

/// The cell in the form that `recognise.h` matches: per gate the input's term [B, 1, H] and a
/// filter [H, H], the bias [1, 1, H] of the new value's product, and the state [B, 1, H].
class Cell {
 public:
  Cell(const Dim& batch, int64_t hidden) {
    for (OutletId& x : x_) x = source("x", {batch, Dim(1), Dim(hidden)});
    for (OutletId& filter : filters_) filter = source("r", {Dim(hidden), Dim(hidden)});
    bias_ = source("b", {Dim(1), Dim(1), Dim(hidden)});
    h_ = source("h", {batch, Dim(1), Dim(hidden)});
  }

  Result<Graph> build() && {
    const OutletId r = unary(UnaryKind::kSigmoid, sum(x_[kR], product(kR)));
    const OutletId z = unary(UnaryKind::kSigmoid, sum(x_[kZ], product(kZ)));
    const OutletId past = binary(BinaryKind::kMul, r, sum(product(kN), bias_));
    const OutletId n = unary(UnaryKind::kTanh, sum(x_[kN], past));
    RILL_ASSIGN(Tensor whole, Tensor::scalar(1.0F).reshaped({1, 1, 1}));
    const OutletId one = graph_.add_const("one", std::make_shared<const Tensor>(std::move(whole)));
    const OutletId fresh = binary(BinaryKind::kMul, binary(BinaryKind::kSub, one, z), n);
    const OutletId next = sum(fresh, binary(BinaryKind::kMul, z, h_));
    RILL_TRY(std::move(status_));
    graph_.add_output("h_next", next);
    return std::move(graph_);
  }

 private:
  OutletId source(std::string_view name, std::vector<Dim> shape) {
    return graph_.add_source(graph_.unique_name(name), Fact::of(DType::kF32, std::move(shape)));
  }
  OutletId node(OpPtr op, WireList inputs) {
    if (!status_.ok()) return {};
    const std::string_view name = op->name();
    auto outs = graph_.add(graph_.unique_name(name), std::move(op), inputs);
    if (outs.ok()) return (*outs)[0];
    status_ = outs.take_status();
    return {};
  }
  OutletId unary(UnaryKind kind, OutletId x) { return node(make_op<Unary>(kind), {x}); }
  OutletId binary(BinaryKind kind, OutletId a, OutletId b) {
    return node(make_op<Binary>(kind), {a, b});
  }
  OutletId sum(OutletId a, OutletId b) { return binary(BinaryKind::kAdd, a, b); }
  OutletId product(Gate gate) {
    auto op = draft_op<EinSum>();
    op->expr = "bth,gh->btg";
    return node(std::move(op), {h_, filters_[gate]});
  }

  Graph graph_;
  Status status_;
  std::array<OutletId, kGates> x_;
  std::array<OutletId, kGates> filters_;
  OutletId bias_;
  OutletId h_;
};

/// Return the biases of one gate, for the input or for the state, as [1, 1, H].
OutletId biases_of(Wiring& w, OutletId biases, int64_t half, int64_t gate, int64_t hidden) {
  const int64_t begin = (half * kGates + gate) * hidden;
  const OutletId part = w.slice(biases, w.rank(biases) - 1, Dim(begin), Dim(begin + hidden));
  return w.reshape(part, {Dim(1), Dim(1), Dim(hidden)});
}

/// Return the input's term of a gate, with the biases that do not depend on the state.
OutletId input_of(Wiring& w, OutletId x, OutletId biases, int64_t gate, int64_t hidden,
                  bool projected) {
  OutletId own = w.slice(x, 2, Dim(gate * hidden), Dim((gate + 1) * hidden));
  if (!w.ok() || !biases.valid()) return own;
  if (!projected) own = w.plus(own, biases_of(w, biases, 0, gate, hidden));
  return gate == kN ? own : w.plus(own, biases_of(w, biases, 1, gate, hidden));
}

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const int64_t hidden, ctx.integer("hidden"));
  RILL_ASSIGN(const int64_t chunk, ctx.integer("chunk"));
  RILL_ASSIGN(const bool has_bias, ctx.boolean("has_bias"));
  RILL_ASSIGN(const bool projected, ctx.boolean("projected"));
  RILL_ASSIGN(const bool emit, ctx.boolean("emit_y"));
  RILL_CHECK(hidden >= 1 && hidden < (int64_t{1} << 32) && (chunk == 1 || chunk == -1), "hidden ",
             hidden, ", chunk ", chunk, ": expected a chunk of 1 or -1");
  Wiring w(ctx);
  OutletId x = w.arg("x");
  const OutletId filters = w.arg("r");
  const OutletId first = w.arg("initial_h");
  if (!w.ok()) return w.take_status();
  RILL_CHECK(w.rank(x) == 3, "x ", w.fact(x), ": expected [batch, frames, features]");
  RILL_CHECK(w.rank(filters) == 2, "r ", w.fact(filters), ": expected [3 * hidden, hidden]");
  const Dim batch = w.fact(x).dim(0);
  OutletId biases;
  if (has_bias) {
    biases = w.arg("b");
    if (!w.ok()) return w.take_status();
    RILL_CHECK(w.rank(biases) >= 1 && w.fact(biases).shape.back() == Dim(2 * kGates * hidden), "b ",
               w.fact(biases), ": expected ", 2 * kGates * hidden, " values");
  }
  if (!projected) x = add_einsum(w, "btk,gk->btg", {x, w.arg("w")});
  std::vector<OutletId> inputs;
  for (int64_t gate = kZ; gate < kGates; ++gate) {
    inputs.push_back(input_of(w, x, biases, gate, hidden, projected));
  }
  for (int64_t gate = kZ; gate < kGates; ++gate) {
    inputs.push_back(w.slice(filters, 0, Dim(gate * hidden), Dim((gate + 1) * hidden)));
  }
  if (has_bias) {
    inputs.push_back(biases_of(w, biases, 1, kN, hidden));
  } else {
    RILL_ASSIGN(Tensor zeros, Tensor::zeros(DType::kF32, {1, 1, hidden}));
    inputs.push_back(w.konst(std::move(zeros)));
  }
  inputs.push_back(w.reshape(first, {batch, Dim(1), Dim(hidden)}));
  if (!w.ok()) return w.take_status();
  Scan scan;
  RILL_ASSIGN(Graph body, Cell(batch, hidden).build());
  scan.called = "GruSeq";
  scan.body = std::make_shared<const Graph>(std::move(body));
  scan.inputs.assign(kGates, {Kind::kScan, 1, chunk});
  scan.inputs.resize(2 * kGates + 1);
  scan.inputs.push_back({Kind::kState, 0, 1});
  scan.outputs = {{0, false, 1, chunk}, {0, true, 1, 1}};
  scan.state_results = {0};
  RILL_ASSIGN(scan.reset_every_turn, ctx.boolean("reset_every_turn"));
  RILL_ASSIGN(std::vector<OutletId> outs, ctx.add(make_op<Scan>(std::move(scan)), inputs));
  if (!emit) outs[0] = w.slice(outs[0], 1, Dim(0), Dim(0));
  return w.done(outs);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_gru_seq(x: tensor<scalar>, w: tensor<scalar> = 0, r: tensor<scalar>,"
     " b: tensor<scalar> = 0, initial_h: tensor<scalar>, hidden: integer, chunk: integer,"
     " has_bias: logical = false, reset_every_turn: logical = false, emit_y: logical = true,"
     " projected: logical = false) -> (y: tensor<scalar>, y_h: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule gru_seq_module;
const OpModule gru_seq_module = {"gru_seq", kOps};

}  // namespace rill::ops
