#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/exec/weight_choice.h"

namespace rill::plan_file {

/// Find the format of a name: f32, f16, q8, q4 or int8.
std::optional<WeightFormat> weight_format(std::string_view name);
const char* weight_format_name(WeightFormat format);

/// The savings of a choice of formats.
struct WeightTotals {
  size_t small_layers = 0;  ///< whose weights are not f32
  int64_t f32_bytes = 0;    ///< of all layers as f32
  int64_t bytes = 0;
};
WeightTotals totals_of(const WeightChoice& choice);

/// Describe the result of a choice in one line: "q8, 3 of 4 layers, 100 bytes of f32 become 28;
/// head in f32: as requested".
std::string weights_text(const WeightChoice& choice);

/// Refuse a choice without effect. `request` and `keep`: the caller's words for the format, as in
/// "--weights q8", and for the kept nodes. Errors: kArg for a node without weights, kUnsupported if
/// all layers are still f32.
Status check_weights(const WeightChoice& choice, std::string_view request, std::string_view keep);

}  // namespace rill::plan_file
