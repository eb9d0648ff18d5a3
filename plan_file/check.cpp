#include "plan_file/check.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/run/touches.h"

namespace rill::plan_file {
namespace {

/// More than any machine has, and than any stream takes; sums of some stay in range.
constexpr int64_t kMostBytes = int64_t{1} << 44;
constexpr int64_t kMostFrames = int64_t{1} << 40;
constexpr int64_t kAlign = 64;
/// What memory of the caller is aligned to at least.
constexpr int64_t kAlignOfCallers = 16;

bool within(int64_t value, int64_t least, int64_t most) { return value >= least && value <= most; }

/// What steps touch of a slot: bytes from where a chunk begins.
struct SlotUse {
  bool active = false;
  bool touched = false;
  int64_t first = 0;
  int64_t end = 0;
  int64_t align = 1;
};

/// A plan while its steps are looked at.
class Checker {
 public:
  explicit Checker(const Plan& plan)
      : plan_(plan), slots_(plan.buffers.size()), ring_of_(plan.buffers.size(), nullptr) {}

  const char* why() const { return why_; }
  int64_t work() const { return work_; }

  void run() {
    memory();
    require(plan_.stream_pulse >= 0 && plan_.stream_pulse <= kMostFrames && plan_.longest >= 0 &&
                within(plan_.begin_unit, 1, kMostFrames) && within(plan_.settled, 0, kMostFrames),
            "a count of frames makes no sense");
    ios(plan_.inputs, BufferKind::kInput);
    ios(plan_.outputs, BufferKind::kOutput);
    rings();
    if (why_ == nullptr) states();
    if (why_ == nullptr) steps(plan_.steps, 1);
  }

  void require(bool holds, const char* what) {
    if (!holds && why_ == nullptr) why_ = what;
  }
  void steps(const List<Step>& all, int64_t turns);
  void touches(const Region& region, bool writes, int64_t turns);
  void runs(const List<Step>& all, std::span<const StepTouches::Slot> slots, int64_t turns,
            std::span<const PlacedView> reads);
  const std::byte* contents(const Region& region);
  void scratch(const StepParts& parts, int64_t bytes, int64_t turns) {
    require(bytes >= 0, "a size of scratch makes no sense");
    if (bytes <= 0 || why_ != nullptr) return;
    touches(region<std::byte>(parts.scratch).over(bytes).aligned(kAlign), true, turns);
    require(parts.most < 2 || bytes <= plan_.part_scratch_bytes, "parts have too little scratch");
  }

 private:
  void memory() {
    require(within(plan_.arena_bytes, 0, kMostBytes) && within(plan_.state_bytes, 0, kMostBytes) &&
                within(plan_.part_scratch_bytes, 0, kMostBytes) &&
                plan_.part_scratch_bytes % kAlign == 0,
            "a size of memory makes no sense");
    for (const PlanBuffer& buffer : plan_.buffers) {
      require(within(buffer.bytes, 0, kMostBytes) && within(buffer.offset, 0, kMostBytes) &&
                  buffer.offset % kAlign == 0,
              "a buffer makes no sense");
      const int64_t end = buffer.offset + buffer.bytes;
      const bool arena = buffer.kind == BufferKind::kArena;
      const bool state = buffer.kind == BufferKind::kState || buffer.kind == BufferKind::kRing;
      require(!arena || end <= plan_.arena_bytes, "a buffer lies outside of the arena");
      require(!state || end <= plan_.state_bytes, "a buffer lies outside of the state");
      const auto initial = static_cast<int64_t>(buffer.initial.size());
      require(initial == 0 || (state && initial == buffer.bytes),
              "a buffer begins with other bytes than it has");
      const auto io = static_cast<size_t>(buffer.io);
      require(buffer.kind != BufferKind::kInput || io < plan_.inputs.size(), "an input is missing");
      require(buffer.kind != BufferKind::kOutput || io < plan_.outputs.size(),
              "an output is missing");
    }
  }
  void ios(const List<PlanIo>& all, BufferKind kind) {
    for (size_t i = 0; i < all.size(); ++i) {
      const PlanIo& io = all[i];
      const bool placed = io.buffer < plan_.buffers.size() &&
                          plan_.buffers[io.buffer].kind == kind &&
                          plan_.buffers[io.buffer].io == static_cast<int>(i) &&
                          plan_.buffers[io.buffer].bytes == io.bytes;
      require(placed, "an input or output has another buffer");
      const PlanStream& stream = io.stream;
      require(within(stream.pulse, 0, kMostFrames) &&
                  within(stream.delay, -kMostFrames, kMostFrames) &&
                  within(stream.early, 0, kMostFrames) && stream.most >= 0,
              "a count of frames makes no sense");
      if (stream.axis < 0) continue;
      require(plan_.stream_pulse > 0 && stream.axis < static_cast<int>(io.shape.size()) &&
                  io.shape[static_cast<size_t>(stream.axis)] == stream.pulse,
              "an input or output has another pulse");
    }
  }
  void rings() {
    for (const Ring& ring : plan_.rings) {
      const bool own = ring.buffer < plan_.buffers.size() &&
                       plan_.buffers[ring.buffer].kind == BufferKind::kRing &&
                       ring_of_[ring.buffer] == nullptr;
      require(own, "a ring has no buffer of its own");
      if (!own) return;
      ring_of_[ring.buffer] = &ring;
      const bool counts =
          within(ring.row_bytes, 0, kMostBytes) && within(ring.capacity, 0, kMostFrames) &&
          within(ring.pulse, 0, ring.capacity) &&
          within(ring.history, 0, ring.capacity - ring.pulse) && ring.lanes >= 0;
      const auto lane = counts ? checked_mul(ring.capacity, ring.row_bytes) : std::nullopt;
      const auto all = lane ? checked_mul(*lane, ring.lanes) : std::nullopt;
      require(all && *lane == ring.lane_bytes && *all == plan_.buffers[ring.buffer].bytes,
              "a ring makes no sense");
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      require(plan_.buffers[i].kind != BufferKind::kRing || ring_of_[i] != nullptr,
              "a buffer of a ring has no ring");
    }
  }
  void states() {
    for (const PlanState& state : plan_.states) {
      const BufferKind kind = plan_.buffers[state.value.ref.buffer].kind;
      require(kind == BufferKind::kState || kind == BufferKind::kRing,
              "a state lies where nothing is kept");
      require(state.axis < state.value.rank && within(state.pulse, 0, kMostFrames) &&
                  state.node < static_cast<int>(plan_.nodes.size()) && !plan_.nodes.empty(),
              "a state makes no sense");
      touches(region(state.value), true, 1);
    }
  }

  const Plan& plan_;
  std::vector<SlotUse> slots_;
  std::vector<const Ring*> ring_of_;
  const char* why_ = nullptr;
  int64_t work_ = 0;
};

/// Hands on what one step tells.
class OneStep final : public StepTouches {
 public:
  OneStep(Checker* checker, const Step& step, int64_t turns)
      : StepTouches(step.parts), checker_(*checker), turns_(turns) {}

  using StepTouches::reads;
  using StepTouches::writes;
  void reads(const Region& region) override { checker_.touches(region, false, turns_); }
  void writes(const Region& region) override { checker_.touches(region, true, turns_); }
  void require(bool holds, const char* what) override { checker_.require(holds, what); }
  bool holds() const override { return checker_.why() == nullptr; }
  void scratch(int64_t bytes) override { checker_.scratch(parts(), bytes, turns_); }
  void runs(const List<Step>& steps, std::span<const Slot> slots, int64_t turns,
            std::span<const PlacedView> reads) override {
    const auto all = checked_mul(turns_, std::max<int64_t>(turns, 0));
    checker_.runs(steps, slots, all.value_or(INT64_MAX), reads);
  }
  const std::byte* contents(const Region& region) override { return checker_.contents(region); }

 private:
  Checker& checker_;
  int64_t turns_;
};

void Checker::steps(const List<Step>& all, int64_t turns) {
  for (const Step& step : all) {
    if (why_ != nullptr) return;
    const StepParts& parts = step.parts;
    require(within(parts.units, 0, kMostFrames) && within(parts.most, 0, kMostThreads) &&
                (parts.most < 2 || step.kind->run_share != nullptr),
            "a step cannot be cut so");
    require(step.kind->touch != nullptr, "a step of a kind that nothing is known of");
    if (why_ != nullptr) return;
    OneStep told(this, step, turns);
    step.kind->touch(step.args, told);
  }
}

void Checker::touches(const Region& region, bool writes, int64_t turns) {
  const Ref& ref = region.ref;
  require(region.sane && within(ref.offset, -kMostBytes, kMostBytes) &&
              ref.buffer < plan_.buffers.size(),
          "a step goes where no memory is");
  if (why_ != nullptr || region.empty) return;
  const auto visits = checked_mul(region.visits, turns);
  work_ = visits ? checked_add(work_, *visits).value_or(INT64_MAX) : INT64_MAX;
  const auto first_byte = checked_mul(region.first, region.size);
  const auto last_byte = checked_mul(region.last, region.size);
  require(first_byte && last_byte && ref.offset % region.align == 0,
          "a step goes where no element begins");
  if (why_ != nullptr) return;
  const int64_t first = ref.offset + *first_byte;
  const int64_t end = ref.offset + *last_byte + region.size;
  const PlanBuffer& buffer = plan_.buffers[ref.buffer];
  if (buffer.kind == BufferKind::kSlot) {
    SlotUse& slot = slots_[ref.buffer];
    require(slot.active && !writes, "a step goes to a slot outside of its loop");
    slot.first = slot.touched ? std::min(slot.first, first) : first;
    slot.end = slot.touched ? std::max(slot.end, end) : end;
    slot.align = std::max(slot.align, region.align);
    slot.touched = true;
    return;
  }
  require(!writes || (buffer.kind != BufferKind::kConst && buffer.kind != BufferKind::kInput),
          "a step writes to what nobody may change");
  int64_t room = buffer.bytes;
  if (const Ring* ring = ring_of_[ref.buffer]) {
    // The window moves on, as far as this.
    room -= (ring->capacity - ring->history - ring->pulse) * ring->row_bytes;
    require(ring->row_bytes % region.align == 0, "a step goes where no element begins");
  }
  const bool of_callers = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
  require(!of_callers || region.align <= kAlignOfCallers, "a step needs memory of its own");
  require(first >= 0 && end <= room, "a step goes outside of a buffer");
}

const std::byte* Checker::contents(const Region& region) {
  touches(region, false, 1);
  if (why_ != nullptr) return nullptr;
  const PlanBuffer& buffer = plan_.buffers[region.ref.buffer];
  require(buffer.kind == BufferKind::kConst, "a table is no constant");
  // Nothing is read of what is empty.
  if (why_ != nullptr || region.empty) return nullptr;
  return static_cast<const std::byte*>(buffer.data.get()) + region.ref.offset;
}

void Checker::runs(const List<Step>& all, std::span<const StepTouches::Slot> slots,
                   int64_t turns, std::span<const PlacedView> reads) {
  for (const StepTouches::Slot& each : slots) {
    const uint32_t id = each.slot.buffer;
    const bool free = id < slots_.size() && plan_.buffers[id].kind == BufferKind::kSlot &&
                      !slots_[id].active;
    require(free && each.slot.offset == 0, "a loop has no slot of its own");
    if (why_ != nullptr) return;
    slots_[id] = SlotUse{};
    slots_[id].active = true;
  }
  steps(all, turns);
  for (const PlacedView& each : reads) touches(region(each), false, turns);
  for (const StepTouches::Slot& each : slots) slots_[each.slot.buffer].active = false;
  for (const StepTouches::Slot& each : slots) {
    const SlotUse& use = slots_[each.slot.buffer];
    if (!use.touched || why_ != nullptr) continue;
    Region region = rill::region<std::byte>(each.from)
                        .over(each.turns, each.chunk_bytes)
                        .aligned(use.align);
    require(each.chunk_bytes % use.align == 0, "a loop goes where no element begins");
    region = region.at(use.first).over(use.end - use.first);
    touches(region, false, 1);
  }
}

}  // namespace

Result<int64_t> check(const Plan& plan) {
  Checker checker(plan);
  checker.run();
  if (checker.why() == nullptr) return checker.work();
  return fail(Code::kParse, "a plan that no compiler of rill makes: ", checker.why())
      .hint("Compile the model again, or copy the file again");
}

}  // namespace rill::plan_file
