#pragma once

#include "core/base/refusal.h"
#include "core/run/plan.h"

namespace rill {

/// The first element, in row-major order, that is not in a range; -1 if all are.
struct Beyond {
  int64_t at = -1;
  int64_t number = 0;
};
/// Find an element of whole numbers outside of [least, most]. Real-time: yes.
Beyond first_beyond(const View& values, int64_t least, int64_t most) RILL_NONBLOCKING;

/// The words of messages for a number out of its range.
struct IndexWords {
  const char* noun;
  const char* hint;
};
/// Return the words for a range from `least`: indices also count backwards, lengths do not.
inline IndexWords index_words(int64_t least) RILL_NONBLOCKING {
  if (least < 0) return {"index", "An index counts from 0, or from -1 backwards"};
  return {"length", "A length counts the frames of one sequence"};
}

/// Check that the elements of an input lie in its range, if it holds indices. `values` has the
/// type of the input. Errors: kArg. Real-time: yes.
Refusal check_index_range(const PlanIo& io, const View& values) RILL_NONBLOCKING;

}  // namespace rill
