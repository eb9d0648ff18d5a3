#pragma once

#include <cassert>
#include <cstdint>

namespace rill {

/// A natural number of up to 4096 bits on the stack, for parsing and printing numbers. Callers must
/// keep results within this size.
class BigNumber {
 public:
  BigNumber() = default;
  explicit BigNumber(uint64_t value) {
    for (; value > 0; value >>= 32) words_[count_++] = static_cast<uint32_t>(value);
  }

  bool is_zero() const { return count_ == 0; }
  int bits() const {
    if (count_ == 0) return 0;
    return 32 * count_ - __builtin_clz(words_[count_ - 1]);
  }

  void multiply_add(uint32_t factor, uint32_t more) {
    uint64_t carry = more;
    for (int i = 0; i < count_; ++i) {
      carry += uint64_t{words_[i]} * factor;
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry > 0) push(static_cast<uint32_t>(carry));
  }

  void multiply_by_power_of_ten(int64_t exponent) {
    for (; exponent >= 9; exponent -= 9) multiply_add(1000000000U, 0);
    for (; exponent > 0; --exponent) multiply_add(10U, 0);
  }

  /// Divide by ten, and return the remainder.
  uint32_t take_digit() {
    uint64_t rest = 0;
    for (int i = count_ - 1; i >= 0; --i) {
      rest = rest << 32 | words_[i];
      words_[i] = static_cast<uint32_t>(rest / 10);
      rest %= 10;
    }
    trim();
    return static_cast<uint32_t>(rest);
  }

  void shift_left(int by) {
    if (count_ == 0 || by == 0) return;
    const int words = by / 32;
    const int rest = by % 32;
    push(0);
    for (int i = count_ - 1; i > 0 && rest > 0; --i) {
      words_[i] = words_[i] << rest | words_[i - 1] >> (32 - rest);
    }
    words_[0] <<= rest;
    assert(count_ + words <= kWords);
    for (int i = count_ - 1; i >= 0 && words > 0; --i) words_[i + words] = words_[i];
    for (int i = 0; i < words; ++i) words_[i] = 0;
    count_ += words;
    trim();
  }

  /// Divide by a power of two; round to nearest, ties to even.
  void shift_right(int by) {
    if (by == 0) return;
    const bool half = bit(by - 1);
    bool more = false;
    for (int i = 0; i < by - 1 && !more; ++i) more = bit(i);
    const int words = by / 32;
    const int rest = by % 32;
    const int left = count_ > words ? count_ - words : 0;
    for (int i = 0; i < left; ++i) {
      const uint64_t upper = i + words + 1 < count_ ? words_[i + words + 1] : 0;
      words_[i] = static_cast<uint32_t>((upper << 32 | words_[i + words]) >> rest);
    }
    count_ = left;
    trim();
    if (half && (more || bit(0))) add(BigNumber(1));
  }

  void add(const BigNumber& other) {
    uint64_t carry = 0;
    const int most = count_ > other.count_ ? count_ : other.count_;
    for (int i = 0; i < most; ++i) {
      carry += uint64_t{i < count_ ? words_[i] : 0U} + (i < other.count_ ? other.words_[i] : 0U);
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    count_ = most;
    if (carry > 0) push(static_cast<uint32_t>(carry));
  }

  /// Subtract a number that is at most this one.
  void subtract(const BigNumber& other) {
    int64_t borrow = 0;
    for (int i = 0; i < count_; ++i) {
      borrow += int64_t{words_[i]} - (i < other.count_ ? int64_t{other.words_[i]} : 0);
      words_[i] = static_cast<uint32_t>(borrow);
      borrow >>= 32;
    }
    assert(borrow == 0);
    trim();
  }

  /// Return the sign of a - b.
  friend int compare(const BigNumber& a, const BigNumber& b) {
    if (a.count_ != b.count_) return a.count_ < b.count_ ? -1 : 1;
    for (int i = a.count_ - 1; i >= 0; --i) {
      if (a.words_[i] != b.words_[i]) return a.words_[i] < b.words_[i] ? -1 : 1;
    }
    return 0;
  }

 private:
  static constexpr int kWords = 128;

  bool bit(int at) const { return at / 32 < count_ && (words_[at / 32] >> at % 32 & 1) != 0; }
  void push(uint32_t word) {
    assert(count_ < kWords);
    words_[count_++] = word;
  }
  void trim() {
    while (count_ > 0 && words_[count_ - 1] == 0) --count_;
  }

  uint32_t words_[kWords];
  int count_ = 0;
};

}  // namespace rill
