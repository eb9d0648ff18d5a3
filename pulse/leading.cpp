#include "pulse/leading.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/base/search.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/graph/walk.h"
#include "core/tensor/frames.h"

namespace rill::pulse {
namespace {

constexpr int64_t kMostChosen = 4096;
constexpr size_t kMostNodes = 256;

/// Return the graph that computes only this wire; nothing if it depends on an input, on the length
/// of the stream, or on many nodes.
std::optional<Graph> made_of_positions(const Graph& pulsed, OutletId wire,
                                       const std::string& symbol) {
  std::set<int> needed;
  const auto is_other = [&](int id) {
    needed.insert(id);
    return needed.size() > kMostNodes || contains(pulsed.inputs, OutletId{id, 0}) ||
           pulsed.node(id).op->with_symbol(symbol, Dim(1)) != nullptr;
  };
  if (any_before(pulsed, wire, is_other)) return std::nullopt;
  Graph out;
  out.scope = pulsed.scope;
  std::map<int, int> copies;
  for (const int id : needed) {
    std::vector<OutletId> inputs = pulsed.node(id).inputs;
    for (OutletId& input : inputs) input.node = copies.at(input.node);
    copies[id] = out.add_known(pulsed.node(id), std::move(inputs)).front().node;
  }
  out.add_output("condition", {copies.at(wire.node), wire.slot});
  return out;
}

/// Return whether every element of a frame has that value.
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
  if (fact.dtype != DType::kBool || stream.delay < 0 || stream.delay > kMostChosen) {
    return std::nullopt;
  }
  const auto alone = made_of_positions(pulsed, wire, symbol);
  if (!alone) return std::nullopt;
  const auto plan = prepare(*alone);
  if (!plan.ok()) return std::nullopt;
  const auto session = Session::make(*plan);
  if (!session.ok()) return std::nullopt;
  Leading out;
  for (int64_t position = 0; out.count < kMostChosen;) {
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
