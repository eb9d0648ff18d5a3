#pragma once

#include <string_view>
#include <vector>

#include "onnx_loader/proto/model.h"

namespace rill::onnx {

/// Bounds the stack: the loader refuses deeper graphs.
constexpr int kMaxReadDepth = 16;

/// Add the names that the graphs of a node read of the graph around them, down to `depth` graphs in
/// graphs.
Status add_reads_of_graphs(const NodeProto& node, ProtoBudget* budget, int depth,
                           std::vector<std::string_view>* reads);

/// Order nodes so that each comes after those whose values it reads, in its graphs as well; nodes
/// that are in such an order stay as they are. The nodes must outlive what is given.
/// Errors: kParse where nodes read each other in a circle; what reading their graphs fails with.
Result<std::vector<const NodeProto*>> in_order(const std::vector<NodeProto>& nodes,
                                               const ProtoBudget& budget);

}  // namespace rill::onnx
