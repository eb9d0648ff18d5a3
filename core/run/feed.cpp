#include "core/run/feed.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/search.h"

namespace rill {

View frame_rows(const View& like, int axis, int64_t count, void* data) {
  View rows = like;
  rows.shape[static_cast<size_t>(axis)] = count;
  int64_t stride = 1;
  for (int i = like.rank; i-- > 0;) {
    if (i == axis) continue;
    rows.stride[static_cast<size_t>(i)] = stride;
    stride *= like.extent(i);
  }
  rows.stride[static_cast<size_t>(axis)] = stride;
  rows.data = data;
  return rows;
}

int64_t frame_bytes(const View& view, int axis) {
  int64_t bytes = dtype_size(view.dtype);
  for (int i = 0; i < view.rank; ++i) {
    if (i != axis) bytes *= view.extent(i);
  }
  return bytes;
}

int counting_input(const Plan& plan) {
  int first = -1;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0 || stream.pulse <= 0) continue;
    if (!stream.length.valid()) return static_cast<int>(i);
    if (first < 0) first = static_cast<int>(i);
  }
  return first;
}

namespace {

/// Clear a row-major view from a frame to its end.
void clear_from(const View& view, int axis, int64_t first) {
  const int64_t row = view.step(axis) * dtype_size(view.dtype);
  const int64_t frames = view.extent(axis);
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= view.extent(i);
  for (int64_t o = 0; o < outer; ++o) {
    std::memset(static_cast<std::byte*>(view.data) + (o * frames + first) * row, 0,
                static_cast<size_t>((frames - first) * row));
  }
}

int64_t aligned(int64_t bytes) {
  return (bytes + kSessionAlignment - 1) / kSessionAlignment * kSessionAlignment;
}

bool streams(const PlanIo& io) { return io.stream.axis >= 0 && io.stream.pulse > 0; }

/// Return the frames per step of the input that counts the stream symbol; 0 if no input streams.
int64_t pulse_of(const Plan& plan) {
  const int input = counting_input(plan);
  return input < 0 ? 0 : plan.inputs[static_cast<size_t>(input)].stream.pulse;
}

int64_t frame_bytes(const PlanIo& io) {
  int64_t bytes = dtype_size(io.dtype);
  for (size_t i = 0; i < io.shape.size(); ++i) {
    if (static_cast<int>(i) != io.stream.axis) bytes *= io.shape[i];
  }
  return bytes;
}

/// Return the frames that the queue of an output must hold; nothing on overflow.
std::optional<int64_t> capacity_of(const PlanIo& io, int64_t steps) {
  // Each full pulse is stepped at once; the last pulse may wait in the input.
  const auto most = checked_mul(steps, io.stream.pulse);
  return most ? checked_add(*most, io.stream.early) : std::nullopt;
}

}  // namespace

std::optional<PlacedFeed::Offsets> PlacedFeed::offsets_for(const Plan& plan, int64_t max_push) {
  const int64_t pulse = pulse_of(plan);
  if (pulse == 0) return std::nullopt;
  Offsets offsets;
  offsets.outs = aligned(static_cast<int64_t>(plan.inputs.size() * sizeof(In)));
  offsets.queues = offsets.outs + aligned(static_cast<int64_t>(plan.outputs.size() * sizeof(Out)));
  offsets.all = offsets.queues;
  const auto add = [&](const PlanIo& io, std::optional<int64_t> frames) {
    const auto own = frames ? checked_mul(*frames, frame_bytes(io)) : std::nullopt;
    if (!own || *own > kMostQueueBytes) return false;
    offsets.all += aligned(*own);
    return offsets.all <= kMostQueueBytes;
  };
  for (const PlanIo& io : plan.inputs) {
    if (streams(io) && !add(io, io.stream.early)) return std::nullopt;
  }
  for (const PlanIo& io : plan.outputs) {
    if (io.stream.axis >= 0 && !add(io, capacity_of(io, max_push / pulse))) return std::nullopt;
  }
  return offsets;
}

std::optional<int64_t> PlacedFeed::bytes_for(const Plan& plan, int64_t max_push) {
  const auto offsets = offsets_for(plan, max_push);
  if (!offsets) return std::nullopt;
  return aligned(sizeof(PlacedFeed)) + offsets->all;
}

PlacedFeed* PlacedFeed::place(PlacedSession* session, int64_t max_push, void* memory) noexcept {
  auto* const feed = new (memory) PlacedFeed(session);
  feed->begin(max_push, static_cast<std::byte*>(memory) + aligned(sizeof(PlacedFeed)));
  return feed;
}

void PlacedFeed::begin(int64_t max_push, std::byte* memory) noexcept {
  const Plan& plan = session_->plan();
  const Offsets offsets = offsets_for(plan, max_push).value_or(Offsets());
  kept_.ins = {reinterpret_cast<In*>(memory), plan.inputs.size()};
  kept_.outs = {reinterpret_cast<Out*>(memory + offsets.outs), plan.outputs.size()};
  kept_.queues = {memory + offsets.queues, static_cast<size_t>(offsets.all - offsets.queues)};
  int64_t bytes = 0;
  const auto set = [&](Waiting* to, const PlanIo& io, int64_t capacity) {
    to->axis = io.stream.axis;
    to->frame_bytes = frame_bytes(io);
    to->capacity = capacity;
    to->queue = bytes;
    bytes += aligned(to->capacity * to->frame_bytes);
  };
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    In& in = *new (&kept_.ins[i]) In();
    const PlanIo& io = plan.inputs[i];
    if (streams(io)) set(&in, io, io.stream.early);
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    Out& out = *new (&kept_.outs[i]) Out();
    const PlanIo& io = plan.outputs[i];
    if (io.stream.axis < 0) continue;
    set(&out, io, capacity_of(io, max_push / pulse_of(plan)).value_or(0));
  }
}

void PlacedFeed::end() noexcept {
  std::destroy(kept_.ins.begin(), kept_.ins.end());
  std::destroy(kept_.outs.begin(), kept_.outs.end());
  kept_ = {};
}

void PlacedFeed::copy(const PlacedFeed& other) {
  std::copy(other.kept_.ins.begin(), other.kept_.ins.end(), kept_.ins.begin());
  std::copy(other.kept_.outs.begin(), other.kept_.outs.end(), kept_.outs.begin());
  std::copy(other.kept_.queues.begin(), other.kept_.queues.end(), kept_.queues.begin());
}

int64_t PlacedFeed::put(Waiting* to, const View& from, int64_t first, int64_t count) noexcept {
  int64_t moved = 0;
  while (moved < count && to->queued < to->capacity) {
    const int64_t tail = (to->head + to->queued) % to->capacity;
    const int64_t fitting = std::min(to->capacity - to->queued, to->capacity - tail);
    const int64_t part = std::min(count - moved, fitting);
    copy_plain(frames_of(from, to->axis, first + moved, part),
               frame_rows(from, to->axis, part, queue(*to) + tail * to->frame_bytes));
    to->queued += part;
    moved += part;
  }
  return moved;
}

int64_t PlacedFeed::take(Waiting* from, const View& into, int64_t at, int64_t count) noexcept {
  const bool early = from->early.left() > 0;
  const int64_t adjacent =
      early ? from->early.left() : std::min(from->queued, from->capacity - from->head);
  count = std::min(count, adjacent);
  if (count <= 0) return 0;
  std::byte* rows = early ? from->early.next(from->frame_bytes)
                          : queue(*from) + from->head * from->frame_bytes;
  copy_plain(frame_rows(into, from->axis, count, rows), frames_of(into, from->axis, at, count));
  if (early) {
    from->early.taken += count;
  } else {
    from->head = (from->head + count) % from->capacity;
    from->queued -= count;
  }
  return count;
}

void PlacedFeed::refill(size_t input) noexcept {
  In& in = kept_.ins[input];
  if (in.axis < 0) return;
  const View buffer = session_->input(input);
  while (true) {
    const int64_t count = take(&in, buffer, in.filled, buffer.extent(in.axis) - in.filled);
    if (count == 0) return;
    in.filled += count;
  }
}

/// Move frames of the last step into the queue, as many as fit.
void PlacedFeed::settle(size_t output) noexcept {
  Out& out = kept_.outs[output];
  const int64_t count = put(&out, session_->output(output), out.first, out.rest);
  out.first += count;
  out.rest -= count;
}

void PlacedFeed::run_step() noexcept {
  for (size_t i = 0; i < kept_.ins.size(); ++i) {
    In& in = kept_.ins[i];
    if (in.axis < 0) continue;
    // Values past the end do not matter, but indices must be in range, as zeros are.
    const View buffer = session_->input(i);
    if (in.filled < buffer.extent(in.axis)) clear_from(buffer, in.axis, in.filled);
    in.filled = 0;
  }
  session_->step();
  for (size_t i = 0; i < kept_.outs.size(); ++i) {
    if (kept_.outs[i].axis < 0) continue;
    const PlacedSession::Valid valid = session_->valid_frames(i);
    kept_.outs[i].first = valid.first;
    kept_.outs[i].rest = valid.count;
    settle(i);
  }
}

/// Return whether the stream is known to continue beyond this pulse. `coming`: the frames of
/// `input` that will follow those already pushed.
bool PlacedFeed::continues(size_t input, int64_t coming) const {
  const int64_t pulse = session_->plan().stream_pulse;
  const int64_t end = session_->position(pulse) + pulse;
  for (size_t i = 0; i < kept_.ins.size(); ++i) {
    if (kept_.ins[i].axis < 0) continue;
    const int64_t all = pushed(i) + (i == input ? coming : 0);
    if (all > length_of(i, end).value_or(INT64_MAX)) return true;
  }
  return false;
}

/// Run a step if possible. `coming`: the frames of `input` that will follow those already pushed.
bool PlacedFeed::advance(size_t input, int64_t coming) noexcept {
  for (size_t i = 0; i < kept_.outs.size(); ++i) {
    settle(i);
    if (kept_.outs[i].rest > 0) return false;
  }
  bool full = true;
  for (size_t i = 0; i < kept_.ins.size(); ++i) {
    const In& in = kept_.ins[i];
    if (in.axis < 0) continue;
    refill(i);
    full &= in.filled == session_->input(i).extent(in.axis);
  }
  if (finished()) {
    if (session_->steps_left() <= 0) return false;
  } else if (!full || !(session_->plan().late_end || continues(input, coming))) {
    return false;
  }
  run_step();
  return true;
}

int64_t PlacedFeed::push(size_t input, const View& frames) noexcept {
  In& in = kept_.ins[input];
  const int64_t given = frames.extent(in.axis);
  int64_t taken = 0;
  for (bool moved = true; moved;) {
    moved = advance(input, given - taken);
    const View buffer = session_->input(input);
    int64_t count = 0;
    if (in.left() == 0) {
      count = std::min(buffer.extent(in.axis) - in.filled, given - taken);
      if (count > 0) {
        copy_plain(frames_of(frames, in.axis, taken, count),
                   frames_of(buffer, in.axis, in.filled, count));
      }
      in.filled += count;
    }
    // Frames of a loaded state come first, then frames that wait for other inputs.
    if (count == 0 && !moved) count = put(&in, frames, taken, given - taken);
    taken += count;
    moved |= count > 0;
  }
  return taken;
}

/// Copy queued frames to `into` from its frame `at`. Return their number.
int64_t PlacedFeed::take_queued(size_t output, const View& into, int64_t at) noexcept {
  Out& out = kept_.outs[output];
  const int64_t fitting = std::min(into.extent(out.axis) - at, available(output));
  if (fitting <= 0) return 0;
  if (const int64_t count = take(&out, into, at, fitting)) return count;
  const int64_t count = std::min(fitting, out.rest);
  if (count <= 0) return 0;
  copy_plain(frames_of(session_->output(output), out.axis, out.first, count),
             frames_of(into, out.axis, at, count));
  out.first += count;
  out.rest -= count;
  return count;
}

int64_t PlacedFeed::available(size_t output) const {
  const Out& out = kept_.outs[output];
  const int64_t all = out.early.left() + out.queued + out.rest;
  return finished() ? all : all - session_->plan().outputs[output].stream.early;
}

int64_t PlacedFeed::frames_until_now(size_t output) const {
  const PlanStream& stream = session_->plan().outputs[output].stream;
  return std::clamp<int64_t>(session_->position(stream.pulse) - stream.delay, 0, stream.most);
}

int64_t PlacedFeed::given(size_t output) const {
  const int64_t all = session_->output_frames(output);
  const int64_t until_now = frames_until_now(output);
  return all < 0 ? until_now : std::min(until_now, all);
}

int64_t PlacedFeed::pulled(size_t output) const {
  const Out& out = kept_.outs[output];
  return given(output) - (out.early.left() + out.queued + out.rest);
}

void PlacedFeed::drop_after_end(size_t output) noexcept {
  Out& out = kept_.outs[output];
  // Frames that were held until the end was known, and lie past it, are dropped.
  int64_t extra = frames_until_now(output) - given(output);
  for (int64_t* held : {&out.rest, &out.queued}) {
    const int64_t dropped = std::clamp<int64_t>(extra, 0, *held);
    *held -= dropped;
    extra -= dropped;
  }
  out.early.count -= std::clamp<int64_t>(extra, 0, out.early.left());
}

int64_t PlacedFeed::pull(size_t output, const View& into) noexcept {
  const int64_t wanted = into.extent(kept_.outs[output].axis);
  int64_t given = 0;
  while (given < wanted) {
    const int64_t count = take_queued(output, into, given);
    given += count;
    if (count == 0 && !advance(0, 0)) break;
  }
  return given;
}

int64_t PlacedFeed::seen(size_t input) const {
  const In& in = kept_.ins[input];
  const int64_t pulse = session_->plan().inputs[input].stream.pulse;
  return session_->position(pulse) + in.filled;
}

std::optional<int64_t> PlacedFeed::length_of(size_t input, int64_t end) const {
  const PlanStream& stream = session_->plan().inputs[input].stream;
  if (stream.length.valid()) return stream.length.at(end);
  const auto most = checked_mul(end, stream.pulse);
  return most ? std::optional(*most / session_->plan().stream_pulse) : std::nullopt;
}

int64_t PlacedFeed::room(size_t input) const {
  const auto most = length_of(input, session_->plan().longest);
  return most ? std::max<int64_t>(0, *most - pushed(input)) : INT64_MAX;
}

int64_t PlacedFeed::pushed(size_t input) const {
  const int64_t all = seen(input) + kept_.ins[input].left();
  if (!finished()) return all;
  return std::min(all, length_of(input, session_->end()).value_or(all));
}

int PlacedFeed::lacking() const {
  for (size_t i = 0; finished() && i < kept_.ins.size(); ++i) {
    if (kept_.ins[i].axis < 0) continue;
    if (pushed(i) < length_of(i, session_->end()).value_or(0)) return static_cast<int>(i);
  }
  return -1;
}

Refusal PlacedFeed::finish() {
  const Plan& plan = session_->plan();
  const auto as_long = [](int64_t number) { return static_cast<long long>(number); };
  const auto counting = static_cast<size_t>(counting_input(plan));
  const char* const symbol = plan.stream_symbol.c_str();
  const char* const name = plan.inputs[counting].name.c_str();
  const int64_t pulse = plan.inputs[counting].stream.pulse;
  const int64_t frames = pushed(counting);
  const auto end = scaled_whole(frames, plan.stream_pulse, pulse);
  if (!end) {
    return refusal(Code::kShape, "",
                   "a stream of %lld frame%s does not suit the model: %lld frames of \"%s\" stand "
                   "for %lld %s",
                   as_long(frames), plural(frames), as_long(pulse), name,
                   as_long(plan.stream_pulse), symbol);
  }
  for (size_t i = 0; i < kept_.ins.size(); ++i) {
    if (kept_.ins[i].axis < 0) continue;
    const PlanStream& stream = plan.inputs[i].stream;
    const auto wanted = length_of(i, *end);
    const bool whole =
        stream.length.valid() || scaled_whole(pushed(i), plan.stream_pulse, stream.pulse) == end;
    if (wanted == pushed(i) && whole) continue;
    return refusal(
        Code::kShape, "Push the missing frames before announcing the end",
        "the inputs end at different times: \"%s\" at %s=%lld, where \"%s\" has %lld frames, and "
        "%lld were pushed",
        name, symbol, as_long(*end), plan.inputs[i].name.c_str(), as_long(wanted.value_or(0)),
        as_long(pushed(i)));
  }
  const Refusal undefined = session_->try_end(*end);
  if (!undefined.ok()) return undefined;
  if (session_->steps_left() < 0) {
    session_->announce_end(-1);
    return refusal(Code::kUnsupported, "", "%s",
                   "the file does not contain the lengths of the outputs of its pulsed model: load "
                   "the original model");
  }
  if (session_->steps_left() > kMostTailSteps) {
    const auto steps = as_long(session_->steps_left());
    session_->announce_end(-1);
    return refusal(Code::kUnsupported, "Pulse the model by more frames per step",
                   "the outputs of a stream of %lld %s take %lld more steps, and the limit is %lld",
                   as_long(*end), symbol, steps, as_long(kMostTailSteps));
  }
  for (size_t i = 0; i < kept_.outs.size(); ++i) {
    if (kept_.outs[i].axis >= 0) drop_after_end(i);
  }
  while (advance(0, 0)) continue;
  return {};
}

bool PlacedFeed::idle() const {
  const auto waiting = [](const In& in) { return in.filled > 0 || in.left() > 0; };
  const auto queued = [](const Out& out) {
    return out.rest > 0 || out.queued > 0 || out.early.left() > 0;
  };
  return none_of(kept_.ins, waiting) && none_of(kept_.outs, queued);
}

void PlacedFeed::reset() noexcept {
  for (In& in : kept_.ins) {
    in.head = in.queued = in.filled = 0;
    in.early.taken = in.early.count;
  }
  for (Out& out : kept_.outs) {
    out.head = out.queued = out.first = out.rest = 0;
    out.early.taken = out.early.count;
  }
}

namespace {

/// Copy the content of a buffer to its new address.
void move_along(const View& from, const View& to) {
  const auto bytes = static_cast<size_t>(to.volume() * dtype_size(to.dtype));
  if (bytes > 0 && from.data != to.data) std::memmove(to.data, from.data, bytes);
}

}  // namespace

void PlacedFeed::bind_input(size_t input, void* data) noexcept {
  const View before = session_->input(input);
  session_->bind_input(input, data);
  if (kept_.ins[input].filled > 0) move_along(before, session_->input(input));
}

void PlacedFeed::bind_output(size_t output, void* data) noexcept {
  const View before = session_->output(output);
  session_->bind_output(output, data);
  const Out& out = kept_.outs[output];
  if (out.axis < 0 || out.rest > 0) move_along(before, session_->output(output));
}

}  // namespace rill
