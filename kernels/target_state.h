#pragma once

#include <atomic>

#include "kernels/cpu.h"

namespace rill::kernels::detail {

/// The target of the one thread that has a target. Programs that set no target, such as
/// microcontroller programs, link no thread support.
struct TargetState {
  std::atomic<Tier> tier{Tier::kScalar};
  std::atomic<bool> has_dot_products{false};
  /// Returns whether the calling thread is that one; null until a target was set.
  std::atomic<bool (*)() noexcept RILL_NONBLOCKING> is_of_this_thread{nullptr};
};
extern TargetState target_state;

}  // namespace rill::kernels::detail
