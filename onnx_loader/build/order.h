#pragma once

#include <string_view>
#include <vector>

#include "onnx_loader/proto/model.h"

namespace rill::onnx {

/// Bounds the stack: the loader refuses deeper graphs.
constexpr int kMaxReadDepth = 16;

/// Add the names that nested graphs of a node read from outer graphs, down to `depth` levels.
Status add_reads_of_graphs(const NodeProto& node, ProtoBudget* budget, int depth,
                           std::vector<std::string_view>* reads);

/// Sort nodes topologically, including the dependencies of their nested graphs; sorted nodes keep
/// their order. The nodes must outlive the result. Errors: kParse for a cycle; those of reading
/// nested graphs.
Result<std::vector<const NodeProto*>> in_order(const std::vector<NodeProto>& nodes,
                                               const ProtoBudget& budget);

}  // namespace rill::onnx
