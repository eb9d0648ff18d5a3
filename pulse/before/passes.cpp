#include "pulse/before/passes.h"

#include <utility>

#include "core/optim/optim.h"
#include "ops/built.h"
#include "ops/control/loop_sum.h"
#include "pulse/attention/skew.h"
#include "pulse/before/frames_first.h"
#include "pulse/before/joined_pad.h"
#include "pulse/before/long_streams.h"
#include "pulse/before/sink_edge_padding.h"
#include "pulse/before/sink_scores.h"
#include "pulse/before/ties.h"
#include "pulse/before/weighed_sum.h"

namespace rill::pulse {
namespace {

using ops::built;

Result<Graph> simplified(Graph graph, std::string_view) { return declutter(graph); }
Result<Graph> loops_of_sums(Graph graph, std::string_view) {
  if constexpr (built("scan")) return ops::sum_loops(std::move(graph));
  return graph;
}

constexpr bool kPads = built("concat") && built("pad");
constexpr bool kScores = built("attention") && built("softmax") && built("concat") &&
                         built("pad") && built("select") && built("range");
constexpr bool kWeighs = built("scan") && built("softmax") && built("reduce");
constexpr bool kRepeats = built("pad") || built("stft");

// Constants, so that the linker leaves out a pass that is not in the build.
constexpr Pass kPasses[] = {
    with_ties,
    with_frames,
    built("long_streams") ? decided_choices : nullptr,
    simplified,
    loops_of_sums,
    kScores ? joined_scores : nullptr,
    kPads ? pads_of_joins : nullptr,
    built("attention") && built("gather") ? with_gathered_shifts : nullptr,
    built("reshape") ? put_frames_first : nullptr,
    kWeighs ? loops_of_weighed_sums : nullptr,
    kRepeats ? sink_edge_padding : nullptr,
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

}  // namespace rill::pulse
