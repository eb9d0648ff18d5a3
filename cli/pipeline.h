#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/pulses.h"
#include "cli/ron_impl.h"
#include "core/graph/graph.h"
#include "nnef_loader/load.h"
#include "pulse/pulse.h"
#include "pulse/sliding.h"

namespace rill::cli {

/// The model after the options before the subcommand.
struct Model {
  Graph graph;
  /// The graph before it was pulsed, if this command pulsed it.
  std::optional<Graph> whole;
  /// The pulsed graph, if this command pulsed it, with only the transforms that also change
  /// `whole`.
  std::optional<Graph> streamed;
  pulse::Report report;
  std::string stream_symbol;         ///< empty unless this command pulsed it
  std::vector<pulse::Choice> choices;  ///< the candidates of `--pulse auto`
  std::vector<std::pair<std::string, Graph>> stages;

  bool pulsed() const { return graph.streaming.has_value(); }
  const Graph* stage(std::string_view name) const;
};

/// Load a model and run the stages: load, declutter, pulse, transforms, set, nnef-cycle,
/// before-optimize. Errors: those of the stages, naming the stage.
Result<Model> make_model(const CommonOptions& common, const Log& log);

/// Return whether a transform that is given first is applied before `--pulse`.
bool comes_before_pulse(const TransformSpec& spec);
/// Apply one transform, not decluttered yet.
Status apply_transform(const TransformSpec& spec, const CommonOptions& common, const Log& log,
                       Model* model);
/// Rewrite the graph to run pulse by pulse.
Status apply_pulse(const std::string& symbol, const Dim& pulse, const CommonOptions& common,
                   const Log& log, Model* model);
/// Rewrite the graph to compute whole windows.
Status apply_window(const std::string& symbol, const pulse::Window& window, Model* model);
/// Replace a symbol. Errors: kSymbol, with the names of all symbols, if there is no such symbol.
Status apply_setting(const std::string& symbol, const Dim& value, const Log& log, Model* model);

nnef::LoadOptions load_options(const CommonOptions& common, const Log& log);
nnef::SaveOptions save_options(const CommonOptions& common);

}  // namespace rill::cli
