#include "ops/control/scan_sum.h"

#include <cstdlib>

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

/// Whether a sum that begins with that input begins with zero.
bool begins_with_zero(const Rewrite& rewrite, int input) {
  if (is_zero(rewrite.in(input).konst)) return true;
  const auto* binary = rewrite.producer_as<Binary>(input);
  const Node& node = rewrite.producer(input);
  return binary && binary->kind_of == BinaryKind::kSub && node.inputs[0] == node.inputs[1];
}

/// Whether the body gives the sum of its two inputs, and nothing else.
bool adds(const Graph& body, int result) {
  const OutletId sum = body.outputs[static_cast<size_t>(result)];
  const Node& node = body.node(sum.node);
  const auto* binary = node.op->as<Binary>();
  if (!binary || binary->kind_of != BinaryKind::kAdd || body.inputs.size() != 2) return false;
  return (node.inputs[0] == body.inputs[0] && node.inputs[1] == body.inputs[1]) ||
         (node.inputs[0] == body.inputs[1] && node.inputs[1] == body.inputs[0]);
}

}  // namespace

Status sum_frames(const Scan& scan, Rewrite& rewrite) {
  if (scan.inputs.size() != 2 || scan.outputs.size() != 1 || scan.skip != 0 ||
      scan.reset_every_turn || scan.external_state || !(scan.limit == Dim(0))) {
    return {};
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
    return {};
  }
  const Fact& x = rewrite.in(scanned);
  // Sums of f16 round in every turn of the loop, and once as an operator.
  const bool alike = x.dtype == DType::kF32 || x.dtype == DType::kF64 || is_int(x.dtype);
  if (!alike || x.dtype != rewrite.out().dtype || x.shape != rewrite.out().shape ||
      !begins_with_zero(rewrite, 1 - scanned)) {
    return {};
  }
  if constexpr (built("cumsum")) {
    auto sum = std::make_shared<CumSum>(frames.axis);
    sum->reverse = frames.chunk < 0;
    RILL_ASSIGN(const OutletId y, rewrite.wire1(rewrite.node().name, std::move(sum),
                                                {rewrite.mapped(rewrite.input(scanned))}));
    return rewrite.replace({y});
  }
  return {};
}

}  // namespace rill::ops
