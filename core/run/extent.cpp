#include "core/run/extent.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/dim/quotient.h"

namespace rill {
namespace {

using Do = Extent::Do;

bool is_leaf(Do what) { return what == Do::kNumber || what == Do::kSymbol; }

/// Apply an operation to two numbers; return false if the result is undefined.
bool join(Do what, int64_t b, int64_t* a) {
  switch (what) {
    case Do::kAdd:
      return !__builtin_add_overflow(*a, b, a);
    case Do::kMul:
      return !__builtin_mul_overflow(*a, b, a);
    case Do::kMin:
      *a = std::min(*a, b);
      return true;
    case Do::kMax:
      *a = std::max(*a, b);
      return true;
    case Do::kGe:
      *a = *a >= b;
      return true;
    case Do::kEq:
      *a = *a == b;
      return true;
    case Do::kBroadcast:
      if (*a != 1 && b != 1 && *a != b) return false;
      *a = *a == 1 ? b : *a;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Extent::is_const() const {
  return valid() && none_of(parts_, [](const Part& part) { return part.what == Do::kSymbol; });
}

std::optional<int64_t> Extent::at(std::optional<int64_t> symbol) const {
  if (!valid()) return std::nullopt;
  int64_t waiting[kMostWaiting];
  int count = 0;
  for (const Part& part : parts_) {
    if (part.what == Do::kNumber) {
      waiting[count++] = part.number;
    } else if (part.what == Do::kSymbol) {
      if (!symbol) return std::nullopt;
      waiting[count++] = *symbol;
    } else if (part.what == Do::kDiv) {
      waiting[count - 1] = floored_quotient(waiting[count - 1], part.number);
    } else {
      --count;
      if (!join(part.what, waiting[count], &waiting[count - 1])) return std::nullopt;
    }
  }
  return waiting[0];
}

bool Extent::sound() const {
  int count = 0;
  for (const Part& part : parts_) {
    if (part.what < Do::kNumber || part.what > Do::kEq) return false;
    if (is_leaf(part.what)) {
      if (++count > kMostWaiting) return false;
    } else if (part.what == Do::kDiv) {
      // A divisor below 1 is refused: INT64_MIN / -1 would overflow.
      if (count < 1 || part.number < 1) return false;
    } else if (--count < 1) {
      return false;
    }
  }
  return parts_.empty() || count == 1;
}

}  // namespace rill
