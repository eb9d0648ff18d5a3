#include <limits>
#include <map>
#include <optional>

#include "ops/array/cast.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/stable.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

/// The maximum number of nodes between a logarithm and its exponentials: several times as many as
/// hand-written sums have. Larger sums stay unchanged.
constexpr size_t kMostNodes = 512;

/// Return the producer of a wire, upstream of operators that only move frames.
OutletId source_of_moves(const Graph& graph, OutletId wire) {
  while (only_moves(*graph.node(wire.node).op)) wire = graph.node(wire.node).inputs[0];
  return wire;
}

bool is_maximum(const Op& op) {
  return op.name() == Reduce(ReduceKind::kMax, {}).name() ||
         op.name() == Binary(BinaryKind::kMax).name();
}

double largest(DType type) {
  if (type == DType::kF16) return 65504.0;
  if (type == DType::kBF16) return 0x1.FEp127;
  return type == DType::kF64 ? std::numeric_limits<double>::max()
                             : static_cast<double>(std::numeric_limits<float>::max());
}

/// Rewrites a sum of exp(x - maximum) to use a finite maximum.
class Sums {
 public:
  Sums(Rewrite* rewrite, OutletId maximum) : rewrite_(*rewrite), maximum_(maximum) {}

  /// Return a copy of a wire with the finite maximum; nothing if no such exponential is upstream.
  Result<std::optional<OutletId>> finite(OutletId wire) {
    const auto known = made_.find(wire);
    if (known != made_.end()) return known->second;
    is_too_large_ |= made_.size() >= kMostNodes;
    if (is_too_large_) return std::optional<OutletId>();
    // A graph has no cycles: the wire's inputs do not lead back to it.
    made_[wire] = std::nullopt;
    RILL_ASSIGN(const std::optional<OutletId> out, written(wire));
    made_[wire] = out;
    return out;
  }
  bool is_too_large() const { return is_too_large_; }

 private:
  Result<std::optional<OutletId>> written(OutletId wire) {
    const Graph& graph = rewrite_.old_graph();
    const Node& node = graph.node(wire.node);
    if (is_power(node)) {
      RILL_ASSIGN(const OutletId power, finite_power(node));
      return std::optional(power);
    }
    if (!is_of_sum(*node.op)) return std::optional<OutletId>();
    std::vector<OutletId> inputs = rewrite_.mapped_inputs(node);
    bool changed = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      RILL_ASSIGN(const std::optional<OutletId> input, finite(node.inputs[i]));
      if (!input) continue;
      inputs[i] = *input;
      changed = true;
    }
    if (!changed) return std::optional<OutletId>();
    RILL_ASSIGN(const OutletId out,
                rewrite_.wire1(node.name + "_finite", node.op->clone(), inputs));
    return std::optional(out);
  }

  static bool is_of_sum(const Op& op) {
    return only_moves(op) || op.name() == Unary(UnaryKind::kLn).name() ||
           op.name() == Reduce(ReduceKind::kSum, {}).name() ||
           op.name() == Binary(BinaryKind::kAdd).name() ||
           op.name() == Binary(BinaryKind::kMul).name();
  }

  bool is_power(const Node& node) const {
    if (node.op->name() != Unary(UnaryKind::kExp).name()) return false;
    const Node& difference = rewrite_.old_graph().node(node.inputs[0].node);
    return difference.op->name() == Binary(BinaryKind::kSub).name() &&
           difference.inputs[1] == maximum_;
  }

  Result<OutletId> finite_power(const Node& power) {
    const Node& difference = rewrite_.old_graph().node(power.inputs[0].node);
    RILL_ASSIGN(const OutletId maximum, finite_maximum());
    RILL_ASSIGN(const OutletId shifted,
                rewrite_.wire1(difference.name + "_finite", difference.op->clone(),
                               {rewrite_.mapped(difference.inputs[0]), maximum}));
    return rewrite_.wire1(power.name + "_finite", power.op->clone(), {shifted});
  }

  Result<OutletId> finite_maximum() {
    const Fact& fact = rewrite_.old_graph().fact(maximum_);
    const std::string& name = rewrite_.node().name;
    const auto limit = [&](std::string_view suffix, double number) -> Result<OutletId> {
      const std::vector<int64_t> units(static_cast<size_t>(fact.rank()), 1);
      RILL_ASSIGN(Tensor value, Tensor::zeros(DType::kF64, units));
      value.mutable_data<double>()[0] = number;
      RILL_ASSIGN(value, cast(value, fact.dtype));
      return rewrite_.konst(str_cat(name, suffix), std::move(value));
    };
    RILL_ASSIGN(const OutletId least, limit("_least", -largest(fact.dtype)));
    RILL_ASSIGN(const OutletId most, limit("_most", largest(fact.dtype)));
    RILL_ASSIGN(const OutletId above,
                rewrite_.wire1(name + "_above", make_op<Binary>(BinaryKind::kMax),
                               {rewrite_.mapped(maximum_), least}));
    return rewrite_.wire1(name + "_maximum", make_op<Binary>(BinaryKind::kMin), {above, most});
  }

  Rewrite& rewrite_;
  OutletId maximum_;
  bool is_too_large_ = false;
  std::map<OutletId, std::optional<OutletId>> made_;
};

}  // namespace

Status stable_shift(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  for (int i = 0; i < 2; ++i) {
    const OutletId maximum = source_of_moves(graph, rewrite.input(i));
    const OutletId log = source_of_moves(graph, rewrite.input(1 - i));
    if (!is_maximum(*graph.node(maximum.node).op)) continue;
    if (graph.node(log.node).op->name() != Unary(UnaryKind::kLn).name()) continue;
    Sums sums(&rewrite, maximum);
    RILL_ASSIGN(const std::optional<OutletId> finite, sums.finite(rewrite.input(1 - i)));
    if (!finite || sums.is_too_large()) continue;
    std::vector<OutletId> inputs = rewrite.mapped_inputs(rewrite.node());
    inputs[static_cast<size_t>(1 - i)] = *finite;
    return rewrite.replace_by(rewrite.node().op->clone(), inputs);
  }
  return {};
}

}  // namespace rill::ops
