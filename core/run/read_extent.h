#pragma once

#include <algorithm>
#include <cstdint>

#include "core/run/extent.h"
#include "core/run/plan_format.h"
#include "core/run/record.h"

namespace rill::plan_file {

/// Read an expression part by part, in linear time. `take` receives each part, and whether the
/// expression has a value.
template <class Take>
void walk_extent(Record* from, const Take& take) {
  using Do = Extent::Do;
  constexpr Do kCodes[] = {Do::kNumber, Do::kNumber, Do::kSymbol,    Do::kAdd, Do::kMul, Do::kDiv,
                           Do::kMin,    Do::kMax,    Do::kBroadcast, Do::kGe,  Do::kEq};
  constexpr uint64_t kCount = sizeof kCodes / sizeof kCodes[0];
  static_assert(kCount == static_cast<uint64_t>(DimCode::kInvalid));
  while (from->good()) {
    const uint64_t code = from->natural();
    const auto known = static_cast<DimCode>(std::min<uint64_t>(code, kCount));
    if (known == DimCode::kEnd) return;
    if (code > kCount) from->fail("an expression is malformed");
    Extent::Part part{code < kCount ? kCodes[code] : Do::kEq, 0};
    if (known == DimCode::kSymbol) from->text();
    if (known == DimCode::kNumber || known == DimCode::kDivide) part.number = from->number();
    take(part, known != DimCode::kInvalid);
  }
}

}  // namespace rill::plan_file
