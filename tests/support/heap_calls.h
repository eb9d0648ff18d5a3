#pragma once

#include <cstdint>

namespace rill::test {

/// Return how often this thread has asked the heap for memory or given some back: malloc and its
/// kin, and so operator new and delete. Counting never stops; take the difference of two calls.
int64_t heap_calls();

/// Return how many blocks this thread has asked for and not given back; -1 where that is not known,
/// as with sanitizers, which find leaks themselves.
int64_t heap_blocks();

/// Return how many bytes these blocks have, as the heap rounds them up; -1 where that is not known.
int64_t heap_bytes();

/// Return how many bytes this thread has asked for since it began, given back or not, as the heap
/// rounds them up. Take the difference of two calls.
int64_t heap_bytes_asked();

/// Count the requests that fail_heap_after counts.
int64_t heap_requests();

/// Refuse this thread's requests for memory after the next `count`: one of them, or all from there
/// on. Negative: none. Meant are those of C++, `operator new` and `aligned_alloc`: libarchive ends
/// the process, or worse, where `malloc` refuses it a few bytes. No effect where heap_blocks is not
/// known.
void fail_heap_after(int64_t count, bool all = false);

}  // namespace rill::test
