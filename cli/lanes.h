#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cli/exec.h"

namespace rill::cli {

/// What is fed turn by turn, and the plan that takes it.
struct Turns {
  Ready ready;  ///< with one session, that runs a stream alone
  std::vector<std::vector<Tensor>> values;
};

/// Cut the inputs into turns: of a pulsed model a pulse each, the last one filled with zeros, and
/// as many more of zeros as bring out the tail unless `--drop-partial-pulse` is given; else the
/// turns of the bundles. The end of a stream is not announced: streams may go on.
Result<Turns> turns_of(const Args& args, const Graph& graph, const InputSource& source);

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

/// `run --streams`: streams side by side, each of which must give what it gives alone. Stream k
/// starts at turn k of the input, so that no two hold the same values. Gives the outputs of the
/// first stream, turn by turn.
Result<std::vector<std::vector<Tensor>>> run_streams(const Args& args, const Graph& graph,
                                                     const InputSource& source);

}  // namespace rill::cli
