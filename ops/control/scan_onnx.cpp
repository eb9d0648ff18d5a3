// Reads ONNX's Scan and Loop as loops over a body of one iteration.

#include <array>

#include "core/base/search.h"
#include "ops/array/axis_argument.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/symbolic.h"
#include "ops/control/onnx_counted.h"
#include "ops/control/onnx_iterations.h"
#include "ops/math/formula.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

/// The maximum number of iterations of a loop that is unrolled because its body differs between
/// them (`kMostWrittenOut`), and of a loop that data may end early (`kMostTried`): the latter runs
/// all of them.
constexpr int64_t kMostWrittenOut = 64;
constexpr int64_t kMostTried = 65536;

Status depends_on_data() {
  return fail(Code::kUnsupported,
              "the number of iterations depends on data, and decides the shapes")
      .hint("Decide it: --constantize NAME=VALUE for the input that it depends on");
}

/// Return the list of an attribute, with one entry for each of `count` operands; zeros if it is
/// omitted.
Result<std::vector<int64_t>> list(OnnxCtx& ctx, std::string_view name, size_t count) {
  std::vector<int64_t> out(count, 0);
  if (!ctx.given(name)) return out;
  RILL_ASSIGN(out, ctx.integers(name));
  RILL_CHECK(out.size() == count, "attribute \"", name, "\" has ",
             counted(out.size(), "entry", "entries"), ", expected ", count);
  return out;
}

/// The operands of a scan: states first, then inputs.
struct Scanned {
  std::vector<OutletId> wires;
  size_t states = 0;
  std::vector<int64_t> axes;      ///< scanned axes of the inputs
  std::vector<int64_t> backward;  ///< 1 for inputs that are scanned backwards

  size_t inputs() const { return wires.size() - states; }
};

Result<Scanned> scanned(OnnxCtx& ctx, std::string_view directions) {
  Scanned given;
  RILL_ASSIGN(given.wires, ctx.wires("initial_state_and_scan_inputs"));
  RILL_ASSIGN(const int64_t number, ctx.integer("num_scan_inputs"));
  RILL_CHECK(number > 0 && number <= static_cast<int64_t>(given.wires.size()), number,
             " scanned inputs of ", given.wires.size());
  given.states = given.wires.size() - static_cast<size_t>(number);
  RILL_ASSIGN(given.axes, list(ctx, "scan_input_axes", given.inputs()));
  RILL_ASSIGN(given.backward, list(ctx, directions, given.inputs()));
  return given;
}

Result<Value> scan_over(OnnxCtx& ctx, Scanned over) {
  Facts facts;
  for (size_t i = 0; i < over.wires.size(); ++i) {
    Fact fact = ctx.fact(over.wires[i]).without_value();
    if (i >= over.states) {
      int64_t& axis = over.axes[i - over.states];
      RILL_ASSIGN(axis, axis_in(axis, fact.rank()));
      fact.shape.erase(fact.shape.begin() + axis);
    }
    facts.push_back(std::move(fact));
  }
  RILL_ASSIGN(OnnxCtx::Body body, ctx.body("body", facts));
  const Graph& given = body.graph;
  RILL_CHECK(given.outputs.size() >= over.states, "the body has ",
             counted(given.outputs.size(), "output"), " for ", over.states, " states");
  Iterations iterations(ctx, body);
  for (size_t i = 0; i < over.wires.size(); ++i) {
    if (i < over.states) {
      iterations.take(given.inputs[i], over.wires[i], {Kind::kState, 0, 1});
    } else {
      const size_t at = i - over.states;
      const int64_t chunk = over.backward[at] != 0 ? -1 : 1;
      RILL_TRY(iterations.take_by_iteration(given.inputs[i], over.wires[i], over.axes[at], chunk));
    }
  }
  RILL_TRY(iterations.copy());
  for (size_t i = 0; i < over.states; ++i) {
    RILL_TRY(iterations.give_state(iterations.of(given.outputs[i])));
  }
  const size_t lists = given.outputs.size() - over.states;
  RILL_ASSIGN(const std::vector<int64_t> out_axes, list(ctx, "scan_output_axes", lists));
  RILL_ASSIGN(const std::vector<int64_t> prepended, list(ctx, "scan_output_directions", lists));
  for (size_t i = 0; i < lists; ++i) {
    const OutletId result = given.outputs[over.states + i];
    RILL_ASSIGN(const int64_t axis, axis_in(out_axes[i], given.fact(result).rank() + 1));
    RILL_TRY(iterations.give_list(result, axis, prepended[i] != 0 ? -1 : 1));
  }
  return iterations.run("Scan");
}

Result<Value> scan(OnnxCtx& ctx) {
  RILL_ASSIGN(Scanned over, scanned(ctx, "scan_input_directions"));
  return scan_over(ctx, std::move(over));
}

/// Read Scan of opset 8: the first axis of all inputs and outputs is a batch. Each batch entry is
/// scanned separately, along the next axis.
Result<Value> scan_of_batch(OnnxCtx& ctx) {
  RILL_ASSIGN(const Scanned whole, scanned(ctx, "directions"));
  if (ctx.given("sequence_lens")) {
    return fail(Code::kUnsupported,
                "input \"sequence_lens\": the entries of the batch have different lengths");
  }
  Formula f(ctx);
  RILL_ASSIGN(const int64_t batch, f.dim(whole.wires[0], 0).as_int());
  RILL_CHECK(batch > 0 && batch <= kMostWrittenOut, "a batch of ", batch, ": expected 1 to ",
             kMostWrittenOut);
  std::vector<std::vector<OutletId>> outs;
  for (int64_t entry = 0; entry < batch; ++entry) {
    Scanned over = whole;
    for (OutletId& wire : over.wires) {
      wire = f.without_axis(f.slice(wire, 0, Dim(entry), Dim(entry + 1)), 0);
    }
    if (!f.ok()) return f.take_status();
    RILL_ASSIGN(const Value made, scan_over(ctx, std::move(over)));
    const auto* const several = made.get<std::vector<Value>>();
    const auto results = several ? *several : std::vector<Value>{made};
    outs.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      outs[i].push_back(f.with_axis(*results[i].get<OutletId>(), 0));
    }
  }
  std::vector<OutletId> joined;
  for (const auto& rows : outs) joined.push_back(f.concat(rows, 0));
  return f.values(joined);
}

/// Return the value of a condition; nothing if it depends on data.
Result<std::optional<bool>> known_truth(const Fact& condition) {
  if (!condition.konst) return std::optional<bool>();
  const Tensor& known = *condition.konst;
  RILL_CHECK(known.dtype() == DType::kBool && known.volume() == 1, "the condition is ", condition,
             ", expected one bool");
  return std::optional(known.values<bool>()[0]);
}

/// The iteration count, condition and initial states of a loop.
struct Terms {
  std::optional<Dim> count;  ///< the maximum number of iterations
  OutletId condition;        ///< whether the first iteration runs; invalid if it always does
  std::vector<OutletId> states;
};

Result<Terms> terms_of(OnnxCtx& ctx) {
  Terms terms;
  RILL_ASSIGN(terms.states, ctx.wires("v_initial"));
  if (ctx.given("M")) {
    RILL_ASSIGN(const OutletId wire, ctx.wire("M"));
    const auto count = symbolic_value(ctx.graph(), wire);
    if (!count) return depends_on_data();
    // Exporters write the largest number for a loop that only its condition ends.
    const auto number = count->to_int();
    if (!number || *number < INT32_MAX) terms.count = number && *number < 0 ? Dim(0) : *count;
  }
  if (!ctx.given("cond")) return terms;
  RILL_ASSIGN(terms.condition, ctx.wire("cond"));
  RILL_ASSIGN(const std::optional<bool> runs, known_truth(ctx.fact(terms.condition)));
  if (!runs) return terms;
  terms.condition = {};
  if (!*runs) terms.count = Dim(0);
  return terms;
}

/// Unroll the iterations, with iteration numbers and conditions as constants.
Result<Value> written_out(OnnxCtx& ctx, const Terms& terms, int64_t count) {
  std::vector<OutletId> states = terms.states;
  std::vector<std::vector<OutletId>> lists;
  bool ends = terms.count.has_value();
  for (int64_t iteration = 0; iteration < count; ++iteration) {
    RILL_ASSIGN(const OutletId number, ctx.konst(Tensor::scalar(iteration), "iteration"));
    RILL_ASSIGN(const OutletId truth, ctx.konst(Tensor::scalar(true), "truth"));
    std::vector<OutletId> inputs = {number, truth};
    inputs.insert(inputs.end(), states.begin(), states.end());
    RILL_ASSIGN(const std::vector<OutletId> outs, ctx.branch("body", inputs));
    RILL_CHECK(outs.size() > states.size(), "the body has ", counted(outs.size(), "output"));
    const auto lists_begin = outs.begin() + 1 + static_cast<std::ptrdiff_t>(states.size());
    states.assign(outs.begin() + 1, lists_begin);
    lists.resize(static_cast<size_t>(outs.end() - lists_begin));
    for (size_t i = 0; i < lists.size(); ++i) {
      RILL_ASSIGN(
          const OutletId row,
          ctx.add1(make_op<AddAxis>(0), {lists_begin[static_cast<std::ptrdiff_t>(i)]}, "row"));
      lists[i].push_back(row);
    }
    RILL_ASSIGN(const std::optional<bool> more, known_truth(ctx.fact(outs[0])));
    if (!more) return depends_on_data();
    ends |= !*more;
    if (!*more) break;
  }
  if (!ends) return fail(Code::kUnsupported, "the loop has over ", count, " iterations");
  Formula f(ctx);
  for (const auto& rows : lists) states.push_back(f.concat(rows, 0));
  return f.values(states);
}

/// Reads a loop as a `Scan` over its iteration numbers. If data ends the loop early, the states no
/// longer change from there.
class LoopReader {
 public:
  LoopReader(OnnxCtx& ctx, const Terms& terms) : ctx_(ctx), terms_(terms) {
    counters_.resize(terms.states.size());
  }

  Result<Value> build();

 private:
  Result<OnnxCtx::Body> body();
  Status take_inputs(Iterations* iterations);
  Status take_counter(OutletId given, const Counter& counter, Iterations* iterations);
  Status give_outputs(Iterations* iterations);
  /// Insert the counters among the states of `iterations`.
  Result<Value> with_counters(std::vector<Value> given);

  OnnxCtx& ctx_;
  Terms terms_;
  /// The counters that the condition bounds, by state: functions of the iteration number.
  std::vector<std::optional<Counter>> counters_;
  OutletId numbers_;
  bool may_end_ = false;
  bool counted_ = false;
};

Result<OnnxCtx::Body> LoopReader::body() {
  // The condition is true in every iteration that runs.
  Fact truth = Fact::of(DType::kBool, {});
  truth.konst = std::make_shared<const Tensor>(Tensor::scalar(true));
  Facts facts = {Fact::of(DType::kI64, {}), truth};
  for (const OutletId& state : terms_.states) facts.push_back(ctx_.fact(state).without_value());
  RILL_ASSIGN(OnnxCtx::Body body, ctx_.body("body", facts));
  const size_t states = terms_.states.size();
  RILL_CHECK(body.graph.outputs.size() > states, "the body has ",
             counted(body.graph.outputs.size(), "output"), " for ", states,
             " states and a condition");
  for (size_t i = 0; i < states; ++i) {
    const Fact& last = body.graph.fact(body.graph.outputs[i + 1]);
    if (!last.same_type(facts[i + 2])) {
      return fail(Code::kUnsupported, "state ", static_cast<int64_t>(i), " of the loop is ",
                  facts[i + 2], " before an iteration and ", last, " after it");
    }
  }
  RILL_ASSIGN(const std::optional<bool> more,
              known_truth(body.graph.fact(body.graph.outputs[0])));
  may_end_ = terms_.condition.valid() || !more.value_or(false);
  if (may_end_) {
    auto counted =
        counted_iterations(ctx_.graph(), body, terms_.condition, terms_.states, terms_.count);
    if (counted) {
      may_end_ = false;
      counted_ = true;
      terms_.count = std::move(counted->iterations);
      counters_ = std::move(counted->counters);
    }
  }
  if (!terms_.count) return depends_on_data();
  if (!may_end_) return body;
  const auto most = terms_.count->to_int();
  if (!most || *most > kMostTried || body.graph.outputs.size() > states + 1) {
    return depends_on_data();
  }
  return body;
}

Status LoopReader::take_inputs(Iterations* iterations) {
  const Graph& given = iterations->given();
  RILL_TRY(iterations->take_by_iteration(given.inputs[0], numbers_, 0, 1));
  iterations->take_constant(given.inputs[1], Tensor::scalar(true));
  if (may_end_) {
    OutletId first = terms_.condition;
    if (!first.valid()) {
      RILL_ASSIGN(first, ctx_.konst(Tensor::scalar(true), "cond"));
    }
    RILL_CHECK(ctx_.fact(first).rank() == 0, "the condition is ", ctx_.fact(first),
               ", expected one bool");
    iterations->take({}, first, {Kind::kState, 0, 1});
  }
  for (size_t i = 0; i < terms_.states.size(); ++i) {
    if (counters_[i]) {
      RILL_TRY(take_counter(given.inputs[i + 2], *counters_[i], iterations));
    } else {
      iterations->take(given.inputs[i + 2], terms_.states[i], {Kind::kState, 0, 1});
    }
  }
  return iterations->take_rows_of(given.inputs[0], *terms_.count);
}

Status LoopReader::take_counter(OutletId given, const Counter& counter, Iterations* iterations) {
  if (counter.first == Dim(0) && counter.step == 1) {
    RILL_TRY(iterations->take_by_iteration(given, numbers_, 0, 1));
    return iterations->take_rows_of(given, *terms_.count);
  }
  Formula f(ctx_);
  const OutletId counted =
      f.plus(f.times(numbers_, f.number(Dim(counter.step), numbers_)),
             f.number(counter.first, numbers_));
  if (!f.ok()) return f.take_status();
  return iterations->take_by_iteration(given, counted, 0, 1);
}

Status LoopReader::give_outputs(Iterations* iterations) {
  const Graph& given = iterations->given();
  const size_t states = terms_.states.size();
  if (may_end_) {
    const OutletId runs = iterations->state(0);
    RILL_ASSIGN(const OutletId still, iterations->add(make_op<Binary>(BinaryKind::kAnd),
                                                      {runs, iterations->of(given.outputs[0])}));
    RILL_TRY(iterations->give_state(still));
    for (size_t i = 0; i < states; ++i) {
      RILL_ASSIGN(
          const OutletId kept,
          iterations->chosen(runs, iterations->of(given.outputs[i + 1]), iterations->state(i + 1)));
      RILL_TRY(iterations->give_state(kept));
    }
    return {};
  }
  for (size_t i = 0; i < states; ++i) {
    if (!counters_[i]) RILL_TRY(iterations->give_state(iterations->of(given.outputs[i + 1])));
  }
  for (size_t i = states + 1; i < given.outputs.size(); ++i) {
    RILL_TRY(iterations->give_list(given.outputs[i], 0, 1));
  }
  return {};
}

Result<Value> LoopReader::with_counters(std::vector<Value> given) {
  Formula f(ctx_);
  for (size_t i = 0; i < counters_.size(); ++i) {
    if (!counters_[i]) continue;
    const Dim last = counters_[i]->first + Dim(counters_[i]->step) * *terms_.count;
    given.insert(given.begin() + static_cast<std::ptrdiff_t>(i),
                 Value(f.number(last, numbers_)));
  }
  if (!f.ok()) return f.take_status();
  return Value(std::move(given));
}

Result<Value> LoopReader::build() {
  RILL_ASSIGN(const OnnxCtx::Body body, this->body());
  const auto number = counted_ ? terms_.count->to_int() : std::nullopt;
  if (number && *number >= 1 && *number <= kMostWrittenOut && !terms_.condition.valid()) {
    // Unrolled iterations stream like other nodes.
    auto plain = written_out(ctx_, terms_, *number);
    if (plain.ok()) return plain;
  }
  Formula f(ctx_);
  numbers_ = f.range(*terms_.count);
  if (!f.ok()) return f.take_status();
  const bool counts_alone = all_of(counters_, [](const auto& each) { return each; }) &&
                            body.graph.outputs.size() == counters_.size() + 1;
  if (counts_alone && !counters_.empty()) return with_counters({});
  Iterations iterations(ctx_, body);
  RILL_TRY(take_inputs(&iterations));
  RILL_TRY(iterations.copy());
  RILL_TRY(give_outputs(&iterations));
  RILL_ASSIGN(const Value out, iterations.run("Loop"));
  const auto* const several = out.get<std::vector<Value>>();
  auto wires = several ? *several : std::vector<Value>{out};
  if (may_end_) wires.erase(wires.begin());
  return with_counters(std::move(wires));
}

Result<Value> loop(OnnxCtx& ctx) {
  RILL_ASSIGN(Terms terms, terms_of(ctx));
  for (OutletId& state : terms.states) {
    // ONNX's loops compute sizes as i64.
    if (ctx.fact(state).dtype != DType::kDim) continue;
    RILL_ASSIGN(state, cast_to(ctx, state, DType::kI64));
  }
  auto out = LoopReader(ctx, terms).build();
  if (out.ok()) return out;
  const auto count = terms.count ? terms.count->to_int() : std::optional(kMostWrittenOut);
  if (terms.condition.valid() || !count || *count < 1 || *count > kMostWrittenOut) return out;
  auto plain = written_out(ctx, terms, *count);
  return plain.ok() || !terms.count ? std::move(plain) : std::move(out);
}

/// Read CumProd as a loop whose state is the running product.
Result<Value> cumulative_product(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("x");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, f.rank(x)));
  RILL_ASSIGN(const bool exclusive, ctx.boolean("exclusive"));
  RILL_ASSIGN(const bool reverse, ctx.boolean("reverse"));
  const int64_t chunk = reverse ? -1 : 1;
  Scan op;
  op.called = "CumProd";
  op.inputs = {{Kind::kScan, axis, chunk}, {Kind::kState, 0, 1}};
  op.outputs = {{0, false, axis, chunk}};
  op.state_results = {1};
  Graph iteration;
  iteration.scope = ctx.graph().scope;
  const Fact row = Scan::inner_fact(op.inputs[0], f.fact(x));
  const OutletId factor = iteration.add_source("x", row);
  const OutletId before = iteration.add_source("product", row);
  RILL_ASSIGN(const std::vector<OutletId> next,
              iteration.add("next", make_op<Binary>(BinaryKind::kMul), {before, factor}));
  iteration.add_output("y", exclusive ? before : next[0]);
  iteration.add_output("last", next[0]);
  op.body = std::make_shared<const Graph>(std::move(iteration));
  const OutletId first = f.broadcast(f.number(1.0, x), row.shape);
  return f.value(f.add(make_op<Scan>(std::move(op)), {x, first}));
}

const OnnxOp kOps[] = {
    {"", 26,
     "fragment CumProd(x: tensor<?>, axis: tensor<integer>, exclusive: logical = false, "
     "reverse: logical = false) -> (y: tensor<?>);",
     cumulative_product},
    {"", 1, "fragment Loop(M: tensor<integer> = false, cond: tensor<logical> = false, "
            "v_initial: tensor<?>[] = [], body: ?) -> (v_final_and_scan_outputs: tensor<?>[]);",
     loop},
    {"", 8,
     "fragment Scan(sequence_lens: tensor<integer> = false, "
     "initial_state_and_scan_inputs: tensor<?>[], body: ?, num_scan_inputs: integer, "
     "directions: integer[] = []) -> (final_state_and_scan_outputs: tensor<?>[]);",
     scan_of_batch},
    {"", 9,
     "fragment Scan(initial_state_and_scan_inputs: tensor<?>[], body: ?, num_scan_inputs: integer, "
     "scan_input_axes: integer[] = [], scan_input_directions: integer[] = [], "
     "scan_output_axes: integer[] = [], scan_output_directions: integer[] = []) "
     "-> (final_state_and_scan_outputs: tensor<?>[]);",
     scan},
};

}  // namespace

extern const OnnxModule scan_onnx;
const OnnxModule scan_onnx = {"scan", kOps};

}  // namespace rill::ops
