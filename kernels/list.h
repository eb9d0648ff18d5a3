#pragma once

#include <cstddef>

#include "kernels/cpu.h"

namespace rill::kernels {

/// All kernels of a family, best first. Each has a `name`, which contains the tier and is the same
/// in every build, and the `tier` that it needs.
template <class T>
struct KernelList {
  static constexpr size_t kMost = 32;  ///< maximum of one family, for all processors

  template <size_t kCount>
  constexpr KernelList(const T (&all)[kCount]) : first(all), count(kCount) {
    static_assert(kCount <= kMost);
  }

  const T* first;
  size_t count;

  const T& operator[](size_t i) const { return first[i]; }
  /// Return the first kernel that a CPU with best tier `cpu` can run. The last one runs everywhere.
  const T& best(Tier cpu) const RILL_NONBLOCKING {
    size_t i = 0;
    while (i + 1 < count && !supports(cpu, first[i].tier)) ++i;
    return first[i];
  }
};

/// A kernel that is one function.
template <class Fn>
struct NamedKernel {
  const char* name;
  Tier tier;
  Fn run;
};

}  // namespace rill::kernels
