// The state of a stream of sound as bytes; audio.hpp uses it.
#pragma once

#include <cstring>
#include <vector>

#include "rill/rill.hpp"

namespace rill {
inline namespace abi1 {
namespace detail {

/// Visits the members of a stream in their order: counts their bytes, writes them, or reads them.
/// Each member takes a multiple of 8 bytes. After the first failure nothing is read or written.
class SavedSound {
 public:
  static SavedSound count() { return SavedSound(Do::kCount, nullptr, 0); }
  static SavedSound save(void* bytes, size_t size) {
    return SavedSound(Do::kSave, static_cast<char*>(bytes), size);
  }
  /// Load from bytes, which need not be trusted: numbers out of range fail.
  static SavedSound load(const void* bytes, size_t size) {
    return SavedSound(Do::kLoad, const_cast<char*>(static_cast<const char*>(bytes)), size);
  }

  rill_status status() const { return status_; }
  size_t bytes() const { return bytes_; }

  /// Visit a number from `least` to `most`.
  void number(int64_t& value, int64_t least, int64_t most) {
    int64_t moved = value;
    move(&moved, sizeof moved);
    if (status_ == RILL_OK && (moved < least || moved > most)) fail(RILL_E_PARSE);
    if (does_ == Do::kLoad && status_ == RILL_OK) value = moved;
  }
  /// Visit a number that is the same in every stream of these options.
  void same(int64_t value) { number(value, value, value); }
  void floats(float* values, int64_t count) {
    move(values, static_cast<size_t>(count) * sizeof(float));
  }
  /// Visit the state of a session that steps.
  void session(rill_session* session) {
    size_t most = 0;
    check(rill_state_size(session, &most));
    if (does_ == Do::kCount) bytes_ += sizeof(int64_t) + rounded(most);
    if (status_ != RILL_OK || does_ == Do::kCount) return;
    if (does_ == Do::kLoad) {
      int64_t size = 0;
      number(size, 0, INT64_MAX);
      if (status_ == RILL_OK && static_cast<uint64_t>(size) > left()) fail(RILL_E_PARSE);
      if (status_ == RILL_OK)
        check(rill_state_load(session, at_ + bytes_, static_cast<size_t>(size)));
      if (status_ == RILL_OK) move(nullptr, static_cast<size_t>(size));
      return;
    }
    size_t written = 0;
    if (left() < sizeof(int64_t) + most) return fail(RILL_E_ARG);
    check(rill_state_save(session, at_ + bytes_ + sizeof(int64_t), left() - sizeof(int64_t),
                          &written));
    int64_t size = static_cast<int64_t>(written);
    number(size, 0, INT64_MAX);
    move(nullptr, written);
  }

 private:
  enum class Do { kCount, kSave, kLoad };
  SavedSound(Do does, char* at, size_t size) : does_(does), at_(at), size_(size) {}

  static size_t rounded(size_t bytes) { return (bytes + 7) / 8 * 8; }
  size_t left() const { return size_ - bytes_; }
  void fail(rill_status status) { status_ = status; }
  void check(rill_status status) {
    if (status_ == RILL_OK) status_ = status;
  }
  /// If `value` is null, the bytes stay unchanged.
  void move(void* value, size_t bytes) {
    if (status_ != RILL_OK) return;
    const size_t all = rounded(bytes);
    if (does_ != Do::kCount) {
      if (left() < all) return fail(does_ == Do::kSave ? RILL_E_ARG : RILL_E_PARSE);
      char* const place = at_ + bytes_;
      if (value && does_ == Do::kLoad) std::memcpy(value, place, bytes);
      if (value && does_ == Do::kSave) std::memcpy(place, value, bytes);
      if (does_ == Do::kSave) std::memset(place + bytes, 0, all - bytes);
    }
    bytes_ += all;
  }

  Do does_;
  char* at_;
  size_t size_;
  size_t bytes_ = 0;
  rill_status status_ = RILL_OK;
};

}  // namespace detail
}  // namespace abi1
}  // namespace rill
