#pragma once

#include <cstdint>

namespace rill::test {

/// Tell how often this thread has asked the heap for memory or given some back: malloc and its kin,
/// and so operator new and delete. Counting never stops; take the difference of two calls.
int64_t heap_calls();

}  // namespace rill::test
