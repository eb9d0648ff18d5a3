#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/src/handles.h"
#include "core/exec/shared_weights.h"
#include "core/graph/graph.h"

struct rill_model {
  uint32_t magic = rill::api::kModelMagic;
  rill::Graph graph;
  std::vector<std::unique_ptr<const rill::api::IoText>> io[2];
  rill::api::Properties properties;
  std::vector<std::string> symbols;
  std::map<std::string, int64_t, std::less<>> operators;  ///< nodes by operator
  std::string stream_symbol;                              ///< empty unless pulsed
  /// The packed weights that plans of this model, of its pulses and of its clones share.
  std::shared_ptr<rill::SharedWeights> weights = std::make_shared<rill::SharedWeights>();

  /// Take ownership of a graph, and describe it.
  explicit rill_model(rill::Graph of);
  /// Replace the model under the same handle.
  void take(rill_model&& other) noexcept;
};

namespace rill::api {

inline bool alive(const rill_model* model) { return model && model->magic == kModelMagic; }

}  // namespace rill::api
