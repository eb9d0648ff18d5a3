#pragma once

#include <optional>

#include "core/run/frames_so_far.h"

namespace rill::ops {

struct LoopInput {
  Ref slot;
  Ref from;
  int64_t chunk_bytes = 0;  ///< bytes from one chunk to the next
  bool backward = false;
};
RILL_STEP_FIELDS(LoopInput, slot, from, chunk_bytes, backward)

struct LoopState {
  PlacedView initial;
  PlacedView kept;    ///< the operand that the body reads
  PlacedView result;  ///< the result of the body
};
RILL_STEP_FIELDS(LoopState, initial, kept, result)

struct LoopFullOutput {
  PlacedView result;
  PlacedView out;  ///< the slice of the output for iteration 0
  int64_t chunk_bytes = 0;
  bool backward = false;
};
RILL_STEP_FIELDS(LoopFullOutput, result, out, chunk_bytes, backward)

struct LoopLastOutput {
  PlacedView from;  ///< a state, or the body's result, after the last iteration
  PlacedView out;
  PlacedView kept;  ///< for an output that is not a state: the result of an iteration of an earlier
                    ///< step
  bool is_state = false;
  bool keeps = false;
};
RILL_STEP_FIELDS(LoopLastOutput, from, out, kept, is_state, keeps)

/// A state that an iteration also outputs, or stores in another state: copied before states change.
struct LoopPassed {
  PlacedView from;
  PlacedView to;
};
RILL_STEP_FIELDS(LoopPassed, from, to)

struct LoopArgs {
  List<Step> steps;
  List<LoopInput> scanned;
  List<LoopState> states;
  List<LoopPassed> passed;
  List<LoopFullOutput> full;
  List<LoopLastOutput> last;
  int64_t iterations = 0;
  int64_t skip = 0;
  std::optional<FramesSoFar> limit;
  bool backward = false;
  bool reset_every_turn = false;
  Ref counter;  ///< iterations over the stream so far; not used if `reset_every_turn`
};

RILL_STEP_FIELDS(LoopArgs, steps, scanned, states, passed, full, last, iterations, skip, limit,
                 backward, reset_every_turn, counter)

void run_loop(const LoopArgs& loop, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_loop(const LoopArgs& loop, StepTouches& touches);

inline constexpr auto kLoop = step_kind<LoopArgs, run_loop, touch_loop>("loop");

}  // namespace rill::ops
