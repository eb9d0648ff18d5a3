#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/exec/property.h"
#include "core/graph/graph.h"

namespace rill::nnef {

/// List the properties of a model as in its file: `Graph::properties`, and those that describe how
/// a pulsed graph streams.
std::map<std::string, Tensor> properties_of(const Graph& graph);

/// List properties with their values, in the order of their keys.
std::vector<Property> property_list(const std::map<std::string, Tensor>& properties);

/// Set the properties of a graph from a file: those that describe how a pulsed graph streams become
/// `Graph::streaming`, the others `Graph::properties`. Errors: kParse for an invalid streaming
/// property, with its key and text, or if one of tract's is missing.
Status set_properties(std::map<std::string, Tensor> properties, Graph* graph);

/// Return whether a property describes how a pulsed graph streams.
bool describes_streams(const std::string& key);

}  // namespace rill::nnef
