#include "ops/control/scan_lower.h"

#include <algorithm>
#include <optional>

#include "core/base/kept_count.h"
#include "ops/control/scan.h"
#include "ops/stream/frames.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

struct ScannedInput {
  Ref slot;
  Ref from;
  int64_t chunk_bytes = 0;  ///< from one chunk to the next
  bool backward = false;
};
RILL_STEP_FIELDS(ScannedInput, slot, from, chunk_bytes, backward)

struct State {
  Operand initial;
  Operand kept;    ///< what the body reads
  Operand result;  ///< what the body gives
};
RILL_STEP_FIELDS(State, initial, kept, result)

struct FullOutput {
  Operand result;
  Operand out;  ///< the slice for iteration 0
  int64_t chunk_bytes = 0;
  bool backward = false;
};
RILL_STEP_FIELDS(FullOutput, result, out, chunk_bytes, backward)

struct LastOutput {
  Operand from;  ///< what a state holds after the last turn, or what the body gave in it
  Operand out;
  Operand kept;  ///< of what is no state: what the body gave in a turn of an earlier step
  bool is_state = false;
  bool keeps = false;
};
RILL_STEP_FIELDS(LastOutput, from, out, kept, is_state, keeps)

/// What a turn reads as a state and gives as another value: copied before states change.
struct Passed {
  Operand from;
  Operand to;
};
RILL_STEP_FIELDS(Passed, from, to)

struct LoopArgs {
  std::vector<Step> steps;
  std::vector<ScannedInput> scanned;
  std::vector<State> states;
  std::vector<Passed> passed;
  std::vector<FullOutput> full;
  std::vector<LastOutput> last;
  int64_t iterations = 0;
  int64_t skip = 0;
  std::optional<FramesSoFar> limit;
  bool backward = false;
  bool reset_every_turn = false;
  Ref counter;  ///< iterations of the stream so far, unless every evaluation counts anew
};

RILL_STEP_FIELDS(LoopArgs, steps, scanned, states, passed, full, last, iterations, skip, limit,
                 backward, reset_every_turn, counter)

View moved(View view, int64_t bytes) {
  view.data = static_cast<std::byte*>(view.data) + bytes;
  return view;
}

constexpr int64_t kZero = 0;

void clear(const View& view) {
  View zero = view;
  zero.data = const_cast<int64_t*>(&kZero);
  zero.stride.fill(0);
  copy_view(zero, view);
}

/// The turn of the stream that an evaluation begins with.
int64_t first_turn(const LoopArgs& loop, const Frame& frame) {
  if (loop.reset_every_turn) return loop.limit ? frame.clock->position(loop.iterations) : 0;
  auto& counter = *frame.ptr<int64_t>(loop.counter);
  const int64_t first = kept_count(counter);
  counter = first + loop.iterations;
  return first;
}

/// Runs the body on chunk `at` of the scanned inputs.
void run_turn(const LoopArgs& loop, const Frame& frame, int64_t i) {
  const int64_t back = loop.iterations - 1 - i;
  for (const ScannedInput& in : loop.scanned) {
    frame.base[in.slot.buffer] =
        frame.ptr<std::byte>(in.from) + (in.backward ? back : i) * in.chunk_bytes;
  }
  for (const Step& step : loop.steps) run_step(step, frame);
  for (const FullOutput& out : loop.full) {
    copy_view(frame.view(out.result),
              moved(frame.view(out.out), (out.backward ? back : i) * out.chunk_bytes));
  }
  for (const Passed& each : loop.passed) copy_view(frame.view(each.from), frame.view(each.to));
  for (const State& state : loop.states) {
    copy_view(frame.view(state.result), frame.view(state.kept));
  }
}

void run_loop(const LoopArgs& loop, const Frame& frame) noexcept RILL_NONBLOCKING {
  const int64_t first = first_turn(loop, frame);
  const int64_t limit = loop.limit ? loop.limit->now(frame) : INT64_MAX;
  if (first <= loop.skip || loop.reset_every_turn) {
    for (const State& state : loop.states) {
      copy_view(frame.view(state.initial), frame.view(state.kept));
    }
  }
  bool ran = false;
  for (int64_t i = 0; i < loop.iterations; ++i) {
    const int64_t back = loop.iterations - 1 - i;
    const int64_t turn = first + (loop.backward ? back : i);
    if (turn >= loop.skip && turn < limit) {
      run_turn(loop, frame, i);
      ran = true;
      continue;
    }
    for (const FullOutput& out : loop.full) {
      clear(moved(frame.view(out.out), (out.backward ? back : i) * out.chunk_bytes));
    }
  }
  for (const LastOutput& last : loop.last) {
    if (last.is_state || ran) {
      copy_view(frame.view(last.from), frame.view(last.kept));
    } else if (!last.keeps) {
      clear(frame.view(last.kept));
    }
    if (last.keeps) copy_view(frame.view(last.kept), frame.view(last.out));
  }
}

/// A region of an operand in all turns of a loop.
Region in_turns(const Operand& operand, int64_t turns, int64_t chunk_bytes, StepTouches& touches) {
  const int64_t size = dtype_size(operand.dtype);
  touches.require(chunk_bytes % size == 0, "chunks of whole elements");
  return region(operand).over(turns, chunk_bytes / size);
}

void touch_loop(const LoopArgs& loop, StepTouches& touches) {
  touches.within(loop.iterations, 0, int64_t{1} << 40);
  std::vector<StepTouches::Slot> slots;
  for (const ScannedInput& in : loop.scanned) {
    slots.push_back({in.slot, in.from, loop.iterations, in.chunk_bytes});
  }
  std::vector<Operand> read;
  for (const FullOutput& out : loop.full) {
    touches.alike(out.result, out.out);
    touches.writes(in_turns(out.out, loop.iterations, out.chunk_bytes, touches));
    read.push_back(out.result);
  }
  for (const Passed& each : loop.passed) {
    touches.alike(each.from, each.to);
    touches.writes(each.to);
    read.push_back(each.from);
  }
  for (const State& state : loop.states) {
    touches.alike(state.initial, state.kept);
    touches.alike(state.result, state.kept);
    touches.reads(state.initial);
    touches.writes(state.kept);
    read.push_back(state.result);
  }
  if (!touches.holds()) return;
  touches.runs(loop.steps, slots, loop.iterations, read);
  for (const LastOutput& last : loop.last) {
    touches.alike(last.from, last.kept);
    touches.reads(last.from);
    touches.keeps(region(last.kept));
    if (!last.keeps) continue;
    touches.alike(last.kept, last.out);
    touches.writes(last.out);
  }
  if (!loop.reset_every_turn) touches.keeps(region<int64_t>(loop.counter));
}

constexpr auto kLoop = step_kind<LoopArgs, run_loop, touch_loop>("loop");

/// The state that takes a result of the body; -1 if none does.
int state_of(const Scan& scan, int result) {
  const Graph& body = *scan.body;
  for (size_t s = 0; s < scan.state_results.size(); ++s) {
    const auto own = static_cast<size_t>(scan.state_results[s]);
    if (body.outputs[own] == body.outputs[static_cast<size_t>(result)]) return static_cast<int>(s);
  }
  return -1;
}

/// A loop while it is lowered.
class LoopLowering {
 public:
  LoopLowering(const Scan& scan, Lowering& lowering) : scan_(scan), lowering_(lowering) {}

  Status run() {
    for (size_t i = 0; i < scan_.inputs.size(); ++i) place_input(i);
    RILL_ASSIGN(Lowering::Body body, lowering_.body(*scan_.body, sources_));
    loop_.steps = std::move(body.steps);
    for (size_t s = 0; s < loop_.states.size(); ++s) {
      loop_.states[s].result =
          before_change(body.outputs[static_cast<size_t>(scan_.state_results[s])]);
    }
    for (size_t i = 0; i < scan_.outputs.size(); ++i) {
      place_output(i, body.outputs[static_cast<size_t>(scan_.outputs[i].result)]);
    }
    loop_.skip = scan_.skip;
    if (limited()) loop_.limit.emplace(scan_.limit);
    loop_.reset_every_turn = scan_.reset_every_turn;
    // Turns of the stream are counted by its frames; a whole run counts as it goes.
    loop_.backward = limited() && !loop_.scanned.empty() && loop_.scanned[0].backward;
    if (!scan_.reset_every_turn) {
      loop_.counter = lowering_.state(sizeof(int64_t));
      writes_.emplace_back(loop_.counter);
    }
    writes_.insert(writes_.end(), body.touched.begin(), body.touched.end());
    lowering_.step(kLoop, std::move(loop_), std::move(reads_), std::move(writes_));
    return {};
  }

 private:
  bool limited() const { return !(scan_.limit == Dim(0)); }

  Ref state_like(const Operand& operand) {
    return lowering_.state(std::max<int64_t>(1, operand.volume()) * dtype_size(operand.dtype));
  }

  void place_input(size_t i) {
    const Scan::Input& input = scan_.inputs[i];
    const Operand& outer = lowering_.in(static_cast<int>(i));
    reads_.emplace_back(outer);
    if (input.kind == Kind::kFull) {
      sources_.push_back(outer);
      return;
    }
    if (input.kind == Kind::kState) {
      const std::vector<int64_t> shape(outer.shape.begin(), outer.shape.begin() + outer.rank);
      Operand kept = lowering_.scratch(outer.dtype, shape);
      if (!scan_.reset_every_turn) kept.ref = state_like(kept);
      writes_.emplace_back(kept);
      loop_.states.push_back({outer, kept, {}});
      sources_.push_back(kept);
      return;
    }
    ScannedInput scanned;
    const int axis = static_cast<int>(input.axis);
    const int64_t chunk = std::abs(input.chunk);
    scanned.slot = {lowering_.slot(), 0};
    scanned.from = outer.ref;
    scanned.chunk_bytes = chunk * outer.step(axis) * dtype_size(outer.dtype);
    scanned.backward = input.chunk < 0;
    if (loop_.scanned.empty()) loop_.iterations = outer.extent(axis) / chunk;
    Operand inner = outer;
    inner.konst = nullptr;
    inner.shape[static_cast<size_t>(axis)] = chunk;
    inner.ref = scanned.slot;
    loop_.scanned.push_back(scanned);
    sources_.push_back(inner);
  }

  /// A result of the body as it is before states change: one that is a state's memory is copied.
  Operand before_change(Operand result) {
    result.konst = nullptr;
    const auto is_of = [&](const State& state) {
      return state.kept.ref.buffer == result.ref.buffer;
    };
    if (std::none_of(loop_.states.begin(), loop_.states.end(), is_of)) return result;
    const std::vector<int64_t> shape(result.shape.begin(), result.shape.begin() + result.rank);
    const Operand copy = lowering_.scratch(result.dtype, shape);
    writes_.emplace_back(copy);
    loop_.passed.push_back({result, copy});
    return copy;
  }

  void place_output(size_t i, const Operand& result) {
    const Scan::Output& output = scan_.outputs[i];
    const Operand out = lowering_.make_out(static_cast<int>(i));
    writes_.emplace_back(out);
    reads_.emplace_back(result);
    if (!output.last) {
      const int axis = static_cast<int>(output.axis);
      FullOutput full{result, out, 0, output.chunk < 0};
      full.out.shape[static_cast<size_t>(axis)] = result.extent(axis);
      full.chunk_bytes = result.extent(axis) * out.step(axis) * dtype_size(out.dtype);
      loop_.full.push_back(full);
      return;
    }
    LastOutput last;
    last.out = last.kept = out;
    if (const int state = state_of(scan_, output.result); state >= 0) {
      last.is_state = true;
      last.from = loop_.states[static_cast<size_t>(state)].kept;
    } else {
      last.from = before_change(result);
      last.keeps = limited();
      if (last.keeps) {
        last.kept.ref = state_like(out);
        writes_.emplace_back(last.kept);
      }
    }
    loop_.last.push_back(last);
  }

  const Scan& scan_;
  Lowering& lowering_;
  LoopArgs loop_;
  std::vector<Operand> sources_;
  std::vector<Touched> reads_;
  std::vector<Touched> writes_;
};

}  // namespace

extern const StepKind loop_kind;
const StepKind loop_kind = kLoop;

Status lower_scan(const Scan& scan, Lowering& lowering) {
  return LoopLowering(scan, lowering).run();
}

}  // namespace rill::ops
