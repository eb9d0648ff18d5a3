#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/src/handles.h"
#include "core/graph/graph.h"

namespace rill::api {

struct PropertyText {
  PropertyText(std::string property_key, const Tensor& value);
  void fill(rill_property* property) const;

  DType dtype;
  std::string key;
  std::string text;
  size_t count = 0;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  std::vector<const char*> string_pointers;
};

}  // namespace rill::api

struct rill_model {
  uint32_t magic = rill::api::kModelMagic;
  rill::Graph graph;
  std::vector<std::unique_ptr<const rill::api::IoText>> io[2];
  std::vector<std::unique_ptr<const rill::api::PropertyText>> properties;
  std::vector<std::string> symbols;
  std::map<std::string, int64_t, std::less<>> operators;  ///< nodes by operator
  std::string stream_symbol;                              ///< empty unless pulsed

  /// Take over a graph, and fill in its description.
  explicit rill_model(rill::Graph of);
  /// Become another model, under the same handle.
  void take(rill_model&& other) noexcept;
};

namespace rill::api {

inline bool alive(const rill_model* model) { return model && model->magic == kModelMagic; }

}  // namespace rill::api
