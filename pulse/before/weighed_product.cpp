#include "pulse/before/weighed_product.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/graph/course.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;

/// Return the softmax over `axis` from which a wire is made, and the operators after it, if these
/// only move frames.
std::optional<WeighedProduct> moved_weights(const Graph& graph, OutletId wire, int axis) {
  WeighedProduct out;
  while (true) {
    const Node& node = graph.node(wire.node);
    if (is_softmax(node, axis)) {
      out.scores = node.inputs[0];
      std::reverse(out.moves.begin(), out.moves.end());
      return out;
    }
    if (node.inputs.size() != 1 || node.op->traits().moves != Moves::kFrames) return std::nullopt;
    const Facts in{graph.fact(node.inputs[0])};
    const auto tracks = node.op->axes(in, node.outputs);
    const auto track = std::find_if(tracks.begin(), tracks.end(), [&](const AxisTrack& each) {
      return each.out[0] == axis;
    });
    if (track == tracks.end() || track->in[0] < 0) return std::nullopt;
    if (!(in[0].dim(track->in[0]) == node.outputs[0].dim(axis))) return std::nullopt;
    out.moves.push_back(node.op);
    axis = track->in[0];
    wire = node.inputs[0];
  }
}

}  // namespace

std::optional<ProductInput> product_input(const Graph& graph, const Node& node, size_t input,
                                          std::string_view symbol) {
  Facts in;
  for (const OutletId& each : node.inputs) in.push_back(graph.fact(each));
  ProductInput out;
  out.kept.resize(node.outputs[0].shape.size(), -1);
  std::vector<bool> kept(in[input].shape.size(), false);
  for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
    const int axis = track.in[input];
    if (axis < 0) continue;
    out.kept[static_cast<size_t>(track.out[0])] = axis;
    kept[static_cast<size_t>(axis)] = true;
  }
  for (int axis = 0; axis < in[input].rank(); ++axis) {
    const Dim& extent = in[input].dim(axis);
    if (kept[static_cast<size_t>(axis)] || extent == Dim(1)) continue;
    if (out.summed >= 0 || !extent.mentions(symbol)) return std::nullopt;
    out.summed = axis;
  }
  return out.summed >= 0 ? std::optional(out) : std::nullopt;
}

bool is_softmax(const Node& node, int axis) {
  const Course course = node.op->course();
  return course.is(Form::kNormalised) && !course.logarithm && course.axis() == axis;
}

std::optional<WeighedProduct> weighed_product(const Graph& graph, const Node& node,
                                              std::string_view symbol) {
  if (!node.op->course().is(Form::kProducts) || node.inputs.size() != 2) return std::nullopt;
  const Fact& sum = node.outputs[0];
  const bool plain = sum.dtype == DType::kF32 || sum.dtype == DType::kF64;
  if (!plain || sum.mentions(symbol)) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const OutletId weights = node.inputs[side];
    const OutletId frames = node.inputs[1 - side];
    const auto of_scores = product_input(graph, node, side, symbol);
    const auto of_frames = product_input(graph, node, 1 - side, symbol);
    if (!of_scores || !of_frames) return std::nullopt;
    const Dim& length = graph.fact(weights).dim(of_scores->summed);
    if (!(graph.fact(frames).dim(of_frames->summed) == length)) return std::nullopt;
    auto out = moved_weights(graph, weights, of_scores->summed);
    if (!out || graph.fact(out->scores).dtype != sum.dtype) continue;
    if (graph.fact(frames).dtype != sum.dtype) continue;
    out->frames = frames;
    out->of_scores = *of_scores;
    out->of_frames = *of_frames;
    return out;
  }
  return std::nullopt;
}

}  // namespace rill::pulse
