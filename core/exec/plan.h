#pragma once

#include <memory>

#include "core/exec/weight_choice.h"
#include "core/graph/graph.h"
#include "core/run/plan.h"

namespace rill {

/// A wire of a plan under construction.
struct Operand : PlacedView {
  TensorPtr konst;  ///< the value of a constant, else null
};

/// Make default arguments of a kind of step, which a visitor then fills.
std::shared_ptr<void> make_args(const StepKind& kind);

struct PrepareOptions {
  bool optimize = true;             ///< run the `fuse` rules
  bool keep_intermediates = false;  ///< give every wire separate memory, for inspection
  bool keep_uses = false;           ///< record in the plan what each step reads and writes
  bool run_constants = true;        ///< run steps that read only constants once, while the plan is
                                    ///< made
  /// Requested formats of weights, and the report about them; null keeps all weights unchanged.
  WeightChoice* weights = nullptr;
  /// The minimum multiply-adds of a part that repay a thread. With AVX-512 they take 4
  /// microseconds: as long as waking a thread, or ten times as long as handing work to a polling
  /// thread.
  double part_work = 256 * 1024;
};

/// Compile a graph. All symbols must be bound, except that attributes may contain the stream symbol
/// of a pulsed graph. Errors: kSymbol naming the unbound symbols, those of the ops, kNoMem.
Result<std::shared_ptr<const Plan>> prepare(const Graph& graph, const PrepareOptions& options = {});

}  // namespace rill
