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

/// Streaming of an input or output.
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

/// Streaming of a wire of the whole graph, and why it lags.
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
  std::vector<std::string> approximations;  ///< approximations that the options allow by name
};

/// Return the graph in the form that `pulsify` reads: with its knowledge of streams, and
/// simplified.
Result<Graph> before_pulsing(const Graph& graph, std::string_view symbol);

/// Return whether attention streams along that symbol, which takes more code than a single
/// operator.
bool meets_attention(const Graph& graph, std::string_view symbol);

/// Return the least legal pulse; its multiples are legal too. Ignores `options.pulse`. Errors:
/// kPulse, those of `pulsify`.
Result<int64_t> least_pulse(const Graph& graph, const Options& options);

/// Rewrite a graph to run a few frames at a time: the stream symbol becomes the pulse, and delays
/// and states keep the frames that the next step needs. The outputs of all steps, concatenated and
/// without the delay, are the frames of the whole run.
/// `Graph::streaming` describes how the result streams. Errors: kPulse, with every reason in one
/// message, one per line: node, operator, axis, cause, remedy; if other pulses would do, which
/// ones.
Result<Graph> pulsify(const Graph& graph, const Options& options, Report* report = nullptr);

}  // namespace rill::pulse
