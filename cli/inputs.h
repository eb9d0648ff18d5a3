#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "audit/prepared.h"
#include "cli/bundle.h"
#include "cli/options.h"
#include "cli/specs.h"
#include "core/graph/graph.h"

namespace rill::cli {

using audit::bindings_text;

/// Values for all inputs of a graph, and for all symbols of their shapes.
struct InputValues {
  std::vector<Tensor> values;
  Bindings bindings;
};

/// The sources of input values: fed back ones, bundles, `-i`, then random numbers if allowed.
class InputSource {
 public:
  static Result<InputSource> make(const CommonOptions& common, const Log& log);

  /// Return the number of turns in the bundles for this graph; at least 1.
  size_t turns(const Graph& graph) const;
  /// Find values for all inputs by name (those of `-i` without a name: by position), and solve the
  /// symbols of their shapes. Stream axes of a pulsed graph take any extent: the whole stream, all
  /// turns joined; random streams have `random_pulses` pulses.
  /// Errors: kArg if a value is missing; kShape, kDType if it does not fit; kSymbol.
  Result<InputValues> resolve(const Graph& graph, size_t turn, int64_t random_pulses = 3) const;
  /// As above, with these symbols bound and random numbers for all inputs.
  Result<InputValues> random(const Graph& graph, Bindings bindings) const;
  /// Set an input to its value for the next turn.
  void feed_back(std::string_view input, Tensor value);
  /// Return the values of `--set` for the run.
  const Bindings& settings() const { return settings_; }
  bool has_values() const { return !bundle_.empty(); }

 private:
  const Bundle::Item* item_for(const Graph& graph, size_t index) const;
  Status check_settings(const Graph& graph) const;
  Result<std::optional<Tensor>> given(const Graph& graph, size_t index, size_t turn,
                                      int stream_axis) const;
  Result<Tensor> reconciled(const std::string& name, const Fact& fact, const Tensor& value) const;
  Result<Tensor> made_up(const Graph& graph, size_t index, const Bindings& bindings,
                         int stream_axis, int64_t pulses) const;

  Bundle bundle_;
  std::map<std::string, Tensor, std::less<>> fed_back_;
  std::vector<RangeSpec> ranges_;
  Bindings settings_;
  bool allow_random_ = false;
  bool cast_floats_ = false;
  uint64_t seed_ = 0;
  const Log* log_ = nullptr;
  const CommonOptions* common_ = nullptr;  ///< for values that `-i` gives
};

/// Return the streaming axes of the inputs of a pulsed graph, -1 for static ones; all -1 if not
/// pulsed.
std::vector<int> stream_axes(const Graph& graph);

}  // namespace rill::cli
