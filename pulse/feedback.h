#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Tie an output of a model to one of its inputs: what a step gives there, the next step takes. The
/// session then owns the value, as all that streams keep: it begins as `first`, zeros if that is
/// null, and input and output are those of the model no more. A model that is no stream yet becomes
/// one whose steps are runs of it; each input and output has one axis of frames, which is the only
/// symbolic one behind the first, or else the second, or the only one.
/// Errors: kArg if there is no such input or output, with the names there are; kShape or kDType
/// where their facts differ; kPulse for a model that was pulsed, or has no other input.
Result<Graph> with_feedback(const Graph& graph, std::string_view output, std::string_view input,
                            TensorPtr first = nullptr);

/// Put the last `frames` frames of the steps before in front of each step of an input, zeros at
/// first: a step takes as many fewer.
/// Errors: kArg if there is no such input; kShape if a step would not be left any frame.
Result<Graph> with_context(const Graph& graph, std::string_view input, int64_t frames);

/// Settle how many frames of its inputs a step takes, where the model leaves it open.
/// Errors: kShape where the model takes another number; kPulse for a model that is no stream.
Result<Graph> with_step_frames(const Graph& graph, int64_t frames);

/// Report how the model streams in terms of numbers that were settled since. Leaves others alone.
void describe_steps(Graph* graph);

}  // namespace rill::pulse
