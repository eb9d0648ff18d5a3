#include "examples/demo/labels.h"

#include <algorithm>

#include "api/src/npz.h"

namespace demo {

std::string read_labels(const std::string& path, const std::string& name,
                        std::vector<uint8_t>* labels) {
  labels->clear();
  auto arrays = rill::read_npz(path);
  if (!arrays.ok()) return arrays.error().to_string();
  for (const auto& [key, tensor] : *arrays) {
    if (key != name) continue;
    for (int64_t i = 0; i < tensor.volume(); ++i) {
      const auto value = rill::element_as_int(tensor, i);
      if (!value.ok()) return path + ": " + key + " holds no numbers";
      labels->push_back(*value != 0 ? 1 : 0);
    }
  }
  return "";
}

Agreement agree(const std::vector<float>& probability, const std::vector<uint8_t>& labels,
                float threshold) {
  Agreement out;
  out.frames = static_cast<int64_t>(std::min(probability.size(), labels.size()));
  for (size_t t = 0; t < static_cast<size_t>(out.frames); ++t) {
    const bool found = probability[t] >= threshold;
    const bool speech = labels[t] != 0;
    out.hits += found && speech;
    out.misses += !found && speech;
    out.false_alarms += found && !speech;
  }
  return out;
}

}  // namespace demo
