#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::cli {

/// The property with the names of inputs that are initially empty caches.
inline constexpr const char* kCachesProperty = "rill.kv_caches";

/// Return whether an input is such a cache.
inline bool is_own_cache(const Graph& graph, std::string_view input) {
  const auto it = graph.properties.find(kCachesProperty);
  if (it == graph.properties.end() || it->second.dtype() != DType::kString) return false;
  for (const std::string& name : it->second.values<std::string>()) {
    if (name == input) return true;
  }
  return false;
}

}  // namespace rill::cli
