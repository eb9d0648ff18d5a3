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

  /// Run steps in parts on the threads of a pool, which the session keeps alive. Null, the default:
  /// on the calling thread alone. The outputs are bit-identical. Errors: kNoMem; the session is
  /// then unchanged. Real-time: no; with a pool, steps are as real-time as the pool.
  Status use_threads(std::shared_ptr<const Pool> pool);

  /// Receives the node and the nanoseconds of every step; null stops the calls. Not real-time.
  using StepTimer = std::function<void(int node, int64_t ns)>;
  void step_timed(const StepTimer& timer);
  /// Return the bytes of this object and its allocations.
  int64_t memory_bytes() const RILL_NONBLOCKING;

 private:
  explicit Session(std::shared_ptr<const Plan> plan) : owner_(std::move(plan)) {}

  std::shared_ptr<const Plan> owner_;
  std::byte* memory_ = nullptr;  ///< the memory of all parts
  std::byte* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0;
  std::shared_ptr<const Pool> pool_;
};

}  // namespace rill
