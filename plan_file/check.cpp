#include "plan_file/check.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/raise_limit.h"
#include "core/run/plan_records.h"
#include "core/run/touches.h"

namespace rill::plan_file {
namespace {

constexpr int64_t kAlign = 64;
/// The least alignment of the caller's memory.
constexpr int64_t kAlignOfCallers = 16;
/// The maximum number of bytes of tables that the check reads; steps may share tables.
constexpr int64_t kMostTableBytes = int64_t{1} << 28;
/// The number of multiply-adds that cost as much as touching one element.
constexpr int64_t kMultiplyAdds = 8;

Checked aligned(int64_t bytes) {
  return (checked(bytes / kAlign) + (bytes % kAlign > 0 ? 1 : 0)) * kAlign;
}

/// The part of a slot that steps touch: bytes from the beginning of a chunk.
struct SlotUse {
  bool active = false;
  bool touched = false;
  int64_t first = 0;
  int64_t end = 0;
  int64_t align = 1;
};

/// A cost of a plan beyond a limit.
struct Excess {
  const char* what = nullptr;   ///< as "the plan has"
  const char* units = nullptr;  ///< as " buffers"
  int64_t found = 0;
  int64_t most = 0;
  const char* limit = nullptr;  ///< the field of rill_open_opts; null for a limit that is fixed
};

/// A plan under check. Each part is checked only if all parts before it hold: the checker never
/// computes with a wrong number.
class Checker {
 public:
  Checker(const Plan& plan, const Limits& limits) : plan_(plan), limits_(limits) {}

  const char* why() const { return why_; }
  const Excess& excess() const { return excess_; }
  bool too_late() const { return too_late_; }
  Cost cost() const { return {session_, work_}; }

  void run() {
    const bool good = counts() && memory() && ios(plan_.inputs, BufferKind::kInput) &&
                      ios(plan_.outputs, BufferKind::kOutput) && session() && rings() && states();
    if (good) steps(plan_.steps, 1);
    affordable();
  }

  /// Return whether this requirement and all earlier ones hold.
  bool require(bool holds, const char* what) {
    if (!holds && why_ == nullptr) why_ = what;
    return why_ == nullptr;
  }
  bool limit(const Excess& cost) {
    const bool holds = cost.found <= cost.most;
    if (!holds && why_ == nullptr) excess_ = cost;
    return require(holds, cost.what);
  }
  void steps(const List<Step>& all, int64_t iterations);
  void touches(const Region& region, bool writes, int64_t iterations);
  void runs(const List<Step>& all, std::span<const StepTouches::Slot> slots, int64_t iterations,
            std::span<const PlacedView> reads);
  const std::byte* contents(const Region& region);
  void work(Checked iterations) { work_ = (iterations + work_).at_most(INT64_MAX); }
  void scratch(const StepParts& parts, int64_t bytes, int64_t iterations) {
    require(bytes >= 0, "a step has a negative size of scratch memory");
    if (bytes <= 0 || why_ != nullptr) return;
    touches(region<std::byte>(parts.scratch).over(bytes).aligned(kAlign), true, iterations);
    require(parts.most < 2 || bytes <= plan_.part_scratch_bytes, "parts have too little scratch");
  }

 private:
  bool counts() {
    const auto fits = [this](const char* units, size_t count, int64_t most, const char* field) {
      return limit({"the plan has ", units, static_cast<int64_t>(count), most, field});
    };
    if (!fits(" buffers", plan_.buffers.size(), limits_.buffers(), "max_buffers") ||
        !fits(" inputs", plan_.inputs.size(), limits_.ends(), "max_outputs") ||
        !fits(" outputs", plan_.outputs.size(), limits_.ends(), "max_outputs")) {
      return false;
    }
    slots_.resize(plan_.buffers.size());
    ring_of_.resize(plan_.buffers.size());
    return true;
  }
  bool memory() {
    require(plan_.part_scratch_bytes % kAlign == 0,
            "the scratch memory of parts is not a multiple of 64 bytes");
    Checked kept = 0;
    for (const PlanBuffer& buffer : plan_.buffers) {
      const Checked end = checked(buffer.offset) + buffer.bytes;
      const bool arena = buffer.kind == BufferKind::kArena;
      const bool state = buffer.kind == BufferKind::kState || buffer.kind == BufferKind::kRing;
      require(buffer.offset % kAlign == 0, "a buffer is not aligned to 64 bytes");
      require(!arena || end <= plan_.arena_bytes, "a buffer lies outside of the arena");
      require(!state || end <= plan_.state_bytes, "a buffer lies outside of the state");
      if (state) kept += aligned(buffer.bytes);
      const auto initial = static_cast<int64_t>(buffer.initial.size());
      require(initial == 0 || (state && initial == buffer.bytes),
              "the first value of a buffer has another size than the buffer");
      const auto io = static_cast<size_t>(buffer.io);
      require(buffer.kind != BufferKind::kInput || io < plan_.inputs.size(), "an input is missing");
      require(buffer.kind != BufferKind::kOutput || io < plan_.outputs.size(),
              "an output is missing");
      if (why_ != nullptr) return false;
    }
    // Buffers must not overlap: a reset then takes time linear in the state.
    return require(kept <= plan_.state_bytes, "buffers of the state overlap");
  }
  bool ios(const List<PlanIo>& all, BufferKind kind) {
    for (size_t i = 0; i < all.size(); ++i) {
      const PlanIo& io = all[i];
      const bool placed = io.buffer < plan_.buffers.size() &&
                          plan_.buffers[io.buffer].kind == kind &&
                          plan_.buffers[io.buffer].io == static_cast<int>(i) &&
                          plan_.buffers[io.buffer].bytes == io.bytes;
      if (!require(placed, "an input or output does not match its buffer")) return false;
      const PlanStream& stream = io.stream;
      if (stream.axis < 0) continue;
      const bool pulses = plan_.stream_pulse > 0 &&
                          stream.axis < static_cast<int>(io.shape.size()) &&
                          io.shape[static_cast<size_t>(stream.axis)] == stream.pulse;
      const bool soon = checked(stream.delay) <= checked(stream.pulse) * kMostLateSteps;
      const bool lags = kind == BufferKind::kOutput && stream.pulse > 0 && !soon;
      if (!require(pulses, "an input or output does not match the pulse of the plan")) return false;
      too_late_ |= lags;
      if (!require(!lags, "an output lags its input by more than 4194304 steps")) return false;
    }
    return true;
  }
  bool affordable() {
    return limit({"the work of a step is ", "", work_,
                  limits_.step_work(plan_.stream_pulse > 0), "max_step_work"});
  }
  /// Check the memory of a session, including a feed whose queues hold one pulse.
  bool session() {
    Checked all = checked(plan_.arena_bytes) + plan_.state_bytes + plan_.part_scratch_bytes;
    all += checked(static_cast<int64_t>(plan_.buffers.size() + plan_.rings.size())) * 8;
    for (const auto* ios : {&plan_.inputs, &plan_.outputs}) {
      for (const PlanIo& io : *ios) {
        all += aligned(io.bytes) + kAlign;
        if (io.stream.axis < 0) continue;
        Checked frame = dtype_size(io.dtype);
        for (size_t axis = 0; axis < io.shape.size(); ++axis) {
          if (static_cast<int>(axis) != io.stream.axis) frame *= io.shape[axis];
        }
        const int64_t queued = ios == &plan_.outputs ? io.stream.pulse : 0;
        all += (checked(io.stream.early) + queued) * frame + kAlign;
      }
    }
    session_ = all.at_most(INT64_MAX);
    return limit({"a session takes ", " bytes", session_, limits_.session_bytes(),
                  "max_session_bytes"});
  }
  bool rings() {
    for (const Ring& ring : plan_.rings) {
      const bool own = ring.buffer < plan_.buffers.size() &&
                       plan_.buffers[ring.buffer].kind == BufferKind::kRing &&
                       ring_of_[ring.buffer] == nullptr;
      if (!require(own, "two rings share a buffer")) return false;
      ring_of_[ring.buffer] = &ring;
      const bool counts = checked(ring.history) + ring.pulse <= ring.capacity;
      const Checked lane = checked(ring.capacity) * ring.row_bytes;
      const Checked all = checked(ring.lanes) * lane;
      const bool whole = lane == ring.lane_bytes && all == plan_.buffers[ring.buffer].bytes;
      if (!require(counts && whole, "the sizes of a ring do not agree")) return false;
      // The window of a ring moves back lane by lane.
      work(ring.lanes);
      if (!affordable()) return false;
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      require(plan_.buffers[i].kind != BufferKind::kRing || ring_of_[i] != nullptr,
              "a buffer of a ring has no ring");
    }
    return why_ == nullptr;
  }
  bool states() {
    Checked kept = 0;
    for (const PlanState& state : plan_.states) {
      const BufferKind kind = plan_.buffers[state.value.ref.buffer].kind;
      require(kind == BufferKind::kState || kind == BufferKind::kRing,
              "a state lies in memory that steps do not keep");
      require(state.axis < state.value.rank && !plan_.nodes.empty() &&
                  state.node < static_cast<int>(plan_.nodes.size()),
              "a state names an axis or a node that does not exist");
      touches(region(state.value), true, 0);
      if (why_ != nullptr) return false;
      kept += checked(state.value.volume()) * dtype_size(state.value.dtype);
    }
    // States must not overlap: saving then takes time linear in the state.
    return require(kept <= plan_.state_bytes, "states overlap");
  }

  const Plan& plan_;
  const Limits& limits_;
  std::vector<SlotUse> slots_;
  std::vector<const Ring*> ring_of_;
  const char* why_ = nullptr;
  Excess excess_;
  bool too_late_ = false;
  int64_t session_ = 0;
  int64_t work_ = 0;
  int64_t table_bytes_ = 0;
};

/// Forwards the report of one step.
class OneStep final : public StepTouches {
 public:
  OneStep(Checker* checker, const Step& step, int64_t iterations)
      : StepTouches(step.parts), checker_(*checker), iterations_(iterations) {}

  using StepTouches::reads;
  using StepTouches::writes;
  void reads(const Region& region) override { checker_.touches(region, false, iterations_); }
  void writes(const Region& region) override { checker_.touches(region, true, iterations_); }
  void require(bool holds, const char* what) override { checker_.require(holds, what); }
  bool holds() const override { return checker_.why() == nullptr; }
  void scratch(int64_t bytes) override { checker_.scratch(parts(), bytes, iterations_); }
  void runs(const List<Step>& steps, std::span<const Slot> slots, int64_t iterations,
            std::span<const PlacedView> reads) override {
    checker_.runs(steps, slots, (checked(iterations_) * iterations).at_most(INT64_MAX), reads);
  }
  void work(int64_t operations) override {
    checker_.work(checked(iterations_) * (operations / kMultiplyAdds));
  }
  const std::byte* contents(const Region& region) override { return checker_.contents(region); }

 private:
  Checker& checker_;
  int64_t iterations_;
};

void Checker::steps(const List<Step>& all, int64_t iterations) {
  for (const Step& step : all) {
    if (why_ != nullptr) return;
    const StepParts& parts = step.parts;
    work(iterations);
    const bool cut = checked(parts.units).within(0, kMostFrames) &&
                     checked(parts.most).within(0, kMostThreads) &&
                     (parts.most < 2 || step.kind->run_share != nullptr);
    if (!require(cut, "a step has parts that its kind does not have") ||
        !require(step.kind->touch != nullptr,
                 "a step has a kind that does not report its memory")) {
      return;
    }
    OneStep checked_step(this, step, iterations);
    step.kind->touch(step.args, checked_step);
  }
}

void Checker::touches(const Region& region, bool writes, int64_t iterations) {
  const Ref& ref = region.ref;
  const Checked offset = ref.offset;
  if (!require(region.sane && offset.within(-kMostMemoryBytes, kMostMemoryBytes) &&
                   ref.buffer < plan_.buffers.size(),
               "a step refers to memory that does not exist")) {
    return;
  }
  work(checked(region.visits) * iterations);
  if (region.empty) return;
  const auto from = (offset + checked(region.first) * region.size).value(INT64_MIN, INT64_MAX);
  const auto to = (offset + checked(region.last) * region.size + region.size)
                      .value(INT64_MIN, INT64_MAX);
  if (!require(from && to && ref.offset % region.align == 0,
               "a step refers to the middle of an element")) {
    return;
  }
  const int64_t first = *from;
  const int64_t end = *to;
  // A step that wrote an element repeatedly could loop for any time within small buffers.
  const Checked places = checked(region.last) - region.first + 1;
  if (!require(!writes || checked(region.visits) <= places, "a step writes an element twice")) {
    return;
  }
  const PlanBuffer& buffer = plan_.buffers[ref.buffer];
  if (buffer.kind == BufferKind::kSlot) {
    SlotUse& slot = slots_[ref.buffer];
    require(slot.active && !writes, "a step uses a slot outside of its loop");
    slot.first = slot.touched ? std::min(slot.first, first) : first;
    slot.end = slot.touched ? std::max(slot.end, end) : end;
    slot.align = std::max(slot.align, region.align);
    slot.touched = true;
    return;
  }
  require(!writes || (buffer.kind != BufferKind::kConst && buffer.kind != BufferKind::kInput),
          "a step writes to a constant or an input");
  int64_t left = buffer.bytes;
  if (const Ring* ring = ring_of_[ref.buffer]) {
    // The window advances by at most this number of frames before it moves back.
    const Checked moves = checked(ring->capacity) - ring->history - ring->pulse;
    left = (checked(left) - moves * ring->row_bytes).at_most(left);
    require(ring->row_bytes % region.align == 0, "a step refers to the middle of an element");
  }
  const bool of_callers = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
  require(!of_callers || region.align <= kAlignOfCallers,
          "a step needs a larger alignment than inputs and outputs have");
  require(first >= 0 && end <= left, "a step reads or writes outside of a buffer");
}

const std::byte* Checker::contents(const Region& region) {
  touches(region, false, 1);
  if (why_ != nullptr) return nullptr;
  const PlanBuffer& buffer = plan_.buffers[region.ref.buffer];
  table_bytes_ = (checked(region.visits) * region.size + table_bytes_).at_most(INT64_MAX);
  if (!require(buffer.kind == BufferKind::kConst, "a table is not a constant") ||
      !limit({"the tables that opening checks take ", " bytes", table_bytes_, kMostTableBytes,
              nullptr})) {
    return nullptr;
  }
  // An empty region is not read.
  if (region.empty) return nullptr;
  const int64_t inside = region.ref.offset;
  return static_cast<const std::byte*>(buffer.data.get()) + inside;
}

void Checker::runs(const List<Step>& all, std::span<const StepTouches::Slot> slots,
                   int64_t iterations, std::span<const PlacedView> reads) {
  for (const StepTouches::Slot& each : slots) {
    const uint32_t id = each.slot.buffer;
    const bool free = id < slots_.size() && plan_.buffers[id].kind == BufferKind::kSlot &&
                      !slots_[id].active;
    const Checked last = checked(each.iterations) * each.chunk_bytes;
    if (!require(free && each.slot.offset == 0, "a loop uses a slot that another loop uses") ||
        !require(last.within(-kMostMemoryBytes, kMostMemoryBytes),
                 "a loop reaches beyond the largest memory")) {
      return;
    }
    slots_[id] = SlotUse{};
    slots_[id].active = true;
  }
  work(iterations);
  steps(all, iterations);
  for (const PlacedView& each : reads) touches(region(each), false, iterations);
  for (const StepTouches::Slot& each : slots) slots_[each.slot.buffer].active = false;
  for (const StepTouches::Slot& each : slots) {
    const SlotUse& use = slots_[each.slot.buffer];
    if (!use.touched || why_ != nullptr) continue;
    Region region = rill::region<std::byte>(each.from)
                        .over(each.iterations, each.chunk_bytes)
                        .aligned(use.align);
    require(each.chunk_bytes % use.align == 0, "a loop refers to the middle of an element");
    region = region.at(use.first).over(checked(use.end) - use.first);
    touches(region, false, 1);
  }
}

Status beyond(const Excess& excess) {
  Status status = fail(Code::kNoMem, excess.what, excess.found, excess.units, ": the limit is ",
                       excess.most);
  if (excess.limit == nullptr) return status;
  return std::move(status).hint(raise_limit(excess.limit, "rill_open_opts"));
}

}  // namespace

Result<Cost> check(const Plan& plan, const Limits& limits) {
  Checker checker(plan, limits);
  checker.run();
  if (checker.why() == nullptr) return checker.cost();
  if (checker.excess().what != nullptr) return beyond(checker.excess());
  if (checker.too_late()) {
    return fail(Code::kUnsupported, checker.why()).hint("Pulse the model by more frames per step");
  }
  return fail(Code::kParse, "the plan is damaged: ", checker.why())
      .hint("Compile the model again, or copy the file again");
}

Status check_size(int64_t file_bytes, const Limits& limits) {
  if (file_bytes <= limits.file_bytes()) return {};
  return beyond({"the plan file has ", " bytes", file_bytes, limits.file_bytes(),
                 "max_file_bytes"});
}

}  // namespace rill::plan_file
