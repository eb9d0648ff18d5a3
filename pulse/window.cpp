#include <algorithm>

#include "core/dim/bound.h"
#include "core/graph/ends.h"
#include "ops/array/slice.h"
#include "ops/stream/border.h"
#include "ops/stream/delay.h"
#include "ops/stream/latch.h"
#include "ops/stream/mask.h"
#include "pulse/builder.h"
#include "pulse/fill.h"

namespace rill::pulse {
namespace {

/// Keeps sums of borders and delays far from overflow; no memory holds as many frames.
constexpr int64_t kMaxBorder = int64_t{1} << 40;

/// The first of the frames that are repeated in front must have arrived.
int64_t begin_of(const StreamFact& source, const StreamBorder& border, int64_t pulse) {
  if (border.before == 0) return INT64_MIN;
  return (source.delay + (border.reflect ? border.before : 0)) / pulse * pulse;
}

}  // namespace

Result<OutletId> Builder::delay(OutletId wire, const StreamFact& stream, int64_t frames,
                                int64_t overlap) {
  if (frames == 0 && overlap == 0) return wire;
  auto op = draft_op<ops::Delay>();
  op->axis = stream.axis;
  op->delay = frames;
  op->overlap = overlap;
  if (stream.has_prefix()) {
    op->fill = stream.fill;
    op->padding = -stream.delay;
  }
  return add1("delay", op, {wire});
}

Result<int64_t> Builder::least_ahead(OutletId wire, const StreamFact& stream) const {
  const auto pulse = pulse_.to_int();
  return pulse ? least_ahead(wire, stream, *pulse) : Result<int64_t>(0);
}

Result<int64_t> Builder::least_ahead(OutletId wire, const StreamFact& stream, int64_t unit) const {
  RILL_ASSIGN(const int64_t frames_per_pulse, pulse_of(wire, stream.axis));
  RILL_ASSIGN(const int64_t pulse, pulse_.as_int());
  const int64_t p = frames_per_pulse * unit / pulse;
  const auto bound = bound_of(stream.dim);
  const auto behind = [&](const Dim& told, const Dim& frames) {
    const Dim count = Dim(p) * told - Dim(stream.delay) - frames;
    // That it ends there whatever follows is known beforehand.
    return bound ? count * (Dim(1) - eq(frames, Dim(*bound))) : count;
  };
  const auto most = most_behind(stream.dim, symbol(), unit, false, behind);
  if (most.ok() && *most) return -**most;
  return refusal(most.ok() ? str_cat("its frames, ", stream.dim,
                                     ", end ever earlier beside those of the stream")
                           : most.error().message,
                 "Write the lengths of slices and pads as sums and quotients of the stream's");
}

Result<OutletId> Builder::hold(OutletId wire, StreamFact* stream) {
  RILL_ASSIGN(const int64_t slack, least_ahead(wire, *stream));
  if (const auto pulse = pulse_.to_int()) {
    RILL_ASSIGN(const int64_t frames, pulse_of(wire, stream->axis));
    begin_unit_ = least_begin_unit(*pulse, begin_unit_, [&](int64_t unit) {
      if (frames % (*pulse / unit) != 0) return false;
      const auto ahead = least_ahead(wire, *stream, unit);
      return ahead.ok() && *ahead >= slack;
    });
  }
  if (slack == 0) return wire;
  RILL_ASSIGN(const OutletId held, delay(wire, *stream, -slack, 0));
  stream->delay -= slack;
  return held;
}

Result<OutletId> Builder::mask(OutletId wire, StreamFact* stream, bool begin, bool end,
                               const Tensor& value) {
  // A hold makes room for frames that are not valid: the beginning comes after it.
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
  stream->fill = nullptr;
  return out;
}

Status Builder::check_stride(int64_t frames, int64_t stride) {
  if (frames % stride == 0) return {};
  return refuse_pulse(frames, stride, "its input has ", frames,
                      " frames per pulse, no multiple of the stride ", stride);
}

Result<OutletId> Builder::lay_border(const Bordered& bordered, int64_t out_delay, int64_t shown) {
  const auto [before, after, reflect] = bordered.border;
  // How far back the first frame of the output looks at the end of the stream, and at its begin.
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
  RILL_ASSIGN(const OutletId source, delay(bordered.source, bordered.stream, 0, back));
  return add1("border", op, {source});
}

Result<OutletId> Builder::border(OutletId wire, StreamFact* stream, const StreamBorder& border) {
  if (std::max(border.before, border.after) > kMaxBorder) {
    return refusal(str_cat("a border of ", std::max(border.before, border.after), " frames"),
                   str_cat("Use at most ", kMaxBorder));
  }
  // A whole run of fewer frames than the border repeats is an error.
  needed_.push_back(stream->dim -
                    Dim(border.reflect ? std::max(border.before, border.after) + 1 : 1));
  RILL_ASSIGN(wire, materialise(wire, stream));
  RILL_ASSIGN(const int64_t pulse, pulse_of(wire, stream->axis));
  if (border.after > 0) {
    RILL_ASSIGN(wire, hold(wire, stream));
  }
  settles_at(stream->delay + border.before + pulse, pulse);
  Bordered bordered{wire, *stream, border};
  const int64_t out_delay =
      std::max({stream->delay - border.before, int64_t{0}, begin_of(*stream, border, pulse)});
  RILL_ASSIGN(const OutletId out, lay_border(bordered, out_delay, 0));
  stream->delay = out_delay;
  bordered.out_delay = out_delay;
  bordered_.insert_or_assign(out, bordered);
  return out;
}

/// Lay frames out in front of `history` frames of a source, the first `shown` of which each pulse
/// has from the pulse before.
Result<OutletId> Builder::lay_front(const Fronted& fronted, int64_t history, int64_t shown) {
  auto op = draft_op<ops::PulseSplice>();
  op->axis = fronted.stream.axis;
  op->has_front = true;
  op->begin = fronted.stream.delay - fronted.count + history;
  op->shown = shown;
  RILL_ASSIGN(const OutletId source, delay(fronted.source, fronted.stream, history - shown, shown));
  return add1("front", op, {source, fronted.frames});
}

Result<OutletId> Builder::front(OutletId wire, StreamFact* stream, OutletId frames, int64_t count) {
  if (count > kMaxBorder) {
    return refusal(str_cat(count, " frames in front"), str_cat("Use at most ", kMaxBorder));
  }
  Fronted fronted{wire, *stream, frames, count};
  const int64_t history = std::max<int64_t>(0, count - stream->delay);
  RILL_ASSIGN(const OutletId out, lay_front(fronted, history, 0));
  stream->delay += history - count;
  stream->dim += Dim(count);
  fronted.out_delay = stream->delay;
  fronted_.insert_or_assign(out, fronted);
  return out;
}

/// Nothing where the window leaves more frames out than stand in front.
Result<std::optional<OutletId>> Builder::fronted_window(const Fronted& fronted, StreamFact* stream,
                                                        const StreamWindow& window) {
  const int64_t virtual_delay = fronted.stream.delay - fronted.count;
  int64_t history = std::max(window.kernel - window.stride, -virtual_delay);
  while ((virtual_delay + history) % window.stride != 0) ++history;
  if (history < 0) return std::optional<OutletId>();
  stream->delay = (virtual_delay + history) / window.stride;
  stream->fill = nullptr;
  const int64_t shown = std::clamp<int64_t>(window.kernel - window.stride, 0, history);
  RILL_ASSIGN(const OutletId out, lay_front(fronted, history, shown));
  return std::optional<OutletId>(out);
}

/// A window that sees the frames around a stream has them laid out in its history: the frames in
/// front then cost no delay.
Result<OutletId> Builder::bordered_window(const Bordered& bordered, StreamFact* stream,
                                          const StreamWindow& window) {
  RILL_ASSIGN(const int64_t p, pulse_of(bordered.source, stream->axis));
  const int64_t virtual_delay = bordered.stream.delay - bordered.border.before;
  const int64_t first = begin_of(bordered.stream, bordered.border, p);
  int64_t history = std::max(window.kernel - window.stride, -virtual_delay);
  while ((virtual_delay + history) % window.stride != 0 || virtual_delay + history < first) {
    ++history;
  }
  stream->delay = (virtual_delay + history) / window.stride;
  stream->fill = nullptr;
  const int64_t shown =
      std::clamp<int64_t>(window.kernel - window.stride, 0, std::max<int64_t>(0, history));
  const int64_t wait = std::max<int64_t>(0, history) - shown;
  RILL_ASSIGN(const OutletId out, lay_border(bordered, virtual_delay + wait, shown));
  if (history < 0) return skip_frames(out, *stream, -history);
  return out;
}

Result<OutletId> Builder::window(OutletId wire, StreamFact* stream, const StreamWindow& window) {
  const auto pad = std::make_shared<const Tensor>(window.pad_value);
  RILL_ASSIGN(const int64_t p, pulse_of(wire, stream->axis));
  RILL_TRY(check_stride(p, window.stride));
  const auto bordered = bordered_.find(wire);
  // A slice of the wire begins later.
  if (bordered != bordered_.end() && bordered->second.out_delay == stream->delay &&
      window.before == 0 && window.after == 0) {
    return bordered_window(bordered->second, stream, window);
  }
  const auto fronted = fronted_.find(wire);
  if (fronted != fronted_.end() && fronted->second.out_delay == stream->delay &&
      window.before == 0 && window.after == 0) {
    RILL_ASSIGN(const auto out, fronted_window(fronted->second, stream, window));
    if (out) return *out;
  }
  if (stream->has_prefix() && window.before > 0 && !same_fill(stream->fill, compact_fill(pad))) {
    RILL_ASSIGN(wire, materialise(wire, stream));
  }
  RILL_ASSIGN(wire, mask(wire, stream, window.before > 0, window.after > 0, window.pad_value));
  const int64_t b = window.before;
  int64_t history = std::max(window.kernel - window.stride, b - stream->delay);
  while (((stream->delay + history - b) % window.stride + window.stride) % window.stride != 0) {
    ++history;
  }
  StreamFact source = *stream;
  // What lies before the first frame is padding, or frames that nobody may see.
  if (b > 0) source.fill = compact_fill(pad);
  if (history > 0) {
    auto op = draft_op<ops::Delay>();
    op->axis = stream->axis;
    const int64_t overlap = std::max<int64_t>(0, window.kernel - window.stride);
    op->overlap = std::min(history, overlap);
    op->delay = history - op->overlap;
    op->fill = b > 0 || stream->has_prefix() ? source.fill : nullptr;
    op->padding = std::max<int64_t>(0, b - stream->delay);
    RILL_ASSIGN(wire, add1("delay", op, {wire}));
  }
  stream->delay = (stream->delay + history - b) / window.stride;
  stream->fill = nullptr;
  if (history < 0) return skip_frames(wire, *stream, -history);
  return wire;
}

Result<OutletId> Builder::skip_frames(OutletId wire, const StreamFact& stream, int64_t frames) {
  RILL_ASSIGN(const int64_t p, pulse_of(wire, stream.axis));
  return add1("skip", make_op<ops::Slice>(stream.axis, Dim(frames), Dim(p)), {wire});
}

}  // namespace rill::pulse
