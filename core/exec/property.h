#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"

namespace rill {

/// A property of a model, such as its sample rate or licence: a key and typed values.
struct Property {
  std::string key;
  DType dtype = DType::kString;
  std::string text;                  ///< the values as text
  std::vector<int64_t> ints;         ///< values of bools and integers
  std::vector<double> floats;        ///< values of floats
  std::vector<std::string> strings;  ///< values of strings and symbolic numbers

  /// Return the number of values that can be read; 0 for other types.
  size_t count() const { return ints.size() + floats.size() + strings.size(); }
};

}  // namespace rill
