/// @file
/// A wait-free queue between two threads.
#pragma once

#include <atomic>

#include "rill/rill.hpp"

namespace rill {
inline namespace abi1 {

/// Carries elements from a writing to a reading thread, for example from an audio callback to a
/// thread that runs a heavy model; a second ring carries results back.
/// Thread: one calls `write` and `writable`, one calls `read` and `readable`. Real-time: yes,
/// except `make`: no locks and no system calls, so the reader has to poll.
template <class T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied by memcpy");
  static_assert(std::atomic<size_t>::is_always_lock_free, "this machine would take a lock");

 public:
  /// Make a ring of at least `capacity` elements, rounded up to a power of two. Errors: RILL_E_ARG
  /// for 0, and for more than 2^30.
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

  /// Return the number of elements that the ring holds.
  size_t capacity() const { return elements_.size(); }
  /// Return the number of elements that can be written.
  size_t writable() const RILL_REAL_TIME {
    return capacity() - (ends_->written.load(std::memory_order_relaxed) -
                         ends_->read.load(std::memory_order_acquire));
  }
  /// Return the number of elements that can be read.
  size_t readable() const RILL_REAL_TIME {
    return ends_->written.load(std::memory_order_acquire) -
           ends_->read.load(std::memory_order_relaxed);
  }
  /// Write up to `count` elements and return their number: fewer if the ring is full.
  size_t write(const T* from, size_t count) RILL_REAL_TIME {
    const size_t space = writable();
    if (count > space) count = space;
    const size_t at = ends_->written.load(std::memory_order_relaxed);
    T* elements = elements_.data();
    for (size_t i = 0; i < count; ++i) elements[(at + i) & (capacity() - 1)] = from[i];
    ends_->written.store(at + count, std::memory_order_release);
    return count;
  }
  /// Read up to `count` elements and return their number: fewer if the ring is empty.
  size_t read(T* to, size_t count) RILL_REAL_TIME {
    const size_t available = readable();
    if (count > available) count = available;
    const size_t at = ends_->read.load(std::memory_order_relaxed);
    const T* elements = elements_.data();
    for (size_t i = 0; i < count; ++i) to[i] = elements[(at + i) & (capacity() - 1)];
    ends_->read.store(at + count, std::memory_order_release);
    return count;
  }

 private:
  // Numbers of all elements so far. Padded, so that the threads write to different cache lines.
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
