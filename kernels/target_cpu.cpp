#include <mutex>
#include <thread>

#include "kernels/target_state.h"

namespace rill::kernels {
namespace {

std::mutex one_at_a_time;
// The thread that has a target. Thread-local storage would need the heap in the first step that
// reads it, if dlopen loaded the library.
std::atomic<std::thread::id> owner{std::thread::id()};

// The C library uses the register to find its thread data, but does not declare it.
#if defined(__clang__) && __clang_major__ >= 20
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wfunction-effects"
#endif
bool is_of_this_thread() noexcept RILL_NONBLOCKING {
  return owner.load() == std::this_thread::get_id();
}
#if defined(__clang__) && __clang_major__ >= 20
#pragma clang diagnostic pop
#endif

}  // namespace

TargetCpu::TargetCpu(Tier tier, bool dot_products) : is_within_(is_of_this_thread()) {
  if (!is_within_) one_at_a_time.lock();
  detail::TargetState& state = detail::target_state;
  tier_before_ = state.tier.exchange(tier);
  dot_before_ = state.has_dot_products.exchange(dot_products);
  state.is_of_this_thread.store(is_of_this_thread);
  owner.store(std::this_thread::get_id());
}

TargetCpu::~TargetCpu() {
  detail::target_state.tier.store(tier_before_);
  detail::target_state.has_dot_products.store(dot_before_);
  if (is_within_) return;
  owner.store(std::thread::id());
  one_at_a_time.unlock();
}

}  // namespace rill::kernels
