#pragma once

#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "onnx_loader/proto/model.h"

namespace rill::onnx {

/// The nodes of a graph, with selections that replace writes to the places of a mask.
struct Masked {
  std::vector<NodeProto> nodes;
  /// The outputs of the selections. Their mask must be boolean, with the shape of their operand.
  std::unordered_set<std::string_view> selected;
};

/// Read `y[m] = 0.5` and `y[m] = f(y[m])` as selections. Exporters write them with the places where
/// the mask is set, whose number depends on data. Nothing if there is no such write. Graphs with
/// nested ones, which may read any value, stay unchanged.
std::optional<Masked> without_places(const GraphProto& graph);

}  // namespace rill::onnx
