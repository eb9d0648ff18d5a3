#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rill::test {

/// Change the nodes, wires, attributes, weights and shapes of an ONNX model, so that it usually
/// still loads. Bytes that are not an ONNX model are returned unchanged.
std::string mutated_model(std::string_view model, uint64_t seed);

/// Append the graph of another model to that of a model.
std::string joined_models(std::string_view model, std::string_view other, uint64_t seed);

}  // namespace rill::test
