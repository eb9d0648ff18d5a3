#pragma once

#include <cstddef>
#include <functional>

namespace rill::test {

/// The stack use of a thread.
struct StackTaken {
  size_t of_the_thread = 0;  ///< bytes used before the call, above all by thread-local storage
  size_t of_the_call = 0;    ///< the maximum number of bytes that the call used in addition
};

/// Make a call on a thread with a stack of `bytes`, a multiple of the page size. Access to the
/// guard page below it ends the process.
StackTaken on_stack_of(size_t bytes, const std::function<void()>& call);

}  // namespace rill::test
