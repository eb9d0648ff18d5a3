#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/src/model_handle.h"
#include "pulse/choice.h"
#include "pulse/pulse.h"

namespace rill::api {

/// The result of `rill_model_pulse`, with its description.
struct PulsedModel {
  Graph graph;  ///< simplified
  pulse::Options options;
  pulse::Report report;
  std::vector<pulse::Choice> choices;  ///< the candidates of "auto"
};

/// Pulse a model. Errors: those of `rill_model_pulse`.
Result<PulsedModel> pulse_model(const rill_model& model, const std::string& symbol,
                                std::string_view pulse);

/// Solve the symbols in the extents of all inputs together. A view without a shape is skipped.
/// Errors: kShape.
Result<Bindings> bindings_of(const Graph& graph, std::span<const rill_view> inputs);

}  // namespace rill::api
