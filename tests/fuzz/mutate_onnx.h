#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rill::test {

/// Change an ONNX model by its nodes, wires, attributes, weights and shapes, so that it mostly
/// still loads. Bytes that are no such model come back as they are.
std::string mutated_model(std::string_view model, uint64_t seed);

/// Put the graph of another model behind that of a model.
std::string joined_models(std::string_view model, std::string_view other, uint64_t seed);

}  // namespace rill::test
