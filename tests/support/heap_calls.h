#pragma once

#include <cstdint>

namespace rill::test {

/// Return the number of this thread's heap calls: malloc, free and similar functions, and so
/// operator new and delete. Counting never stops; take the difference of two calls.
int64_t heap_calls();

/// Return the number of blocks that this thread has allocated and not freed. -1 if unknown, as with
/// sanitizers, which find leaks themselves.
int64_t heap_blocks();

/// Return the total size of these blocks, as the heap rounds them up; -1 if unknown.
int64_t heap_bytes();

/// Return the bytes that this thread has allocated since its start, freed or not, as the heap
/// rounds them up. Take the difference of two calls.
int64_t heap_bytes_asked();

/// Return the number of requests that count for fail_heap_after.
int64_t heap_requests();

/// Refuse this thread's memory requests after the next `count`: one request, or with `all` every
/// later one. A negative count refuses none. Only `operator new` and `aligned_alloc` count, because
/// libarchive aborts or worse if `malloc` refuses it a few bytes. No effect where heap_blocks is
/// unknown.
void fail_heap_after(int64_t count, bool all = false);

}  // namespace rill::test
