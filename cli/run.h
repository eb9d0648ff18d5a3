#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/inputs.h"
#include "cli/pipeline.h"

namespace rill::cli {

/// Options of `run`.
struct RunOptions {
  CheckOptions checks;
  ViewOptions view;
  LoadOptions load;
  bool dump_outputs = false;
  bool steps = false;
  int64_t stream_steps = 0;  ///< 0: as many as the input has
  bool per_turn_diff = false;
  double assert_occupancy = 0;
  std::string save_outputs_nnef;
  std::string save_steps;
};

/// Run every turn of a whole graph, or a stream through a pulsed one, and check the outputs.
Status run_model(const CommonOptions& common, const RunOptions& options, const Log& log,
                 const Model& model);

/// Run `run --streams`: several streams at once, and check that each gives the same outputs as
/// alone. Stream k starts at step k of the input, so that no two have the same values. Return the
/// outputs of the first stream, step by step.
Result<std::vector<std::vector<Tensor>>> run_streams(const CommonOptions& common,
                                                     const RunOptions& options, const Graph& graph,
                                                     const InputSource& source);

}  // namespace rill::cli
