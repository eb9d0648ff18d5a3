#pragma once

#include <functional>
#include <memory>

#include "core/base/status.h"
#include "core/run/session.h"

namespace rill {

/// A session that allocates its own memory, and keeps its plan alive.
class Session : public PlacedSession {
 public:
  /// Errors: kNoMem.
  static Result<std::unique_ptr<Session>> make(std::shared_ptr<const Plan> plan);
  ~Session();

  /// Have steps done in parts by the threads of a pool, which the session keeps; null: by the
  /// calling thread alone, as at first. The outputs are the same, bit for bit.
  /// Errors: kNoMem; nothing has changed then. Real-time: no, and a step then only as far as the
  /// pool.
  Status use_threads(std::shared_ptr<const Pool> pool);

  /// Call with the node and the nanoseconds of every step; null stops it. Not real-time.
  using StepTimer = std::function<void(int node, int64_t ns)>;
  void step_timed(const StepTimer& timer);
  /// The bytes of this object and of all that it has allocated.
  int64_t memory_bytes() const RILL_NONBLOCKING;

 private:
  explicit Session(std::shared_ptr<const Plan> plan) : owner_(std::move(plan)) {}

  std::shared_ptr<const Plan> owner_;
  std::byte* memory_ = nullptr;  ///< all of the parts
  std::byte* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0;
  std::shared_ptr<const Pool> pool_;
};

}  // namespace rill
