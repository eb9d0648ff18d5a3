// Reads ONNX's LSTM, GRU and RNN as loops over their cells. Usual cells are recognised, and the
// whole layer runs as one operator.

#include <array>

#include "core/base/search.h"
#include "core/graph/onnx.h"
#include "ops/array/axis_ops.h"
#include "ops/control/scan.h"
#include "ops/math/sequences.h"
#include "ops/nn/einsum.h"
#include "ops/quant/own_range.h"
#include "ops/rnn/onnx_cell.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

/// The operands of one direction, sliced from those of the node.
struct Direction {
  OutletId x;  ///< [T, B, I]
  OutletId w;  ///< [G * H, I]
  OutletId r;  ///< [G * H, H]
  OutletId b;  ///< [2 * G * H], or invalid
  OutletId p;  ///< [3 * H], or invalid
  OutletId h;  ///< [1, B, H]
  OutletId c;  ///< [1, B, H], or invalid
};

class Layer {
 public:
  /// `quantised`: filters are integers [directions, inputs, gates * H] with scales and zero points.
  Layer(OnnxCtx& ctx, CellKind kind, bool quantised = false)
      : ctx_(ctx), w_(ctx), kind_(kind), quantised_(quantised) {}

  Result<Value> build();

 private:
  Status read();
  Status read_lengths();
  Status cut_to_lengths(const Direction& d, bool backward, const std::vector<OutletId>& outs);
  Status check_rows(const char* name, int rank, int64_t per_unit);
  Status check_rows(const char* name, OutletId wire, int rank, int64_t per_unit);
  OutletId filter(const char* name);
  OutletId unit_of(const char* name, int64_t direction, int64_t gate);
  void quantise_input();
  OutletId input(const char* name);
  OutletId row(OutletId wire, int64_t direction);
  OutletId state(const char* name, int64_t direction);
  OutletId gate(OutletId rows, int64_t at) {
    return w_.slice(rows, 0, Dim(at * hidden_), Dim((at + 1) * hidden_));
  }
  OutletId bias(const Direction& d, int64_t at);
  Direction direction(int64_t index);
  Status loop_inputs(const Direction& d, int64_t index, int64_t chunk, Scan* scan,
                     std::vector<OutletId>* inputs);
  Status run(int64_t index);
  OutletId joined(const std::vector<OutletId>& parts, int axis);
  OutletId batch_first(OutletId wire, std::vector<int64_t> perm);

  OnnxCtx& ctx_;
  Wiring w_;
  CellKind kind_;
  bool quantised_;
  std::string direction_;
  int64_t directions_ = 1;
  int64_t hidden_ = 0;
  bool batch_first_ = false;
  Dim batch_;
  CellForm form_;
  OutletId x_;
  OutletId x_unit_;  ///< the scale of a quantized input
  OutletId filters_[2];  ///< of the input and of the state, [directions, gates * H, ...]
  OutletId lengths_;  ///< of the sequences, where they differ
  std::vector<OutletId> y_;
  std::vector<OutletId> last_h_;
  std::vector<OutletId> last_c_;
};

OutletId Layer::input(const char* name) {
  return ctx_.given(name) ? w_.arg(name) : OutletId{};
}

/// Read the lengths of the sequences, unless all are known to equal the length of the input.
Status Layer::read_lengths() {
  if (!ctx_.given("sequence_lens")) return {};
  const OutletId lengths = w_.arg("sequence_lens");
  if (!w_.ok()) return w_.take_status();
  RILL_CHECK(w_.rank(lengths) == 1, "input \"sequence_lens\" is ", w_.fact(lengths),
             ": expected a list");
  const auto known = ctx_.fact(lengths).konst ? ctx_.dims("sequence_lens")
                                              : Result<std::vector<Dim>>(std::vector<Dim>());
  RILL_TRY(known);
  const auto is_whole = [&](const Dim& length) { return length == w_.fact(x_).dim(0); };
  if (!known->empty() && all_of(*known, is_whole)) return {};
  Formula f(ctx_);
  lengths_ = checked_lengths(f, lengths, w_.fact(x_).dim(0));
  return f.take_status();
}

/// Add the outputs of a direction whose sequences have different lengths: zeros after the end of
/// each sequence, and the states at its end.
Status Layer::cut_to_lengths(const Direction& d, bool backward,
                             const std::vector<OutletId>& outs) {
  Formula f(ctx_);
  const Sequences sequences{lengths_, 0, 1};
  const OutletId inside = within(f, outs[0], sequences);
  const OutletId y = f.select(inside, outs[0], f.number(0.0, outs[0]));
  y_.push_back(f.with_axis(backward ? reversed_within(f, y, sequences) : y, 1));
  OutletId any = f.with_axis(f.with_axis(lengths_, 0), 2);
  any = f.binary(BinaryKind::kGt, any, f.number(0.0, any));
  last_h_.push_back(f.select(any, last_of(f, outs[0], sequences), d.h));
  if (kind_ == CellKind::kLstm) {
    last_c_.push_back(f.select(any, last_of(f, outs[3], sequences), d.c));
  }
  return f.take_status();
}

/// Check the rows of an operand [directions, rows of all gates, ..] if it is given.
Status Layer::check_rows(const char* name, int rank, int64_t per_unit) {
  if (!ctx_.given(name)) return {};
  RILL_ASSIGN(const OutletId wire, ctx_.wire(name));
  return check_rows(name, wire, rank, per_unit);
}

Status Layer::check_rows(const char* name, OutletId wire, int rank, int64_t per_unit) {
  const Fact& fact = w_.fact(wire);
  RILL_CHECK(fact.rank() == rank && fact.dim(0) == Dim(directions_) &&
                 fact.dim(1) == Dim(per_unit * hidden_),
             "input \"", name, "\" is ", fact, ": expected ", rank, " axes, the first of ",
             directions_, " and ", per_unit * hidden_);
  return {};
}

Status Layer::read() {
  x_ = w_.arg("X");
  if (!w_.ok()) return w_.take_status();
  RILL_CHECK(w_.rank(x_) == 3, "input \"X\" is ", w_.fact(x_), ": expected [steps, batch, inputs]");
  if (ctx_.has("layout")) {
    RILL_ASSIGN(batch_first_, ctx_.boolean("layout"));
  }
  if (batch_first_) x_ = batch_first(x_, {1, 0, 2});
  if (!w_.ok()) return w_.take_status();
  RILL_TRY(read_lengths());
  if (quantised_) quantise_input();
  filters_[0] = filter("W");
  filters_[1] = filter("R");
  const OutletId r = filters_[1];
  if (!w_.ok()) return w_.take_status();
  RILL_CHECK(w_.rank(r) == 3, "input \"R\" is ", w_.fact(r), ": expected three axes");
  RILL_ASSIGN(hidden_, w_.fact(r).dim(2).as_int());
  RILL_ASSIGN(direction_, ctx_.text("direction"));
  if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional") {
    return fail(Code::kArg, "attribute \"direction\" is ", direction_,
                ": expected forward, reverse or bidirectional");
  }
  directions_ = direction_ == "bidirectional" ? 2 : 1;
  RILL_CHECK(w_.fact(r).dim(0) == Dim(directions_) &&
                 w_.fact(r).dim(1) == Dim(gates_of(kind_) * hidden_),
             "input \"R\" is ", w_.fact(r), ": expected [", directions_, ", ",
             gates_of(kind_) * hidden_, ", ", hidden_, "]");
  if (ctx_.given("hidden_size")) {
    RILL_ASSIGN(const int64_t stated, ctx_.integer("hidden_size"));
    RILL_CHECK(stated == hidden_, "attribute \"hidden_size\" is ", stated, ", but \"R\" is ",
               w_.fact(r));
  }
  RILL_TRY(check_rows("W", filters_[0], 3, gates_of(kind_)));
  RILL_TRY(check_rows("B", 2, 2 * gates_of(kind_)));
  RILL_TRY(check_rows("P", 2, 3));
  batch_ = w_.fact(x_).dim(1);
  RILL_TRY(ctx_.expect_equal(w_.fact(x_).dim(2), w_.fact(filters_[0]).dim(2)));
  if (lengths_.valid()) RILL_TRY(ctx_.expect_equal(w_.fact(lengths_).dim(0), batch_));
  for (const char* name : {"initial_h", "initial_c"}) {
    if (!ctx_.given(name)) continue;
    RILL_ASSIGN(const OutletId first, ctx_.wire(name));
    RILL_CHECK(w_.rank(first) == 3, "input \"", name, "\" is ", w_.fact(first),
               ": expected three axes");
    RILL_TRY(ctx_.take_as_equal(batch_, w_.fact(first).dim(batch_first_ ? 0 : 1)));
    RILL_TRY(ctx_.expect_equal(w_.fact(first).dim(batch_first_ ? 1 : 0), Dim(directions_)));
    RILL_TRY(ctx_.expect_equal(w_.fact(first).dim(2), Dim(hidden_)));
  }
  RILL_ASSIGN(form_, cell_form(ctx_, kind_, directions_));
  form_.quantised = quantised_;
  return {};
}

/// Return a filter with a row per gate and unit; a quantised one as integers minus its zero point.
OutletId Layer::filter(const char* name) {
  OutletId wire = w_.arg(name);
  if (!quantised_) return wire;
  Formula f(ctx_);
  wire = f.cast(wire, w_.dtype(x_));
  const std::string zero = str_cat(name, "_zero_point");
  OutletId point = f.cast(f.arg(zero.c_str()), w_.dtype(x_));
  while (f.ok() && f.rank(point) < 3) point = f.with_axis(point, 1);
  const OutletId out = f.transpose(f.minus(wire, point), {0, 2, 1});
  if (!f.ok()) w_.fail_with(f.take_status());
  return out;
}

/// Return the scale of a gate's filter: [1, 1, H], or one number.
OutletId Layer::unit_of(const char* name, int64_t direction, int64_t gate) {
  const OutletId list = w_.arg(name);
  if (!w_.ok()) return {};
  OutletId own = w_.slice(list, 0, Dim(direction), Dim(direction + 1));
  if (w_.rank(list) == 1) return w_.reshape(own, {Dim(1), Dim(1), Dim(1)});
  own = w_.slice(own, 1, Dim(gate * hidden_), Dim((gate + 1) * hidden_));
  return w_.reshape(own, {Dim(1), Dim(1), Dim(hidden_)});
}

void Layer::quantise_input() {
  Formula f(ctx_);
  const OwnRange range = in_own_range(f, x_, {0, 1, 2});
  x_ = f.minus(range.values, range.point);
  x_unit_ = range.scale;
  if (!f.ok()) w_.fail_with(f.take_status());
}

OutletId Layer::batch_first(OutletId wire, std::vector<int64_t> perm) {
  return w_.add(make_op<Transpose>(std::move(perm)), {wire});
}

/// Return the entry of one direction, without the axis of directions.
OutletId Layer::row(OutletId wire, int64_t direction) {
  if (!wire.valid()) return wire;
  if (directions_ > 1) wire = w_.slice(wire, 0, Dim(direction), Dim(direction + 1));
  return w_.add(make_op<RmAxis>(0), {wire});
}

OutletId Layer::state(const char* name, int64_t direction) {
  OutletId first = input(name);
  if (!w_.ok()) return {};
  if (!first.valid()) {
    auto zero = cast(Tensor::scalar(0.0F), w_.dtype(x_));
    if (!zero.ok()) return w_.fail_with(zero.take_status()), OutletId{};
    const std::vector<Dim> shape = {Dim(1), batch_, Dim(hidden_)};
    const OutletId value = w_.konst(std::move(zero).value());
    if (!w_.ok()) return {};
    auto out = ctx_.call("tract_core_broadcast", std::array{
        OnnxCtx::Argument{"input", Value(value)},
        OnnxCtx::Argument{"shape", Value(std::vector<Value>(shape.begin(), shape.end()))}});
    if (!out.ok()) return w_.fail_with(out.take_status()), OutletId{};
    return *out->get<OutletId>();
  }
  if (batch_first_) first = batch_first(first, {1, 0, 2});
  if (directions_ > 1) first = w_.slice(first, 0, Dim(direction), Dim(direction + 1));
  return first;
}

/// Return the biases of the gate, for the input or for the state: [1, 1, H].
OutletId Layer::bias(const Direction& d, int64_t at) {
  return w_.reshape(gate(d.b, at), {Dim(1), Dim(1), Dim(hidden_)});
}

Direction Layer::direction(int64_t index) {
  Direction d;
  d.x = x_;
  d.w = row(filters_[0], index);
  d.r = row(filters_[1], index);
  d.b = row(input("B"), index);
  d.h = state("initial_h", index);
  if (kind_ == CellKind::kLstm) {
    d.c = state("initial_c", index);
    d.p = row(input("P"), index);
  }
  return d;
}

/// Collect the inputs of the loop of a direction: chunks of the input, whole weights, and states.
Status Layer::loop_inputs(const Direction& d, int64_t index, int64_t chunk, Scan* scan,
                          std::vector<OutletId>* inputs) {
  const int64_t gates = gates_of(kind_);
  const auto take = [&](OutletId wire, Kind kind) {
    inputs->push_back(wire);
    scan->inputs.push_back({kind, 0, kind == Kind::kScan ? chunk : 1});
  };
  // If the reset gate multiplies h W, the bias of h W is added inside of the loop.
  const bool late = kind_ == CellKind::kGru && form_.linear_before_reset;
  for (int64_t g = 0; g < gates; ++g) {
    OutletId x = add_einsum(w_, "tbi,hi->tbh", {d.x, gate(d.w, g)});
    if (quantised_) x = w_.times(x, w_.times(x_unit_, unit_of("W_scale", index, g)));
    if (d.b.valid()) {
      OutletId sum = bias(d, g);
      if (!late || g != 2) sum = w_.plus(sum, bias(d, gates + g));
      x = w_.plus(x, sum);
    }
    take(x, Kind::kScan);
  }
  for (int64_t g = 0; g < gates; ++g) take(gate(d.r, g), Kind::kFull);
  if (late) {
    auto zeros = Tensor::zeros(w_.dtype(x_), {1, 1, hidden_});
    if (!zeros.ok()) return zeros.take_status();
    take(d.b.valid() ? bias(d, gates + 2) : w_.konst(std::move(zeros).value()), Kind::kFull);
  }
  for (int64_t g = 0; quantised_ && g < gates; ++g) {
    take(unit_of("R_scale", index, g), Kind::kFull);
  }
  for (int64_t g = 0; d.p.valid() && g < 3; ++g) {
    take(w_.reshape(gate(d.p, g), {Dim(1), Dim(1), Dim(hidden_)}), Kind::kFull);
  }
  take(d.h, Kind::kState);
  if (kind_ == CellKind::kLstm) take(d.c, Kind::kState);
  return w_.ok() ? Status() : w_.take_status();
}

Status Layer::run(int64_t index) {
  Direction d = direction(index);
  const bool backward = direction_ == "reverse" || index == 1;
  const int64_t chunk = backward && !lengths_.valid() ? -1 : 1;
  if (backward && lengths_.valid()) {
    Formula f(ctx_);
    d.x = reversed_within(f, d.x, {lengths_, 0, 1});
    RILL_TRY(f.take_status());
  }
  std::vector<OutletId> inputs;
  Scan scan;
  RILL_TRY(loop_inputs(d, index, chunk, &scan, &inputs));
  Facts facts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    facts.push_back(Scan::inner_fact(scan.inputs[i], ctx_.fact(inputs[i])).without_value());
  }
  RILL_ASSIGN(Graph body, cell_body(kind_, form_, index, d.p.valid(), facts));
  body.scope = ctx_.graph().scope;
  scan.body = std::make_shared<const Graph>(std::move(body));
  scan.outputs = {{0, false, 0, chunk}, {0, true, 0, 1}};
  scan.state_results = {0};
  if (kind_ == CellKind::kLstm) {
    scan.outputs.push_back({1, true, 0, 1});
    scan.state_results.push_back(1);
    if (lengths_.valid()) scan.outputs.push_back({1, false, 0, chunk});
  }
  scan.called = std::string(cell_name(kind_));
  RILL_ASSIGN(const std::vector<OutletId> outs, ctx_.add(make_op<Scan>(std::move(scan)), inputs));
  if (lengths_.valid()) return cut_to_lengths(d, backward, outs);
  y_.push_back(w_.add(make_op<AddAxis>(1), {outs[0]}));
  last_h_.push_back(outs[1]);
  if (kind_ == CellKind::kLstm) last_c_.push_back(outs[2]);
  return {};
}

OutletId Layer::joined(const std::vector<OutletId>& parts, int axis) {
  return parts.size() == 1 ? parts[0] : w_.concat(parts, axis);
}

Result<Value> Layer::build() {
  RILL_TRY(read());
  for (int64_t index = 0; index < directions_; ++index) RILL_TRY(run(index));
  OutletId y = joined(y_, 1);
  std::vector<OutletId> states = {joined(last_h_, 0)};
  if (kind_ == CellKind::kLstm) states.push_back(joined(last_c_, 0));
  if (batch_first_) {
    y = batch_first(y, {2, 0, 1, 3});
    for (OutletId& each : states) each = batch_first(each, {1, 0, 2});
  }
  std::vector<OutletId> out = {y};
  out.insert(out.end(), states.begin(), states.end());
  return w_.done(out);
}

template <CellKind kKind>
Result<Value> recurrent(OnnxCtx& ctx) {
  return Layer(ctx, kKind).build();
}

/// Read an LSTM whose input is quantised to its range over all steps, and each state to its range
/// in that step and batch.
/// Source: onnxruntime, `com.microsoft.DynamicQuantizeLSTM`.
Result<Value> quantised_lstm(OnnxCtx& ctx) {
  return Layer(ctx, CellKind::kLstm, true).build();
}

// The operands and attributes that all three operators have.
#define RILL_ONNX_OPERANDS                                                                    \
  "X: tensor<scalar>, W: tensor<?>, R: tensor<?>, B: tensor<scalar> = false, "      \
  "sequence_lens: tensor<integer> = false, initial_h: tensor<scalar> = false"
#define RILL_ONNX_ATTRIBUTES(activations)                                                     \
  "activation_alpha: scalar[] = [], activation_beta: scalar[] = [], "                         \
  "activations: string[] = " activations ", clip: scalar = 0.0, "                             \
  "direction: string = 'forward', hidden_size: integer = 0"
#define RILL_ONNX_STATE "-> (Y: tensor<scalar>, Y_h: tensor<scalar>);"
#define RILL_ONNX_LSTM(since, last)                                                       \
  {"", since,                                                                             \
   "fragment LSTM(" RILL_ONNX_OPERANDS                                                    \
   ", initial_c: tensor<scalar> = false, "                                                \
   "P: tensor<scalar> = false, " RILL_ONNX_ATTRIBUTES(                                    \
       "['Sigmoid', 'Tanh', 'Tanh']") ", input_forget: logical = false" last              \
                                      ") "                                                \
                                      "-> (Y: tensor<scalar>, Y_h: tensor<scalar>, Y_c: " \
                                      "tensor<scalar>);",                                 \
   recurrent<CellKind::kLstm>, Rounding::kOnce}

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment DynamicQuantizeLSTM(" RILL_ONNX_OPERANDS ", initial_c: tensor<scalar> = false, "
     "P: tensor<scalar> = false, W_scale: tensor<scalar>, W_zero_point: tensor<?>, "
     "R_scale: tensor<scalar>, R_zero_point: tensor<?>, " RILL_ONNX_ATTRIBUTES(
         "['Sigmoid', 'Tanh', 'Tanh']") ", input_forget: logical = false) "
                                        "-> (Y: tensor<scalar>, Y_h: tensor<scalar>, Y_c: "
                                        "tensor<scalar>);",
     quantised_lstm},
    RILL_ONNX_LSTM(7, ""),
    RILL_ONNX_LSTM(14, ", layout: logical = false"),
    {"", 7,
     "fragment GRU(" RILL_ONNX_OPERANDS ", " RILL_ONNX_ATTRIBUTES(
         "['Sigmoid', 'Tanh']") ", linear_before_reset: logical = false) " RILL_ONNX_STATE,
     recurrent<CellKind::kGru>, Rounding::kOnce},
    {"", 14,
     "fragment GRU(" RILL_ONNX_OPERANDS
     ", " RILL_ONNX_ATTRIBUTES("['Sigmoid', 'Tanh']") ", linear_before_reset: logical = false, "
                                                      "layout: logical = false) " RILL_ONNX_STATE,
     recurrent<CellKind::kGru>, Rounding::kOnce},
    {"", 7,
     "fragment RNN(" RILL_ONNX_OPERANDS
     ", " RILL_ONNX_ATTRIBUTES("['Tanh', 'Tanh']") ") " RILL_ONNX_STATE,
     recurrent<CellKind::kPlain>, Rounding::kOnce},
    {"", 14,
     "fragment RNN(" RILL_ONNX_OPERANDS
     ", " RILL_ONNX_ATTRIBUTES("['Tanh', 'Tanh']") ", layout: logical = false) " RILL_ONNX_STATE,
     recurrent<CellKind::kPlain>, Rounding::kOnce},
};

}  // namespace

extern const OnnxModule recurrent_onnx;
const OnnxModule recurrent_onnx = {"recurrent", kOps};

}  // namespace rill::ops
