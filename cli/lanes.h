#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cli/exec.h"

namespace rill::cli {

/// The inputs of each step, and the plan that reads them.
struct Turns {
  Ready ready;  ///< its session runs a single stream
  std::vector<std::vector<Tensor>> values;
};

/// Cut the inputs into steps. For a pulsed model, each step is a pulse, the last one padded with
/// zeros; further steps of zeros output the tail unless `--drop-partial-pulse` is given. Else, each
/// step is an input set of the bundles. The end of a stream is not announced, so that streams may
/// continue.
Result<Turns> turns_of(const CommonOptions& common, const Graph& graph, const InputSource& source);

/// Sessions of one plan.
class Lanes {
 public:
  static Result<Lanes> make(const std::shared_ptr<const Plan>& plan, size_t count);

  size_t size() const { return sessions_.size(); }
  Session& session(size_t lane) { return *sessions_[lane]; }
  /// Run the next turn of all, layer by layer, so that weights are read once.
  void step_together();

 private:
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace rill::cli
