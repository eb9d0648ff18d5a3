#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/base/checked.h"
#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"

namespace rill::nnef {

/// The remaining bytes and entries that one file may expand to.
class Budget {
 public:
  Budget(const LoadLimits& limits, int64_t file_bytes, std::string_view file)
      : entries_left_(limits.max_entries), file_bytes_(file_bytes), file_(file) {
    const auto by_ratio = checked_mul(file_bytes, limits.max_ratio);
    const auto with_slack = by_ratio ? checked_add(*by_ratio, limits.ratio_slack_bytes) : by_ratio;
    most_ = std::min(limits.max_expanded_bytes,
                     with_slack.value_or(std::numeric_limits<int64_t>::max()));
  }

  /// Return the most bytes that `take` would still grant.
  int64_t left() const { return most_ - taken_; }
  /// Return how many bytes may be reserved in advance by an unverified header.
  int64_t trusted(int64_t claimed) const {
    const int64_t plausible = std::min(file_bytes_, most_ / 16) * 16;
    return std::clamp<int64_t>(claimed, 0, std::min(plausible, left()));
  }

  Status take(int64_t bytes) {
    if (bytes > left()) {
      return fail(Code::kParse, "unfolds to over ", most_, " bytes")
          .at(file_, 0)
          .hint("raise the load limits if the file is to be trusted");
    }
    taken_ += bytes;
    return {};
  }
  Status take_entry() {
    if (entries_left_-- > 0) return {};
    return fail(Code::kParse, "too many entries")
        .at(file_, 0)
        .hint("raise the load limits if the file is to be trusted");
  }

 private:
  int64_t most_ = 0;
  int64_t taken_ = 0;
  int64_t entries_left_ = 0;
  int64_t file_bytes_ = 0;
  std::string_view file_;
};

}  // namespace rill::nnef
