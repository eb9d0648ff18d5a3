#pragma once

#include <cstddef>
#include <functional>

namespace rill::test {

/// What a thread took of the stack that it was given.
struct StackTaken {
  size_t of_the_thread = 0;  ///< bytes that were gone when the call began, thread-local storage
                             ///< first
  size_t of_the_call = 0;    ///< bytes that the call took below them, at its deepest
};

/// Make a call on a thread of its own whose stack has that many bytes, a multiple of the page;
/// under it lies a page that ends the process where it is touched.
StackTaken on_stack_of(size_t bytes, const std::function<void()>& call);

}  // namespace rill::test
