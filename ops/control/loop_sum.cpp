#include "ops/control/loop_sum.h"

#include <cstdlib>
#include <optional>

#include "core/base/search.h"
#include "ops/array/broadcast.h"
#include "ops/built.h"
#include "ops/control/scan.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

bool is_zero(const TensorPtr& tensor) {
  if (!tensor) return false;
  for (int64_t i = 0; i < tensor->volume(); ++i) {
    const auto value = element_as_double(*tensor, i);
    if (!value.ok() || *value != 0.0) return false;
  }
  return true;
}

bool is_binary(const Node& node, BinaryKind kind) {
  const auto* binary = node.op->as<Binary>();
  return binary && binary->kind_of == kind;
}

/// Return whether an input is a frame minus itself.
bool is_less_itself(const Rewrite& rewrite, int input) {
  const Node& node = rewrite.producer(input);
  return is_binary(node, BinaryKind::kSub) && node.inputs[0] == node.inputs[1];
}

/// Return whether a state that starts with this input starts with zero.
bool begins_with_zero(const Rewrite& rewrite, int input) {
  if (is_zero(rewrite.in(input).konst) || is_less_itself(rewrite, input)) return true;
  return rewrite.producer_as<Broadcast>(input) &&
         is_zero(rewrite.old_graph().fact(rewrite.producer(input).inputs[0]).konst);
}

/// Return whether the body only adds its two inputs.
bool adds(const Graph& body, int result) {
  const OutletId sum = body.outputs[static_cast<size_t>(result)];
  const Node& node = body.node(sum.node);
  if (!is_binary(node, BinaryKind::kAdd) || body.inputs.size() != 2) return false;
  return (node.inputs[0] == body.inputs[0] && node.inputs[1] == body.inputs[1]) ||
         (node.inputs[0] == body.inputs[1] && node.inputs[1] == body.inputs[0]);
}

/// Return the input whose frames a loop sums; nothing for other loops.
std::optional<int> summed_input(const Scan& scan, const Rewrite& rewrite) {
  if (scan.inputs.size() != 2 || scan.outputs.size() != 1 || scan.skip != 0 ||
      scan.external_state || !(scan.limit == Dim(0))) {
    return std::nullopt;
  }
  const int scanned = scan.inputs[0].kind == Kind::kScan ? 0 : 1;
  const Scan::Input& frames = scan.inputs[static_cast<size_t>(scanned)];
  const Scan::Output& out = scan.outputs[0];
  const bool pair = frames.kind == Kind::kScan &&
                    scan.inputs[static_cast<size_t>(1 - scanned)].kind == Kind::kState;
  if (!pair || std::abs(frames.chunk) != 1 || out.last || out.axis != frames.axis ||
      out.chunk != frames.chunk || !adds(*scan.body, out.result) ||
      scan.body->outputs[static_cast<size_t>(scan.state_results[0])] !=
          scan.body->outputs[static_cast<size_t>(out.result)]) {
    return std::nullopt;
  }
  const Fact& x = rewrite.in(scanned);
  if (x.dtype != rewrite.out().dtype || x.shape != rewrite.out().shape ||
      !begins_with_zero(rewrite, 1 - scanned)) {
    return std::nullopt;
  }
  return scanned;
}

/// As above, but only for loops that an operator can replace. A loop rounds f16 sums in every
/// iteration, an operator only once.
std::optional<int> replaced_input(const Scan& scan, const Rewrite& rewrite) {
  const auto scanned = summed_input(scan, rewrite);
  const DType type = rewrite.out().dtype;
  const bool alike = type == DType::kF32 || type == DType::kF64 || is_int(type);
  return alike ? scanned : std::nullopt;
}

CumSum sum_of(const Scan& scan, int scanned) {
  const Scan::Input& frames = scan.inputs[static_cast<size_t>(scanned)];
  CumSum sum(frames.axis);
  sum.reverse = frames.chunk < 0;
  return sum;
}

/// A loop that is computed as a sum. Created by `fuse` only.
/// Source: CumSum; tract counts such a loop as Scan.
class SummedLoop final : public OpBase<SummedLoop> {
 public:
  explicit SummedLoop(CumSum of) : sum_(std::move(of)) {}
  std::string_view name() const override { return "Scan"; }
  void fields(FieldVisitor& visitor) override { sum_.fields(visitor); }
  Result<Facts> infer(FactSpan in) const override { return sum_.infer(in); }
  Status eval(EvalCtx& ctx) const override { return sum_.eval(ctx); }
  Status lower(Lowering& lowering) const override { return sum_.lower(lowering); }

 private:
  CumSum sum_;
};

Status replace_loop(Rewrite& rewrite, int scanned, OpPtr by) {
  return rewrite.replace_by(std::move(by), {rewrite.mapped(rewrite.input(scanned))});
}

}  // namespace

Result<Graph> sum_loops(Graph graph) {
  const auto is_loop = [](const Node& node) { return node.op->nested() != nullptr; };
  if (none_of(graph.nodes, is_loop)) return graph;
  bool changed = false;
  return rewrite_once(
      graph,
      [](const Op& op, Rewrite& rewrite) -> Status {
        if constexpr (built("cumsum")) {
          const auto* scan = op.as<Scan>();
          const bool continues = scan && !scan->reset_every_turn;
          const auto scanned = continues ? replaced_input(*scan, rewrite) : std::optional<int>();
          if (scanned) {
            return replace_loop(rewrite, *scanned, make_op<CumSum>(sum_of(*scan, *scanned)));
          }
        }
        return {};
      },
      &changed);
}

Status start_at_zero(const Scan& scan, Rewrite& rewrite) {
  if constexpr (!built("broadcast")) return {};
  const auto scanned = summed_input(scan, rewrite);
  if (!scanned || !is_less_itself(rewrite, 1 - *scanned)) return {};
  const Fact& start = rewrite.in(1 - *scanned);
  const std::string& name = rewrite.node().name;
  RILL_ASSIGN(Tensor zero, Tensor::zeros(start.dtype, {}));
  const OutletId one = rewrite.konst(name, std::move(zero));
  std::vector<OutletId> inputs = rewrite.mapped_inputs(rewrite.node());
  RILL_ASSIGN(inputs[static_cast<size_t>(1 - *scanned)],
              rewrite.wire1(name, make_op<Broadcast>(start.shape), {one}));
  return rewrite.replace_by(rewrite.node().op, inputs);
}

Status fuse_sum(const Scan& scan, Rewrite& rewrite) {
  if constexpr (built("cumsum")) {
    // A loop that keeps its state between evaluations, as in a model that is already pulsed, stays
    // a loop.
    const auto scanned = scan.reset_every_turn ? replaced_input(scan, rewrite) : std::nullopt;
    if (scanned) {
      return replace_loop(rewrite, *scanned, make_op<SummedLoop>(sum_of(scan, *scanned)));
    }
  }
  return {};
}

}  // namespace rill::ops
