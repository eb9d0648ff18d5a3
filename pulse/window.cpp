#include <algorithm>

#include "core/dim/bound.h"
#include "core/graph/ends.h"
#include "ops/array/common.h"
#include "ops/array/slice.h"
#include "ops/stream/delay.h"
#include "ops/stream/mask.h"
#include "pulse/builder.h"
#include "pulse/pad_value.h"

namespace rill::pulse {
Result<OutletId> Builder::delay(OutletId wire, const StreamFact& stream, int64_t frames,
                                int64_t overlap) {
  if (frames == 0 && overlap == 0) return wire;
  auto op = draft_op<ops::Delay>();
  op->axis = stream.axis;
  op->delay = frames;
  op->overlap = overlap;
  if (stream.has_prefix()) {
    op->pad_value = stream.pad_value;
    op->padding = -stream.delay;
  }
  return add1("delay", op, {wire});
}

Result<int64_t> Builder::least_ahead(OutletId wire, const StreamFact& stream) const {
  const auto pulse = pulse_.to_int();
  return pulse ? least_ahead(wire, stream, *pulse) : Result<int64_t>(0);
}

Result<int64_t> Builder::least_ahead(OutletId wire, const StreamFact& stream, int64_t unit) const {
  return least_ahead(wire, stream, unit, false);
}

/// As the public overloads. `late`: whether streams of whole pulses announce their end after the
/// last step.
Result<int64_t> Builder::least_ahead(OutletId wire, const StreamFact& stream, int64_t unit,
                                     bool late) const {
  RILL_ASSIGN(const int64_t frames_per_pulse, pulse_of(wire, stream.axis));
  RILL_ASSIGN(const int64_t pulse, pulse_.as_int());
  const int64_t p = frames_per_pulse * unit / pulse;
  const auto bound = bound_of(stream.dim);
  const auto frames_beyond = [&](const Dim& stepped, const Dim& frames) {
    const Dim count = Dim(p) * stepped - Dim(stream.delay) - frames;
    // From this length on the end is known in advance.
    return bound ? count * (Dim(1) - eq(frames, Dim(*bound))) : count;
  };
  const auto most = most_frames_beyond(stream.dim, symbol(), unit, late, frames_beyond);
  if (most.ok() && *most) return -**most;
  return refusal(most.ok() ? str_cat("its frames, ", stream.dim,
                                     ", end earlier and earlier relative to the stream")
                           : most.error().message,
                 "Write the lengths of slices and pads as sums and quotients of the stream's");
}

/// Return the frames by which a stream must wait for its end to be announced in time.
Result<int64_t> Builder::slack_of(OutletId wire, const StreamFact& stream) {
  RILL_ASSIGN(const int64_t slack, least_ahead(wire, stream));
  if (const auto pulse = pulse_.to_int()) {
    RILL_ASSIGN(const int64_t frames, pulse_of(wire, stream.axis));
    begin_unit_ = least_begin_unit(*pulse, begin_unit_, [&](int64_t unit) {
      if (frames % (*pulse / unit) != 0) return false;
      const auto ahead = least_ahead(wire, stream, unit);
      return ahead.ok() && *ahead >= slack;
    });
  }
  return slack;
}

/// Record that an operator reads the end of a stream. `stream` is that of the wire as the operator
/// reads it: a node's output may be laid out again with another delay.
void Builder::read_end(OutletId wire, const StreamFact& stream) {
  knows_ends_ = true;
  const auto pulse = pulse_.to_int();
  if (!late_end_ || !pulse) return;
  const auto ahead = least_ahead(wire, stream, *pulse, true);
  late_end_ = ahead.ok() && *ahead >= 0;
}

Result<OutletId> Builder::hold(OutletId wire, StreamFact* stream) {
  RILL_ASSIGN(const int64_t slack, slack_of(wire, *stream));
  RILL_ASSIGN(const OutletId held, delay(wire, *stream, -slack, 0));
  stream->delay -= slack;
  read_end(held, *stream);
  return held;
}

Result<OutletId> Builder::mask(OutletId wire, StreamFact* stream, bool begin, bool end,
                               const Tensor& value) {
  // A hold inserts invalid frames, so mask the beginning after it.
  if (end) {
    RILL_ASSIGN(wire, hold(wire, stream));
  }
  RILL_ASSIGN(auto op, ops::mask_around(pulsed_->fact(wire), *stream, begin, end, value));
  if (!op) return wire;
  op->padding = true;
  return add1("mask", op, {wire});
}

Result<OutletId> Builder::materialise(OutletId wire, StreamFact* stream) {
  if (!stream->has_prefix()) return wire;
  RILL_ASSIGN(const OutletId out, delay(wire, *stream, -stream->delay, 0));
  stream->delay = 0;
  stream->pad_value = nullptr;
  return out;
}

Status Builder::check_stride(int64_t frames, int64_t stride) {
  if (frames % stride == 0) return {};
  return refuse_pulse(frames, stride, "its input has ", counted(frames, "frame"),
                      " per pulse, not a multiple of the stride ", stride);
}

/// Return the result of windows of one known frame, null for zeros; nothing if it is unknown.
Result<std::optional<TensorPtr>> Builder::pad_value_of_windows(OutletId wire,
                                                               const StreamFact& stream,
                                                               const StreamWindow& window,
                                                               const TensorPtr& frame) const {
  std::optional<TensorPtr> unknown;
  // With a stride, size-preserving padding depends on the length.
  const bool even = window.before > 0 || window.after == 0 || window.stride == 1;
  if (window.rate > 1) return unknown;
  if (!window.padding_is_frames || !even || node().outputs.size() != 1) return unknown;
  const int64_t at = (window.before + window.stride - 1) / window.stride;
  const int64_t count = at * window.stride - window.before + window.kernel + window.cut;
  RILL_ASSIGN(TensorPtr frames,
              frames_of_pad_value(pulsed_->fact(wire), stream.axis, count, frame));
  std::vector<TensorPtr> values{std::move(frames)};
  std::vector<char> streams{1};
  for (int i = 1; i < inputs(); ++i) {
    const TensorPtr& constant = pulsed_->fact(this->wire(i)).konst;
    if (!constant) return unknown;
    values.push_back(constant);
    streams.push_back(0);
  }
  const auto given = run_alone(bound_op(), values, streams, 0);
  if (!given.ok() || given->extent(stream.axis) <= at) return unknown;
  RILL_ASSIGN(Tensor one, ops::frame_at(*given, stream.axis, at));
  return std::optional(compact_pad_value(std::make_shared<const Tensor>(std::move(one))));
}

/// Return how many earlier frames a window needs before a pulse; negative if it skips frames.
/// `stream` becomes that of the output. `pad_value`: the virtual frame before the first one.
Result<int64_t> Builder::history_of(OutletId wire, StreamFact* stream, const StreamWindow& window,
                                    const TensorPtr& pad_value) {
  const int64_t begin = stream->delay - window.before;
  const auto out_delay = [&](int64_t history) { return (begin + history) / window.stride; };
  const int64_t earlier = window.kernel - window.stride;
  int64_t history = aligned_history(earlier, begin, window.stride);
  std::optional<TensorPtr> first;
  // No frame waits, whatever is read.
  if (out_delay(history) >= 0) asked_.erase(node_);
  if (out_delay(history) < 0) {
    if (out_delay(history) < -window.unread) {
      RILL_ASSIGN(first, pad_value_of_windows(wire, *stream, window, pad_value));
    }
    if (!first) {
      history = aligned_history(std::max(earlier, -begin - window.unread * window.stride), begin,
                                window.stride);
    }
  }
  stream->delay = out_delay(history);
  stream->pad_value = first ? *first : nullptr;
  return history;
}

Result<OutletId> Builder::window(OutletId wire, StreamFact* stream, const StreamWindow& window) {
  const auto pad = std::make_shared<const Tensor>(window.pad_value);
  RILL_ASSIGN(const int64_t p, pulse_of(wire, stream->axis));
  RILL_TRY(check_stride(p, window.stride));
  RILL_ASSIGN(const auto laid_out, laid_window(wire, stream, window));
  if (laid_out) return *laid_out;
  const Prefixed* prefixed = laid(prefixed_, wire, *stream);
  if (prefixed && !prefixed->known.empty()) prefixed = nullptr;
  if (window.before == 0 && window.after == 0 && prefixed) {
    RILL_ASSIGN(const auto out, prefixed_window(*prefixed, stream, window));
    if (out) return *out;
  }
  const int64_t b = window.before;
  const Source from = laid_source(wire, *stream);
  const bool known = stream->has_prefix() && window.unread * window.stride - b < -stream->delay;
  const bool unlike = known && b > 0 && !same_pad_value(stream->pad_value, compact_pad_value(pad));
  // Windows that output several frames have no single known frame.
  const bool separate = known && window.rate > 1 && window.frame_by_window;
  if (unlike || separate || prefixed) {
    RILL_ASSIGN(const auto padded, padded_prefix(wire, *stream, window));
    if (padded) {
      StreamFact joined = *stream;
      joined.delay = padded->out_delay;
      RILL_ASSIGN(const auto out, prefixed_window(*padded, &joined, window));
      if (out) {
        *stream = joined;
        return *out;
      }
    }
  }
  if (unlike) {
    RILL_ASSIGN(wire, materialise(wire, stream));
  }
  RILL_ASSIGN(wire, mask(wire, stream, b > 0, window.after > 0, window.pad_value));
  const StreamFact source = *stream;
  // Before the first frame there is padding, or frames that no output may read.
  const TensorPtr pad_value = b > 0 ? compact_pad_value(pad) : source.pad_value;
  RILL_ASSIGN(const int64_t history, history_of(wire, stream, window, pad_value));
  if (history > 0) {
    auto op = draft_op<ops::Delay>();
    op->axis = stream->axis;
    const int64_t overlap = std::max<int64_t>(0, window.kernel - window.stride);
    op->overlap = std::min(history, overlap);
    op->delay = history - op->overlap;
    op->pad_value = b > 0 || source.has_prefix() ? pad_value : nullptr;
    op->padding = std::max<int64_t>(0, b - source.delay);
    RILL_ASSIGN(wire, add1("delay", op, {wire}));
  }
  const bool waits = from.kind != Source::Kind::kPlain || delay_of(from) < window.before;
  if (!unlike && waits && stream->delay >= 0) {
    RILL_ASSIGN(Layout layout, layout_of(from, from.stream, window));
    layout.out_delay = stream->delay;
    note_windows(from, window, layout, wire);
  }
  if (history < 0) return skip_frames(wire, *stream, -history);
  return wire;
}

Result<OutletId> Builder::skip_frames(OutletId wire, const StreamFact& stream, int64_t frames) {
  RILL_ASSIGN(const int64_t p, pulse_of(wire, stream.axis));
  return add1("skip", make_op<ops::Slice>(stream.axis, Dim(frames), Dim(p)), {wire});
}

}  // namespace rill::pulse
