#include "core/exec/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/base/aligned.h"
#include "core/exec/denormals.h"

namespace rill {
namespace {

constexpr size_t kAlign = 64;

/// Whether what is asserted not to be negative is, or is not defined at all, as the extent of two
/// wires that do not fit each other.
bool is_broken(const Dim& dim, const Bindings& bindings) {
  return dim.eval(bindings).value_or(-1) < 0;
}

/// The first of what may not be negative that is, for these values.
const Dim* broken(const Plan& plan, const Bindings& bindings) {
  const auto found = std::find_if(plan.asserted.begin(), plan.asserted.end(),
                                  [&](const Dim& dim) { return is_broken(dim, bindings); });
  return found == plan.asserted.end() ? nullptr : &*found;
}

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
    std::memset(output(i).data, 0, static_cast<size_t>(plan_->outputs[i].bytes));
  }
  reset();
}

Session::~Session() {
  free_aligned(block_);
  free_aligned(part_scratch_);
}

Status Session::use_threads(std::shared_ptr<const Pool> pool) {
  int64_t bytes = 0;
  if (pool) bytes = (pool->threads - int64_t{1}) * plan_->part_scratch_bytes;
  std::byte* scratch = nullptr;
  if (bytes > 0) {
    scratch = static_cast<std::byte*>(allocate_aligned(kAlign, static_cast<size_t>(bytes)));
    if (scratch == nullptr) {
      return fail(Code::kNoMem, "no memory for ", bytes, " bytes of scratch for ", pool->threads,
                  " threads");
    }
    std::memset(scratch, 0, static_cast<size_t>(bytes));
  }
  free_aligned(part_scratch_);
  part_scratch_ = scratch;
  part_bytes_ = bytes;
  pool_ = std::move(pool);
  return {};
}

Status Session::allocate() {
  parts_ = parts_of(*plan_);
  const auto bytes = (static_cast<size_t>(parts_.bytes) + kAlign - 1) / kAlign * kAlign;
  block_ = static_cast<std::byte*>(allocate_aligned(kAlign, bytes));
  if (block_ == nullptr) return fail(Code::kNoMem, "no memory for a session of ", bytes, " bytes");
  // Every page is touched now, not in the first step.
  std::memset(block_, 0, bytes);
  base_ = reinterpret_cast<std::byte**>(at(parts_.of(PartUse::kAddresses)));
  places_ = reinterpret_cast<int64_t*>(at(parts_.of(PartUse::kPlaces)));
  find_addresses();
  if (!plan_->stream_symbol.empty()) {
    bindings_.reserve(1);
    bindings_.emplace_back(plan_->stream_symbol, 0);
    asks_for_a_frame_ = broken(*plan_, bindings_) != nullptr;
  }
  return {};
}

void Session::find_addresses() noexcept {
  std::byte* const arena = at(parts_.of(PartUse::kArena));
  std::byte* const state = at(parts_.of(PartUse::kState));
  for (size_t i = 0; i < plan_->buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_->buffers[i];
    const auto io = static_cast<size_t>(buffer.io);
    switch (buffer.kind) {
      case BufferKind::kArena:
        base_[i] = arena + buffer.offset;
        break;
      case BufferKind::kConst:
        base_[i] = static_cast<std::byte*>(const_cast<void*>(buffer.data.get()));
        break;
      case BufferKind::kInput:
        base_[i] = at(parts_.of(PartUse::kInput, io));
        break;
      case BufferKind::kOutput:
        base_[i] = at(parts_.of(PartUse::kOutput, io));
        break;
      case BufferKind::kState:
      case BufferKind::kRing:
        base_[i] = state + buffer.offset;
        break;
      case BufferKind::kSlot:
        break;
    }
  }
}

int64_t Session::memory_bytes() const {
  const auto bytes_of = [](const auto& list) {
    return static_cast<int64_t>(list.capacity() * sizeof(list[0]));
  };
  const auto rounded = (parts_.bytes + int64_t{kAlign} - 1) / int64_t{kAlign} * int64_t{kAlign};
  return static_cast<int64_t>(sizeof(Session)) + rounded + part_bytes_ + bytes_of(parts_.all) +
         bytes_of(bindings_);
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
  base_[plan_->inputs[index].buffer] =
      data ? static_cast<std::byte*>(data) : at(parts_.of(PartUse::kInput, index));
}

void Session::bind_output(size_t index, void* data) noexcept {
  base_[plan_->outputs[index].buffer] =
      data ? static_cast<std::byte*>(data) : at(parts_.of(PartUse::kOutput, index));
}

Frame Session::frame() noexcept {
  Frame frame;
  frame.base = base_;
  frame.clock = &moment_.clock;
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
  std::byte* const state = at(parts_.of(PartUse::kState));
  for (size_t i = 0; i < plan_->rings.size(); ++i) {
    const Ring& ring = plan_->rings[i];
    int64_t& first = places_[i];
    first += ring.pulse;
    if (first + ring.history + ring.pulse <= ring.capacity) {
      base_[ring.buffer] += ring.pulse * ring.row_bytes;
      continue;
    }
    std::byte* start = state + plan_->buffers[ring.buffer].offset;
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
  moment_.clock.end = frames;
  moment_.end_is_news = frames >= 0;
  settle();
}

Refusal Session::check_length(int64_t frames) {
  const auto told = static_cast<long long>(frames);
  const char* const symbol = plan_->stream_symbol.c_str();
  if (frames > plan_->longest) {
    return refusal(
        Code::kShape, "",
        "a stream of %lld frames of %s does not suit the model: it is defined for %lld at "
        "most, by the tables it has or by what is asserted",
        told, symbol, static_cast<long long>(plan_->longest));
  }
  if (bindings_.empty()) return {};
  // The session's own list of values: another one would have to be allocated.
  const auto negative = [&](const Dim& dim, int64_t value) {
    if (!bindings_.empty()) bindings_[0].second = value;
    return is_broken(dim, bindings_);
  };
  // No frames give none, though the model asks for one, unless a whole run of none gave something.
  const bool gives_none = frames == 0 && !gives_for_nothing();
  size_t wrong = 0;
  while (wrong < plan_->asserted.size()) {
    const Dim& dim = plan_->asserted[wrong];
    if (negative(dim, frames) && !(gives_none && !negative(dim, 1))) break;
    ++wrong;
  }
  settle();
  if (wrong == plan_->asserted.size()) return {};
  return refusal(
      Code::kShape, "Use a stream of another length, or run the model without a pulse on this one",
      "a stream of %lld frames of %s does not suit the model, for which %s is not negative", told,
      symbol, plan_->asserted_texts[wrong].c_str());
}

bool Session::gives_for_nothing() {
  if (!bindings_.empty()) bindings_[0].second = 0;
  return std::any_of(plan_->outputs.begin(), plan_->outputs.end(), [&](const PlanIo& io) {
    return io.stream.axis < 0 || io.stream.length.eval(bindings_).value_or(1) > 0;
  });
}

Refusal Session::try_end(int64_t frames) {
  const Refusal undefined = check_length(frames);
  if (!undefined.ok()) return undefined;
  announce_end(frames);
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const PlanIo& io = plan_->outputs[i];
    if (io.stream.axis < 0 || !io.stream.length.valid() || output_frames(i) >= 0) continue;
    announce_end(-1);
    return refusal(Code::kShape, "",
                   "a stream of %lld frames of %s does not suit the model: output \"%s\" has %s "
                   "frames",
                   static_cast<long long>(frames), plan_->stream_symbol.c_str(), io.name.c_str(),
                   io.stream.length_text.c_str());
  }
  return {};
}

void Session::reset() noexcept {
  std::byte* const state = at(parts_.of(PartUse::kState));
  for (const PlanBuffer& buffer : plan_->buffers) {
    if (buffer.kind != BufferKind::kState && buffer.kind != BufferKind::kRing) continue;
    std::byte* begin = state + buffer.offset;
    if (buffer.initial.empty()) {
      std::memset(begin, 0, static_cast<size_t>(buffer.bytes));
    } else {
      std::memcpy(begin, buffer.initial.data(), buffer.initial.size());
    }
  }
  std::fill_n(places_, plan_->rings.size(), 0);
  moment_ = {};
  settle();
}

void Session::settle() noexcept {
  std::byte* const state = at(parts_.of(PartUse::kState));
  for (size_t i = 0; i < plan_->rings.size(); ++i) {
    const Ring& ring = plan_->rings[i];
    base_[ring.buffer] = state + plan_->buffers[ring.buffer].offset + places_[i] * ring.row_bytes;
  }
  if (!bindings_.empty()) bindings_[0].second = std::max<int64_t>(0, moment_.clock.end);
  moment_.clock.unit = std::max<int64_t>(1, plan_->stream_pulse);
}

std::byte* Session::kept(const SessionPart& part) const {
  if (part.use == PartUse::kInput) return base_[plan_->inputs[part.index].buffer];
  if (part.use == PartUse::kOutput) return base_[plan_->outputs[part.index].buffer];
  return at(part);
}

void Session::copy_state(const Session& other) noexcept {
  for (const SessionPart& part : parts_.all) {
    if (!is_kept(part.use) || part.bytes == 0) continue;
    std::memcpy(kept(part), other.kept(part), static_cast<size_t>(part.bytes));
  }
  moment_ = other.moment_;
  settle();
}

int64_t Session::output_frames(size_t index) const noexcept {
  const PlanStream& stream = plan_->outputs[index].stream;
  if (stream.axis < 0 || !end_announced()) return -1;
  if (gives_nothing()) return 0;
  const auto frames = stream.length.eval(bindings_);
  return frames ? std::max<int64_t>(0, *frames) : -1;
}

Session::Valid Session::valid_frames(size_t index) const noexcept {
  const PlanStream& stream = plan_->outputs[index].stream;
  if (stream.axis < 0 || ticks() == 0) return {};
  const int64_t begin = position(stream.pulse) - stream.pulse;
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
  if (!end_announced()) return -1;
  const auto steps = [](int64_t frames, int64_t pulse) {
    return frames <= 0 ? 0 : (frames + pulse - 1) / pulse;
  };
  int64_t needed = 0;
  if (plan_->stream_pulse > 0) {
    needed = steps(end() - position(plan_->stream_pulse), plan_->stream_pulse);
  }
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const PlanStream& stream = plan_->outputs[i].stream;
    if (stream.axis < 0 && plan_->stream_pulse > 0) {
      // What is known at the end is made by a step that knows it.
      if (moment_.end_is_news) needed = std::max<int64_t>(needed, 1);
      const int64_t known = stream.length.eval(bindings_).value_or(0);
      needed = std::max(needed, steps(known - position(plan_->stream_pulse), plan_->stream_pulse));
    }
    if (stream.axis < 0 || stream.pulse == 0) continue;
    const int64_t frames = output_frames(i);
    if (frames < 0) return -1;
    if (frames == 0) continue;
    const int64_t left = stream.delay + frames - position(stream.pulse);
    needed = std::max(needed, steps(left, stream.pulse));
  }
  return needed;
}

}  // namespace rill
