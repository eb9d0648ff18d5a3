#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/src/model_handle.h"
#include "pulse/choice.h"
#include "pulse/pulse.h"

namespace rill::api {

/// A model as `rill_model_pulse` makes it, and what is told of it.
struct PulsedModel {
  Graph graph;  ///< simplified
  pulse::Options options;
  pulse::Report report;
  std::vector<pulse::Choice> choices;  ///< what "auto" chose from
};

/// Errors: those of `rill_model_pulse`.
Result<PulsedModel> pulse_model(const rill_model& model, const std::string& symbol,
                                std::string_view pulse);

/// Find the values of the symbols that the extents of all inputs tell together. A view without a
/// shape tells nothing. Errors: kShape.
Result<Bindings> bindings_of(const Graph& graph, std::span<const rill_view> inputs);

}  // namespace rill::api
