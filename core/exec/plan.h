#pragma once

#include <memory>

#include "core/exec/weight_choice.h"
#include "core/graph/graph.h"
#include "core/run/plan.h"

namespace rill {

/// A wire inside a plan while it is being made.
struct Operand : PlacedView {
  TensorPtr konst;  ///< the value of a constant, else null
};

/// Make arguments of a kind of step, to be filled by a visitor.
std::shared_ptr<void> make_args(const StepKind& kind);

struct PrepareOptions {
  bool optimize = true;             ///< run the `fuse` rules
  bool keep_intermediates = false;  ///< give every wire memory of its own, to look at
  bool keep_uses = false;           ///< note in the plan what each step reads and writes
  bool run_constants = true;        ///< run once, here, what reads constants alone
  /// Keep weights so, and tell of them here; null: as they are.
  WeightChoice* weights = nullptr;
  /// Multiply-adds that a part of a step must have to be worth the call of a thread. With AVX-512
  /// they take 4 microseconds: as long as to wake a thread, ten times what one that is awake costs.
  double part_work = 256 * 1024;
};

/// Make a graph ready to run. All symbols must be bound, but for the stream symbol of a pulsed
/// graph, which may appear in attributes.
/// Errors: kSymbol naming the unbound symbols, those of the ops, kNoMem.
Result<std::shared_ptr<const Plan>> prepare(const Graph& graph, const PrepareOptions& options = {});

}  // namespace rill
