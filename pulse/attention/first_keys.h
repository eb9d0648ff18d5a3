#pragma once

#include "core/graph/pulse.h"
#include "ops/stream/key_mask.h"
#include "ops/stream/positions.h"

namespace rill::pulse {

/// The first keys of a stream, which stay in memory for the whole stream, as attention sinks do. On
/// the axis of the keys they precede the passing keys. A first key counts once it is no longer
/// among the passing keys.
class FirstKeys {
 public:
  FirstKeys() = default;
  explicit FirstKeys(int64_t count) : count_(count) {}

  int64_t count() const { return count_; }
  /// Prefix the passing keys of a wire with its first keys.
  Result<OutletId> keep(PulseBuilder& b, OutletId keys, const StreamFact& stream,
                        OutletId passing) const;
  /// Prefix the numbers of the passing keys with those of the first keys.
  Result<OutletId> number(PulseBuilder& b, std::string_view name, const ops::PulseRange& range,
                          OutletId passing) const;
  /// Hide keys outside the stream, and the second copy of each key that is in two places. `mask`
  /// and `positions` belong to the passing keys.
  Result<OutletId> hide(PulseBuilder& b, OutletId scores, const ops::PulseKeyMask& mask,
                        const ops::PulseRange& positions) const;

 private:
  int64_t count_ = 0;
};

}  // namespace rill::pulse
