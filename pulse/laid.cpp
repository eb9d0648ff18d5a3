#include <algorithm>

#include "core/base/limits.h"
#include "core/base/search.h"
#include "ops/array/concat.h"
#include "ops/array/slice.h"
#include "ops/stream/border.h"
#include "ops/stream/latch.h"
#include "pulse/builder.h"
#include "pulse/fill.h"

namespace rill::pulse {
namespace {

/// Return whether known frames of a wire have a fixed shape: pad values repeat along symbolic
/// extents.
bool has_numbers(const Fact& fact) {
  return all_of(fact.shape, [](const Dim& extent) { return extent.is_const(); });
}


}  // namespace

Result<OutletId> Builder::lay_border(const Bordered& bordered, int64_t out_delay, int64_t shown) {
  const auto [before, after, reflect] = bordered.border;
  // The largest look-back of the output's frames, at the end and at the beginning of the stream.
  const int64_t tail = after * (reflect ? 2 : 1);
  const int64_t shift = out_delay + before - bordered.stream.delay;
  const int64_t back = std::max<int64_t>(0, shown + shift + (after > 0 ? tail : 0));
  auto op = draft_op<ops::PulseBorder>();
  op->axis = bordered.stream.axis;
  op->overlap = back;
  op->shown = shown;
  op->delay = bordered.stream.delay;
  op->out_delay = out_delay;
  op->before = before;
  op->reflect = reflect;
  op->length = bordered.stream.dim;
  RILL_ASSIGN(const OutletId source, lay(bordered.source, bordered.stream.delay, back));
  if (after > 0) {
    StreamFact shown_end = bordered.stream;
    shown_end.delay = out_delay + before;
    read_end(bordered.source.wire, shown_end);
  }
  knows_ends_ = true;
  return add1("border", op, {source});
}

Result<OutletId> Builder::border(OutletId wire, StreamFact* stream, const StreamBorder& border) {
  if (std::max(border.before, border.after) > kMostFrames) {
    return refusal(str_cat("a border of ", std::max(border.before, border.after), " frames"),
                   str_cat("Use at most ", kMostFrames));
  }
  // A whole run with fewer frames than the padding repeats is an error.
  needed_.push_back(stream->dim -
                    Dim(border.reflect ? std::max(border.before, border.after) + 1 : 1));
  RILL_ASSIGN(const int64_t pulse, pulse_of(wire, stream->axis));
  RILL_ASSIGN(Bordered best, bordered({wire, *stream}, border, pulse));
  const Source source = laid_source(wire, *stream);
  if (source.kind != Source::Kind::kPlain) {
    RILL_ASSIGN(Bordered earlier, bordered(source, border, pulse));
    const bool less = earlier.delay() < best.delay() && earlier.out_delay <= best.out_delay;
    if (less) best = std::move(earlier);
  }
  settles_at(settled_of(source) + best.held + border.before + pulse, pulse);
  RILL_ASSIGN(const OutletId out, lay_border(best, best.out_delay, 0));
  stream->delay = best.out_delay;
  stream->fill = nullptr;
  bordered_.insert_or_assign(out, std::move(best));
  return out;
}

/// Pad frames that can be laid out earlier, and lay the result out as early as possible.
Result<Builder::Bordered> Builder::bordered(const Source& source, const StreamBorder& border,
                                            int64_t pulse) {
  Bordered out{source, source.stream, border};
  out.stream.delay = delay_of(source);
  if (border.after > 0) {
    RILL_ASSIGN(const int64_t slack, slack_of(source.wire, out.stream));
    out.held = -slack;
  }
  // A frame must have arrived before it is repeated. Mirrored frames come from ever nearer ones.
  const std::vector<int64_t> inner = known_of(source);
  const auto known_at = [&](int64_t frame) {
    const int64_t there = std::max<int64_t>(0, out.stream.delay + frame) / pulse * pulse;
    const bool waits = frame < static_cast<int64_t>(inner.size());
    return waits ? std::max(there, inner[static_cast<size_t>(frame)]) : there;
  };
  const int64_t first = unread();
  out.out_delay = std::max(out.delay(), -first);
  const auto note = [&](int64_t frame, int64_t repeated) {
    const int64_t known = known_at(repeated);
    if (border.before <= kMostKnown) out.known.push_back(known);
    if (frame >= first) out.out_delay = std::max(out.out_delay, known - frame);
  };
  // With very many mirrored frames, the first frame read waits longest.
  for (int64_t at = border.before <= kMostKnown ? 0 : first; at < border.before; ++at) {
    note(at, border.reflect ? border.before - at : 0);
    if (border.before > kMostKnown) break;
  }
  for (size_t at = 0; at < inner.size(); ++at) {
    const auto frame = static_cast<int64_t>(at);
    note(border.before + frame, frame);
  }
  return out;
}

/// Lay out prefix frames before `history` frames of a source. Each pulse repeats the first `shown`
/// frames from the previous pulse.
Result<OutletId> Builder::lay_front(const Fronted& fronted, int64_t history, int64_t shown) {
  auto op = draft_op<ops::PulseSplice>();
  op->axis = fronted.stream.axis;
  op->has_front = true;
  op->begin = fronted.stream.delay - fronted.count + history;
  op->shown = shown;
  RILL_ASSIGN(const OutletId source, delay(fronted.source, fronted.stream, history - shown, shown));
  return add1("front", op, {source, fronted.frames});
}

Result<OutletId> Builder::front(OutletId wire, StreamFact* stream, OutletId frames, int64_t count,
                                std::vector<int64_t> known) {
  if (count > kMostFrames) {
    return refusal(str_cat(counted(count, "frame"), " of prefix"),
                   str_cat("Use at most ", kMostFrames));
  }
  Fronted fronted{wire, *stream, frames, count, std::move(known)};
  int64_t history = std::max<int64_t>(0, count - stream->delay - unread());
  for (auto at = static_cast<size_t>(unread()); at < fronted.known.size(); ++at) {
    const int64_t wait = fronted.known[at] - static_cast<int64_t>(at);
    history = std::max(history, wait - fronted.virtual_delay());
  }
  RILL_ASSIGN(const OutletId out, lay_front(fronted, history, 0));
  stream->delay += history - count;
  stream->dim += Dim(count);
  fronted.out_delay = stream->delay;
  fronted_.insert_or_assign(out, fronted);
  return out;
}

/// Return nothing if the window skips more frames than the prefix has.
Result<std::optional<OutletId>> Builder::fronted_window(const Fronted& fronted, StreamFact* stream,
                                                        const StreamWindow& window) {
  // In a slice of the joined stream, frame 0 comes later.
  const int64_t virtual_delay = fronted.virtual_delay() + stream->delay - fronted.out_delay;
  const int64_t first = window.unread * window.stride;
  const int64_t history =
      aligned_history(std::max(window.kernel - window.stride, -virtual_delay - first),
                      virtual_delay, window.stride);
  if (history < 0) return std::optional<OutletId>();
  // Windows within the prefix are computed from its frames alone.
  const int64_t overlap = std::max<int64_t>(0, window.kernel - window.stride);
  const int64_t skipped = stream->delay - fronted.out_delay;
  const int64_t least = aligned_history(overlap, virtual_delay, window.stride);
  const bool alone = window.frame_by_window && window.padding_is_frames &&
                     node().outputs.size() == 1 && least < history &&
                     fronted.count - skipped >= window.kernel;
  const int64_t kept = alone ? least : history;
  stream->delay = (virtual_delay + kept) / window.stride;
  stream->fill = nullptr;
  RILL_ASSIGN(const OutletId out, lay_front(fronted, kept, std::min(overlap, kept)));
  if (alone) {
    const int64_t windows = (fronted.count - skipped - window.kernel) / window.stride + 1;
    RILL_ASSIGN(const OutletId frames, cut_front(fronted, skipped, fronted.count));
    early_ = Early{windows * window.rate - window.cut, {}, out, frames, window.cut};
  }
  return std::optional<OutletId>(out);
}

/// Return how many leading frames were dropped from the input of the node that has that delay, or
/// from any input if none is given.
std::optional<int64_t> Builder::cut_of(OutletId wire, std::optional<int64_t> delay) const {
  for (int i = 0; i < inputs(); ++i) {
    const KnownWire& each = input(i);
    const bool same = !delay || (each.stream && each.stream->delay == *delay);
    if (each.outlet == wire && same) return each.cut;
  }
  return std::nullopt;
}

/// As above, for a wire that the node made: a new one, or a part of an input.
std::optional<int64_t> Builder::cut_by_node(OutletId made) const {
  const auto is_made = [&](OutletId input) { return wires_.at(input).outlet == made; };
  if (none_of(node().inputs, is_made)) return 0;
  const auto before = cut_of(made, std::nullopt);
  if (!before || !is_by_frame()) return std::nullopt;
  const Read& read = reads_.back();
  const bool slice = read.stride == 1 && read.divisor == 1 && read.offset >= 0;
  return slice ? std::optional(*before + read.offset) : std::nullopt;
}

/// Return frames [begin, end) of the prefix.
Result<OutletId> Builder::cut_front(const Fronted& fronted, int64_t begin, int64_t end) {
  if (begin == 0 && end == fronted.count) return fronted.frames;
  return add1("part", make_op<ops::Slice>(fronted.stream.axis, Dim(begin), Dim(end)),
              {fronted.frames});
}

/// Return the least common delay of inputs whose first frames are known or prefixed; nothing if no
/// input has a prefix, or the node does not work frame by frame.
std::optional<int64_t> Builder::front_delay() const {
  const std::optional<int64_t> none;
  if (fronted_.empty() || node().outputs.size() != 1 || !is_by_frame()) return none;
  if (inputs() > 1 && node().op->tolerance() != Tolerance::kExact) return none;
  if (node().op->with_symbol(symbol(), Dim(1))) return none;
  bool any_front = false;
  int64_t latest = INT64_MIN;
  for (int i = 0; i < inputs(); ++i) {
    const auto s = stream(i);
    if (!s) {
      if (input(i).ready > 0) return none;
      continue;
    }
    if (input(i).steady) continue;
    const Fronted* fronted = laid(fronted_, wire(i), *s);
    if (fronted && !fronted->known.empty()) return none;
    any_front |= fronted != nullptr;
    latest = std::max(latest, fronted ? fronted->virtual_delay() + s->delay - fronted->out_delay
                                      : s->delay);
  }
  return any_front ? std::optional(latest) : none;
}

/// Return the first `count` frames of an input; nothing if they are unknown.
Result<std::optional<OutletId>> Builder::frames_in_front(int i, int64_t count) {
  std::optional<OutletId> unknown;
  const auto s = stream(i);
  if (!s) return std::optional(wire(i));
  const KnownWire& own = input(i);
  if (const Fronted* fronted = own.steady ? nullptr : laid(fronted_, wire(i), *s)) {
    const int64_t skipped = s->delay - fronted->out_delay;
    if (fronted->count < skipped + count || !fronted->known.empty()) return unknown;
    RILL_ASSIGN(const OutletId frames, cut_front(*fronted, skipped, skipped + count));
    return std::optional(frames);
  }
  if (own.steady ? own.frame == nullptr : s->delay > -count) return unknown;
  if (!has_numbers(fact(wire(i)))) return unknown;
  RILL_ASSIGN(const TensorPtr frames, frames_of_fill(fact(wire(i)), s->axis, count,
                                                     own.steady ? own.frame : s->fill));
  RILL_ASSIGN(const OutletId out, konst("first", *frames));
  return std::optional(out);
}

/// Make the node compute its first frames separately from those of the stream, which begin at
/// `delay`. Return whether it can.
Result<bool> Builder::begin_early(int64_t delay) {
  Early early{-delay, {}, std::nullopt, {}};
  for (int i = 0; i < inputs(); ++i) {
    RILL_ASSIGN(const auto frames, frames_in_front(i, -delay));
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
void Builder::skip_front(KnownWire* wire) const {
  const auto fronted = fronted_.find(wire->outlet);
  if (fronted == fronted_.end() || !wire->cut || *wire->cut < fronted->second.count) return;
  if (fronted->second.out_delay + *wire->cut != wire->stream->delay) return;
  wire->outlet = fronted->second.source;
  wire->stream->delay = fronted->second.virtual_delay() + *wire->cut;
  wire->cut = std::nullopt;
}

/// Store the prefix frames of a wire for nodes that ask for them; lay them out for all others.
Status Builder::give_behind(KnownWire* wire, OutletId frames, int64_t count) {
  StreamFact& stream = *wire->stream;
  StreamFact behind = stream;
  behind.delay += count;
  behind.dim = behind.dim - Dim(count);
  behind.fill = nullptr;
  Fronted fronted{wire->outlet, behind, frames, count, {}};
  const int64_t history = std::max<int64_t>(0, -stream.delay - unread());
  RILL_ASSIGN(wire->outlet, lay_front(fronted, history, 0));
  stream.delay += history;
  stream.fill = nullptr;
  wire->cut = 0;
  wire->taken_delay = behind.delay - count;
  fronted.out_delay = stream.delay;
  fronted_.insert_or_assign(wire->outlet, fronted);
  return {};
}

Result<std::optional<PulseBuilder::InFront>> Builder::in_front(int i) {
  constexpr int64_t kMost = 4096;
  std::optional<InFront> none;
  const auto s = stream(i);
  if (!s || input(i).steady) return none;
  const Fronted* fronted = laid(fronted_, wire(i), *s);
  const int64_t skipped = fronted ? s->delay - fronted->out_delay : 0;
  const int64_t count = fronted ? fronted->count - skipped : -s->delay;
  if (count < 1 || count > kMost || (fronted && !fronted->known.empty())) return none;
  StreamFact rest = *s;
  rest.dim = s->dim - Dim(count);
  rest.delay = fronted ? fronted->stream.delay : 0;
  rest.fill = nullptr;
  if (fronted) {
    RILL_ASSIGN(const OutletId frames, cut_front(*fronted, skipped, fronted->count));
    return std::optional(InFront{frames, count, fronted->source, rest});
  }
  if (!has_numbers(fact(wire(i)))) return none;
  RILL_ASSIGN(const TensorPtr frames, frames_of_fill(fact(wire(i)), s->axis, count, s->fill));
  RILL_ASSIGN(const OutletId first, konst("front", *frames));
  return std::optional(InFront{first, count, wire(i), rest});
}

/// Return the known or present prefix of a wire, with the padding of a window before it and after
/// the stream. Nothing if there is none, or if the frames have no shape.
Result<std::optional<Builder::Fronted>> Builder::padded_front(OutletId wire, StreamFact stream,
                                                              const StreamWindow& window) {
  const Fact fact = pulsed_->fact(wire);
  const int axis = stream.axis;
  const Fronted* fronted = laid(fronted_, wire, stream);
  if (fronted && !fronted->known.empty()) return std::optional<Fronted>();
  const bool padded = window.before > 0 || !fronted;
  if (padded && !has_numbers(fact)) return std::optional<Fronted>();
  if (!fronted) {
    // The end may delay the stream until no frame of it is known.
    RILL_ASSIGN(wire, mask(wire, &stream, false, window.after > 0, window.pad_value));
    if (!stream.has_prefix()) return std::optional<Fronted>();
  }
  const int64_t skipped = fronted ? stream.delay - fronted->out_delay : 0;
  const int64_t known = fronted ? fronted->count - skipped : -stream.delay;
  if (known < 1) return std::optional<Fronted>();
  // If the stream may end within the prefix, padding replaces some of its frames.
  if (window.after > 0 && !whole_.scope.proves_non_negative(stream.dim - Dim(known))) {
    return std::optional<Fronted>();
  }
  OutletId frames;
  StreamFact rest = stream;
  rest.dim = stream.dim - Dim(known);
  rest.delay = fronted ? fronted->stream.delay : 0;
  rest.fill = nullptr;
  if (fronted) {
    wire = fronted->source;
    RILL_ASSIGN(frames, cut_front(*fronted, skipped, fronted->count));
    RILL_ASSIGN(wire, mask(wire, &rest, false, window.after > 0, window.pad_value));
  } else {
    RILL_ASSIGN(const TensorPtr first, frames_of_fill(fact, axis, known, stream.fill));
    RILL_ASSIGN(frames, konst("known", *first));
  }
  if (window.before > 0) {
    const auto pad = std::make_shared<const Tensor>(window.pad_value);
    RILL_ASSIGN(const TensorPtr padding, frames_of_fill(fact, axis, window.before, pad));
    RILL_ASSIGN(const OutletId before, konst("padding", *padding));
    RILL_ASSIGN(frames, add1("front", make_op<ops::Concat>(axis), {before, frames}));
  }
  return std::optional(Fronted{wire, rest, frames, window.before + known, {}});
}

}  // namespace rill::pulse
