#include "core/base/number_text.h"

#include <algorithm>
#include <cmath>

#include "core/base/big_number.h"
#include "core/base/bits.h"
#include "core/base/text.h"

namespace rill {
namespace {

// Written by hand, because some platforms lack `std::to_chars` and `std::from_chars` for floats,
// and libraries with tables are larger.

/// The properties of a number type. One copy of the code serves both types, which halves its size.
struct Format {
  int bits;           ///< bits of the number
  int mantissa_bits;  ///< including the leading 1, which is not stored
  int least_exponent;

  uint64_t one() const { return uint64_t{1} << (mantissa_bits - 1); }
  /// Return the exponent field of infinities and NaN.
  int last_field() const { return (1 << (bits - mantissa_bits)) - 1; }
  uint64_t infinity() const { return static_cast<uint64_t>(last_field()) * one(); }
};
constexpr Format kFloat = {32, 24, -149};
constexpr Format kDouble = {64, 53, -1074};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Return whether a text begins with a lower-case word; the case of the text is ignored.
bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char small, char any) { return small == (any | 0x20); });
}

/// A decimal number as written in the text: digits * 10^exponent.
class Written {
 public:
  /// Read digits with an optional point, and a power of ten. Return the number of characters read.
  size_t read(std::string_view text) {
    size_t at = 0;
    bool any = false;
    for (; at < text.size() && is_digit(text[at]); ++at, any = true) add(text[at], false);
    if (at < text.size() && text[at] == '.') {
      size_t after = at + 1;
      for (; after < text.size() && is_digit(text[after]); ++after, any = true) {
        add(text[after], true);
      }
      if (any) at = after;
    }
    return any ? at + power(text.substr(at)) : 0;
  }

  /// Return m such that 10^(m - 1) <= number < 10^m.
  int64_t magnitude() const { return count_ + exponent_; }
  bool is_zero() const { return count_ == 0; }
  /// Return the number as the quotient above / below.
  void quotient(BigNumber* above, BigNumber* below) const {
    *above = digits_;
    *below = BigNumber(1);
    (exponent_ < 0 ? below : above)->multiply_by_power_of_ten(std::abs(exponent_));
  }

 private:
  // Further digits decide only comparisons with numbers of fewer digits, so one digit can replace
  // them.
  static constexpr int kMostDigits = 780;

  void add(char digit, bool after_point) {
    if (after_point) --exponent_;
    if (count_ == 0 && digit == '0') return;
    if (count_ < kMostDigits) {
      digits_.multiply_add(10, static_cast<uint32_t>(digit - '0'));
      ++count_;
      return;
    }
    ++exponent_;
    if (digit == '0' || cut_) return;
    cut_ = true;
    digits_.multiply_add(10, 1);
    ++count_;
    --exponent_;
  }

  size_t power(std::string_view text) {
    if (text.empty() || (text[0] | 0x20) != 'e') return 0;
    size_t at = 1;
    const bool negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (at == text.size() || !is_digit(text[at])) return 0;
    // No text has enough digits to compensate for a larger power.
    constexpr int64_t kMost = int64_t{1} << 56;
    int64_t power = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      power = std::min(kMost, power * 10 + (text[at] - '0'));
    }
    exponent_ += negative ? -power : power;
    return at;
  }

  BigNumber digits_;
  int64_t count_ = 0;
  int64_t exponent_ = 0;
  bool cut_ = false;
};

/// Round above / below to nearest; return the bits of the number.
uint64_t rounded(const Format& format, BigNumber above, BigNumber below) {
  // Afterwards, the number is above / below * 2^first, with 1 <= above / below < 2.
  int first = above.bits() - below.bits();
  (first > 0 ? below : above).shift_left(std::abs(first));
  if (compare(above, below) < 0) {
    above.shift_left(1);
    --first;
  }
  const int bits = std::min(format.mantissa_bits, first - format.least_exponent + 1);
  if (bits < 0) return 0;
  uint64_t mantissa = 0;
  for (int i = 0; i < bits; ++i) {
    mantissa <<= 1;
    if (compare(above, below) >= 0) {
      above.subtract(below);
      mantissa |= 1;
    }
    above.shift_left(1);
  }
  const int rest = compare(above, below);
  if (rest > 0 || (rest == 0 && (mantissa & 1) != 0)) ++mantissa;
  if (mantissa < format.one()) return mantissa;
  // A mantissa that was rounded up to a power of two carries into the exponent by the addition.
  const int field = first - bits + 1 - format.least_exponent;
  if (field >= format.last_field()) return format.infinity();
  return static_cast<uint64_t>(field) * format.one() + mantissa;
}

uint64_t bits_of(const Format& format, const Written& written) {
  // Such numbers underflow or overflow, and may exceed a BigNumber.
  if (written.is_zero() || written.magnitude() < -330) return 0;
  if (written.magnitude() > 310) return format.infinity();
  BigNumber above, below;
  written.quotient(&above, &below);
  return std::min(rounded(format, above, below), format.infinity());
}

size_t read_bits(const Format& format, std::string_view text, uint64_t* bits) {
  const size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::string_view rest = text.substr(sign);
  uint64_t size = 0;
  size_t length = 0;
  if (begins_with(rest, "inf")) {
    size = format.infinity();
    length = begins_with(rest, "infinity") ? 8 : 3;
  } else if (begins_with(rest, "nan")) {
    size = format.infinity() + format.one() / 2;
    length = 3;
  } else {
    Written written;
    length = written.read(rest);
    if (length > 0) size = bits_of(format, written);
  }
  if (length == 0) return 0;
  *bits = size | static_cast<uint64_t>(sign) << (format.bits - 1);
  return sign + length;
}

/// A finite number above 0, as mantissa * 2^exponent.
struct Parts {
  uint64_t mantissa;
  int exponent;
};

Parts parts_of(const Format& format, uint64_t bits) {
  const auto field = static_cast<int>(bits / format.one());
  if (field == 0) return {bits, format.least_exponent};
  return {bits % format.one() + format.one(), format.least_exponent + field - 1};
}
uint64_t bits_of(float value) { return bit_cast<uint32_t>(value); }
uint64_t bits_of(double value) { return bit_cast<uint64_t>(value); }

/// Generates the shortest digits within half the gap to either neighbour.
/// Source: G. L. Steele, J. L. White, How to print floating-point numbers accurately, 1990.
class Shortest {
 public:
  Shortest(const Format& format, uint64_t bits) {
    const Parts parts = parts_of(format, bits);
    even_ = parts.mantissa % 2 == 0;
    const bool uneven = parts.mantissa == format.one() && parts.exponent > format.least_exponent;
    number_ = BigNumber(parts.mantissa);
    number_.shift_left(std::max(parts.exponent, 0) + (uneven ? 2 : 1));
    unit_ = BigNumber(1);
    unit_.shift_left(std::max(-parts.exponent, 0) + (uneven ? 2 : 1));
    below_ = BigNumber(1);
    below_.shift_left(std::max(parts.exponent, 0));
    above_ = below_;
    if (uneven) above_.shift_left(1);
    // The estimate is off by at most one power of ten.
    const double value = std::ldexp(static_cast<double>(parts.mantissa), parts.exponent);
    out_.point = static_cast<int>(std::ceil(std::log10(value) - 1e-8));
    if (out_.point >= 0) {
      unit_.multiply_by_power_of_ten(out_.point);
    } else {
      for (BigNumber* each : {&number_, &below_, &above_}) {
        each->multiply_by_power_of_ten(-out_.point);
      }
    }
    if (reaches_unit()) {
      ++out_.point;
      unit_.multiply_add(10, 0);
    }
  }

  Decimal run() {
    for (;;) {
      for (BigNumber* each : {&number_, &below_, &above_}) each->multiply_add(10, 0);
      int digit = 0;
      for (; compare(number_, unit_) >= 0; ++digit) number_.subtract(unit_);
      const bool low = even_ ? compare(number_, below_) <= 0 : compare(number_, below_) < 0;
      const bool high = reaches_unit();
      if (low || high) {
        if (high && (!low || next_is_nearer(digit))) ++digit;
        out_.digits[out_.count++] = static_cast<char>('0' + digit);
        return out_;
      }
      out_.digits[out_.count++] = static_cast<char>('0' + digit);
    }
  }

 private:
  bool reaches_unit() const {
    BigNumber most = number_;
    most.add(above_);
    return even_ ? compare(most, unit_) >= 0 : compare(most, unit_) > 0;
  }
  bool next_is_nearer(int digit) const {
    BigNumber twice = number_;
    twice.shift_left(1);
    const int nearer = compare(twice, unit_);
    return nearer > 0 || (nearer == 0 && digit % 2 != 0);
  }

  BigNumber number_, unit_, below_, above_;
  bool even_ = false;
  Decimal out_;
};

void append_power(std::string& out, int power) {
  out += power < 0 ? "e-" : "e+";
  const int size = std::abs(power);
  if (size < 10) out += '0';
  append_text(out, int64_t{size});
}

/// Append a number of this format, given as a double and as bits.
void append_any(std::string& out, const Format& format, double value, uint64_t bits) {
  if (std::signbit(value)) out += '-';
  if (std::isnan(value)) return void(out += "nan");
  if (std::isinf(value)) return void(out += "inf");
  if (value == 0) return void(out += '0');
  const Decimal decimal = Shortest(format, bits).run();
  const std::string_view digits(decimal.digits, static_cast<size_t>(decimal.count));
  // An exponent takes four characters and, if there are several digits, a point.
  const int last = decimal.point - decimal.count;
  const int point = decimal.count > 1 ? 1 : 0;
  if (last >= -(decimal.count + 2 + point) && last <= 4 + point) {
    if (last >= 0) return append_fixed(out, std::fabs(value), 0);
    if (decimal.point <= 0) {
      out.append("0.").append(static_cast<size_t>(-decimal.point), '0').append(digits);
    } else {
      const auto whole = static_cast<size_t>(decimal.point);
      out.append(digits.substr(0, whole)).append(".").append(digits.substr(whole));
    }
    return;
  }
  out += digits[0];
  if (digits.size() > 1) out.append(".").append(digits.substr(1));
  append_power(out, decimal.point - 1);
}

}  // namespace

size_t read_number(std::string_view text, float* value) {
  uint64_t bits = 0;
  const size_t length = read_bits(kFloat, text, &bits);
  if (length > 0) *value = bit_cast<float>(static_cast<uint32_t>(bits));
  return length;
}
size_t read_number(std::string_view text, double* value) {
  uint64_t bits = 0;
  const size_t length = read_bits(kDouble, text, &bits);
  if (length > 0) *value = bit_cast<double>(bits);
  return length;
}

Decimal shortest_decimal(float value) { return Shortest(kFloat, bits_of(value)).run(); }
Decimal shortest_decimal(double value) { return Shortest(kDouble, bits_of(value)).run(); }

void append_number(std::string& out, float value) {
  append_any(out, kFloat, static_cast<double>(value), bits_of(std::fabs(value)));
}
void append_number(std::string& out, double value) {
  append_any(out, kDouble, value, bits_of(std::fabs(value)));
}

void append_fixed(std::string& out, double value, int decimals) {
  if (std::signbit(value)) out += '-';
  const Parts parts = parts_of(kDouble, bits_of(std::fabs(value)));
  BigNumber number(parts.mantissa);
  number.multiply_by_power_of_ten(decimals);
  number.shift_left(std::max(parts.exponent, 0));
  number.shift_right(std::max(-parts.exponent, 0));
  std::string text;  // digits in reverse order
  while (!number.is_zero() || static_cast<int>(text.size()) <= decimals) {
    text += static_cast<char>('0' + number.take_digit());
  }
  if (decimals > 0) text.insert(static_cast<size_t>(decimals), 1, '.');
  out.append(text.rbegin(), text.rend());
}

}  // namespace rill
