#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Tie an output of each step to an input of the next one. The session then owns the value: it
/// begins as `first`, zeros if that is null, and the model loses the input and the output. A model
/// that is no stream yet becomes one whose steps are runs of it; each input and output has one axis
/// of frames: the only symbolic one behind the first, or else the second, or the only one.
/// Both names may be parts, as `state[0]` or `state[:, 2:4]`; the rest of a value stays an input or
/// output that is named alike. An output may have another order of axes (`out.transpose(1,0)`),
/// axes of extent 1 more or less, adjacent axes that the input has merged or split, and different
/// extents in another order.
/// Errors: kArg if there is no such input or output, with the names there are; kShape or kDType
/// where their facts differ otherwise, or more than one order of axes fits; kPulse for a model that
/// was pulsed, or has no other input.
Result<Graph> with_feedback(const Graph& graph, std::string_view output, std::string_view input,
                            TensorPtr first = nullptr);

/// Prefix each step of an input with the last `frames` frames of the previous steps, zeros at
/// first: a step then takes that many fewer. Errors: kArg if there is no such input; kShape if a
/// step would have no frame left.
Result<Graph> with_context(const Graph& graph, std::string_view input, int64_t frames);

/// The axis of an input or output that holds its frames.
struct FrameAxis {
  std::string name;
  int64_t axis = 0;
};

/// Name the axes of frames of a model whose steps are its runs, where numbers alone do not tell
/// them; at least that of an input. An input of the same shape has the same axis. The axis of an
/// output follows from the extents that depend on the named one, or from the same shape.
/// Errors: kArg if there is no such name or axis; kShape for an input or output whose axis does not
/// follow; kPulse for a model that was pulsed.
Result<Graph> with_frames(const Graph& graph, std::span<const FrameAxis> axes);

/// Settle how many frames of its inputs a step takes, where the model leaves it open.
/// Errors: kShape where the model takes another number; kPulse for a model that is no stream.
Result<Graph> with_step_frames(const Graph& graph, int64_t frames);

/// Update how the model streams from extents that have become numbers since. Leaves others alone.
void describe_steps(Graph* graph);

}  // namespace rill::pulse
