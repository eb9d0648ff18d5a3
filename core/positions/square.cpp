#include "core/positions/square.h"

#include "core/graph/course.h"

namespace rill {
namespace {

int axis_of_input(const std::vector<AxisTrack>& tracks, size_t input, int output_axis) {
  for (const AxisTrack& track : tracks) {
    if (track.out[0] == output_axis) return track.in[input];
  }
  return -2;
}

/// Return whether all frames of a wire are on axes that are tracked. A node that drops another axis
/// of frames, such as a sum of positions, depends on the length of the stream.
bool follows_frames(const Fact& fact, Square at, std::string_view symbol) {
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (!at.has(axis) && fact.dim(axis).mentions(symbol)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Square>> squares_of_inputs(const Graph& graph, const Node& node,
                                                     Square output, std::string_view symbol) {
  Facts facts;
  for (const OutletId& input : node.inputs) facts.push_back(graph.fact(input));
  std::vector<Square> out(node.inputs.size());
  const Course course = node.op->course();
  if (course.is(Course::Form::kNormalised) || course.is(Course::Form::kTriangle) ||
      course.is(Course::Form::kSummed)) {
    out[0] = output;
    return out;
  }
  if (course.is(Course::Form::kShifted)) {
    const int rank = node.outputs[0].rank();
    if (output != Square{rank - 2, rank - 1, -1}) return std::nullopt;
    out[0] = {rank - 2, -1, rank - 1};
    return out;
  }
  const bool cuts = course.is(Course::Form::kCut);
  const std::vector<AxisTrack> tracks = node.op->axes(facts, node.outputs);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto follow = [&](int axis, int* to) {
      if (axis < 0) return true;
      const int found = axis_of_input(tracks, i, axis);
      // A table that is sliced to the length of the stream does not depend on the position
      // otherwise.
      if (found == -2 && cuts && course.axis() == axis) return !facts[i].dim(axis).mentions(symbol);
      if (found == -2) return !facts[i].mentions(symbol);
      // A broadcast axis does not depend on the position.
      if (found >= 0 && facts[i].dim(found).mentions(symbol)) *to = found;
      return true;
    };
    if (!follow(output.row, &out[i].row) || !follow(output.column, &out[i].column) ||
        !follow(output.distance, &out[i].distance) || !follows_frames(facts[i], out[i], symbol)) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace rill
