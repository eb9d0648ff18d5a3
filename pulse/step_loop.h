#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/control/scan.h"

namespace rill::pulse {

/// A loop whose iterations are the steps of a stream, and whose states are fed-back outputs. Its
/// wires have a leading axis of steps.
inline constexpr int64_t kStepAxis = 0;
/// No input, or no output.
inline constexpr size_t kNone = SIZE_MAX;

/// Return whether a node is the loop of the steps.
bool is_loop(const Node& node);
/// Return the loop of the steps; -1 if the model has none.
int find_loop(const Graph& graph);
/// Return the graph of one step, with all its inputs and outputs; null without a loop.
const Graph* step_of(const Graph& graph);
/// Make a loop of a model, without states.
Result<Graph> as_loop(const Graph& graph);

/// Return whether a node prepends frames of the previous step to its input.
bool is_context(const Graph& graph, const Node& node);
/// Append the nodes of a graph, except its sources, to another graph.
Result<std::map<OutletId, OutletId>> append(const Graph& from, std::map<OutletId, OutletId> known,
                                            Graph* to);

/// Return the loop operand for an input of the model; -1 if there is none.
int operand_of(const Graph& graph, int loop, OutletId source);
/// Return the loop result that is an output of the model, unchanged; -1 if there is none.
int slot_of(const Graph& graph, int loop, size_t output);

/// A change of the loop: an input becomes a state fed by a result of the loop, or is split into
/// several inputs.
struct LoopChange {
  OpPtr loop;  ///< the new one
  int at = 0;  ///< the node of the old one
  size_t in = 0;
  int operand = 0;                                    ///< of the input
  std::vector<std::pair<std::string, Fact>> sources;  ///< in place of the input; none for a state
  TensorPtr first;                                    ///< value of the state; null: zeros
  size_t out = kNone;                                 ///< the output that becomes the state
  int slot = -1;                                      ///< the loop result of that output
};
Result<Graph> with_loop(const Graph& looped, const LoopChange& change);

/// An output that operators compute from another one within a step.
struct NewOutput {
  std::string name;
  std::vector<OpPtr> ops;
};
/// Replace an output, which is result `slot` of the loop, by others.
Result<Graph> with_outputs(const Graph& looped, size_t index, int slot,
                           const std::vector<NewOutput>& parts);

/// Split an input or output until one is the named part, such as "state[1]". The rest stays as
/// inputs or outputs with similar names. Return the name of the part; the text itself if no
/// remaining value contains it. Errors: kShape if the part is not within the value; kPulse if it
/// does not belong to the step.
Result<std::string> split_off(std::string_view text, bool input, Graph* looped);

}  // namespace rill::pulse
