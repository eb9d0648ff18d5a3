#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/lanes.h"

namespace rill::cli {

/// The measurements of a bench: "evaltime" in seconds, "turns_per_s", ...
struct BenchResult {
  std::vector<std::pair<std::string, double>> metrics;
  int64_t runs = 0;

  /// Return the value of a metric; NaN if it was not measured.
  double metric(std::string_view name) const;
};

/// How many streams run, and how long.
struct BenchLoad {
  const LoadOptions& load;
  const LoopOptions& loop;
  int64_t autobatch_sessions;
};

/// Return whether the command line requests several streams, or clocked streams.
bool benches_streams(const LoadOptions& load);
/// Fail if options contradict each other.
Status check_bench_options(const BenchLoad& bench);
/// Run many streams of a model at once: as fast as possible, or each step when its input is due.
/// Each stream gets the same input, on a separate thread; with `--autobatch-sessions` and no clock,
/// one thread steps all together.
Result<BenchResult> bench_streams(const BenchLoad& load, bool pulsed, const Turns& turns);

}  // namespace rill::cli
