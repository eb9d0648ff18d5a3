#pragma once

#include <string>
#include <vector>

#include "cli/log.h"
#include "cli/pipeline.h"

namespace rill::cli {

/// Run `check` for a windowed model: print the distance of each output from the whole run, over the
/// given bundles. Errors: kState if an output differs by more than a given `--approx` allows, or if
/// no output was compared.
Status check_windows(const CommonOptions& common, const CheckOptions& checks,
                     const ReportOptions& report, const Log& log, const Model& model);

/// One window of a sweep.
struct SweptWindow {
  pulse::Window window;
  double largest = 0;  ///< difference of all outputs
  double mean = 0;     ///< of the output that differs most
  double us_per_frame = 0;

  /// Frames of the symbol from the first of a step to its output.
  int64_t latency() const { return window.right + window.step - 1; }
};

/// Measure windows with less and more context than the model's, on the given bundles or on noise,
/// for some seconds. Errors: those of the whole run.
Result<std::vector<SweptWindow>> sweep_windows(const CommonOptions& common, const Log& log,
                                               const Model& model);

}  // namespace rill::cli
