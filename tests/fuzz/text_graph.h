#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/tensor_file/tensor_file.h"
#include "ops/op_table.h"
#include "tests/fuzz/mutate.h"

// Graphs from the text that a fuzzer writes, and limits on their runs.

namespace rill::test {

/// The largest number of elements of a wire, so that a run stays short.
inline constexpr int64_t kMaxVolume = 4096;
inline constexpr int64_t kMaxElementsOfAll = int64_t{1} << 18;

/// Return the files of a model: the text, and a ramp for every `variable` with a plain label.
inline std::vector<nnef::Entry> entries_of(std::string_view text) {
  std::vector<nnef::Entry> entries(1);
  entries[0].name = "graph.nnef";
  entries[0].bytes.resize(text.size());
  if (!text.empty()) std::memcpy(entries[0].bytes.data(), text.data(), text.size());
  for (const Variable& variable : variables_of(text)) {
    auto tensor = Tensor::zeros(DType::kF32, variable.shape);
    if (!tensor.ok() || tensor->volume() > kMaxVolume) continue;
    for (int64_t i = 0; i < tensor->volume(); ++i) {
      tensor->mutable_data<float>()[i] = static_cast<float>(i % 7) * 0.25F - 0.5F;
    }
    auto bytes = nnef::write_tensor(*tensor);
    if (bytes.ok()) entries.push_back({variable.label + ".dat", *std::move(bytes)});
  }
  return entries;
}

inline bool is_small(const Graph& graph) {
  int64_t all = 0;
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) {
      const auto count = volume(fact.shape).eval({{"S", 5}, {"B", 2}, {"P", 3}});
      if (!count || *count > kMaxVolume || *count < 0) return false;
      all += *count;
    }
  }
  return all <= kMaxElementsOfAll;
}

inline Result<Graph> graph_of_text(std::string_view text) {
  return nnef::load_entries(entries_of(text), ops::op_table());
}

}  // namespace rill::test
