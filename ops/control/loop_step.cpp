#include "ops/control/loop_step.h"

#include <vector>

#include "core/base/kept_count.h"

namespace rill::ops {
namespace {

View moved(View view, int64_t bytes) {
  view.data = static_cast<std::byte*>(view.data) + bytes;
  return view;
}

constexpr int64_t kZero = 0;

void clear(const View& view) {
  View zero = view;
  zero.data = const_cast<int64_t*>(&kZero);
  zero.stride.fill(0);
  copy_plain(zero, view);
}

/// Return the number of the iteration, counted over the stream, at which an evaluation begins.
int64_t first_iteration(const LoopArgs& loop, const Frame& frame) {
  if (loop.reset_every_turn) return loop.limit ? frame.clock->position(loop.iterations) : 0;
  auto& counter = *frame.ptr<int64_t>(loop.counter);
  const int64_t first = kept_count(counter);
  counter = first + loop.iterations;
  return first;
}

/// Run iteration `i` of an evaluation.
void run_iteration(const LoopArgs& loop, const Frame& frame, int64_t i) {
  const int64_t back = loop.iterations - 1 - i;
  for (const LoopInput& in : loop.scanned) {
    frame.base[in.slot.buffer] =
        frame.ptr<std::byte>(in.from) + (in.backward ? back : i) * in.chunk_bytes;
  }
  for (const Step& step : loop.steps) run_step(step, frame);
  for (const LoopFullOutput& out : loop.full) {
    copy_plain(frame.view(out.result),
               moved(frame.view(out.out), (out.backward ? back : i) * out.chunk_bytes));
  }
  for (const LoopPassed& each : loop.passed) copy_plain(frame.view(each.from), frame.view(each.to));
  for (const LoopState& state : loop.states) {
    copy_plain(frame.view(state.result), frame.view(state.kept));
  }
}

}  // namespace

void run_loop(const LoopArgs& loop, const Frame& frame) noexcept {
  const int64_t first = first_iteration(loop, frame);
  const int64_t limit = loop.limit ? loop.limit->now(frame) : INT64_MAX;
  if (first <= loop.skip || loop.reset_every_turn) {
    for (const LoopState& state : loop.states) {
      copy_plain(frame.view(state.initial), frame.view(state.kept));
    }
  }
  bool ran = false;
  for (int64_t i = 0; i < loop.iterations; ++i) {
    const int64_t back = loop.iterations - 1 - i;
    const int64_t iteration = first + (loop.backward ? back : i);
    if (iteration >= loop.skip && iteration < limit) {
      run_iteration(loop, frame, i);
      ran = true;
      continue;
    }
    for (const LoopFullOutput& out : loop.full) {
      clear(moved(frame.view(out.out), (out.backward ? back : i) * out.chunk_bytes));
    }
  }
  for (const LoopLastOutput& last : loop.last) {
    if (last.is_state || ran) {
      copy_plain(frame.view(last.from), frame.view(last.kept));
    } else if (!last.keeps) {
      clear(frame.view(last.kept));
    }
    if (last.keeps) copy_plain(frame.view(last.kept), frame.view(last.out));
  }
}

namespace {

/// Return the region that an operand covers over all iterations of a loop.
Region in_iterations(const PlacedView& operand, int64_t iterations, int64_t chunk_bytes,
                StepTouches& touches) {
  const int64_t size = dtype_size(operand.dtype);
  touches.require(chunk_bytes % size == 0, "chunks of whole elements");
  return region(operand).over(iterations, chunk_bytes / size);
}

}  // namespace

void touch_loop(const LoopArgs& loop, StepTouches& touches) {
  touches.within(loop.iterations, 0, int64_t{1} << 40);
  std::vector<StepTouches::Slot> slots;
  for (const LoopInput& in : loop.scanned) {
    slots.push_back({in.slot, in.from, loop.iterations, in.chunk_bytes});
  }
  std::vector<PlacedView> read;
  for (const LoopFullOutput& out : loop.full) {
    touches.alike(out.result, out.out);
    touches.writes(in_iterations(out.out, loop.iterations, out.chunk_bytes, touches));
    read.push_back(out.result);
  }
  for (const LoopPassed& each : loop.passed) {
    touches.alike(each.from, each.to);
    touches.writes(each.to);
    read.push_back(each.from);
  }
  for (const LoopState& state : loop.states) {
    touches.alike(state.initial, state.kept);
    touches.alike(state.result, state.kept);
    touches.reads(state.initial);
    touches.writes(state.kept);
    read.push_back(state.result);
  }
  if (!touches.holds()) return;
  touches.runs(loop.steps, slots, loop.iterations, read);
  for (const LoopLastOutput& last : loop.last) {
    touches.alike(last.from, last.kept);
    touches.reads(last.from);
    touches.keeps(region(last.kept));
    if (!last.keeps) continue;
    touches.alike(last.kept, last.out);
    touches.writes(last.out);
  }
  if (!loop.reset_every_turn) touches.keeps(region<int64_t>(loop.counter));
}

extern const StepKind loop_kind;
const StepKind loop_kind = kLoop;

}  // namespace rill::ops
