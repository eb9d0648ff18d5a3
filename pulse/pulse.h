#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

struct Options {
  std::string symbol{kDefaultStreamSymbol};
  Dim pulse = 1;                 ///< frames per step, replaces the symbol
  bool backward_chunks = false;  ///< let backward loops take each pulse for its own future
};

/// How an input or output streams.
struct Stream {
  std::string name;
  int axis = -1;      ///< -1: static
  int64_t pulse = 0;  ///< frames per step
  int64_t delay = 0;  ///< frames of this wire to drop
  /// Frames of the whole stream, in the stream symbol. Of a static output that is known at the end
  /// only: how much of the symbol must have gone by.
  Dim length;
  int wire = -1;  ///< of an output that streams: its index in `Report::wires`
};

/// How a wire of the whole graph streams, and why it lags.
struct Wire {
  std::string name;  ///< of its node
  std::string op;
  int slot = 0;
  int line = 0;  ///< of graph.nnef, 0 if none
  int axis = -1;
  int64_t pulse = 0;                ///< frames per step
  int64_t delay = 0;                ///< frames of this wire
  std::vector<int> inputs;          ///< wires that stream into the node: indices in `Report::wires`
  std::vector<std::string> causes;  ///< what the node was given to stream: "keeps 2 earlier frames"
};

struct Report {
  std::vector<Stream> inputs;
  std::vector<Stream> outputs;
  std::vector<Wire> wires;                  ///< all that stream, in the order of the whole graph
  std::vector<std::string> approximations;  ///< what was given up, as asked for by name
};

/// The graph as `pulsify` looks at it: what it knows of streams, and simplified.
Result<Graph> before_pulsing(const Graph& graph, std::string_view symbol);

/// Return whether attention streams along that symbol, which takes more code than a single
/// operator.
bool meets_attention(const Graph& graph, std::string_view symbol);

/// Find the least legal pulse; its multiples are legal too. `options.pulse` does not matter.
/// Errors: kPulse, those of `pulsify`.
Result<int64_t> least_pulse(const Graph& graph, const Options& options);

/// Rewrite a graph so that it runs a few frames at a time: the stream symbol becomes the pulse,
/// delays and states keep what the next step needs. Concatenating the outputs of all steps and
/// dropping the delay gives the frames of the whole run.
///
/// `Graph::streaming` says how the result streams.
/// Errors: kPulse, with every reason in one message, one per line: node, operator, axis, cause, way
/// out; where another pulse would do, which ones.
Result<Graph> pulsify(const Graph& graph, const Options& options, Report* report = nullptr);

}  // namespace rill::pulse
