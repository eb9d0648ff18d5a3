#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace rill {

/// The format in which a plan stores the weights of an operator. kInt8 also quantises the
/// activations that they multiply.
enum class WeightFormat : uint8_t { kF32, kF16, kQ8, kQ4, kInt8 };

/// The weights of one node that supports quantised storage.
struct WeightLayer {
  std::string node;  ///< prefixed with the names of its enclosing loops
  std::string op;
  std::vector<int64_t> shape;
  int64_t f32_bytes = 0;  ///< bytes as f32, in the kernel's layout
  int64_t bytes = 0;      ///< bytes that a step reads
  std::string kept;       ///< why the weights stay in f32; empty if they do not
};

/// The weight quantization that a caller requests. It changes results.
struct WeightChoice {
  WeightFormat format = WeightFormat::kF32;
  std::set<std::string> kept;       ///< nodes whose weights stay unchanged
  std::vector<WeightLayer> layers;  ///< the layers that `prepare` found, in graph order
};

}  // namespace rill
