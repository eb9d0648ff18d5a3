#include "core/exec/session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/exec/denormals.h"

namespace rill {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

Result<std::unique_ptr<Session>> Session::make(std::shared_ptr<const Plan> plan) {
  std::unique_ptr<Session> session(new (std::nothrow) Session(std::move(plan)));
  if (!session) return fail(Code::kNoMem, "no memory for a session");
  RILL_TRY(session->allocate());
  session->reset();
  session->warm_up();
  return session;
}

void Session::warm_up() noexcept {
  // The one run of a plan without a stream may take seconds, and has no period to keep.
  if (plan_->stream_pulse == 0) return;
  step();
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    std::memset(own_output_[i], 0, static_cast<size_t>(plan_->outputs[i].bytes));
  }
  reset();
}

Session::~Session() {
  std::free(block_);
  std::free(part_scratch_);
}

Status Session::use_threads(std::shared_ptr<const Pool> pool) {
  int64_t bytes = 0;
  if (pool) bytes = (pool->threads - int64_t{1}) * plan_->part_scratch_bytes;
  std::byte* scratch = nullptr;
  if (bytes > 0) {
    scratch = static_cast<std::byte*>(std::aligned_alloc(kAlign, static_cast<size_t>(bytes)));
    if (scratch == nullptr) {
      return fail(Code::kNoMem, "no memory for ", bytes, " bytes of scratch for ", pool->threads,
                  " threads");
    }
    std::memset(scratch, 0, static_cast<size_t>(bytes));
  }
  std::free(part_scratch_);
  part_scratch_ = scratch;
  part_bytes_ = bytes;
  pool_ = std::move(pool);
  return {};
}

Status Session::allocate() {
  int64_t bytes = aligned(plan_->arena_bytes) + aligned(plan_->state_bytes);
  for (const PlanIo& io : plan_->inputs) bytes += aligned(io.bytes) + kAlign;
  for (const PlanIo& io : plan_->outputs) bytes += aligned(io.bytes) + kAlign;
  bytes = aligned(bytes + kAlign);
  block_ = static_cast<std::byte*>(std::aligned_alloc(kAlign, static_cast<size_t>(bytes)));
  if (block_ == nullptr) return fail(Code::kNoMem, "no memory for a session of ", bytes, " bytes");
  block_bytes_ = bytes;
  // Every page is touched now, not in the first step.
  std::memset(block_, 0, static_cast<size_t>(bytes));
  arena_ = block_;
  state_ = arena_ + aligned(plan_->arena_bytes);
  std::byte* at = state_ + aligned(plan_->state_bytes);
  for (const PlanIo& io : plan_->inputs) {
    own_input_.push_back(at);
    at += aligned(io.bytes) + kAlign;
  }
  for (const PlanIo& io : plan_->outputs) {
    own_output_.push_back(at);
    at += aligned(io.bytes) + kAlign;
  }
  base_.assign(plan_->buffers.size(), nullptr);
  for (size_t i = 0; i < plan_->buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_->buffers[i];
    switch (buffer.kind) {
      case BufferKind::kArena:
        base_[i] = arena_ + buffer.offset;
        break;
      case BufferKind::kConst:
        base_[i] = static_cast<std::byte*>(const_cast<void*>(buffer.data.get()));
        break;
      case BufferKind::kInput:
        base_[i] = own_input_[static_cast<size_t>(buffer.io)];
        break;
      case BufferKind::kOutput:
        base_[i] = own_output_[static_cast<size_t>(buffer.io)];
        break;
      case BufferKind::kState:
      case BufferKind::kRing:
        base_[i] = state_ + buffer.offset;
        break;
      case BufferKind::kSlot:
        break;
    }
  }
  ring_frame_.assign(plan_->rings.size(), 0);
  bindings_.reserve(1);
  if (!plan_->stream_symbol.empty()) bindings_.emplace_back(plan_->stream_symbol, 0);
  clock_.unit = std::max<int64_t>(1, plan_->stream_pulse);
  return {};
}

namespace {

View io_view(const PlanIo& io, std::byte* data) {
  View view;
  view.dtype = io.dtype;
  view.q = io.q;
  view.rank = static_cast<int>(io.shape.size());
  int64_t stride = 1;
  for (size_t axis = io.shape.size(); axis-- > 0;) {
    view.shape[axis] = io.shape[axis];
    view.stride[axis] = stride;
    stride *= io.shape[axis];
  }
  view.data = data;
  return view;
}

}  // namespace

View Session::input(size_t index) const {
  return io_view(plan_->inputs[index], base_[plan_->inputs[index].buffer]);
}

View Session::output(size_t index) const {
  return io_view(plan_->outputs[index], base_[plan_->outputs[index].buffer]);
}

void Session::bind_input(size_t index, void* data) noexcept {
  base_[plan_->inputs[index].buffer] = data ? static_cast<std::byte*>(data) : own_input_[index];
}

void Session::bind_output(size_t index, void* data) noexcept {
  base_[plan_->outputs[index].buffer] = data ? static_cast<std::byte*>(data) : own_output_[index];
}

Frame Session::frame() noexcept {
  Frame frame;
  frame.base = base_.data();
  frame.clock = &clock_;
  frame.bindings = &bindings_;
  frame.pool = pool_.get();
  frame.part_scratch = part_scratch_;
  frame.part_scratch_bytes = plan_->part_scratch_bytes;
  return frame;
}

void Session::step() noexcept {
  const FlushDenormals flush;
  const Frame now = frame();
  for (const Step& step : plan_->steps) run_step(step, now);
  end_turn();
}

void Session::step_timed(const StepTimer& timer) {
  const FlushDenormals flush;
  const Frame now = frame();
  for (const Step& step : plan_->steps) {
    const auto start = std::chrono::steady_clock::now();
    run_step(step, now);
    const auto end = std::chrono::steady_clock::now();
    timer(step.node, std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count());
  }
  end_turn();
}

void Session::advance_rings() noexcept {
  for (size_t i = 0; i < plan_->rings.size(); ++i) {
    const Ring& ring = plan_->rings[i];
    int64_t& first = ring_frame_[i];
    first += ring.pulse;
    if (first + ring.history + ring.pulse <= ring.capacity) {
      base_[ring.buffer] += ring.pulse * ring.row_bytes;
      continue;
    }
    std::byte* start = state_ + plan_->buffers[ring.buffer].offset;
    for (int64_t lane = 0; lane < ring.lanes; ++lane) {
      std::byte* own = start + lane * ring.lane_bytes;
      std::memmove(own, own + first * ring.row_bytes,
                   static_cast<size_t>(ring.history * ring.row_bytes));
    }
    first = 0;
    base_[ring.buffer] = start;
  }
}

void Session::announce_end(int64_t frames) noexcept {
  clock_.end = frames;
  told_ = clock_.tick;
  if (!bindings_.empty()) bindings_[0].second = frames;
}

Status Session::check_length(int64_t frames) {
  // The session's own list of values: another one would have to be allocated.
  const int64_t told = bindings_.empty() ? 0 : std::exchange(bindings_[0].second, frames);
  const auto broken = [&](const Dim& dim) { return dim.eval(bindings_).value_or(0) < 0; };
  const auto found = std::find_if(plan_->asserted.begin(), plan_->asserted.end(), broken);
  if (!bindings_.empty()) bindings_[0].second = told;
  // Nothing comes of no frames, whatever the model says.
  if (found != plan_->asserted.end() && frames > 0 && frames <= plan_->longest) {
    return fail(Code::kShape, "a stream of ", frames, " frames of ", plan_->stream_symbol,
                " does not suit the model, for which ", *found, " is not negative");
  }
  if (frames <= plan_->longest) return {};
  return fail(Code::kShape, "a stream of ", frames, " frames of ", plan_->stream_symbol,
              " does not suit the model: it is defined for ", plan_->longest,
              " at most, by the tables it has or by what is asserted");
}

Status Session::try_end(int64_t frames) {
  RILL_TRY(check_length(frames));
  announce_end(frames);
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const PlanIo& io = plan_->outputs[i];
    if (io.stream.axis < 0 || !io.stream.length.valid() || output_frames(i) >= 0) continue;
    announce_end(-1);
    return fail(Code::kShape, "a stream of ", frames, " frames of ", plan_->stream_symbol,
                " does not suit the model: output \"", io.name, "\" has ", io.stream.length,
                " frames");
  }
  return {};
}

void Session::reset() noexcept {
  for (const PlanBuffer& buffer : plan_->buffers) {
    if (buffer.kind != BufferKind::kState && buffer.kind != BufferKind::kRing) continue;
    std::byte* at = state_ + buffer.offset;
    if (buffer.initial.empty()) {
      std::memset(at, 0, static_cast<size_t>(buffer.bytes));
    } else {
      std::memcpy(at, buffer.initial.data(), buffer.initial.size());
    }
  }
  for (size_t i = 0; i < plan_->rings.size(); ++i) {
    const uint32_t buffer = plan_->rings[i].buffer;
    base_[buffer] = state_ + plan_->buffers[buffer].offset;
    ring_frame_[i] = 0;
  }
  clock_.tick = 0;
  clock_.end = -1;
  clock_.start = 0;
}

void Session::copy_state(const Session& other) noexcept {
  std::memcpy(state_, other.state_, static_cast<size_t>(plan_->state_bytes));
  for (size_t i = 0; i < plan_->rings.size(); ++i) {
    const Ring& ring = plan_->rings[i];
    ring_frame_[i] = other.ring_frame_[i];
    base_[ring.buffer] =
        state_ + plan_->buffers[ring.buffer].offset + ring_frame_[i] * ring.row_bytes;
  }
  clock_ = other.clock_;
  told_ = other.told_;
  if (!bindings_.empty()) bindings_[0].second = other.bindings_[0].second;
}

int64_t Session::output_frames(size_t index) const noexcept {
  const PlanStream& stream = plan_->outputs[index].stream;
  if (stream.axis < 0 || clock_.end < 0) return -1;
  const auto frames = stream.length.eval(bindings_);
  return frames ? std::max<int64_t>(0, *frames) : -1;
}

Session::Valid Session::valid_frames(size_t index) const noexcept {
  const PlanStream& stream = plan_->outputs[index].stream;
  if (stream.axis < 0 || clock_.tick == 0) return {};
  const int64_t begin = clock_.position(stream.pulse) - stream.pulse;
  const int64_t frames = output_frames(index);
  int64_t end = begin + stream.pulse;
  if (frames >= 0) {
    end = stream.delay + frames;
  } else if (stream.most < INT64_MAX) {
    end = std::min(end, stream.delay + stream.most);
  }
  const int64_t first = std::max(begin, stream.delay);
  const int64_t last = std::min(begin + stream.pulse, end);
  return {first - begin, std::max<int64_t>(0, last - first)};
}

int64_t Session::steps_left() const noexcept {
  if (clock_.end < 0) return -1;
  const auto steps = [](int64_t frames, int64_t pulse) {
    return frames <= 0 ? 0 : (frames + pulse - 1) / pulse;
  };
  int64_t needed = 0;
  if (plan_->stream_pulse > 0) {
    needed = steps(clock_.end - clock_.position(plan_->stream_pulse), plan_->stream_pulse);
  }
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const PlanStream& stream = plan_->outputs[i].stream;
    if (stream.axis < 0 && plan_->stream_pulse > 0) {
      // What is known at the end is made by a step that knows it.
      if (told_ == clock_.tick) needed = std::max<int64_t>(needed, 1);
      const int64_t known = stream.length.eval(bindings_).value_or(0);
      needed = std::max(needed,
                        steps(known - clock_.position(plan_->stream_pulse), plan_->stream_pulse));
    }
    if (stream.axis < 0 || stream.pulse == 0) continue;
    const int64_t frames = output_frames(i);
    if (frames < 0) return -1;
    if (frames == 0) continue;
    const int64_t left = stream.delay + frames - clock_.position(stream.pulse);
    needed = std::max(needed, steps(left, stream.pulse));
  }
  return needed;
}

}  // namespace rill
