#include "core/run/feed.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/checked.h"

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

namespace {

/// Zeros from a frame to the end of a row-major view.
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

/// The frames of the first input that streams, per step; 0 if none does.
int64_t pulse_of(const Plan& plan) {
  for (const PlanIo& io : plan.inputs) {
    if (io.stream.axis >= 0 && io.stream.pulse > 0) return io.stream.pulse;
  }
  return 0;
}

int64_t frame_bytes(const PlanIo& io) {
  int64_t bytes = dtype_size(io.dtype);
  for (size_t i = 0; i < io.shape.size(); ++i) {
    if (static_cast<int>(i) != io.stream.axis) bytes *= io.shape[i];
  }
  return bytes;
}

/// How many frames of an output its queue holds; nothing if that is beyond all numbers.
std::optional<int64_t> capacity_of(const PlanIo& io, int64_t steps) {
  // The first pulse that fills up steps at once, and so on; the last one may wait in the input.
  const auto most = checked_mul(steps, io.stream.pulse);
  return most ? checked_add(*most, io.stream.early) : std::nullopt;
}

}  // namespace

std::optional<PlacedFeed::Room> PlacedFeed::room_for(const Plan& plan, int64_t max_push) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const int64_t pulse = pulse_of(plan);
  if (pulse == 0) return std::nullopt;
  Room room;
  room.outs = aligned(static_cast<int64_t>(plan.inputs.size() * sizeof(In)));
  room.queues = room.outs + aligned(static_cast<int64_t>(plan.outputs.size() * sizeof(Out)));
  room.all = room.queues;
  for (const PlanIo& io : plan.outputs) {
    if (io.stream.axis < 0) continue;
    const auto frames = capacity_of(io, max_push / pulse);
    const auto own = frames ? checked_mul(*frames, frame_bytes(io)) : std::nullopt;
    if (!own || *own > kMost) return std::nullopt;
    room.all += aligned(*own);
    if (room.all > kMost) return std::nullopt;
  }
  return room;
}

std::optional<int64_t> PlacedFeed::bytes_for(const Plan& plan, int64_t max_push) {
  const auto room = room_for(plan, max_push);
  if (!room) return std::nullopt;
  return aligned(sizeof(PlacedFeed)) + room->all;
}

PlacedFeed* PlacedFeed::place(PlacedSession* session, int64_t max_push, void* memory) noexcept {
  auto* const feed = new (memory) PlacedFeed(session);
  feed->begin(max_push, static_cast<std::byte*>(memory) + aligned(sizeof(PlacedFeed)));
  return feed;
}

void PlacedFeed::begin(int64_t max_push, std::byte* memory) noexcept {
  const Plan& plan = session_->plan();
  const Room room = room_for(plan, max_push).value_or(Room());
  kept_.ins = {reinterpret_cast<In*>(memory), plan.inputs.size()};
  kept_.outs = {reinterpret_cast<Out*>(memory + room.outs), plan.outputs.size()};
  kept_.queues = {memory + room.queues, static_cast<size_t>(room.all - room.queues)};
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    In& in = *new (&kept_.ins[i]) In();
    const PlanIo& io = plan.inputs[i];
    if (io.stream.axis < 0 || io.stream.pulse <= 0) continue;
    in.axis = io.stream.axis;
    in.frame_bytes = frame_bytes(io);
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    Out& out = *new (&kept_.outs[i]) Out();
    const PlanIo& io = plan.outputs[i];
    if (io.stream.axis < 0) continue;
    out.axis = io.stream.axis;
    out.frame_bytes = frame_bytes(io);
    out.capacity = capacity_of(io, max_push / pulse_of(plan)).value_or(0);
    out.queue = bytes;
    bytes += aligned(out.capacity * out.frame_bytes);
  }
}

void PlacedFeed::copy(const PlacedFeed& other) {
  std::copy(other.kept_.ins.begin(), other.kept_.ins.end(), kept_.ins.begin());
  std::copy(other.kept_.outs.begin(), other.kept_.outs.end(), kept_.outs.begin());
  std::copy(other.kept_.queues.begin(), other.kept_.queues.end(), kept_.queues.begin());
}

void PlacedFeed::refill(size_t input) noexcept {
  In& in = kept_.ins[input];
  if (in.axis < 0) return;
  const View buffer = session_->input(input);
  const int64_t count = std::min(buffer.extent(in.axis) - in.filled, in.early.left());
  if (count <= 0) return;
  void* from = in.early.next(in.frame_bytes);
  copy_plain(frame_rows(buffer, in.axis, count, from),
             frames_of(buffer, in.axis, in.filled, count));
  in.filled += count;
  in.early.taken += count;
}

/// Moves what the last step gave into the queue, as far as there is room.
void PlacedFeed::settle(size_t output) noexcept {
  Out& out = kept_.outs[output];
  while (out.rest > 0 && out.queued < out.capacity) {
    const View buffer = session_->output(output);
    const int64_t tail = (out.head + out.queued) % out.capacity;
    const int64_t room = std::min(out.capacity - out.queued, out.capacity - tail);
    const int64_t count = std::min(out.rest, room);
    copy_plain(frames_of(buffer, out.axis, out.first, count),
               frame_rows(buffer, out.axis, count, queue(out) + tail * out.frame_bytes));
    out.first += count;
    out.rest -= count;
    out.queued += count;
  }
}

void PlacedFeed::run_step() noexcept {
  for (size_t i = 0; i < kept_.ins.size(); ++i) {
    In& in = kept_.ins[i];
    if (in.axis < 0) continue;
    // Filler past the end does not matter; zeros keep indices in range.
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

/// Runs a step if there is one to run. `more`: frames beyond this pulse are known to come.
bool PlacedFeed::advance(bool more) noexcept {
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
    more |= in.early.left() > 0;
  }
  if (finished()) {
    if (session_->steps_left() <= 0) return false;
  } else if (!full || !(more || session_->plan().late_end)) {
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
    moved = advance(taken < given);
    const View buffer = session_->input(input);
    const int64_t room = in.early.left() > 0 ? 0 : buffer.extent(in.axis) - in.filled;
    const int64_t count = std::min(room, given - taken);
    if (count <= 0) continue;
    copy_plain(frames_of(frames, in.axis, taken, count),
               frames_of(buffer, in.axis, in.filled, count));
    in.filled += count;
    taken += count;
    moved = true;
  }
  return taken;
}

/// Copies queued frames to `into` from frame `at` on; tells how many.
int64_t PlacedFeed::take_queued(size_t output, const View& into, int64_t at) noexcept {
  Out& out = kept_.outs[output];
  const int64_t room = std::min(into.extent(out.axis) - at, available(output));
  if (room <= 0) return 0;
  const View buffer = session_->output(output);
  if (out.early.left() > 0) {
    const int64_t count = std::min(room, out.early.left());
    void* from = out.early.next(out.frame_bytes);
    copy_plain(frame_rows(buffer, out.axis, count, from), frames_of(into, out.axis, at, count));
    out.early.taken += count;
    return count;
  }
  if (out.queued > 0) {
    const int64_t count = std::min({room, out.queued, out.capacity - out.head});
    copy_plain(frame_rows(buffer, out.axis, count, queue(out) + out.head * out.frame_bytes),
               frames_of(into, out.axis, at, count));
    out.head = (out.head + count) % out.capacity;
    out.queued -= count;
    return count;
  }
  const int64_t count = std::min(room, out.rest);
  if (count <= 0) return 0;
  copy_plain(frames_of(buffer, out.axis, out.first, count), frames_of(into, out.axis, at, count));
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

void PlacedFeed::drop_behind_end(size_t output) noexcept {
  Out& out = kept_.outs[output];
  // What was held before the end was told, and is not given any more.
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
    if (count == 0 && !advance(false)) break;
  }
  return given;
}

int64_t PlacedFeed::seen(size_t input) const {
  const In& in = kept_.ins[input];
  const int64_t pulse = session_->plan().inputs[input].stream.pulse;
  return session_->position(pulse) + in.filled;
}

int64_t PlacedFeed::room(size_t input) const {
  const Plan& plan = session_->plan();
  const auto most = checked_mul(plan.longest, plan.inputs[input].stream.pulse);
  return most ? *most / plan.stream_pulse - pushed(input) : INT64_MAX;
}

int64_t PlacedFeed::pushed(size_t input) const {
  const int64_t all = seen(input) + kept_.ins[input].early.left();
  if (!finished()) return all;
  const Plan& plan = session_->plan();
  return std::min(all, session_->end() * plan.inputs[input].stream.pulse / plan.stream_pulse);
}

Refusal PlacedFeed::finish() {
  const Plan& plan = session_->plan();
  const auto told = [](int64_t number) { return static_cast<long long>(number); };
  int64_t end = -1;
  size_t first = 0;
  for (size_t i = 0; i < kept_.ins.size(); ++i) {
    if (kept_.ins[i].axis < 0) continue;
    const int64_t frames = pushed(i);
    const int64_t pulse = plan.inputs[i].stream.pulse;
    const int64_t scaled = frames * plan.stream_pulse;
    const char* const name = plan.inputs[i].name.c_str();
    const char* const symbol = plan.stream_symbol.c_str();
    if (scaled % pulse != 0) {
      return refusal(Code::kShape, "",
                     "a stream of %lld frames does not suit the model: %lld frames of \"%s\" stand "
                     "for %lld %s",
                     told(frames), told(pulse), name, told(plan.stream_pulse), symbol);
    }
    if (end >= 0 && scaled / pulse != end) {
      return refusal(Code::kShape, "Push the frames that are missing before the end is told",
                     "the inputs end apart: \"%s\" at %s=%lld, \"%s\" at %lld",
                     plan.inputs[first].name.c_str(), symbol, told(end), name,
                     told(scaled / pulse));
    }
    if (end < 0) first = i;
    end = scaled / pulse;
  }
  const Refusal undefined = session_->try_end(end);
  if (!undefined.ok()) return undefined;
  if (session_->steps_left() < 0) {
    session_->announce_end(-1);
    return refusal(Code::kUnsupported, "", "%s",
                   "the file does not say how long the outputs of its pulsed model are: load the "
                   "model it was made of");
  }
  for (size_t i = 0; i < kept_.outs.size(); ++i) {
    if (kept_.outs[i].axis >= 0) drop_behind_end(i);
  }
  while (advance(false)) continue;
  return {};
}

bool PlacedFeed::idle() const {
  const auto waiting = [](const In& in) { return in.filled > 0 || in.early.left() > 0; };
  const auto queued = [](const Out& out) {
    return out.rest > 0 || out.queued > 0 || out.early.left() > 0;
  };
  return std::none_of(kept_.ins.begin(), kept_.ins.end(), waiting) &&
         std::none_of(kept_.outs.begin(), kept_.outs.end(), queued);
}

void PlacedFeed::reset() noexcept {
  for (In& in : kept_.ins) {
    in.filled = 0;
    in.early.taken = in.early.count;
  }
  for (Out& out : kept_.outs) {
    out.head = out.queued = out.first = out.rest = 0;
    out.early.taken = out.early.count;
  }
}

namespace {

/// Have the bytes of a buffer where it lies from now on.
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
