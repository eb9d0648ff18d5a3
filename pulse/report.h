#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// How to pulse a graph.
struct Options {
  std::string symbol{kDefaultStreamSymbol};
  Dim pulse = 1;                 ///< frames per step; replaces the symbol
  bool backward_chunks = false;  ///< let backward loops take each pulse for its own future
};

/// Streaming of an input or output.
struct Stream {
  std::string name;
  int axis = -1;      ///< -1: static
  int64_t pulse = 0;  ///< frames per step
  int64_t delay = 0;  ///< frames of this wire to drop
  /// Frames of the whole stream, in the stream symbol. Of a static output that is known only at the
  /// end: the value of the symbol by then.
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
  std::vector<std::string> causes;  ///< why it lags: "keeps 2 earlier frames"
};

struct Report {
  std::vector<Stream> inputs;
  std::vector<Stream> outputs;
  std::vector<Wire> wires;                  ///< all that stream, in the order of the whole graph
  std::vector<std::string> approximations;  ///< deviations that the options allow
};

}  // namespace rill::pulse
