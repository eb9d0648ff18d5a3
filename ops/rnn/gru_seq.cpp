// A whole GRU as one operator: read as the product with the input's filters and the loop over its
// cell that it stands for.
// Source: tract, `tract_core_gru_seq`; ONNX, `GRU` with linear_before_reset.

#include <array>

#include "ops/array/common.h"
#include "ops/array/slice.h"
#include "ops/control/scan.h"
#include "ops/math/wiring.h"
#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

/// The cell: x [B, 1, 3H] with gates z, r, h, filters [3H, H], bias [1, 1, 3H], state [B, 1, H].
class Cell {
 public:
  Cell(Dim batch, int64_t hidden) : hidden_(hidden) {
    x_ = source("x", {batch, Dim(1), Dim(3 * hidden)});
    filters_ = source("r", {Dim(3 * hidden), Dim(hidden)});
    bias_ = source("b", {Dim(1), Dim(1), Dim(3 * hidden)});
    h_ = source("h", {batch, Dim(1), Dim(hidden)});
  }

  Result<Graph> build() && {
    auto product = std::make_shared<EinSum>();
    product->expr = "bth,gh->btg";
    OutletId r = node(product, {h_, filters_});
    r = binary(BinaryKind::kAdd, r, bias_);
    const auto sigmoid_of = [&](int64_t gate) {
      return unary(UnaryKind::kSigmoid, binary(BinaryKind::kAdd, part(x_, gate), part(r, gate)));
    };
    const OutletId z = sigmoid_of(0);
    const OutletId reset = binary(BinaryKind::kMul, sigmoid_of(1), part(r, 2));
    const OutletId n = unary(UnaryKind::kTanh, binary(BinaryKind::kAdd, part(x_, 2), reset));
    const OutletId moved = binary(BinaryKind::kMul, z, binary(BinaryKind::kSub, h_, n));
    const OutletId next = binary(BinaryKind::kAdd, n, moved);
    RILL_TRY(std::move(status_));
    graph_.add_output("h_next", next);
    return std::move(graph_);
  }

 private:
  OutletId source(std::string_view name, std::vector<Dim> shape) {
    return graph_.add_source(name, Fact::of(DType::kF32, std::move(shape)));
  }
  OutletId node(OpPtr op, std::vector<OutletId> inputs) {
    if (!status_.ok()) return {};
    const std::string_view name = op->name();
    auto outs = graph_.add(graph_.unique_name(name), std::move(op), std::move(inputs));
    if (outs.ok()) return (*outs)[0];
    status_ = outs.take_status();
    return {};
  }
  OutletId unary(UnaryKind kind, OutletId x) { return node(std::make_shared<Unary>(kind), {x}); }
  OutletId binary(BinaryKind kind, OutletId a, OutletId b) {
    return node(std::make_shared<Binary>(kind), {a, b});
  }
  OutletId part(OutletId x, int64_t gate) {
    return node(std::make_shared<Slice>(2, Dim(gate * hidden_), Dim((gate + 1) * hidden_)), {x});
  }

  Graph graph_;
  Status status_;
  int64_t hidden_;
  OutletId x_;
  OutletId filters_;
  OutletId bias_;
  OutletId h_;
};

/// Half of the biases, of the input's products or of the state's, as [1, 1, 3H].
OutletId half_of_biases(Wiring& w, OutletId biases, int64_t half, int64_t hidden) {
  const int last = w.rank(biases) - 1;
  const OutletId part = w.slice(biases, last, Dim(3 * hidden * half), Dim(3 * hidden * (half + 1)));
  return w.reshape(part, {Dim(1), Dim(1), Dim(3 * hidden)});
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
  const Dim batch = w.fact(x).dim(0);
  OutletId bias;
  if (has_bias) {
    const OutletId biases = w.arg("b");
    if (!w.ok()) return w.take_status();
    RILL_CHECK(w.rank(biases) >= 1 && w.fact(biases).shape.back() == Dim(6 * hidden), "b ",
               w.fact(biases), ": expected ", 6 * hidden, " values");
    bias = half_of_biases(w, biases, 1, hidden);
    if (!projected) x = w.einsum("btk,gk->btg", {x, w.arg("w")});
    if (!projected) x = w.plus(x, half_of_biases(w, biases, 0, hidden));
  } else {
    RILL_ASSIGN(Tensor zeros, Tensor::zeros(DType::kF32, {1, 1, 3 * hidden}));
    bias = w.konst(std::move(zeros));
    if (!projected) x = w.einsum("btk,gk->btg", {x, w.arg("w")});
  }
  const OutletId h = w.reshape(first, {batch, Dim(1), Dim(hidden)});
  if (!w.ok()) return w.take_status();
  Scan scan;
  RILL_ASSIGN(Graph body, Cell(batch, hidden).build());
  scan.body = std::make_shared<const Graph>(std::move(body));
  scan.inputs = {{Kind::kScan, 1, chunk}, {}, {}, {Kind::kState, 0, 1}};
  scan.outputs = {{0, false, 1, chunk}, {0, true, 1, 1}};
  scan.state_results = {0};
  RILL_ASSIGN(scan.reset_every_turn, ctx.boolean("reset_every_turn"));
  RILL_ASSIGN(std::vector<OutletId> outs,
              ctx.add(std::make_shared<Scan>(std::move(scan)), {x, filters, bias, h}));
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

extern const OpRoom gru_seq_room;
const OpRoom gru_seq_room = {"gru_seq", kOps};

}  // namespace rill::ops
