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
  std::vector<int64_t> pulses;  ///< empty: the least legal pulse, and 2 and 5 times that
  /// The tolerance of frames. Frames downstream of attention may differ by 1e-5 unless `for_all`:
  /// there a stream adds in another order, with other zero terms.
  Tolerance tolerance;
  bool for_all = false;
  /// Expected outputs of the whole run, one per output, from another program; null if unknown.
  /// Their tolerance is 1e-4 + 5e-4 of the value, or `tolerance` if that is larger or custom.
  std::vector<const Tensor*> references;
  bool backward_chunks = false;  ///< of `pulse::Options`
  int64_t threads = 1;           ///< number of threads that share steps; 0: one per core
  uint64_t seed = 0;             ///< of the sizes of pieces that are pushed
};

/// One mode of running the model, and its result.
struct CheckedMode {
  std::string name;
  int64_t pulse = 0;    ///< 0: the whole run
  int64_t outputs = 0;  ///< number of compared outputs
  int64_t frames = 0;   ///< their frames; elements if outputs do not stream
  bool same_bits = true;
  std::string problem;  ///< empty if all is well
  std::string refused;  ///< allowed reason why nothing was compared
};

struct CheckReport {
  std::string symbol;
  int64_t frames = 0;  ///< of the stream, in its symbol
  std::vector<CheckedMode> modes;
  std::optional<FirstNode> first_node;  ///< of the first mode that differs
  /// Outputs that other inputs do not change, or that have no finite number: their errors would go
  /// unnoticed.
  std::vector<std::string> unproven;

  int64_t compared() const;  ///< outputs of streams
  /// Return success if all modes agree. Errors: kState if a mode differs, with the first mode and
  /// its node; if no output of a stream was compared; if an output is not proven.
  Status verdict() const;
};

/// Compare a whole run to its references, and to streams of the same inputs at several pulses: step
/// by step with NaN past the end, pushed in pieces, restarted in the middle, saved and loaded, and
/// moved to the next pulse and back. `inputs`: one per input of the graph. `bindings`: the value of
/// every symbol. Errors: kSymbol unless `bindings` has the stream symbol; kPulse if no pulses are
/// given and none is legal; kNoMem; those of the whole run. A difference or a refused pulse is an
/// entry of the report, not an error.
Result<CheckReport> check(const Graph& whole, std::span<const Tensor> inputs,
                          const Bindings& bindings, const CheckOptions& options);

}  // namespace rill::audit
