#include "pulse/leading.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/tensor/frames.h"

namespace rill::pulse {
namespace {

constexpr int64_t kMostFrames = 4096;

/// The wire alone, with all that it is made of; nothing if that depends on an input, or on the
/// length of the stream.
std::optional<Graph> made_of_positions(const Graph& pulsed, OutletId wire,
                                       const std::string& symbol) {
  std::vector<char> needed(pulsed.nodes.size(), 0);
  needed[static_cast<size_t>(wire.node)] = 1;
  for (size_t id = pulsed.nodes.size(); id-- > 0;) {
    if (!needed[id]) continue;
    const Node& node = pulsed.nodes[id];
    if (node.op->as<Source>() || node.op->with_symbol(symbol, Dim(1))) return std::nullopt;
    for (const OutletId& input : node.inputs) needed[static_cast<size_t>(input.node)] = 1;
  }
  Graph out = pulsed;
  out.inputs.clear();
  out.outputs.clear();
  out.output_names.clear();
  out.streaming.reset();
  out.add_output("condition", wire);
  return out.compacted();
}

/// Whether every element of a frame has that value.
bool all_are(const View& frames, int axis, int64_t at, bool value) {
  const View frame = frames_of(frames, axis, at, 1);
  auto copy = Tensor::zeros(DType::kBool, {frame.shape.begin(), frame.shape.begin() + frame.rank});
  if (!copy.ok()) return false;
  copy_view(frame, copy->view());
  const uint8_t* const first = copy->data<uint8_t>();
  return std::all_of(first, first + copy->volume(),
                     [&](uint8_t element) { return (element != 0) == value; });
}

}  // namespace

std::optional<Leading> leading_frames(const Graph& pulsed, OutletId wire, const StreamFact& stream,
                                      const std::string& symbol) {
  const Fact& fact = pulsed.fact(wire);
  if (fact.dtype != DType::kBool || stream.delay < 0 || stream.delay > kMostFrames) {
    return std::nullopt;
  }
  const auto alone = made_of_positions(pulsed, wire, symbol);
  if (!alone) return std::nullopt;
  const auto plan = prepare(*alone);
  if (!plan.ok()) return std::nullopt;
  const auto session = Session::make(*plan);
  if (!session.ok()) return std::nullopt;
  Leading out;
  for (int64_t position = 0; out.count < kMostFrames;) {
    (*session)->step();
    const View frames = (*session)->output(0);
    const int64_t pulse = frames.extent(stream.axis);
    for (int64_t at = 0; at < pulse; ++at, ++position) {
      if (position < stream.delay) continue;
      if (out.count == 0) out.value = all_are(frames, stream.axis, at, true);
      if (!all_are(frames, stream.axis, at, out.value)) return out;
      ++out.count;
    }
    if (pulse == 0) break;
  }
  return out;
}

}  // namespace rill::pulse
