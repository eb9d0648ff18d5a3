#pragma once

#include <cstddef>
#include <span>

#include "core/base/search.h"
#include "core/run/denormals.h"
#include "core/run/session.h"

namespace rill {

/// The maximum number of sessions that one call of a step serves.
inline constexpr size_t kMostTogether = 16;

/// Return whether all streams have the same memory at `ref`, as for constants of their plan.
inline bool is_shared(const Ref& ref, std::span<const Frame> frames) {
  const auto* const first = frames[0].ptr<const std::byte>(ref);
  return all_of(frames, [&](const Frame& each) { return each.ptr<const std::byte>(ref) == first; });
}

/// Run a step for streams of one plan. The results are those of `run_step` for each stream.
inline void run_step(const Step& step, std::span<const Frame> frames) noexcept RILL_NONBLOCKING {
  const bool alone = frames.size() < 2 || frames[0].pool != nullptr;
  const auto run_together = step.kind->run_together;
  if (!alone && run_together != nullptr && run_together(step.args, frames)) return;
  for (const Frame& frame : frames) run_step(step, frame);
}

/// Step sessions of one plan, layer by layer, so that weights are read once. `session(i)` returns
/// session i of `count`, or null if it does not step.
/// Real-time: yes.
template <class SessionAt>
void step_together(const Plan& plan, size_t count, const SessionAt& session) {
  const FlushDenormals flush;
  Frame frames[kMostTogether];
  size_t ready = 0;
  size_t next = 0;
  const auto gather = [&] {
    for (ready = 0; next < count && ready < kMostTogether; ++next) {
      if (session(next) != nullptr) frames[ready++] = session(next)->frame();
    }
  };
  gather();
  const bool are_all = next == count;
  for (const Step& step : plan.steps) {
    if (are_all) {
      run_step(step, {frames, ready});
      continue;
    }
    for (next = 0; next < count;) {
      gather();
      run_step(step, {frames, ready});
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (session(i) != nullptr) session(i)->end_step();
  }
}

}  // namespace rill
