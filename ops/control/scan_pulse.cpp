// Pulses loops.

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/checked.h"
#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/pulse.h"
#include "ops/array/broadcast.h"
#include "ops/control/scan.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

/// Return the loop with the stream symbol replaced by `value`.
std::shared_ptr<Scan> bound(const PulseBuilder& b, const Scan& scan, const Dim& value) {
  if (OpPtr op = scan.with_symbol(b.symbol(), value)) {
    return draft_op<Scan>(*op->as<Scan>());
  }
  return draft_op<Scan>(scan);
}

/// Pulses a loop along the stream: its states carry over from pulse to pulse.
class Along {
 public:
  Along(PulseBuilder& b, const Scan& scan) : b_(b), scan_(scan) {}

  Status pulsify(bool backward) {
    const bool last = is_used(true);
    const bool full = is_used(false);
    RILL_TRY(wait(backward || last));
    if (backward || !held_ || !full) return add("", all(), last, backward);
    // Only these outputs need the end of the stream.
    RILL_TRY(add("last", which(true), true, false));
    RILL_TRY(wait(false));
    return add("", which(false), false, false);
  }

 private:
  bool is_used(bool last) const {
    const std::vector<int> slots = which(last);
    return any_of(slots, [&](int slot) { return b_.is_used(slot); });
  }

  std::vector<int> which(bool last) const {
    std::vector<int> slots;
    for (size_t i = 0; i < scan_.outputs.size(); ++i) {
      if (scan_.outputs[i].last == last) slots.push_back(static_cast<int>(i));
    }
    return slots;
  }

  std::vector<int> all() const {
    std::vector<int> slots(scan_.outputs.size());
    std::iota(slots.begin(), slots.end(), 0);
    return slots;
  }

  /// Append a loop with these outputs. `ends`: no iteration runs after the end of the stream.
  Status add(std::string_view suffix, const std::vector<int>& slots, bool ends, bool backward) {
    auto pulsed = bound(b_, scan_, b_.pulsed(Dim::symbol(b_.symbol())));
    pulsed->skip = scan_.skip + iterations_;
    // The loop state carries over between pulses, even if the whole-run loop resets it.
    pulsed->reset_every_turn = backward;
    pulsed->external_state = false;
    if (ends || backward) pulsed->limit = Dim(iterations_) + iterations();
    if (backward) {
      b_.note_approximation(str_cat("\"", b_.node().name,
                                    "\" runs backwards within each pulse: each pulse is its own "
                                    "future"));
    }
    pulsed->outputs.clear();
    for (const int slot : slots) {
      pulsed->outputs.push_back(scan_.outputs[static_cast<size_t>(slot)]);
    }
    RILL_ASSIGN(const auto outlets, b_.add(suffix, pulsed, wires_));
    for (size_t i = 0; i < slots.size(); ++i) RILL_TRY(set(slots[i], outlets[i], backward));
    return {};
  }

  Status set(int slot, OutletId outlet, bool backward) {
    const Scan::Output& output = scan_.outputs[static_cast<size_t>(slot)];
    if (output.last && backward) {
      b_.set_refused(slot,
                     b_.refuse("Take the outputs of all frames",
                               "the last value of a backward loop is that of the first frame"));
      return {};
    }
    if (output.last) {
      return b_.give(slot, outlet,
                     {PulsedOutput::AtEnd{wires_[static_cast<size_t>(longest_)], last_}});
    }
    if ((output.chunk < 0) != backward) {
      b_.set_refused(slot, b_.refuse("Write frames in the order in which they are read",
                                     "it reads the stream one way, and writes it the other"));
      return {};
    }
    StreamFact stream;
    stream.axis = static_cast<int>(output.axis);
    stream.dim = b_.out(slot).dim(stream.axis);
    const Fact& result = scan_.body->fact(scan_.body->outputs[static_cast<size_t>(output.result)]);
    const auto frames = b_.scope().simplify(result.dim(stream.axis)).to_int();
    if (!frames) {
      return b_.refuse("Give each iteration of the loop a fixed number of frames",
                       "an iteration of the loop gives ", result.dim(stream.axis), " frames");
    }
    stream.delay = iterations_ * *frames;
    b_.set(slot, outlet, stream);
    return {};
  }

  /// Delay all inputs until they begin with the same chunk. `ends`: frames after the end of the
  /// stream arrive only once the end is known.
  Status wait(bool ends) {
    wires_.clear();
    iterations_ = 0;
    longest_ = -1;
    held_ = false;
    std::vector<StreamFact> streams(static_cast<size_t>(b_.inputs()));
    int64_t iterations = -1;
    for (int i = 0; i < b_.inputs(); ++i) {
      wires_.push_back(b_.wire(i));
      const auto found = b_.stream(i);
      if (!found) continue;
      StreamFact& stream = streams[static_cast<size_t>(i)];
      stream = *found;
      RILL_ASSIGN(wires_.back(), b_.materialise(wires_.back(), &stream));
      if (ends) {
        const int64_t delay = stream.delay;
        RILL_ASSIGN(wires_.back(), b_.hold(wires_.back(), &stream));
        held_ |= stream.delay > delay;
      }
      RILL_ASSIGN(const int64_t pulse, b_.pulse_of(wires_.back(), stream.axis));
      const int64_t chunk = chunk_of(i);
      const std::string takes =
          str_cat("body input \"", scan_.body->input_name(static_cast<size_t>(i)), "\" takes ",
                  counted(chunk, "frame"), " at a time of ", pulse, " per pulse");
      if (pulse % chunk != 0) return b_.refuse_pulse(pulse, chunk, takes);
      if (iterations >= 0 && iterations != pulse / chunk) {
        return b_.refuse("Bring the inputs of the loop to one rate", takes,
                         ", while another makes ", counted(iterations, "iteration"));
      }
      iterations = pulse / chunk;
      iterations_ = std::max(iterations_, (stream.delay + chunk - 1) / chunk);
    }
    for (int i = 0; i < b_.inputs(); ++i) {
      iterations_ = std::max(iterations_, b_.await(i) * iterations);
    }
    for (int i = 0; i < b_.inputs(); ++i) {
      if (!b_.stream(i)) continue;
      const auto at = static_cast<size_t>(i);
      const int64_t later = iterations_ * chunk_of(i) - streams[at].delay;
      RILL_ASSIGN(wires_[at], b_.delay(wires_[at], streams[at], later, 0));
      if (longest_ >= 0) continue;
      longest_ = i;
      last_ = streams[at];
      last_.delay += later;
    }
    return {};
  }

  /// Return the iterations of the loop over the whole stream.
  Dim iterations() const { return ceil_div(last_.dim, chunk_of(longest_)); }

  int64_t chunk_of(int i) const { return std::abs(scan_.inputs[static_cast<size_t>(i)].chunk); }

  PulseBuilder& b_;
  const Scan& scan_;
  std::vector<OutletId> wires_;
  int64_t iterations_ = 0;  ///< iterations of the loop before the first frame arrives
  int longest_ = -1;        ///< the input whose frames the iterations count
  bool held_ = false;       ///< inputs wait for the end of the stream
  StreamFact last_;         ///< the stream of that input
};

/// The reason why a body mixes entries along an axis, and the remedy.
struct Mixed {
  std::string cause;
  std::string_view remedy;
};

/// Tracks an axis through the body of a loop: its index in each wire, or -1.
class BodyAxes {
 public:
  explicit BodyAxes(const Scan& scan) : scan_(scan) {
    for (const Node& node : scan.body->nodes) axes_.emplace_back(node.outputs.size(), -1);
  }

  /// Follow the axis from its index in each input of the body. Return nothing if no node mixes its
  /// entries.
  std::optional<Mixed> follow(const std::vector<int>& inputs) {
    const Graph& body = *scan_.body;
    for (size_t i = 0; i < inputs.size(); ++i) {
      axes_[static_cast<size_t>(body.inputs[i].node)][0] = inputs[i];
    }
    for (size_t id = 0; id < body.nodes.size(); ++id) {
      if (auto mixed = follow_node(id)) return mixed;
    }
    size_t state = 0;
    for (size_t i = 0; i < scan_.inputs.size(); ++i) {
      if (scan_.inputs[i].kind != Kind::kState) continue;
      const int before = of(body.inputs[i]);
      const int after = of_result(scan_.state_results[state++]);
      if (before == after) continue;
      return Mixed{str_cat("state \"", body.input_name(i), "\" has the streaming axis at ", before,
                           " before an iteration of the loop, and at ", after, " after it"),
                   "Give the state's initial value the same streaming axis"};
    }
    return std::nullopt;
  }

  int of_result(int result) const { return of(scan_.body->outputs[static_cast<size_t>(result)]); }

 private:
  int of(OutletId wire) const {
    return axes_[static_cast<size_t>(wire.node)][static_cast<size_t>(wire.slot)];
  }

  bool carries(const Node& node, const AxisTrack& track) const {
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const int axis = of(node.inputs[k]);
      const bool same =
          axis < 0 && track.in[k] >= 0 && is_repeated(*scan_.body, node.inputs[k], track.in[k]);
      if (track.in[k] != axis && !same) return false;
    }
    return true;
  }

  std::optional<Mixed> follow_node(size_t id) {
    const Node& node = scan_.body->nodes[id];
    const bool met = any_of(node.inputs, [&](OutletId input) { return of(input) >= 0; });
    if (!met) return std::nullopt;
    const auto tracks = node.op->axes(scan_.body->facts_of(node.inputs), node.outputs);
    for (const AxisTrack& track : tracks) {
      if (!carries(node, track)) continue;
      axes_[id] = track.out;
      return std::nullopt;
    }
    return Mixed{str_cat("its body mixes frames of the stream, in node \"", node.name, "\" (",
                         node.op->name(), ")"),
                 "Loop over the streaming axis, or keep its frames apart in the body"};
  }

  const Scan& scan_;
  std::vector<std::vector<int>> axes_;
};

/// Return a stream length at which a wire has `count` frames; nothing if there is none within the
/// limits.
std::optional<int64_t> length_with(const Dim& frames, const std::string& symbol, int64_t count) {
  const auto pattern = DimPattern::of(frames, symbol);
  if (!pattern.ok() || pattern->growth() <= 0) return std::nullopt;
  constexpr int64_t kMost = 4096;
  for (int64_t i = 0; i < std::min(pattern->period(), kMost); ++i) {
    const int64_t first = pattern->settled() + i;
    const auto own = frames.eval(symbol, first);
    if (!own || (count - *own) % pattern->growth() != 0) continue;
    const auto more = checked_mul((count - *own) / pattern->growth(), pattern->period());
    const auto length = more ? checked_add(first, *more) : std::nullopt;
    if (length && *length >= 0 && frames.eval(symbol, *length) == count) return length;
  }
  return std::nullopt;
}

/// Pulses a loop over another axis than the streaming one: it restarts in each pulse.
class Across {
 public:
  Across(PulseBuilder& b, const Scan& scan) : b_(b), scan_(scan), axes_(scan) {}

  Status pulsify() {
    std::vector<int> inputs;
    for (int i = 0; i < b_.inputs(); ++i) {
      const auto stream = b_.stream(i);
      inputs.push_back(stream ? stream->axis : -1);
    }
    if (const auto mixed = axes_.follow(inputs)) return b_.refuse(mixed->remedy, mixed->cause);
    RILL_ASSIGN(PulseBuilder::Synced synced, b_.sync());
    const StreamFact first = synced.stream;
    for (int i = 0; i < b_.inputs() && first.has_prefix(); ++i) {
      auto stream = b_.stream(i);
      if (!stream) continue;
      stream->delay = first.delay;
      const auto at = static_cast<size_t>(i);
      RILL_ASSIGN(synced.wires[at], b_.materialise(synced.wires[at], &*stream));
    }
    // The length of a stream with the frames of one pulse.
    RILL_ASSIGN(const int64_t pulse,
                b_.pulse_of(synced.wires[static_cast<size_t>(synced.first)], first.axis));
    const auto length = length_with(first.dim, b_.symbol(), pulse);
    if (!length) {
      return b_.refuse(
          "Loop over streams whose length is a number of frames more or less than the "
          "input's",
          "its body has frames of a stream of length ", first.dim);
    }
    auto pulsed = bound(b_, scan_, Dim(*length));
    pulsed->reset_every_turn = true;
    RILL_ASSIGN(const auto outlets, b_.add("", pulsed, synced.wires));
    for (size_t i = 0; i < scan_.outputs.size(); ++i) {
      const int slot = static_cast<int>(i);
      StreamFact stream;
      stream.axis = axes_.of_result(scan_.outputs[i].result);
      if (stream.axis < 0) {
        b_.set_refused(slot, b_.refuse("Take outputs that depend on every frame",
                                       "this output does not keep the streaming axis"));
        continue;
      }
      stream.dim = b_.out(slot).dim(stream.axis);
      stream.delay = std::max<int64_t>(0, first.delay);
      b_.set(slot, outlets[i], stream);
    }
    return {};
  }

 private:
  PulseBuilder& b_;
  const Scan& scan_;
  BodyAxes axes_;
};

}  // namespace

/// Return the axes that all scanned inputs share with the first one, and that the body does not
/// mix.
std::vector<AxisTrack> Scan::axes(FactSpan in, FactSpan) const {
  const auto is_scanned = [](const Input& input) { return input.kind == Kind::kScan; };
  const auto first = find_if(inputs, is_scanned);
  std::vector<AxisTrack> tracks;
  if (first == inputs.end()) return tracks;
  const Fact& from = in[static_cast<size_t>(first - inputs.begin())];
  for (int axis = 0; axis < from.rank(); ++axis) {
    AxisTrack track;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool scanned = is_scanned(inputs[i]) && inputs[i].axis == axis;
      const bool has_axis = axis < in[i].rank() && in[i].dim(axis) == from.dim(axis);
      // An input that is passed whole is usually a matrix, whose extents may match by chance.
      const bool matrix = inputs[i].kind == Kind::kFull && from.dim(axis).is_const();
      track.in.push_back(has_axis && !scanned && !matrix ? axis : -1);
    }
    BodyAxes within(*this);
    if (track.in[static_cast<size_t>(first - inputs.begin())] < 0 || within.follow(track.in)) {
      continue;
    }
    for (const Output& output : outputs) {
      const int at = within.of_result(output.result);
      track.out.push_back(!output.last && at == output.axis ? -1 : at);
    }
    tracks.push_back(std::move(track));
  }
  return tracks;
}

Status Scan::pulsify(PulseBuilder& b) const {
  bool along = false;
  bool across = false;
  bool forward = false;
  bool backward = false;
  bool still = false;
  for (int i = 0; i < b.inputs(); ++i) {
    const Input& input = inputs[static_cast<size_t>(i)];
    const auto stream = b.stream(i);
    if (!stream) {
      still |= input.kind == Kind::kScan;
      continue;
    }
    const bool scanned = input.kind == Kind::kScan && input.axis == stream->axis;
    (scanned ? along : across) = true;
    (input.chunk < 0 ? backward : forward) |= scanned;
  }
  if (!along && across) return Across(b, *this).pulsify();
  if (across) {
    return b.refuse("Loop over the streaming axis of all inputs",
                    "it loops over the streaming axis of one input, and not over that of another");
  }
  if (!along) return Op::pulsify(b);
  if (still) {
    return b.refuse("Loop over streams only", "it loops over a static input as well as the stream");
  }
  if (backward && !b.backward_chunks()) {
    return b.refuse(
        "Use a unidirectional layer; or accept that each pulse is its own future with "
        "--pulse-backward chunk",
        "it reads the streaming axis backwards (chunk -1), which needs the whole stream");
  }
  if (backward && (forward || skip > 0)) {
    return b.refuse("Use a separate loop for each direction",
                    forward ? "it reads the stream forwards and backwards at the same time"
                            : "it skips iterations of a loop that begins at the end of the stream");
  }
  return Along(b, *this).pulsify(backward);
}

}  // namespace rill::ops
