#include "ops/control/scan.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/dim/pattern.h"
#include "core/exec/lowering.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/graph/fingerprint.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/optim/optim.h"
#include "core/run/index_step.h"
#include "ops/control/loop_sum.h"
#include "ops/control/recognise.h"
#include "ops/control/scan_hoist.h"
#include "ops/control/scan_lower.h"

namespace rill::ops {

using Kind = Scan::Input::Kind;

void Scan::fields(FieldVisitor& visitor) {
  visitor.field("skip", skip);
  visitor.field("reset_every_turn", reset_every_turn);
  visitor.field("external_state", external_state);
  visitor.field("limit", limit);
}

std::string Scan::attributes() const {
  std::string out = str_cat("skip=", skip, " limit=", limit, " reset=", reset_every_turn,
                            external_state ? " external=true" : "", " body=", identity(*body));
  for (const Input& in : inputs) {
    out += str_cat(" in(", static_cast<int>(in.kind), ",", in.axis, ",", in.chunk, ")");
  }
  for (const Output& o : outputs)
    out += str_cat(" out(", o.result, ",", o.last, ",", o.axis, ",", o.chunk, ")");
  for (const int r : state_results) out += str_cat(" state(", r, ")");
  return out;
}

OpPtr Scan::with_symbol(std::string_view symbol, const Dim& by) const {
  bool mentions = false;
  for (const Node& node : body->nodes) {
    for (const Fact& fact : node.outputs) mentions |= fact.mentions(symbol);
    mentions |= node.op->with_symbol(symbol, by) != nullptr;
  }
  if (!mentions && !limit.mentions(symbol)) return nullptr;
  auto copy = draft_op<Scan>(*this);
  copy->limit = limit.substitute(symbol, by);
  if (!mentions) return copy;
  Graph open = *body;
  // The outer graph checks its own assertions. Here, a number may be the frames of a pulse, which
  // the assertions do not describe.
  if (by.is_const()) open.scope.remove(symbol);
  auto bound = open.with_symbol(symbol, by);
  if (!bound.ok()) {
    copy->misfit_ = bound.error();
    return copy;
  }
  copy->body = std::make_shared<const Graph>(std::move(bound).value());
  return copy;
}

Fact Scan::inner_fact(const Input& input, const Fact& outer) {
  Fact fact = outer.without_value();
  if (input.kind == Kind::kScan && input.axis >= 0 && input.axis < fact.rank()) {
    fact.shape[static_cast<size_t>(input.axis)] = std::abs(input.chunk);
  }
  return fact;
}

Dim Scan::iterations(FactSpan in) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != Kind::kScan) continue;
    return ceil_div(in[i].dim(static_cast<int>(inputs[i].axis)), std::abs(inputs[i].chunk));
  }
  return 0;
}

namespace {

/// Return whether two extents, clamped to 0, are equal at every length, such as min(S, 2*(S/2)) and
/// 2*(S/2).
bool are_alike(const Dim& a, const Dim& b) {
  std::vector<std::string> symbols;
  a.collect_symbols(&symbols);
  b.collect_symbols(&symbols);
  if (symbols.size() != 1) return false;
  const auto difference = DimPattern::of(max(Dim(0), a) - max(Dim(0), b), symbols[0]);
  if (!difference.ok()) return false;
  const auto least = difference->least(1);
  const auto greatest = difference->greatest(1);
  return least.ok() && greatest.ok() && *least == 0 && *greatest == 0;
}

/// Return whether two shapes differ only by symbols, as in min(1, S) and 1.
bool may_become(const Fact& open, const Fact& known) {
  if (open.dtype != known.dtype || !(open.q == known.q) || open.rank() != known.rank())
    return false;
  for (int axis = 0; axis < open.rank(); ++axis) {
    const Dim& extent = open.dim(axis);
    const bool decided = extent.is_const() || !known.dim(axis).is_const();
    if (decided && !(extent == known.dim(axis)) && !are_alike(extent, known.dim(axis))) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Facts> Scan::infer(FactSpan in) const {
  if (!misfit_.ok()) return misfit_.error();
  RILL_CHECK(in.size() == inputs.size() && in.size() == body->inputs.size(),
             counted(in.size(), "input"), " for a body of ", body->inputs.size());
  bool scans = false;
  std::optional<int64_t> common;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    if (input.kind == Kind::kScan) {
      scans = true;
      RILL_CHECK(input.axis >= 0 && input.axis < in[i].rank(), "no axis ", input.axis, " in ",
                 in[i]);
      RILL_CHECK(input.chunk != 0 && input.chunk > INT32_MIN && input.chunk < INT32_MAX, "chunk ",
                 input.chunk);
      const auto frames = in[i].dim(static_cast<int>(input.axis)).to_int();
      RILL_CHECK(!frames || *frames % std::abs(input.chunk) == 0, "chunk ", input.chunk,
                 " does not divide the ", counted(*frames, "frame"), " of input ", i);
      const auto own = frames ? std::optional(*frames / std::abs(input.chunk)) : std::nullopt;
      RILL_CHECK(!common || !own || *common == *own, "scanned input \"", body->input_name(i),
                 "\" is read in ", counted(*own, "iteration"), ", earlier ones in ", *common);
      if (own) common = own;
    }
    const Fact expected = body->fact(body->inputs[i]);
    const Fact found = inner_fact(input, in[i]);
    if (!expected.same_type(found) && !may_become(found, expected) &&
        !may_become(expected, found)) {
      return fail(expected.dtype == found.dtype ? Code::kShape : Code::kDType, "body input \"",
                  body->input_name(i), "\" is ", expected, ", found ", found);
    }
  }
  RILL_CHECK(scans, "expected at least one scanned input");
  const Dim count = iterations(in);
  Facts out;
  for (const Output& output : outputs) {
    Fact fact = body->fact(body->outputs[static_cast<size_t>(output.result)]).without_value();
    if (!output.last) {
      RILL_CHECK(output.axis >= 0 && output.axis < fact.rank(), "no axis ", output.axis, " in ",
                 fact);
      fact.shape[static_cast<size_t>(output.axis)] *= count;
    }
    out.push_back(std::move(fact));
  }
  return out;
}

OpPtr Scan::stateless() const {
  if (reset_every_turn || !(limit == Dim(0))) return nullptr;
  auto op = draft_op<Scan>(*this);
  op->reset_every_turn = true;
  return op;
}

bool Scan::repeatable() const {
  if (!reset_every_turn || !(limit == Dim(0))) return false;
  const Graph iteration = body->stateless();
  return all_of(iteration.nodes,
                [](const Node& node) { return node.op->as<Source>() || node.op->repeatable(); });
}

/// The reference implementation prepares a plan of this node alone; steps run the lowered loop.
RILL_NOT_IN_STEPS_BEGIN
Status Scan::eval(EvalCtx& ctx) const {
  Graph graph;
  std::vector<OutletId> sources;
  for (const View& view : ctx.in) {
    Fact fact{view.dtype, view.q, {}, {}};
    for (int i = 0; i < view.rank; ++i) fact.shape.emplace_back(view.extent(i));
    sources.push_back(graph.add_source("in", std::move(fact)));
  }
  RILL_ASSIGN(const auto outlets, graph.add("scan", clone(), sources));
  for (const OutletId& outlet : outlets) graph.add_output("out", outlet);
  PrepareOptions options;
  options.optimize = false;
  RILL_ASSIGN(auto plan, prepare(graph, options));
  RILL_ASSIGN(auto session, Session::make(std::move(plan)));
  for (size_t i = 0; i < ctx.in.size(); ++i) copy_view(ctx.in[i], session->input(i));
  session->step();
  RILL_TRY(check_computed_indices(*session).status());
  for (size_t i = 0; i < ctx.out.size(); ++i) copy_view(session->output(i), ctx.out[i]);
  return {};
}
RILL_NOT_IN_STEPS_END

Status Scan::lower(Lowering& lowering) const { return lower_scan(*this, lowering); }

/// A loop that runs once and does not keep its states is replaced by its body.
Status Scan::dissolve(Rewrite& rewrite) const {
  const Node& node = rewrite.node();
  std::map<OutletId, OutletId> mapped;
  for (size_t i = 0; i < body->inputs.size(); ++i) {
    mapped[body->inputs[i]] = rewrite.mapped(node.inputs[i]);
  }
  for (size_t id = 0; id < body->nodes.size(); ++id) {
    const Node& each = body->nodes[id];
    const OutletId own{static_cast<int>(id), 0};
    const std::string name = str_cat(node.name, ".", each.name);
    if (each.op->as<Source>()) continue;
    if (const auto* constant = each.op->as<Const>()) {
      mapped[own] = rewrite.konst(name, *constant->value);
      continue;
    }
    std::vector<OutletId> wires;
    for (const OutletId& input : each.inputs) wires.push_back(mapped.at(input));
    RILL_ASSIGN(const auto outlets, rewrite.wire(name, each.op, wires));
    for (size_t slot = 0; slot < outlets.size(); ++slot) {
      mapped[{own.node, static_cast<int>(slot)}] = outlets[slot];
    }
  }
  std::vector<OutletId> out;
  for (const Output& output : outputs) {
    out.push_back(mapped.at(body->outputs[static_cast<size_t>(output.result)]));
  }
  return rewrite.replace(out);
}

bool Scan::is_its_body(const Rewrite& rewrite) const {
  if (skip != 0 || !(limit == Dim(0))) return false;
  // Any other loop stays a loop even for one frame, as in a short stream or a pulse of one, so that
  // its fused body has the same bits at every length.
  if (!external_state) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != Kind::kScan) continue;
    const Dim& frames = rewrite.in(static_cast<int>(i)).dim(static_cast<int>(inputs[i].axis));
    if (!(frames == Dim(std::abs(inputs[i].chunk)))) return false;
  }
  return true;
}

Status Scan::declutter(Rewrite& rewrite) const {
  if (is_its_body(rewrite)) return dissolve(rewrite);
  if (settled_) {
    RILL_TRY(start_at_zero(*this, rewrite));
    return rewrite.replacement() ? Status() : hoist_slices(*this, rewrite);
  }
  auto simpler = draft_op<Scan>(*this);
  RILL_ASSIGN(Graph settled, rill::declutter(*body));
  simpler->body = std::make_shared<const Graph>(std::move(settled));
  simpler->settled_ = true;
  return rewrite.replace_by(simpler, rewrite.mapped_inputs(rewrite.node()));
}

Status Scan::fuse(Rewrite& rewrite) const {
  RILL_TRY(fuse_recurrent(*this, rewrite));
  if (!rewrite.replacement()) RILL_TRY(fuse_sum(*this, rewrite));
  if (rewrite.replacement() || fused_) return {};
  auto faster = draft_op<Scan>(*this);
  Graph known = *body;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != Kind::kFull) continue;
    known.nodes[static_cast<size_t>(body->inputs[i].node)].outputs[0].konst =
        rewrite.in(static_cast<int>(i)).konst;
  }
  RILL_ASSIGN(Graph fused, rill::fuse(known, -1, rewrite.few_bits()));
  faster->body = std::make_shared<const Graph>(std::move(fused));
  faster->fused_ = true;
  return rewrite.replace_by(faster, rewrite.mapped_inputs(rewrite.node()));
}

Cost Scan::cost(FactSpan in, FactSpan) const {
  Cost total;
  for (const Node& node : body->nodes) {
    Facts facts;
    for (const OutletId& input : node.inputs) facts.push_back(body->fact(input));
    if (facts.empty()) continue;
    const Cost one = node.op->cost(facts, node.outputs);
    total.fma += one.fma;
    total.bytes += one.bytes;
  }
  const Dim count = iterations(in);
  return {total.fma * count, total.bytes * count};
}

Status Scan::save(SaveCtx& ctx) const {
  ctx.need_registry("tract_core");
  RILL_ASSIGN(const std::string fragment, ctx.body(*body));
  std::string scan;
  std::string full;
  std::string state;
  std::string output;
  const auto item = [](std::string* list, const std::string& text) {
    if (!list->empty()) *list += ", ";
    *list += text;
  };
  size_t states = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    RILL_ASSIGN(const std::string wire, ctx.in(static_cast<int>(i)));
    RILL_ASSIGN(const std::string parameter, ctx.body_input(*body, i));
    switch (inputs[i].kind) {
      case Kind::kFull:
        item(&full, str_cat("(\"", parameter, "\", ", wire, ")"));
        break;
      case Kind::kScan:
        item(&scan, str_cat("(\"", parameter, "\", ", wire, ", ", inputs[i].axis, ", ",
                            inputs[i].chunk, ")"));
        break;
      case Kind::kState: {
        RILL_ASSIGN(const std::string result,
                    ctx.body_output(*body, static_cast<size_t>(state_results[states++])));
        item(&state, str_cat("(\"", parameter, "\", ", wire, ", \"", result, "\")"));
        break;
      }
    }
  }
  for (const Output& o : outputs) {
    RILL_ASSIGN(const std::string result, ctx.body_output(*body, static_cast<size_t>(o.result)));
    item(&output, str_cat("(\"", result, "\", \"", o.last ? "last" : "full", "\", ", o.axis, ", ",
                          o.chunk, ")"));
  }
  ctx.assign_all(str_cat("tract_core_scan(body = \"", fragment, "\", scan = [", scan, "], full = [",
                         full, "], state = [", state, "], output = [", output, "], skip = ", skip,
                         ", reset_every_turn = ", reset_every_turn ? 1 : 0,
                         ", external_state = ", external_state ? 1 : 0,
                         limit == Dim(0) ? "" : str_cat(", limit = ", ctx.dim(limit)), ")"));
  return {};
}

namespace {

struct Tuple {
  const std::vector<Value>* items = nullptr;
  Result<std::string> text(size_t i) const {
    const auto* found = i < items->size() ? (*items)[i].get<std::string>() : nullptr;
    if (!found) return fail(Code::kArg, "expected a text at place ", i + 1, " of a tuple");
    return *found;
  }
  Result<OutletId> wire(LoadCtx& ctx, size_t i) const {
    if (i >= items->size())
      return fail(Code::kArg, "expected a wire at place ", i + 1, " of a tuple");
    return ctx.to_wire((*items)[i]);
  }
  Result<int64_t> integer(LoadCtx& ctx, size_t i) const {
    if (i >= items->size())
      return fail(Code::kArg, "expected a number at place ", i + 1, " of a tuple");
    RILL_ASSIGN(const Dim dim, ctx.to_dim((*items)[i]));
    return dim.as_int();
  }
};

Result<std::vector<Tuple>> tuples(const Value& value, const char* what) {
  const auto* list = value.get<std::vector<Value>>();
  if (!list) return fail(Code::kArg, what, ": expected a list of tuples");
  std::vector<Tuple> out;
  for (const Value& each : *list) {
    const auto* items = each.get<std::vector<Value>>();
    if (!items) return fail(Code::kArg, what, ": expected a list of tuples");
    out.push_back({items});
  }
  return out;
}

/// Names match exactly, or with all characters other than letters and digits as `_`.
bool same_name(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto mangled = [](std::string_view text) {
    std::string out;
    for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (!out.empty() && !std::isalpha(static_cast<unsigned char>(out[0])) && out[0] != '_')
      out = "_" + out;
    return out;
  };
  return mangled(a) == mangled(b);
}

Result<int> result_index(std::span<const std::string> results, const std::string& name) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (same_name(results[i], name)) return static_cast<int>(i);
  }
  return fail(Code::kArg, "the body has no result \"", name, "\"; its results are ",
              join(results, ", "));
}

struct Wiring {
  Scan op;
  std::vector<OutletId> inputs;
};

Status find_parameter(LoadCtx& ctx, const std::string& parameter, const std::vector<Tuple>& scan,
                      const std::vector<Tuple>& full, const std::vector<Tuple>& state,
                      Wiring* wiring) {
  for (const Tuple& tuple : scan) {
    RILL_ASSIGN(const std::string name, tuple.text(0));
    if (!same_name(name, parameter)) continue;
    RILL_ASSIGN(const OutletId wire, tuple.wire(ctx, 1));
    Scan::Input input{Kind::kScan, 0, 1};
    RILL_ASSIGN(input.axis, tuple.integer(ctx, 2));
    RILL_ASSIGN(input.chunk, tuple.integer(ctx, 3));
    wiring->inputs.push_back(wire);
    wiring->op.inputs.push_back(input);
    return {};
  }
  for (const auto& [list, kind] :
       {std::pair{&full, Kind::kFull}, std::pair{&state, Kind::kState}}) {
    for (const Tuple& tuple : *list) {
      RILL_ASSIGN(const std::string name, tuple.text(0));
      if (!same_name(name, parameter)) continue;
      RILL_ASSIGN(const OutletId wire, tuple.wire(ctx, 1));
      wiring->inputs.push_back(wire);
      wiring->op.inputs.push_back({kind, 0, 1});
      return {};
    }
  }
  return fail(Code::kArg, "Unbound body input parameter \"", parameter, "\"");
}

Status read_outputs(LoadCtx& ctx, const std::vector<Tuple>& output,
                    std::span<const std::string> results, Scan* op) {
  for (const Tuple& tuple : output) {
    Scan::Output out;
    RILL_ASSIGN(const std::string name, tuple.text(0));
    RILL_ASSIGN(out.result, result_index(results, name));
    RILL_ASSIGN(const std::string how, tuple.text(1));
    if (how != "full" && how != "last") {
      return fail(Code::kArg, "output \"", name, "\" as \"", how, "\": expected full or last");
    }
    out.last = how == "last";
    RILL_ASSIGN(out.axis, tuple.integer(ctx, 2));
    if (tuple.items->size() > 3) {
      RILL_ASSIGN(out.chunk, tuple.integer(ctx, 3));
    }
    op->outputs.push_back(out);
  }
  return {};
}

/// Fail unless the body outputs each state with the type and shape of its input.
Status check_states(const Scan& op, const Graph& body, std::span<const std::string> parameters,
                    const Facts& facts) {
  size_t states = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].kind != Kind::kState) continue;
    if (states >= op.state_results.size()) return fail(Code::kArg, "a state without a result");
    const Fact& next = body.fact(body.outputs[static_cast<size_t>(op.state_results[states++])]);
    if (!next.same_type(facts[i])) {
      return fail(Code::kShape, "state \"", parameters[i], "\" is ", facts[i], " at first and ",
                  next, " afterwards");
    }
  }
  return {};
}

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const std::string fragment, ctx.text("body"));
  RILL_ASSIGN(const auto parameters, ctx.fragment_parameters(fragment));
  RILL_ASSIGN(const auto results, ctx.fragment_results(fragment));
  RILL_ASSIGN(const Value scan_value, ctx.value("scan"));
  RILL_ASSIGN(const Value full_value, ctx.value("full"));
  RILL_ASSIGN(const Value state_value, ctx.value("state"));
  RILL_ASSIGN(const Value output_value, ctx.value("output"));
  RILL_ASSIGN(const auto scan, tuples(scan_value, "scan"));
  RILL_ASSIGN(const auto full, tuples(full_value, "full"));
  RILL_ASSIGN(const auto state, tuples(state_value, "state"));
  RILL_ASSIGN(const auto output, tuples(output_value, "output"));
  Wiring wiring;
  Facts facts;
  for (const std::string& parameter : parameters) {
    RILL_TRY(find_parameter(ctx, parameter, scan, full, state, &wiring));
    facts.push_back(Scan::inner_fact(wiring.op.inputs.back(), ctx.fact(wiring.inputs.back())));
  }
  // Result j of the named ones updates state j, counted among the parameters.
  std::vector<int> stated;
  for (const Tuple& tuple : state) {
    RILL_ASSIGN(const std::string name, tuple.text(2));
    RILL_ASSIGN(const int result, result_index(results, name));
    stated.push_back(result);
  }
  sort_list(stated);
  wiring.op.state_results = stated;
  RILL_TRY(read_outputs(ctx, output, results, &wiring.op));
  RILL_ASSIGN(wiring.op.skip, ctx.integer("skip"));
  RILL_ASSIGN(wiring.op.reset_every_turn, ctx.boolean("reset_every_turn"));
  RILL_ASSIGN(wiring.op.external_state, ctx.boolean("external_state"));
  RILL_ASSIGN(wiring.op.limit, ctx.dim("limit"));
  RILL_CHECK(wiring.op.skip >= 0, "skip ", wiring.op.skip, ": expected none below 0");
  RILL_ASSIGN(Graph body, ctx.fragment_graph(fragment, facts));
  RILL_TRY(check_states(wiring.op, body, parameters, facts));
  wiring.op.body = std::make_shared<const Graph>(std::move(body));
  RILL_ASSIGN(const auto outlets,
              ctx.add(make_op<Scan>(std::move(wiring.op)), std::move(wiring.inputs)));
  return Value::of_wires(outlets);
}

const NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_scan(body: string, scan: (string, tensor<scalar>, integer, integer)[], "
     "full: (string, tensor<scalar>)[], state: (string, tensor<scalar>, string)[], "
     "output: (string, string, integer, integer)[], skip: integer = 0, "
     "reset_every_turn: logical = false, external_state: logical = false, limit: integer = 0) "
     "-> (outputs: tensor<scalar>[]);",
     load}};

}  // namespace

extern const OpModule scan_module;
const OpModule scan_module = {"scan", kOps};

}  // namespace rill::ops
