#include <algorithm>

#include "ops/array/concat.h"
#include "ops/array/slice.h"
#include "ops/stream/mask.h"
#include "pulse/builder.h"

namespace rill::pulse {
namespace {

/// Return the first window >= `unread` with a tap on a frame; nothing if there is none.
std::optional<int64_t> first_window_of(int64_t frame, const StreamWindow& window) {
  const int64_t at = frame + window.before;
  int64_t n = window.unread;
  const int64_t distance = at - window.kernel + 1;
  if (distance > 0) n = std::max(n, (distance + window.stride - 1) / window.stride);
  for (; n * window.stride <= at; ++n) {
    if ((at - n * window.stride) % window.dilation == 0) return n;
  }
  return std::nullopt;
}

}  // namespace

/// Find the source of a wire's layout.
Builder::Source Builder::laid_source(OutletId wire, const StreamFact& stream) const {
  using Kind = Source::Kind;
  Source out{wire, stream};
  const auto found = [&](Kind kind, int64_t out_delay, int64_t frames) {
    if (frames <= kMostKnown) out.kind = kind;
    out.skipped = stream.delay - out_delay;
  };
  if (const EdgePadded* edge_padded = laid(edge_padded_, wire, stream)) {
    found(Kind::kEdgePadded, edge_padded->out_delay, edge_padded->padding.before);
  } else if (const Prefixed* prefixed = laid(prefixed_, wire, stream)) {
    found(Kind::kPrefixed, prefixed->out_delay, static_cast<int64_t>(prefixed->known.size()));
  } else if (const Waiting* waiting = laid(waiting_, wire, stream)) {
    found(Kind::kWaiting, waiting->out_delay, 0);
  }
  return out;
}

/// Return the delay of the frames if none of them waits.
int64_t Builder::delay_of(const Source& source) const {
  switch (source.kind) {
    case Source::Kind::kEdgePadded:
      return edge_padded_.at(source.wire).delay() + source.skipped;
    case Source::Kind::kPrefixed:
      return prefixed_.at(source.wire).virtual_delay() + source.skipped;
    case Source::Kind::kWaiting:
      return waiting_.at(source.wire).delay + source.skipped;
    default:
      return source.stream.delay;
  }
}

/// Return the positions, at pulse begins, from which the first frames are valid.
std::vector<int64_t> Builder::known_of(const Source& source) const {
  std::vector<int64_t> out;
  if (source.kind == Source::Kind::kEdgePadded) out = edge_padded_.at(source.wire).known;
  if (source.kind == Source::Kind::kPrefixed) out = prefixed_.at(source.wire).known;
  if (source.kind == Source::Kind::kWaiting) out = waiting_.at(source.wire).known;
  const auto cut = std::min(out.size(), static_cast<size_t>(source.skipped));
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(cut));
  return out;
}

/// Return a position after which no first frame becomes valid. It is the same for all pulses with
/// the reported delays, so that states can move between them.
int64_t Builder::settled_of(const Source& source) const {
  switch (source.kind) {
    case Source::Kind::kEdgePadded: {
      const EdgePadded& edge_padded = edge_padded_.at(source.wire);
      const int64_t repeated =
          std::max<int64_t>(0, edge_padded.stream.delay) + edge_padded.padding.before;
      return std::max(repeated, settled_of(edge_padded.source));
    }
    case Source::Kind::kPrefixed: {
      const Prefixed& prefixed = prefixed_.at(source.wire);
      return prefixed.out_delay + static_cast<int64_t>(prefixed.known.size());
    }
    case Source::Kind::kWaiting:
      return waiting_.at(source.wire).settled;
    default:
      return source.stream.delay;
  }
}

/// Lay frames out with a delay, and `shown` earlier frames before each pulse.
Result<OutletId> Builder::lay(const Source& source, int64_t out_delay, int64_t shown) {
  const int64_t whole = out_delay - source.skipped;
  switch (source.kind) {
    case Source::Kind::kEdgePadded:
      return lay_edge_padding(edge_padded_.at(source.wire), whole, shown);
    case Source::Kind::kPrefixed: {
      const Prefixed& prefixed = prefixed_.at(source.wire);
      return lay_prefix(prefixed, whole - prefixed.virtual_delay() + shown, shown);
    }
    case Source::Kind::kWaiting:
      return lay_waiting(waiting_.at(source.wire), whole, shown);
    default:
      return delay(source.wire, source.stream, out_delay - source.stream.delay, shown);
  }
}

/// Make an operator recompute `shown` earlier frames.
Result<OutletId> Builder::repeat(const Waiting& waiting, int64_t out_delay, int64_t shown) {
  std::vector<OutletId> inputs;
  for (const Waiting::Part& part : waiting.parts) {
    inputs.push_back(part.wire);
    if (!part.source) continue;
    if (waiting.window) {
      const StreamWindow& window = *waiting.window;
      const int64_t history = out_delay * window.stride + window.before - waiting.laid;
      const int64_t more = shown * window.stride;
      RILL_ASSIGN(inputs.back(),
                  lay_for(*part.source, window, waiting.laid, history + more, more));
    } else {
      RILL_ASSIGN(inputs.back(), lay(*part.source, out_delay, shown));
    }
  }
  RILL_ASSIGN(const std::vector<OutletId> made, add("again", waiting.op, inputs));
  return made[static_cast<size_t>(waiting.slot)];
}

/// Recompute earlier frames until everything that they wait for has arrived; keep the frames before
/// them.
Result<OutletId> Builder::lay_waiting(const Waiting& waiting, int64_t out_delay, int64_t shown) {
  const int64_t again = std::clamp<int64_t>(waiting.settled - out_delay, 0, shown);
  RILL_ASSIGN(const OutletId made, repeat(waiting, out_delay, again));
  if (again == shown) return made;
  const int axis = waiting.axis;
  RILL_ASSIGN(const int64_t frames, pulse_of(made, axis));
  const auto part = [&](std::string_view suffix, int64_t begin, int64_t end) -> Result<OutletId> {
    if (again == 0) return made;
    return add1(suffix, make_op<ops::Slice>(axis, Dim(begin), Dim(end)), {made});
  };
  RILL_ASSIGN(const OutletId settled, part("settled", 0, frames - again));
  const StreamFact stream{axis, Dim(), out_delay + again, nullptr};
  RILL_ASSIGN(const OutletId kept, delay(settled, stream, 0, shown - again));
  if (again == 0) return kept;
  RILL_ASSIGN(const OutletId fresh, part("fresh", frames - again, frames));
  return add1("laid", make_op<ops::Concat>(axis), {kept, fresh});
}

/// Return the inputs of the current node, if they are aligned later than they arrive.
std::optional<Builder::Waiting> Builder::meeting_parts(int64_t latest) {
  Waiting out;
  out.delay = INT64_MIN;
  out.out_delay = latest;
  int64_t pulse = 1;
  int64_t ready = 0;
  for (int i = 0; i < inputs(); ++i) {
    Waiting::Part& part = out.parts.emplace_back(Waiting::Part{wire(i), std::nullopt});
    const auto s = stream(i);
    if (!s) {
      ready = std::max(ready, input(i).ready);
      continue;
    }
    if (input(i).steady) return std::nullopt;
    pulse = fact(wire(i)).dim(s->axis).to_int().value_or(1);
    const Source source = laid_source(wire(i), *s);
    out.delay = std::max(out.delay, delay_of(source));
    const std::vector<int64_t> known = known_of(source);
    out.known.resize(std::max(out.known.size(), known.size()));
    for (size_t at = 0; at < known.size(); ++at) out.known[at] = std::max(out.known[at], known[at]);
    const Source& inner =
        source.kind == Source::Kind::kEdgePadded ? edge_padded_.at(source.wire).source : source;
    out.rising |= inner.kind == Source::Kind::kPrefixed;
    out.rising |= inner.kind == Source::Kind::kWaiting;
    part.source = source;
  }
  const int64_t from = ready * pulse;
  if (out.delay >= latest || from - out.delay > kMostKnown) return std::nullopt;
  const int64_t waits = from - out.delay;
  out.known.resize(std::max(out.known.size(), static_cast<size_t>(std::max<int64_t>(0, waits))));
  for (int64_t at = 0; at < waits; ++at) {
    int64_t& known = out.known[static_cast<size_t>(at)];
    known = std::max(known, from);
  }
  out.settled = latest + unread();
  for (const Waiting::Part& part : out.parts) {
    if (part.source && out.rising) out.settled = std::max(out.settled, settled_of(*part.source));
  }
  return out;
}

/// Return whether an op without state gives one more frame if its inputs have one more, or one more
/// stride of a window.
bool Builder::works_on_any_count(const Waiting& waiting, const Node& made) const {
  if (node().op->with_symbol(symbol(), Dim(1)) || made.op->with_symbol(symbol(), Dim(1))) {
    return false;
  }
  const int64_t count = waiting.window ? waiting.window->stride : 1;
  Facts in;
  for (const Waiting::Part& part : waiting.parts) {
    Fact& fact = in.emplace_back(this->fact(waiting.wires[in.size()]));
    if (part.source) fact.shape[static_cast<size_t>(part.source->stream.axis)] += Dim(count);
    if (part.source) fact.konst = nullptr;
  }
  const auto out = made.op->infer(in);
  if (!out.ok() || made.op->state_bytes(in) > 0) return false;
  const auto slot = static_cast<size_t>(waiting.slot);
  const auto axis = static_cast<size_t>(waiting.axis);
  return (*out)[slot].shape[axis] == made.outputs[slot].shape[axis] + Dim(1);
}

/// Record the source of a node's output, if it waits.
void Builder::note_waiting(OutletId made, const StreamFact& stream) {
  const Node& op = pulsed_->node(made.node);
  if (!meeting_ || early_ || op.inputs.empty()) return;
  Waiting waiting = *meeting_;
  if (waiting.window && op.inputs[0] == waiting.wires[0]) {
    waiting.wires = op.inputs;
    for (size_t i = 1; i < op.inputs.size(); ++i) {
      waiting.parts.push_back({op.inputs[i], std::nullopt});
    }
  }
  if (op.inputs != waiting.wires) return;
  waiting.op = op.op;
  waiting.slot = made.slot;
  waiting.axis = stream.axis;
  if (stream.delay != waiting.out_delay || !works_on_any_count(waiting, op)) return;
  waiting_.insert_or_assign(made, std::move(waiting));
}

/// Return the history that a window needs of the frames laid out for it, and the delay of its
/// output.
Result<Builder::Layout> Builder::layout_of(const Source& source, const StreamFact& stream,
                                           const StreamWindow& window) {
  Layout out;
  StreamFact bare = stream;
  bare.delay = delay_of(source);
  bare.pad_value = nullptr;
  if (window.after > 0) {
    RILL_ASSIGN(const int64_t slack, slack_of(source.wire, bare));
    bare.delay -= slack;
  }
  out.delay = bare.delay;
  const int64_t begin = out.delay - window.before;
  int64_t least = std::max(window.kernel - window.stride, -begin - window.unread * window.stride);
  const std::vector<int64_t> known = known_of(source);
  for (size_t at = 0; at < known.size(); ++at) {
    const auto n = first_window_of(static_cast<int64_t>(at), window);
    if (n) least = std::max(least, known[at] - begin - *n * window.stride);
  }
  out.history = aligned_history(least, begin, window.stride);
  out.out_delay = (begin + out.history) / window.stride;
  return out;
}

/// If a window reads waiting frames, lay them out in its history if that reduces its delay.
Result<std::optional<OutletId>> Builder::laid_window(OutletId wire, StreamFact* stream,
                                                     const StreamWindow& window) {
  std::optional<OutletId> none;
  const Source source = laid_source(wire, *stream);
  const bool padded = window.before > 0 || window.after > 0;
  if (source.kind == Source::Kind::kPlain) return none;
  if (source.kind == Source::Kind::kPrefixed && known_of(source).empty()) return none;
  RILL_ASSIGN(const Layout layout, layout_of(source, *stream, window));
  if (padded || source.kind != Source::Kind::kEdgePadded) {
    RILL_ASSIGN(const Layout plain, layout_of(Source{wire, *stream}, *stream, window));
    if (layout.out_delay >= plain.out_delay) return none;
  }
  RILL_ASSIGN(OutletId out,
              lay_for(source, window, layout.delay, std::max<int64_t>(0, layout.history), 0));
  note_windows(source, window, layout, out);
  stream->delay = layout.out_delay;
  stream->pad_value = nullptr;
  if (layout.history < 0) {
    RILL_ASSIGN(out, skip_frames(out, *stream, -layout.history));
  }
  return std::optional(out);
}

/// Lay frames out for a window with its padding. `history`: the earlier frames to keep. Of these,
/// the windows of a pulse see those under the kernel, and `shown` more.
Result<OutletId> Builder::lay_for(const Source& source, const StreamWindow& window,
                                  int64_t laid_delay, int64_t history, int64_t shown) {
  shown = std::min(history, std::max<int64_t>(0, window.kernel - window.stride) + shown);
  StreamFact stream = source.stream;
  stream.delay = laid_delay + history - shown;
  stream.pad_value = nullptr;
  RILL_ASSIGN(OutletId out, lay(source, stream.delay, shown));
  if (window.before == 0 && window.after == 0) return out;
  auto op = draft_op<ops::PulseMask>();
  op->axis = stream.axis;
  op->begin = window.before > 0 ? stream.delay : -shown;
  op->end = window.after > 0 ? stream.dim + Dim(stream.delay) : Dim(INT64_MAX);
  op->value = std::make_shared<const Tensor>(window.pad_value);
  op->padding = true;
  op->overlap = shown;
  if (window.after > 0) read_end(source.wire, stream);
  return add1("mask", std::move(op), {out});
}

/// Record the sources of windows whose first outputs wait.
void Builder::note_windows(const Source& source, const StreamWindow& window, const Layout& layout,
                           OutletId laid_out) {
  const int64_t begin = layout.delay - window.before;
  const int64_t earlier = window.kernel - window.stride;
  const int64_t least = aligned_history(earlier, begin, window.stride);
  Waiting out;
  out.delay = (begin + least) / window.stride;
  out.out_delay = layout.out_delay;
  const bool waits = out.delay < out.out_delay;
  if (!waits || earlier < 0 || window.rate > 1 || node().outputs.size() != 1) return;
  const std::vector<int64_t> known = known_of(source);
  for (size_t at = 0; at < known.size(); ++at) {
    const int64_t place = static_cast<int64_t>(at) + window.before;
    for (int64_t n = place / window.stride; n >= 0 && place - n * window.stride < window.kernel;
         --n) {
      if ((place - n * window.stride) % window.dilation != 0) continue;
      const auto slot = static_cast<size_t>(n);
      out.known.resize(std::max(out.known.size(), slot + 1));
      out.known[slot] = std::max(out.known[slot], known[at] / window.stride);
    }
  }
  out.rising = true;
  const int64_t settled = std::max<int64_t>(0, settled_of(source));
  out.settled = (settled + window.stride - 1) / window.stride;
  // More frames than the known ones may wait, such as padding before them.
  for (int64_t n = 0; n + out.delay < 0; ++n) {
    const auto slot = static_cast<size_t>(n);
    out.known.resize(std::max(out.known.size(), slot + 1));
  }
  out.parts.push_back({laid_out, source});
  out.wires.push_back(laid_out);
  out.window = window;
  out.laid = layout.delay;
  meeting_ = std::move(out);
}

/// Return the least delay of a wire that another layout of its padding can give.
int64_t Builder::earliest_delay(OutletId wire, const StreamFact& stream) {
  const Source source = laid_source(wire, stream);
  if (source.kind == Source::Kind::kPlain) return stream.delay;
  const int64_t first = unread_of_inputs();
  int64_t out = std::max(delay_of(source), -first);
  const std::vector<int64_t> known = known_of(source);
  for (auto at = static_cast<size_t>(first); at < known.size(); ++at) {
    out = std::max(out, known[at] - static_cast<int64_t>(at));
  }
  return out;
}

/// Return the wire with a delay of `frames`, which is at least its `earliest_delay`.
Result<OutletId> Builder::with_delay(OutletId wire, const StreamFact& stream, int64_t frames) {
  if (frames >= stream.delay) return delay(wire, stream, frames - stream.delay, 0);
  return lay(laid_source(wire, stream), frames, 0);
}

}  // namespace rill::pulse
