#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/checked.h"
#include "core/base/progress.h"
#include "core/base/raise_limit.h"
#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"

namespace rill::nnef {

/// The remaining bytes and entries that one file may expand to.
class Budget {
 public:
  /// `raisable`: whether the caller of the library may raise the limits.
  Budget(const LoadLimits& limits, int64_t file_bytes, std::string_view file, bool raisable = true)
      : raisable_(raisable),
        max_entries_(limits.max_entries),
        file_bytes_(file_bytes),
        file_(file) {
    const auto by_ratio = checked_mul(file_bytes, limits.max_ratio);
    const auto with_slack = by_ratio ? checked_add(*by_ratio, limits.ratio_slack_bytes) : by_ratio;
    const int64_t most_by_ratio = with_slack.value_or(std::numeric_limits<int64_t>::max());
    most_ = std::min(limits.max_expanded_bytes, most_by_ratio);
    limit_ = most_by_ratio < limits.max_expanded_bytes ? "max_ratio" : "max_expanded_bytes";
  }

  /// Return the maximum number of bytes that `take` would still grant.
  int64_t left() const { return most_ - taken_; }
  /// Return how many of the bytes that an unverified header claims may be reserved in advance.
  int64_t trusted(int64_t claimed) const {
    const int64_t plausible = std::min(file_bytes_, most_ / 16) * 16;
    return std::clamp<int64_t>(claimed, 0, std::min(plausible, left()));
  }

  /// Take bytes of the budget. Errors: kParse beyond the budget; kState if the function that
  /// receives progress cancels.
  Status take(int64_t bytes) {
    RILL_TRY(progress(0));
    if (bytes > left()) return refuse(checked_add(taken_, bytes));
    taken_ += bytes;
    return {};
  }
  Status take_entry() {
    if (++entries_ <= max_entries_) return {};
    return fail(Code::kParse, "the archive has at least ", counted(entries_, "file"),
                ": the limit is ", max_entries_)
        .at(file_, 0)
        .hint(hint("max_entries"));
  }
  /// Refuse a file that unpacks to `bytes` or more; nothing for a number beyond 64 bits.
  Status refuse(std::optional<int64_t> bytes) const {
    const int64_t found = bytes.value_or(std::numeric_limits<int64_t>::max());
    return fail(Code::kParse, "the file unpacks to at least ", counted(found, "byte"),
                ": the limit is ", most_)
        .at(file_, 0)
        .hint(hint(limit_));
  }

 private:
  std::string hint(std::string_view limit) const {
    return raisable_ ? raise_load_limit(limit) : std::string();
  }

  bool raisable_ = true;
  int64_t most_ = 0;
  int64_t taken_ = 0;
  const char* limit_ = "";  ///< the one that decides `most_`
  int64_t entries_ = 0;
  int64_t max_entries_ = 0;
  int64_t file_bytes_ = 0;
  std::string_view file_;
};

}  // namespace rill::nnef
