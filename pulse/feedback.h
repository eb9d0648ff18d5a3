#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Feed an output of each step to an input of the next one. The session then owns the value: it
/// starts as `first` (zeros if null), and the model loses the input and the output. A model that is
/// not yet a stream becomes one whose steps are runs of it. Each input and output then has one
/// frame axis: the only symbolic one after the first, else the second, or the only one.
/// Both names may be parts, such as `state[0]` or `state[:, 2:4]`; the rest of a value stays an
/// input or output, named with its range. The shape of an output may differ from the input's by
/// axes of extent 1, by adjacent axes that are merged or split, or by the order of axes.
/// `out.transpose(1,0)` states an order that the extents do not determine.
/// Errors: kArg if there is no such input or output, with the existing names; kShape or kDType if
/// their facts differ in another way, or several orders of axes fit; kPulse for a model that was
/// pulsed, or has no other input.
Result<Graph> with_feedback(const Graph& graph, std::string_view output, std::string_view input,
                            TensorPtr first = nullptr);

/// Prefix each step of an input with the last `frames` frames of the previous steps, zeros at
/// first: a step then takes `frames` fewer. Errors: kArg if there is no such input; kShape if a
/// step would have no frame left.
Result<Graph> with_context(const Graph& graph, std::string_view input, int64_t frames);

/// The frame axis of an input or output.
struct FrameAxis {
  std::string name;
  int64_t axis = 0;
};

/// Name the frame axes of a model whose steps are its runs and whose extents are numbers; at least
/// one input must be named. An input of the same shape has the same axis. The axis of an output is
/// inferred from the extents that depend on the named one, or from an equal shape. Errors: kArg if
/// there is no such name or axis; kShape for an input or output whose axis cannot be inferred;
/// kPulse for a model that was pulsed.
Result<Graph> with_frames(const Graph& graph, std::span<const FrameAxis> axes);

/// Set the number of input frames per step, if the model leaves it open. Errors: kShape if the
/// model requires another number; kPulse for a model that is not a stream.
Result<Graph> with_step_frames(const Graph& graph, int64_t frames);

/// Update the streaming description of a model whose steps are its runs from extents that have
/// become numbers. Leave other models unchanged.
void describe_steps(Graph* graph);

}  // namespace rill::pulse
