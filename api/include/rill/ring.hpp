// A queue between two threads, of which neither waits.
#pragma once

#include <atomic>

#include "rill/rill.hpp"

namespace rill {
inline namespace abi1 {

/// Carries elements from one thread that writes to one that reads: from an audio callback to a
/// thread that runs a model too heavy for it, and another one back.
/// Thread: `write` and `writable` on one, `read` and `readable` on one. Real-time, but for `make`:
/// yes, without locks or system calls, so that the reader has to look by itself.
template <class T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied as they lie");
  static_assert(std::atomic<size_t>::is_always_lock_free, "this machine would take a lock");

 public:
  /// `capacity`: elements at least; a power of two is taken. Errors: RILL_E_ARG for 0, and for more
  /// than 2^30.
  static Result<Ring> make(size_t capacity) {
    if (capacity < 1 || capacity > size_t{1} << 30) {
      Error error;
      error.code = RILL_E_ARG;
      error.text = error.message =
          "expected a ring of 1 to 2^30 elements, found " + std::to_string(capacity);
      return error;
    }
    size_t size = 1;
    while (size < capacity) size *= 2;
    Ring out;
    out.elements_.resize(size);
    out.ends_ = std::make_unique<Ends>();
    return out;
  }

  size_t capacity() const { return elements_.size(); }
  /// Tell how many elements can be written.
  size_t writable() const RILL_REAL_TIME {
    return capacity() - (ends_->written.load(std::memory_order_relaxed) -
                         ends_->read.load(std::memory_order_acquire));
  }
  /// Tell how many elements can be read.
  size_t readable() const RILL_REAL_TIME {
    return ends_->written.load(std::memory_order_acquire) -
           ends_->read.load(std::memory_order_relaxed);
  }
  /// Write up to `count` elements, and tell how many: fewer where the reader is behind.
  size_t write(const T* from, size_t count) RILL_REAL_TIME {
    const size_t room = writable();
    if (count > room) count = room;
    const size_t at = ends_->written.load(std::memory_order_relaxed);
    T* elements = elements_.data();
    for (size_t i = 0; i < count; ++i) elements[(at + i) & (capacity() - 1)] = from[i];
    ends_->written.store(at + count, std::memory_order_release);
    return count;
  }
  /// Read up to `count` elements, and tell how many: fewer where the writer is behind.
  size_t read(T* to, size_t count) RILL_REAL_TIME {
    const size_t there = readable();
    if (count > there) count = there;
    const size_t at = ends_->read.load(std::memory_order_relaxed);
    const T* elements = elements_.data();
    for (size_t i = 0; i < count; ++i) to[i] = elements[(at + i) & (capacity() - 1)];
    ends_->read.store(at + count, std::memory_order_release);
    return count;
  }

 private:
  // Of all elements since the beginning. Apart, so that one thread's writes do not take the cache
  // line of the other's.
  struct Ends {
    alignas(64) std::atomic<size_t> written{0};
    alignas(64) std::atomic<size_t> read{0};
  };
  Ring() = default;

  std::vector<T> elements_;
  std::unique_ptr<Ends> ends_;
};

}  // namespace abi1
}  // namespace rill
