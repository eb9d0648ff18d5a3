#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/first_node.h"
#include "audit/mismatch.h"
#include "core/graph/graph.h"

namespace rill::audit {

struct CheckOptions {
  std::string symbol{kDefaultStreamSymbol};
  std::vector<int64_t> pulses;  ///< none: the least one, twice and five times as many frames
  /// What frames may differ by. Those behind attention may differ by 1e-5 unless `for_all`: its
  /// sums have other terms of zero, and are made in another order.
  Tolerance tolerance;
  bool for_all = false;
  /// What the whole run should give, one per output, from another program; null for those that are
  /// not known. They may differ by 1e-4 + 5e-4 of the value at least.
  std::vector<const Tensor*> references;
  bool backward_chunks = false;  ///< of `pulse::Options`
  int64_t threads = 1;           ///< that steps are shared by; one per core for 0
  uint64_t seed = 0;             ///< of the sizes of pieces that are pushed
};

/// One mode of running the model, and what came of it.
struct CheckedMode {
  std::string name;
  int64_t pulse = 0;    ///< 0: the whole run
  int64_t outputs = 0;  ///< that were compared
  int64_t frames = 0;   ///< of these; elements where outputs do not stream
  bool same_bits = true;
  std::string problem;  ///< empty if all is well
  std::string refused;  ///< why there is nothing to compare, where that is no fault
};

struct CheckReport {
  std::string symbol;
  int64_t frames = 0;  ///< of the stream, in its symbol
  std::vector<CheckedMode> modes;
  std::optional<FirstNode> first_node;  ///< of the first mode that differs
  /// Outputs that other inputs do not change, or that have no finite number: streams of them may be
  /// wrong unseen.
  std::vector<std::string> unproven;

  int64_t compared() const;  ///< outputs of streams
  /// Errors: kState where a mode differs, with the first one and its node, where no output of a
  /// stream was compared, and where one is not proven.
  Status verdict() const;
};

/// Compare a whole run to its references, and to streams of the same inputs at several pulses: step
/// by step with NaN past the end, pushed in pieces, begun again in the middle, saved and loaded,
/// and moved to the next pulse and back.
/// `inputs`: one per input of the graph. `bindings`: the value of every symbol.
/// Errors: kSymbol unless `bindings` has the stream symbol; kPulse where no pulses are given and
/// none is legal; kNoMem; those of the whole run. What differs, and pulses that are refused, are no
/// error but a mode of the report.
Result<CheckReport> check(const Graph& whole, std::span<const Tensor> inputs,
                          const Bindings& bindings, const CheckOptions& options);

}  // namespace rill::audit
