#pragma once

#include "core/graph/pulse.h"
#include "ops/stream/key_mask.h"
#include "ops/stream/positions.h"

namespace rill::pulse {

/// Keys that stay at hand however far a stream goes on: its first ones, as attention sinks are.
/// They stand in front of those that go by, on the axis of the keys, and count once they are not
/// among these any more.
class FirstKeys {
 public:
  FirstKeys() = default;
  explicit FirstKeys(int64_t count) : count_(count) {}

  int64_t count() const { return count_; }
  /// Put the first keys of a wire in front of those that go by.
  Result<OutletId> keep(PulseBuilder& b, OutletId keys, const StreamFact& stream,
                        OutletId passing) const;
  /// Put their numbers in front of those of the keys that go by.
  Result<OutletId> number(PulseBuilder& b, std::string_view name, const ops::PulseRange& range,
                          OutletId passing) const;
  /// Hide keys that are not of the stream, or stand in two places. `mask` is that of those that go
  /// by, `positions` tells where these are.
  Result<OutletId> hide(PulseBuilder& b, OutletId scores, const ops::PulseKeyMask& mask,
                        const ops::PulseRange& positions) const;

 private:
  int64_t count_ = 0;
};

}  // namespace rill::pulse
