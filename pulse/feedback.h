#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Tie an output of a model to one of its inputs: feed the output of each step to the input of the
/// next. The session then owns the value, like all state: it begins as `first`, zeros if that is
/// null, and the model loses this input and output. A model that is no stream yet becomes one whose
/// steps are runs of it. Each input and output has one axis of frames: its only symbolic axis after
/// the first, or else the second, or the only one. Errors: kArg if there is no such input or
/// output, with the existing names; kShape or kDType if their facts differ; kPulse for a model that
/// was pulsed, or that has no other input.
Result<Graph> with_feedback(const Graph& graph, std::string_view output, std::string_view input,
                            TensorPtr first = nullptr);

/// Prefix each step of an input with the last `frames` frames of the previous steps, zeros at
/// first: a step then takes that many fewer. Errors: kArg if there is no such input; kShape if a
/// step would have no frame left.
Result<Graph> with_context(const Graph& graph, std::string_view input, int64_t frames);

/// Settle how many frames of its inputs a step takes, where the model leaves it open.
/// Errors: kShape where the model takes another number; kPulse for a model that is no stream.
Result<Graph> with_step_frames(const Graph& graph, int64_t frames);

/// Update how the model streams from extents that have become numbers since. Leaves others alone.
void describe_steps(Graph* graph);

}  // namespace rill::pulse
