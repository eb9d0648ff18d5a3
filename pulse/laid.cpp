#include <algorithm>

#include "core/base/limits.h"
#include "core/base/search.h"
#include "core/graph/walk.h"
#include "ops/array/concat.h"
#include "ops/array/slice.h"
#include "ops/stream/border.h"
#include "ops/stream/latch.h"
#include "pulse/builder.h"
#include "pulse/pad_value.h"

namespace rill::pulse {
namespace {

/// Return whether all extents of a wire are numbers: only then do its known frames have a shape.
bool has_numbers(const Fact& fact) {
  return all_of(fact.shape, [](const Dim& extent) { return extent.is_const(); });
}


}  // namespace

Result<OutletId> Builder::lay_edge_padding(const EdgePadded& edge_padded, int64_t out_delay,
                                           int64_t shown) {
  const auto [before, after, reflect] = edge_padded.padding;
  // The largest look-back of the output's frames, at the end and at the beginning of the stream.
  const int64_t tail = after * (reflect ? 2 : 1);
  const int64_t shift = out_delay + before - edge_padded.stream.delay;
  const int64_t back = std::max<int64_t>(0, shown + shift + (after > 0 ? tail : 0));
  auto op = draft_op<ops::PulseBorder>();
  op->axis = edge_padded.stream.axis;
  op->overlap = back;
  op->shown = shown;
  op->delay = edge_padded.stream.delay;
  op->out_delay = out_delay;
  op->before = before;
  op->reflect = reflect;
  op->length = edge_padded.stream.dim;
  RILL_ASSIGN(const OutletId source, lay(edge_padded.source, edge_padded.stream.delay, back));
  if (after > 0) {
    StreamFact shown_end = edge_padded.stream;
    shown_end.delay = out_delay + before;
    read_end(edge_padded.source.wire, shown_end);
  }
  knows_ends_ = true;
  return add1("border", op, {source});
}

/// Return whether a wire depends on frames before the first pulse that have no reader, and may
/// therefore hold anything. Padding with zeros holds zeros.
bool Builder::drops_unread(OutletId wire) const {
  return any_before(whole_, wire, [&](int id) {
    const auto found = wires_.find({id, 0});
    if (found == wires_.end() || unread_[static_cast<size_t>(id)] == 0) return false;
    const auto& stream = found->second.stream;
    if (!stream || !stream->has_prefix()) return false;
    return stream->pad_value || whole_.node(id).op->traits().moves != Moves::kAmongZeros;
  });
}

Result<OutletId> Builder::pad_edges(OutletId wire, StreamFact* stream, const EdgePadding& padding) {
  if (std::max(padding.before, padding.after) > kMostFrames) {
    return refusal(str_cat("edge padding of ", std::max(padding.before, padding.after), " frames"),
                   str_cat("Use at most ", kMostFrames));
  }
  // A whole run with fewer frames than the padding repeats is an error.
  needed_.push_back(stream->dim -
                    Dim(padding.reflect ? std::max(padding.before, padding.after) + 1 : 1));
  RILL_ASSIGN(const int64_t pulse, pulse_of(wire, stream->axis));
  RILL_ASSIGN(EdgePadded best, edge_padded({wire, *stream}, padding, pulse));
  const Source source = laid_source(wire, *stream);
  // Padding after the end repeats the last frames. In a short stream these may lie before the first
  // pulse, or depend on frames there, and have no other reader. Edge padding can lay them out;
  // constant ones are known.
  const bool in_front = stream->delay < 0 || drops_unread(source_of(0));
  const int64_t repeats_unread = padding.after > 0 && in_front ? unread() - padding.before : 0;
  if (repeats_unread > 0 && source.kind != Source::Kind::kEdgePadded && !stream->pad_value) {
    const int64_t mirrored = padding.reflect ? padding.after : 0;
    needed_.push_back(stream->dim - Dim(repeats_unread + 1 + mirrored));
  }
  if (source.kind != Source::Kind::kPlain) {
    RILL_ASSIGN(EdgePadded earlier, edge_padded(source, padding, pulse));
    const bool less = earlier.delay() < best.delay() && earlier.out_delay <= best.out_delay;
    if (less || (repeats_unread > 0 && source.kind == Source::Kind::kEdgePadded)) {
      best = std::move(earlier);
    }
  }
  settles_at(settled_of(source) + best.held + padding.before + pulse, pulse);
  RILL_ASSIGN(const OutletId out, lay_edge_padding(best, best.out_delay, 0));
  stream->delay = best.out_delay;
  stream->pad_value = nullptr;
  edge_padded_.insert_or_assign(out, std::move(best));
  return out;
}

/// Pad frames that can be laid out earlier, and lay the result out as early as possible.
Result<Builder::EdgePadded> Builder::edge_padded(const Source& source, const EdgePadding& padding,
                                                 int64_t pulse) {
  EdgePadded out{source, source.stream, padding};
  out.stream.delay = delay_of(source);
  if (padding.after > 0) {
    RILL_ASSIGN(const int64_t slack, slack_of(source.wire, out.stream));
    out.held = -slack;
  }
  // A frame must have arrived before it is repeated. Of mirrored frames, the first repeats the
  // latest frame.
  const std::vector<int64_t> inner = known_of(source);
  const auto known_at = [&](int64_t frame) {
    const int64_t arrival = std::max<int64_t>(0, out.stream.delay + frame) / pulse * pulse;
    const bool waits = frame < static_cast<int64_t>(inner.size());
    return waits ? std::max(arrival, inner[static_cast<size_t>(frame)]) : arrival;
  };
  const int64_t first = unread();
  out.out_delay = std::max(out.delay(), -first);
  const auto note = [&](int64_t frame, int64_t repeated) {
    const int64_t known = known_at(repeated);
    if (padding.before <= kMostKnown) out.known.push_back(known);
    if (frame >= first) out.out_delay = std::max(out.out_delay, known - frame);
  };
  // If too many frames are mirrored to track each, the first frame that is read waits longest.
  for (int64_t at = padding.before <= kMostKnown ? 0 : first; at < padding.before; ++at) {
    note(at, padding.reflect ? padding.before - at : 0);
    if (padding.before > kMostKnown) break;
  }
  for (size_t at = 0; at < inner.size(); ++at) {
    const auto frame = static_cast<int64_t>(at);
    note(padding.before + frame, frame);
  }
  return out;
}

/// Lay out prefix frames before `history` frames of a source. Each pulse repeats the first `shown`
/// frames from the previous pulse.
Result<OutletId> Builder::lay_prefix(const Prefixed& prefixed, int64_t history, int64_t shown) {
  auto op = draft_op<ops::PulseSplice>();
  op->axis = prefixed.stream.axis;
  op->has_prefix = true;
  op->begin = prefixed.stream.delay - prefixed.count + history;
  op->shown = shown;
  RILL_ASSIGN(const OutletId source,
              delay(prefixed.source, prefixed.stream, history - shown, shown));
  return add1("front", op, {source, prefixed.frames});
}

Result<OutletId> Builder::prefix(OutletId wire, StreamFact* stream, OutletId frames, int64_t count,
                                 std::vector<int64_t> known) {
  if (count > kMostFrames) {
    return refusal(str_cat(counted(count, "frame"), " of prefix"),
                   str_cat("Use at most ", kMostFrames));
  }
  Prefixed prefixed{wire, *stream, frames, count, std::move(known)};
  int64_t history = std::max<int64_t>(0, count - stream->delay - unread());
  for (auto at = static_cast<size_t>(unread()); at < prefixed.known.size(); ++at) {
    const int64_t wait = prefixed.known[at] - static_cast<int64_t>(at);
    history = std::max(history, wait - prefixed.virtual_delay());
  }
  RILL_ASSIGN(const OutletId out, lay_prefix(prefixed, history, 0));
  stream->delay += history - count;
  stream->dim += Dim(count);
  prefixed.out_delay = stream->delay;
  prefixed_.insert_or_assign(out, prefixed);
  return out;
}

/// Lay a window over the prefix and the stream. Return nothing if the window skips more frames than
/// the prefix has.
Result<std::optional<OutletId>> Builder::prefixed_window(const Prefixed& prefixed,
                                                         StreamFact* stream,
                                                         const StreamWindow& window) {
  // In a slice of the joined stream, frame 0 comes later.
  const int64_t virtual_delay = prefixed.virtual_delay() + stream->delay - prefixed.out_delay;
  const int64_t first = window.unread * window.stride;
  const int64_t history =
      aligned_history(std::max(window.kernel - window.stride, -virtual_delay - first),
                      virtual_delay, window.stride);
  if (history < 0) return std::optional<OutletId>();
  // Windows within the prefix are computed from its frames alone.
  const int64_t overlap = std::max<int64_t>(0, window.kernel - window.stride);
  const int64_t skipped = stream->delay - prefixed.out_delay;
  const int64_t least = aligned_history(overlap, virtual_delay, window.stride);
  const bool alone = window.frame_by_window && window.padding_is_frames &&
                     node().outputs.size() == 1 && least < history &&
                     prefixed.count - skipped >= window.kernel;
  const int64_t kept = alone ? least : history;
  stream->delay = (virtual_delay + kept) / window.stride;
  stream->pad_value = nullptr;
  RILL_ASSIGN(const OutletId out, lay_prefix(prefixed, kept, std::min(overlap, kept)));
  if (alone) {
    const int64_t windows = (prefixed.count - skipped - window.kernel) / window.stride + 1;
    RILL_ASSIGN(const OutletId frames, cut_prefix(prefixed, skipped, prefixed.count));
    early_ = Early{windows * window.rate - window.cut, {}, out, frames, window.cut};
  }
  return std::optional<OutletId>(out);
}

/// Return how many leading frames were dropped from the node's input `wire`. If several inputs are
/// this wire, take the first of that delay, if given.
std::optional<int64_t> Builder::cut_of(OutletId wire, std::optional<int64_t> delay) const {
  for (const OutletId& source : sources()) {
    const KnownWire& each = wires_.at(source);
    const bool same = !delay || (each.stream && each.stream->delay == *delay);
    if (each.outlet == wire && same) return each.cut;
  }
  return std::nullopt;
}

/// As above, for a wire that the node made: a new one, or a part of an input.
std::optional<int64_t> Builder::cut_by_node(OutletId made) const {
  const auto is_made = [&](OutletId source) { return wires_.at(source).outlet == made; };
  if (none_of(sources(), is_made)) return 0;
  const auto before = cut_of(made, std::nullopt);
  if (!before || !is_by_frame()) return std::nullopt;
  const Read& read = reads_.back();
  const bool slice = read.stride == 1 && read.divisor == 1 && read.offset >= 0;
  return slice ? std::optional(*before + read.offset) : std::nullopt;
}

/// Return frames [begin, end) of the prefix.
Result<OutletId> Builder::cut_prefix(const Prefixed& prefixed, int64_t begin, int64_t end) {
  if (begin == 0 && end == prefixed.count) return prefixed.frames;
  return add1("part", make_op<ops::Slice>(prefixed.stream.axis, Dim(begin), Dim(end)),
              {prefixed.frames});
}

/// Return the least common delay of inputs whose first frames are known or prefixed; nothing if no
/// input has a prefix, or the node does not work frame by frame.
std::optional<int64_t> Builder::prefix_delay() const {
  const std::optional<int64_t> none;
  if (prefixed_.empty() || node().outputs.size() != 1 || !is_by_frame()) return none;
  if (inputs() > 1 && node().op->tolerance() != Tolerance::kExact) return none;
  if (node().op->with_symbol(symbol(), Dim(1))) return none;
  bool any_prefix = false;
  int64_t latest = INT64_MIN;
  for (int i = 0; i < inputs(); ++i) {
    const auto s = stream(i);
    if (!s) {
      if (input(i).ready > 0) return none;
      continue;
    }
    if (input(i).steady) continue;
    const Prefixed* prefixed = laid(prefixed_, wire(i), *s);
    if (prefixed && !prefixed->known.empty()) return none;
    any_prefix |= prefixed != nullptr;
    latest = std::max(
        latest, prefixed ? prefixed->virtual_delay() + s->delay - prefixed->out_delay : s->delay);
  }
  return any_prefix ? std::optional(latest) : none;
}

/// Return the first `count` frames of an input; nothing if they are unknown.
Result<std::optional<OutletId>> Builder::prefix_frames(int i, int64_t count) {
  std::optional<OutletId> unknown;
  const auto s = stream(i);
  if (!s) return std::optional(wire(i));
  const KnownWire& own = input(i);
  if (const Prefixed* prefixed = own.steady ? nullptr : laid(prefixed_, wire(i), *s)) {
    const int64_t skipped = s->delay - prefixed->out_delay;
    if (prefixed->count < skipped + count || !prefixed->known.empty()) return unknown;
    RILL_ASSIGN(const OutletId frames, cut_prefix(*prefixed, skipped, skipped + count));
    return std::optional(frames);
  }
  if (own.steady ? own.frame == nullptr : s->delay > -count) return unknown;
  if (!has_numbers(fact(wire(i)))) return unknown;
  RILL_ASSIGN(const TensorPtr frames, frames_of_pad_value(fact(wire(i)), s->axis, count,
                                                          own.steady ? own.frame : s->pad_value));
  RILL_ASSIGN(const OutletId out, konst("first", *frames));
  return std::optional(out);
}

/// Make the node compute its first frames separately from those of the stream, which begin at
/// `delay`. Return whether that is possible.
Result<bool> Builder::begin_early(int64_t delay) {
  Early early{-delay, {}, std::nullopt, {}};
  for (int i = 0; i < inputs(); ++i) {
    RILL_ASSIGN(const auto frames, prefix_frames(i, -delay));
    if (!frames) return false;
    early.inputs.push_back(*frames);
  }
  early_ = std::move(early);
  return true;
}

/// Return the prefix frames of a wire that the node made from the stream.
Result<OutletId> Builder::first_frames(OutletId made) {
  const Node& node = pulsed_->node(made.node);
  std::vector<OutletId> inputs = early_->inputs;
  if (early_->laid) {
    inputs = node.inputs;
    const auto laid = find(inputs, *early_->laid);
    if (laid == inputs.end()) return fail(Code::kInternal, "windows are read by another node");
    *laid = early_->frames;
  }
  const OpPtr op = node.op;
  std::vector<TensorPtr> values;
  for (const OutletId& input : inputs) values.push_back(fact(input).konst);
  if (!all_of(values, [](const TensorPtr& value) { return value != nullptr; })) {
    return add1("first", op, inputs);
  }
  std::vector<char> streams(values.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(inputs[i] == node.inputs[i])) streams[i] = 1;
  }
  RILL_ASSIGN(Tensor frames, run_alone(op, values, streams, made.slot));
  return konst("first", std::move(frames));
}

/// Replace a slice after the whole prefix by a slice of the stream without the prefix.
void Builder::skip_prefix(KnownWire* wire) const {
  const auto prefixed = prefixed_.find(wire->outlet);
  if (prefixed == prefixed_.end() || !wire->cut || *wire->cut < prefixed->second.count) return;
  if (prefixed->second.out_delay + *wire->cut != wire->stream->delay) return;
  wire->outlet = prefixed->second.source;
  wire->stream->delay = prefixed->second.virtual_delay() + *wire->cut;
  wire->cut = std::nullopt;
}

/// Store the prefix frames of a wire for nodes that ask for them; lay them out for all others.
Status Builder::give_prefixed(KnownWire* wire, OutletId frames, int64_t count) {
  StreamFact& stream = *wire->stream;
  StreamFact streamed = stream;
  streamed.delay += count;
  streamed.dim = streamed.dim - Dim(count);
  streamed.pad_value = nullptr;
  Prefixed prefixed{wire->outlet, streamed, frames, count, {}};
  const int64_t history = std::max<int64_t>(0, -stream.delay - unread());
  RILL_ASSIGN(wire->outlet, lay_prefix(prefixed, history, 0));
  stream.delay += history;
  stream.pad_value = nullptr;
  wire->cut = 0;
  wire->taken_delay = streamed.delay - count;
  prefixed.out_delay = stream.delay;
  prefixed_.insert_or_assign(wire->outlet, prefixed);
  return {};
}

Result<std::optional<PulseBuilder::Prefix>> Builder::prefix_of_wire(OutletId whole_outlet) {
  constexpr int64_t kMost = 4096;
  std::optional<Prefix> none;
  const KnownWire& known_wire = wires_.at(whole_outlet);
  const OutletId wire = known_wire.outlet;
  const auto& s = known_wire.stream;
  if (!s || known_wire.steady) return none;
  const Prefixed* prefixed = laid(prefixed_, wire, *s);
  const int64_t skipped = prefixed ? s->delay - prefixed->out_delay : 0;
  const int64_t count = prefixed ? prefixed->count - skipped : -s->delay;
  if (count < 1 || count > kMost || (prefixed && !prefixed->known.empty())) return none;
  StreamFact rest = *s;
  rest.dim = s->dim - Dim(count);
  rest.delay = prefixed ? prefixed->stream.delay : 0;
  rest.pad_value = nullptr;
  if (prefixed) {
    RILL_ASSIGN(const OutletId frames, cut_prefix(*prefixed, skipped, prefixed->count));
    return std::optional(Prefix{frames, count, prefixed->source, rest});
  }
  if (!has_numbers(fact(wire))) return none;
  RILL_ASSIGN(const TensorPtr frames,
              frames_of_pad_value(fact(wire), s->axis, count, s->pad_value));
  RILL_ASSIGN(const OutletId first, konst("front", *frames));
  return std::optional(Prefix{first, count, wire, rest});
}

/// Return the known or present prefix of a wire, with the padding of a window before it and after
/// the stream. Nothing if there is none, or if the frames have no shape.
Result<std::optional<Builder::Prefixed>> Builder::padded_prefix(OutletId wire, StreamFact stream,
                                                                const StreamWindow& window) {
  const Fact fact = pulsed_->fact(wire);
  const int axis = stream.axis;
  const Prefixed* prefixed = laid(prefixed_, wire, stream);
  if (prefixed && !prefixed->known.empty()) return std::optional<Prefixed>();
  const bool padded = window.before > 0 || !prefixed;
  if (padded && !has_numbers(fact)) return std::optional<Prefixed>();
  if (!prefixed) {
    // The end may delay the stream until no frame of it is known.
    RILL_ASSIGN(wire, mask(wire, &stream, false, window.after > 0, window.pad_value));
    if (!stream.has_prefix()) return std::optional<Prefixed>();
  }
  const int64_t skipped = prefixed ? stream.delay - prefixed->out_delay : 0;
  const int64_t known = prefixed ? prefixed->count - skipped : -stream.delay;
  if (known < 1) return std::optional<Prefixed>();
  // If the stream may end within the prefix, padding replaces some of its frames.
  if (window.after > 0 && !whole_.scope.proves_non_negative(stream.dim - Dim(known))) {
    return std::optional<Prefixed>();
  }
  OutletId frames;
  StreamFact rest = stream;
  rest.dim = stream.dim - Dim(known);
  rest.delay = prefixed ? prefixed->stream.delay : 0;
  rest.pad_value = nullptr;
  if (prefixed) {
    wire = prefixed->source;
    RILL_ASSIGN(frames, cut_prefix(*prefixed, skipped, prefixed->count));
    RILL_ASSIGN(wire, mask(wire, &rest, false, window.after > 0, window.pad_value));
  } else {
    RILL_ASSIGN(const TensorPtr first, frames_of_pad_value(fact, axis, known, stream.pad_value));
    RILL_ASSIGN(frames, konst("known", *first));
  }
  if (window.before > 0) {
    const auto pad = std::make_shared<const Tensor>(window.pad_value);
    RILL_ASSIGN(const TensorPtr padding, frames_of_pad_value(fact, axis, window.before, pad));
    RILL_ASSIGN(const OutletId before, konst("padding", *padding));
    RILL_ASSIGN(frames, add1("front", make_op<ops::Concat>(axis), {before, frames}));
  }
  return std::optional(Prefixed{wire, rest, frames, window.before + known, {}});
}

}  // namespace rill::pulse
