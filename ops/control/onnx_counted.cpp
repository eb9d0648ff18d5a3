#include "ops/control/onnx_counted.h"

#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

/// The number of inputs of the body before its states: iteration number and condition. The body has
/// one output before its states: the condition.
constexpr size_t kTerms = 2;

bool is_integer(const Fact& fact) {
  return fact.rank() == 0 && (fact.dtype == DType::kI64 || fact.dtype == DType::kDim);
}

TensorPtr& value_of(Graph& graph, OutletId input) {
  return graph.nodes[static_cast<size_t>(input.node)].outputs[0].konst;
}

/// Set the value of a graph's input for tracing sizes. The graph serves no other purpose.
void know(Graph& graph, OutletId input, const Dim& value) {
  value_of(graph, input) = std::make_shared<const Tensor>(Tensor::scalar(value));
}

void forget(Graph& graph, OutletId input) { value_of(graph, input) = nullptr; }

/// Return the expression that is >= 0 if and only if a comparison holds; nothing for other values.
std::optional<Dim> compared(const Dim& truth) {
  const DimSum* sum = truth.sum();
  if (!sum || sum->terms.size() != 1 || sum->terms[0].factors.size() != 1) return {};
  const DimAtom& atom = *sum->terms[0].factors[0];
  if (atom.kind != DimAtom::Kind::kGe) return {};
  const int64_t coefficient = sum->terms[0].coefficient;
  if (sum->constant == 0 && coefficient == 1) return atom.args[0] - atom.args[1];
  if (sum->constant == 1 && coefficient == -1) return atom.args[1] - atom.args[0] - Dim(1);
  return {};
}

}  // namespace

std::optional<CountedIterations> counted_iterations(const Graph& outer, const OnnxCtx::Body& body,
                                          OutletId condition, std::span<const OutletId> states,
                                          const std::optional<Dim>& most) {
  Graph probe = body.graph;
  const size_t own = probe.inputs.size() - body.captured.size();
  for (size_t i = own; i < probe.inputs.size(); ++i) {
    if (probe.fact(probe.inputs[i]).konst || !is_integer(probe.fact(probe.inputs[i]))) continue;
    if (const auto value = symbolic_value(outer, body.captured[i - own])) {
      know(probe, probe.inputs[i], *value);
    }
  }
  const std::string name = outer.scope.fresh("iteration");
  const Dim iteration = Dim::symbol(name);
  CountedIterations out;
  out.counters.resize(states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    if (!is_integer(outer.fact(states[i]))) continue;
    const auto first = symbolic_value(outer, states[i]);
    if (!first) continue;
    know(probe, probe.inputs[kTerms + i], iteration);
    const auto next = symbolic_value(probe, probe.outputs[1 + i]);
    forget(probe, probe.inputs[kTerms + i]);
    const auto step = next ? (*next - iteration).to_int() : std::nullopt;
    if (step) out.counters[i] = {*first, *step};
  }
  know(probe, probe.inputs[0], iteration);
  for (size_t i = 0; i < states.size(); ++i) {
    if (const auto& each = out.counters[i]) {
      know(probe, probe.inputs[kTerms + i], each->first + Dim(each->step) * iteration);
    }
  }
  const auto continues = symbolic_value(probe, probe.outputs[0]);
  const auto left = continues ? compared(*continues) : std::nullopt;
  if (!left) return {};
  // The remainder decreases by the same amount in each iteration, and the loop ends when it is
  // negative.
  const auto falls = (*left - left->substitute(name, iteration + Dim(1))).to_int();
  if (!falls || *falls <= 0) return {};
  const Dim after_first = left->substitute(name, Dim(0));
  const Dim more = floor_div(after_first, *falls) + Dim(1);
  auto runs = condition.valid() ? symbolic_value(outer, condition) : std::optional(Dim(1));
  if (!runs) return {};
  runs = outer.scope.simplify(*runs);
  if (runs->is_const()) {
    out.iterations = *runs == Dim(0) ? Dim(0) : Dim(1) + max(Dim(0), more);
  } else {
    // The first iteration must depend on the same comparison as all others.
    const auto before_first = compared(*runs);
    if (!before_first || !(*before_first - after_first == Dim(*falls))) return {};
    out.iterations = max(Dim(0), Dim(1) + more);
  }
  if (most) out.iterations = min(*most, out.iterations);
  out.iterations = outer.scope.simplify(out.iterations);
  bool in_range = out.iterations.valid();
  for (const auto& each : out.counters) {
    in_range &= !each || (each->first + Dim(each->step) * out.iterations).valid();
  }
  return in_range ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace rill::ops
