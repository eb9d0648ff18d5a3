#include "plan_file/weights.h"

#include <algorithm>
#include <iterator>

#include "core/base/search.h"
#include "core/base/text.h"

namespace rill::plan_file {
namespace {

constexpr const char* kNames[] = {"f32", "f16", "q8", "q4", "int8"};

}  // namespace

std::optional<WeightFormat> weight_format(std::string_view name) {
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<WeightFormat>(found - std::begin(kNames));
}

const char* weight_format_name(WeightFormat format) {
  return kNames[static_cast<size_t>(format)];
}

WeightTotals totals_of(const WeightChoice& choice) {
  WeightTotals out;
  for (const WeightLayer& layer : choice.layers) {
    out.small_layers += layer.kept.empty() ? 1 : 0;
    out.f32_bytes += layer.f32_bytes;
    out.bytes += layer.bytes;
  }
  return out;
}

std::string weights_text(const WeightChoice& choice) {
  const WeightTotals totals = totals_of(choice);
  std::string out = str_cat(weight_format_name(choice.format), ", ", totals.small_layers, " of ",
                            choice.layers.size(), " layers, ", totals.f32_bytes,
                            " bytes of f32 become ", totals.bytes);
  for (const WeightLayer& layer : choice.layers) {
    if (!layer.kept.empty()) out += str_cat("; ", layer.node, " in f32: ", layer.kept);
  }
  return out;
}

Status check_weights(const WeightChoice& choice, std::string_view request, std::string_view keep) {
  for (const std::string& name : choice.kept) {
    const auto same = [&](const WeightLayer& layer) { return layer.node == name; };
    if (none_of(choice.layers, same)) {
      return fail(Code::kArg, keep, " ", name, ": no node of this name has weights");
    }
  }
  if (choice.format == WeightFormat::kF32 || totals_of(choice).small_layers > 0) return {};
  Status none = fail(Code::kUnsupported, request, ": no layer of this model can have such weights");
  if (choice.layers.empty()) return none;
  const WeightLayer& first = choice.layers[0];
  return std::move(none).hint(str_cat("\"", first.node, "\" is kept in f32: ", first.kept));
}

}  // namespace rill::plan_file
