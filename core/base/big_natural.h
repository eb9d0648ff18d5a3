#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace rill {

/// A natural number of at most 4096 bits, without heap memory. What is larger is lost: the caller
/// knows how large its numbers get.
class BigNatural {
 public:
  BigNatural() = default;
  explicit BigNatural(uint64_t value) {
    words_[0] = static_cast<uint32_t>(value);
    words_[1] = static_cast<uint32_t>(value >> 32);
    count_ = 2;
    trim();
  }

  bool is_zero() const { return count_ == 0; }
  bool is_odd() const { return count_ > 0 && (words_[0] & 1) != 0; }
  /// Tell the number of bits, 0 of zero.
  int bits() const {
    return count_ == 0 ? 0 : static_cast<int>(count_) * 32 - std::countl_zero(words_[count_ - 1]);
  }

  /// Compute `this * factor + more`.
  void multiply(uint32_t factor, uint32_t more = 0) {
    uint64_t carry = more;
    for (size_t i = 0; i < count_; ++i) {
      carry += uint64_t{words_[i]} * factor;
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0 && count_ < kWords) words_[count_++] = static_cast<uint32_t>(carry);
    trim();
  }
  void multiply_by_power_of_10(int power) {
    constexpr uint32_t kBillion = 1000000000;
    for (; power >= 9; power -= 9) multiply(kBillion);
    for (; power > 0; --power) multiply(10);
  }

  /// Divide by a number; return the remainder.
  uint32_t divide(uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = count_; i-- > 0;) {
      rest = rest << 32 | words_[i];
      words_[i] = static_cast<uint32_t>(rest / divisor);
      rest %= divisor;
    }
    trim();
    return static_cast<uint32_t>(rest);
  }

  BigNatural& operator<<=(int bits) {
    const auto whole = static_cast<size_t>(bits) / 32;
    const int part = bits % 32;
    const size_t end = std::min(count_ + whole + 1, kWords);
    for (size_t i = end; i-- > 0;) {
      const uint64_t high = i >= whole ? word(i - whole) : 0;
      const uint64_t low = i > whole ? word(i - whole - 1) : 0;
      words_[i] = static_cast<uint32_t>((high << 32 | low) << part >> 32);
    }
    count_ = end;
    trim();
    return *this;
  }

  BigNatural& operator>>=(int bits) {
    const auto whole = static_cast<size_t>(bits) / 32;
    const int part = bits % 32;
    for (size_t i = 0; i < count_; ++i) {
      const uint64_t both = uint64_t{word(i + whole + 1)} << 32 | word(i + whole);
      words_[i] = static_cast<uint32_t>(both >> part);
    }
    trim();
    return *this;
  }

  BigNatural& operator+=(const BigNatural& other) {
    uint64_t carry = 0;
    const size_t end = std::min(std::max(count_, other.count_) + 1, kWords);
    for (size_t i = 0; i < end; ++i) {
      carry += uint64_t{word(i)} + other.word(i);
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    count_ = end;
    trim();
    return *this;
  }
  /// Subtract a number that is not larger.
  BigNatural& operator-=(const BigNatural& other) {
    int64_t borrow = 0;
    for (size_t i = 0; i < count_; ++i) {
      borrow += int64_t{words_[i]} - int64_t{other.word(i)};
      words_[i] = static_cast<uint32_t>(borrow);
      borrow >>= 32;
    }
    trim();
    return *this;
  }

  friend std::strong_ordering operator<=>(const BigNatural& a, const BigNatural& b) {
    if (a.count_ != b.count_) return a.count_ <=> b.count_;
    for (size_t i = a.count_; i-- > 0;) {
      if (a.words_[i] != b.words_[i]) return a.words_[i] <=> b.words_[i];
    }
    return std::strong_ordering::equal;
  }
  friend bool operator==(const BigNatural& a, const BigNatural& b) { return a <=> b == 0; }

 private:
  static constexpr size_t kWords = 128;

  uint32_t word(size_t i) const { return i < count_ ? words_[i] : 0; }
  void trim() {
    while (count_ > 0 && words_[count_ - 1] == 0) --count_;
  }

  std::array<uint32_t, kWords> words_;  ///< the least first; those from `count_` on mean nothing
  size_t count_ = 0;
};

}  // namespace rill
