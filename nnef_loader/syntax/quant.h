#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/dtype.h"

namespace rill::nnef {

/// The quantization of one tensor.
struct QuantEntry {
  enum class Kind : uint8_t {
    kZeroPoint,  ///< zero_point_linear_quantize: `zero_point` and `scale`
    kMinMax,     ///< linear_quantize: `min` and `max`, always signed
  };
  Kind kind = Kind::kZeroPoint;
  int32_t zero_point = 0;
  float scale = 1.0F;
  float min = 0.0F;
  float max = 0.0F;
  int bits = 8;
  bool is_signed = true;
  /// One per channel where the file gives lists; empty for one pair for the whole tensor.
  std::vector<int32_t> zero_points;
  std::vector<float> scales;
  int line = 0;
};

using QuantInfo = std::map<std::string, QuantEntry>;

/// Read the text of a `graph.quant`. If a name has two entries, the last one counts.
/// Errors: kParse with line and column.
Result<QuantInfo> parse_quant(std::string_view text, std::string_view file);

/// Write entries sorted by name; every number reads back as the same value.
std::string print_quant(const QuantInfo& info);

/// Return the element type and its parameters that an entry stands for.
/// Errors: kUnsupported for widths other than 8 and 32, and for per-channel entries.
Result<std::pair<DType, QParams>> quant_type(const QuantEntry& entry);

}  // namespace rill::nnef
