#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/say_impl.h"
#include "cli/small_weights.h"
#include "core/base/text.h"
#include "plan_file/weights.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t extent : shape) out += escaped_format("{}{}", out.empty() ? "" : "x", extent);
  return out;
}

/// Return the layers, those with the largest effect first.
std::vector<size_t> by_harm(const SmallWeights& weights) {
  std::vector<size_t> order(weights.choice.layers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (weights.alone.empty()) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return weights.alone[a] > weights.alone[b]; });
  return order;
}

/// Return a JSON number, or the text "inf" for an infinity or NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

double relative(const OutputDifference& each) {
  return each.value > 0 ? each.largest / each.value : each.largest;
}

void print_json(const SmallWeights& weights) {
  const plan_file::WeightTotals totals = plan_file::totals_of(weights.choice);
  Json out{{"schema", 1},
           {"rill_version", RILL_VERSION},
           {"weights", plan_file::weight_format_name(weights.choice.format)},
           {"f32_bytes", totals.f32_bytes},
           {"bytes", totals.bytes},
           {"inputs", weights.runs}};
  out["outputs"] = Json::array();
  for (const OutputDifference& each : weights.outputs) {
    out["outputs"].push_back({{"name", each.name},
                              {"largest", number(each.largest)},
                              {"mean", number(each.mean())},
                              {"relative", number(relative(each))},
                              {"values", each.count}});
  }
  out["layers"] = Json::array();
  for (const size_t i : by_harm(weights)) {
    const WeightLayer& layer = weights.choice.layers[i];
    Json entry{{"node", layer.node},
               {"op", layer.op},
               {"shape", layer.shape},
               {"f32_bytes", layer.f32_bytes},
               {"bytes", layer.bytes}};
    if (!weights.alone.empty()) entry["alone"] = number(weights.alone[i]);
    if (!layer.kept.empty()) entry["kept"] = layer.kept;
    out["layers"].push_back(std::move(entry));
  }
  say("{}\n", Escaped{safe_json(out.dump(2, ' ', false, Json::error_handler_t::replace))});
}

}  // namespace

std::string weights_line(const SmallWeights& weights) {
  std::string out = plan_file::weights_text(weights.choice);
  for (const OutputDifference& each : weights.outputs) {
    out += escaped_format("; {}: largest difference {:.3g}, mean {:.3g}", each.name, each.largest,
                          each.mean());
  }
  if (weights.runs > 0) {
    out += str_cat(", over ", counted(weights.runs, "set of inputs", "sets of inputs"));
  }
  return out;
}

void print_weights(const ReportOptions& report, const SmallWeights& weights) {
  if (report.json) return print_json(weights);
  if (report.quiet) return;
  const plan_file::WeightTotals totals = plan_file::totals_of(weights.choice);
  say("weights {}: {} of {} layers, {} bytes of f32 become {}\n",
      plan_file::weight_format_name(weights.choice.format), totals.small_layers,
      weights.choice.layers.size(), totals.f32_bytes, totals.bytes);
  for (const OutputDifference& each : weights.outputs) {
    say("output {}: largest difference {:.3g}, {:.2g} of its largest value; mean {:.3g}\n",
        each.name, each.largest, relative(each), each.mean());
  }
  size_t wide = 4;
  for (const WeightLayer& layer : weights.choice.layers) wide = std::max(wide, layer.node.size());
  say("{:<{}} {:<12} {:>14} {:>10} {:>10} {:>10}\n", "node", wide, "operator", "shape",
      "f32 bytes", "bytes", weights.alone.empty() ? "" : "alone");
  for (const size_t i : by_harm(weights)) {
    const WeightLayer& layer = weights.choice.layers[i];
    const bool measured = !weights.alone.empty();
    const std::string alone = measured ? escaped_format("{:.3g}", weights.alone[i]) : "";
    say("{:<{}} {:<12} {:>14} {:>10} {:>10} {:>10}", layer.node, wide, layer.op,
        shape_text(layer.shape), layer.f32_bytes, layer.bytes, alone);
    say("{}\n", layer.kept.empty() ? "" : "  f32: " + layer.kept);
  }
}

}  // namespace rill::cli
