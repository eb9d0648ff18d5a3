#pragma once

#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "onnx_loader/proto/model.h"

namespace rill::onnx {

/// Nodes of a graph with selections in the place of what is written where a mask is set.
struct Masked {
  std::vector<NodeProto> nodes;
  /// What the selections give. Their mask must be of bools, and of the shape of what they change.
  std::unordered_set<std::string_view> selected;
};

/// Read `y[m] = 0.5` and `y[m] = f(y[m])` as exporters write them, by the places where a mask is
/// set, as a selection: how many places there are, which depends on data, does not matter then.
/// Nothing where there is none. Graphs with nested ones, which may read any value, stay as they
/// are.
std::optional<Masked> without_places(const GraphProto& graph);

}  // namespace rill::onnx
