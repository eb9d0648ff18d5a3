#pragma once

#include <cstdint>
#include <string>

#include "core/graph/graph.h"

namespace rill::test {

/// A random chain on one stream of [1, channels, S], of floats, integers or quantized bytes.
struct TypedGraph {
  std::string text;   ///< the text of graph.nnef
  std::string quant;  ///< the text of graph.quant; may be empty
};

/// Draw an input of any type and 1 to 6 operators, some of which change the type. Equal seeds give
/// equal graphs.
TypedGraph typed_graph(uint64_t seed);

Result<Graph> load_typed(const TypedGraph& graph);

}  // namespace rill::test
