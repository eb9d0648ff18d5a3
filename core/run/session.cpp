#include "core/run/session.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/search.h"
#include "core/run/denormals.h"
#include "core/tensor/row_major.h"

namespace rill {
namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + kSessionAlignment - 1) / kSessionAlignment * kSessionAlignment;
}

/// Return whether an expression that must be >= 0 is negative or undefined, as for mismatched
/// extents.
bool is_broken(const Extent& extent, int64_t frames) { return extent.at(frames).value_or(-1) < 0; }

}  // namespace

int64_t PlacedSession::bytes_for(const Plan& plan) {
  return aligned(sizeof(PlacedSession)) + aligned(SessionParts::bytes_for(plan));
}

PlacedSession* PlacedSession::place(const Plan& plan, void* memory) noexcept {
  auto* const session = new (memory) PlacedSession();
  session->begin(plan, static_cast<std::byte*>(memory) + aligned(sizeof(PlacedSession)));
  return session;
}

void PlacedSession::begin(const Plan& plan, std::byte* block) noexcept {
  plan_ = &plan;
  block_ = block;
  // Touch every page here, so that the first step does not fault.
  std::memset(block, 0, static_cast<size_t>(SessionParts::bytes_for(plan)));
  parts_.lay_out(plan, block);
  base_ = reinterpret_cast<std::byte**>(at(parts_.of(PartUse::kAddresses)));
  places_ = reinterpret_cast<int64_t*>(at(parts_.of(PartUse::kPlaces)));
  find_addresses();
  asks_for_a_frame_ = !plan.stream_symbol.empty() &&
                      any_of(plan.asserted, [](const Extent& each) { return is_broken(each, 0); });
  reset();
  warm_up();
}

void PlacedSession::warm_up() noexcept {
  // A plan without a stream has no deadline, and a run may take seconds.
  if (plan_->stream_pulse == 0) return;
  step();
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    std::memset(output(i).data, 0, static_cast<size_t>(plan_->outputs[i].bytes));
  }
  reset();
}

std::optional<int64_t> PlacedSession::symbol_value() const {
  if (plan_->stream_symbol.empty()) return std::nullopt;
  return std::max<int64_t>(0, progress_.clock.end);
}

void PlacedSession::find_addresses() noexcept {
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
        // Steps read nothing from an empty buffer, at any offset.
        base_[i] = static_cast<std::byte*>(const_cast<void*>(buffer.data.get()));
        if (base_[i] == nullptr) base_[i] = arena;
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
        base_[i] = arena;  // until a loop sets it
        break;
    }
  }
}

namespace {

View io_view(const PlanIo& io, std::byte* data) {
  View view;
  view.dtype = io.dtype;
  view.q = io.q;
  view.rank = static_cast<int>(io.shape.size());
  std::copy(io.shape.begin(), io.shape.end(), view.shape.begin());
  lay_row_major(&view);
  view.data = data;
  return view;
}

}  // namespace

View PlacedSession::input(size_t index) const {
  return io_view(plan_->inputs[index], base_[plan_->inputs[index].buffer]);
}

View PlacedSession::output(size_t index) const {
  return io_view(plan_->outputs[index], base_[plan_->outputs[index].buffer]);
}

void PlacedSession::bind_input(size_t index, void* data) noexcept {
  base_[plan_->inputs[index].buffer] =
      data ? static_cast<std::byte*>(data) : at(parts_.of(PartUse::kInput, index));
}

void PlacedSession::bind_output(size_t index, void* data) noexcept {
  base_[plan_->outputs[index].buffer] =
      data ? static_cast<std::byte*>(data) : at(parts_.of(PartUse::kOutput, index));
}

Frame PlacedSession::frame() noexcept {
  Frame frame;
  frame.base = base_;
  frame.clock = &progress_.clock;
  frame.symbol = plan_->stream_symbol.view();
  frame.pool = pool_;
  frame.part_scratch = part_scratch_;
  frame.part_scratch_bytes = plan_->part_scratch_bytes;
  return frame;
}

void PlacedSession::step() noexcept {
  const FlushDenormals flush;
  const Frame now = frame();
  for (const Step& step : plan_->steps) run_step(step, now);
  end_step();
}

void PlacedSession::advance_rings() noexcept {
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
    const auto kept = static_cast<size_t>(ring.history * ring.row_bytes);
    for (int64_t lane = 0; kept > 0 && lane < ring.lanes; ++lane) {
      std::byte* own = start + lane * ring.lane_bytes;
      std::memmove(own, own + first * ring.row_bytes, kept);
    }
    first = 0;
    base_[ring.buffer] = start;
  }
}

void PlacedSession::announce_end(int64_t frames) noexcept {
  progress_.clock.end = frames;
  progress_.end_is_news = frames >= 0;
  settle();
}

Refusal PlacedSession::check_length(int64_t frames) {
  const auto value = static_cast<long long>(frames);
  const char* const symbol = plan_->stream_symbol.c_str();
  if (frames > plan_->longest) {
    return refusal(
        Code::kShape, "",
        "a stream of %lld frame%s of %s does not suit the model: its tables or assertions allow "
        "at most %lld",
        value, plural(frames), symbol, static_cast<long long>(plan_->longest));
  }
  if (plan_->stream_symbol.empty()) return {};
  // A stream without frames has no output, even if the model requires a frame, unless a whole run
  // over no frames would have an output.
  const bool has_no_output = frames == 0 && !outputs_without_frames();
  size_t wrong = 0;
  while (wrong < plan_->asserted.size()) {
    const Extent& each = plan_->asserted[wrong];
    if (is_broken(each, frames) && !(has_no_output && !is_broken(each, 1))) break;
    ++wrong;
  }
  if (wrong == plan_->asserted.size()) return {};
  return refusal(
      Code::kShape, "Use a stream of another length, or run the model without a pulse on this one",
      "a stream of %lld frame%s of %s does not suit the model, for which %s is not negative", value,
      plural(frames), symbol, plan_->asserted_texts[wrong].c_str());
}

bool PlacedSession::outputs_without_frames() const {
  return any_of(plan_->outputs, [](const PlanIo& io) {
    return io.stream.axis < 0 || io.stream.length.at(0).value_or(1) > 0;
  });
}

Refusal PlacedSession::try_end(int64_t frames) {
  const Refusal undefined = check_length(frames);
  if (!undefined.ok()) return undefined;
  if (is_too_late(frames)) {
    return refusal(
        Code::kState,
        "Keep a full pulse back until the next frame arrives, and end the stream together "
        "with its last frames; pushed streams do so",
        "the end of a stream of %lld frame%s of %s is announced after the step that took "
        "the last ones, which had to know it: parts of this model end before its inputs",
        static_cast<long long>(frames), plural(frames), plan_->stream_symbol.c_str());
  }
  announce_end(frames);
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const PlanIo& io = plan_->outputs[i];
    if (io.stream.axis < 0 || !io.stream.length.valid() || output_frames(i) >= 0) continue;
    announce_end(-1);
    return refusal(Code::kShape, "",
                   "a stream of %lld frame%s of %s does not suit the model: output \"%s\" has %s "
                   "frames",
                   static_cast<long long>(frames), plural(frames), plan_->stream_symbol.c_str(),
                   io.name.c_str(), io.stream.length_text.c_str());
  }
  return {};
}

void PlacedSession::reset() noexcept {
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
  progress_ = {};
  settle();
}

void PlacedSession::settle() noexcept {
  std::byte* const state = at(parts_.of(PartUse::kState));
  for (size_t i = 0; i < plan_->rings.size(); ++i) {
    const Ring& ring = plan_->rings[i];
    base_[ring.buffer] = state + plan_->buffers[ring.buffer].offset + places_[i] * ring.row_bytes;
  }
  progress_.clock.unit = std::max<int64_t>(1, plan_->stream_pulse);
}

std::byte* PlacedSession::kept(const SessionPart& part) const {
  if (part.use == PartUse::kInput) return base_[plan_->inputs[part.index].buffer];
  if (part.use == PartUse::kOutput) return base_[plan_->outputs[part.index].buffer];
  return at(part);
}

void PlacedSession::copy_state(const PlacedSession& other) noexcept {
  for (const SessionPart& part : parts_.all) {
    if (!is_kept(part.use) || part.bytes == 0) continue;
    std::memcpy(kept(part), other.kept(part), static_cast<size_t>(part.bytes));
  }
  progress_ = other.progress_;
  settle();
}

int64_t PlacedSession::output_frames(size_t index) const noexcept {
  const PlanStream& stream = plan_->outputs[index].stream;
  if (stream.axis < 0 || !end_announced()) return -1;
  if (gives_nothing()) return 0;
  const auto frames = stream.length.at(symbol_value());
  return frames ? std::clamp<int64_t>(*frames, 0, kBeyondStreams) : -1;
}

PlacedSession::Valid PlacedSession::valid_frames(size_t index) const noexcept {
  const PlanStream& stream = plan_->outputs[index].stream;
  if (stream.axis < 0 || ticks() == 0) return {};
  const int64_t begin = position(stream.pulse) - stream.pulse;
  const int64_t frames = output_frames(index);
  int64_t end = begin + stream.pulse;
  if (frames >= 0) {
    end = stream.delay + frames;
  } else {
    end = std::min(end, stream.delay + std::min(stream.most, kBeyondStreams));
  }
  const int64_t first = std::max(begin, stream.delay);
  const int64_t last = std::min(begin + stream.pulse, end);
  return {first - begin, std::max<int64_t>(0, last - first)};
}

int64_t PlacedSession::steps_left() const noexcept {
  if (!end_announced()) return -1;
  const auto steps = [](int64_t frames, int64_t pulse) {
    return frames <= 0 ? 0 : frames / pulse + (frames % pulse != 0 ? 1 : 0);
  };
  int64_t needed = 0;
  if (plan_->stream_pulse > 0) {
    needed = steps(end() - position(plan_->stream_pulse), plan_->stream_pulse);
  }
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const PlanStream& stream = plan_->outputs[i].stream;
    if (stream.axis < 0 && plan_->stream_pulse > 0) {
      // Outputs that depend on the end are computed only by a step that knows the end.
      if (progress_.end_is_news) needed = std::max<int64_t>(needed, 1);
      const int64_t known =
          std::clamp<int64_t>(stream.length.at(symbol_value()).value_or(0), 0, kBeyondStreams);
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
