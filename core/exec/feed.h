#pragma once

#include <memory>

#include "core/exec/session.h"
#include "core/run/feed.h"

namespace rill {

/// A feed that allocates its own memory.
class Feed : public PlacedFeed {
 public:
  /// `max_push`: as for `PlacedFeed::bytes_for`.
  /// Errors: kNoMem; kState if the plan does not stream.
  static Result<std::unique_ptr<Feed>> make(Session* session, int64_t max_push);
  ~Feed();

  /// Return the bytes of this object and its allocations.
  int64_t memory_bytes() const RILL_NONBLOCKING;

 private:
  explicit Feed(Session* session) : PlacedFeed(session) {}

  std::byte* memory_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace rill
