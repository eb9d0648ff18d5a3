#pragma once

#include <atomic>

#include "kernels/cpu.h"

namespace rill::kernels::detail {

/// The target of the thread that has one. Programs that set no target, such as those of
/// microcontrollers, link no thread support.
struct TargetState {
  std::atomic<Tier> tier{Tier::kScalar};
  std::atomic<bool> has_dot_products{false};
  /// Return whether the calling thread is that one; null until there was a target.
  std::atomic<bool (*)() noexcept RILL_NONBLOCKING> is_of_this_thread{nullptr};
};
extern TargetState target_state;

}  // namespace rill::kernels::detail
