#include "core/base/decimal.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/big_natural.h"
#include "core/base/bits.h"

// C++17 has these in <charconv>, which for floats many standard libraries lack. C's need a locale.

namespace rill {
namespace {

/// A type of numbers of IEEE 754: `kBits` digits of value, multiples of 2 to the power `kLeast`.
template <class Float>
struct Format;
template <>
struct Format<float> {
  using Word = uint32_t;
  static constexpr int kBits = 24;
  static constexpr int kLeast = -149;
};
template <>
struct Format<double> {
  using Word = uint64_t;
  static constexpr int kBits = 53;
  static constexpr int kLeast = -1074;
};

template <class Float>
constexpr auto kInfinityBits =
    bits_of<typename Format<Float>::Word>(std::numeric_limits<Float>::infinity());

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// No tie between doubles has more digits than this, counted from the first that is no zero. What
/// follows only tells whether there is more.
constexpr size_t kMostDigits = 768;

/// The digits of a text as they stand, and the power of ten of the last one.
struct Literal {
  bool negative = false;
  bool is_zero = true;
  std::array<char, kMostDigits + 1> digits;
  size_t count = 0;
  int64_t exponent = 0;
  size_t bytes = 0;

  void add(char digit) {
    if (is_zero && digit == '0') return;
    is_zero = false;
    if (count < kMostDigits) {
      digits[count++] = digit;
      return;
    }
    ++exponent;
    // One digit stands for all that follow.
    if (digit != '0' && count == kMostDigits) {
      digits[count++] = '1';
      --exponent;
    }
  }
};

/// A power of ten after the digits; nothing, if no digits follow its letter.
void scan_exponent(std::string_view text, Literal* literal) {
  constexpr int64_t kBeyondAll = int64_t{1} << 40;
  size_t at = literal->bytes;
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return;
  ++at;
  const bool negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  if (at >= text.size() || !is_digit(text[at])) return;
  int64_t power = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    power = std::min(power * 10 + (text[at] - '0'), kBeyondAll);
  }
  literal->exponent += negative ? -power : power;
  literal->bytes = at;
}

/// Take the digits of a number; `bytes` is 0 if there are none.
void scan(std::string_view text, Literal* literal) {
  size_t at = 0;
  literal->negative = text.starts_with('-');
  if (literal->negative) ++at;
  bool any = false;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    literal->add(text[at]);
    any = true;
  }
  if (at < text.size() && text[at] == '.') {
    const size_t point = at++;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      literal->add(text[at]);
      --literal->exponent;
      any = true;
    }
    if (!any) at = point;
  }
  if (!any) return;
  literal->bytes = at;
  scan_exponent(text, literal);
}

/// Tell the value where one operation of doubles, which rounds once, gives it.
std::optional<double> in_one_operation(const Literal& literal) {
  constexpr size_t kExactDigits = 15;
  constexpr std::array kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int64_t kMostPower = static_cast<int64_t>(kPowers.size()) - 1;
  // Where operations are wider than their type, they round twice.
  const bool is_exact = FLT_EVAL_METHOD == 0 && literal.count <= kExactDigits &&
                        literal.exponent >= -kMostPower && literal.exponent <= kMostPower;
  if (!is_exact) return std::nullopt;
  int64_t whole = 0;
  for (size_t i = 0; i < literal.count; ++i) whole = whole * 10 + (literal.digits[i] - '0');
  const double power = kPowers[static_cast<size_t>(std::abs(literal.exponent))];
  return literal.exponent < 0 ? static_cast<double>(whole) / power
                              : static_cast<double>(whole) * power;
}

std::optional<double> quickly(const Literal& literal, double /*type*/) {
  return in_one_operation(literal);
}

/// A double rounds to the float that its number rounds to, unless it stands at a tie of floats or
/// next to one.
std::optional<float> quickly(const Literal& literal, float /*type*/) {
  const std::optional<double> wide = in_one_operation(literal);
  if (!wide || !(*wide > FLT_MIN && *wide < FLT_MAX)) return std::nullopt;
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;
  constexpr uint64_t kTie = uint64_t{1} << 28;
  const uint64_t dropped = bits_of<uint64_t>(*wide) & kDropped;
  if (dropped >= kTie - 1 && dropped <= kTie + 1) return std::nullopt;
  return static_cast<float>(*wide);
}

/// Divide two naturals whose quotient has at most `bits` bits; leave the remainder.
uint64_t divide(BigNatural* number, BigNatural divisor, int bits) {
  uint64_t quotient = 0;
  // The number is shifted as division goes on, the divisor stands still.
  divisor <<= bits - 1;
  for (int i = 0; i < bits; ++i) {
    quotient <<= 1;
    if (*number >= divisor) {
      *number -= divisor;
      quotient |= 1;
    }
    if (i + 1 < bits) *number <<= 1;
  }
  return quotient;
}

/// The bits of the float nearest to `number / divisor`, ties to even.
template <class Float>
typename Format<Float>::Word nearest(BigNatural number, BigNatural divisor) {
  using Word = typename Format<Float>::Word;
  constexpr int kBits = Format<Float>::kBits;
  // The quotient in units of 2 to the power `unit` has `kBits` bits, or one more; fewer near zero.
  const int unit = std::max(number.bits() - divisor.bits() - kBits, Format<Float>::kLeast);
  if (unit > 0) divisor <<= unit;
  if (unit < 0) number <<= -unit;
  BigNatural scaled = divisor;
  scaled <<= kBits;
  uint64_t quotient = divide(&number, divisor, kBits + 1);
  int exponent = unit;
  // What is left is the remainder, as much shifted as the divisor was.
  bool over_half = false;
  bool half = false;
  if (quotient >> kBits != 0) {
    half = (quotient & 1) != 0 && number.is_zero();
    over_half = (quotient & 1) != 0 && !number.is_zero();
    quotient >>= 1;
    ++exponent;
  } else {
    number <<= 1;
    half = number == scaled;
    over_half = number > scaled;
  }
  if (over_half || (half && (quotient & 1) != 0)) ++quotient;
  // The first bit of the value is not stored: it adds one to the steps, as a carry does.
  const uint64_t steps = static_cast<uint64_t>(exponent - Format<Float>::kLeast) << (kBits - 1);
  return static_cast<Word>(std::min<uint64_t>(steps + quotient, kInfinityBits<Float>));
}

template <class Float>
Float exactly(const Literal& literal) {
  // Beyond these no number is finite, or more than half of the least one.
  constexpr int64_t kHuge = 310;
  constexpr int64_t kTiny = -330;
  const int64_t magnitude = literal.exponent + static_cast<int64_t>(literal.count);
  if (magnitude > kHuge) return std::numeric_limits<Float>::infinity();
  if (magnitude < kTiny) return 0;
  BigNatural number;
  for (size_t i = 0; i < literal.count; ++i) {
    number.multiply(10, static_cast<uint32_t>(literal.digits[i] - '0'));
  }
  BigNatural divisor(1);
  const auto power = static_cast<int>(literal.exponent);
  (power < 0 ? divisor : number).multiply_by_power_of_10(std::abs(power));
  return bits_of<Float>(nearest<Float>(number, divisor));
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

template <class Float>
Decimal<Float> read_word(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  Decimal<Float> read;
  for (const std::string_view word : {"infinity", "inf", "nan"}) {
    if (!starts_with_word(text, word)) continue;
    read.value = word == "nan" ? std::numeric_limits<Float>::quiet_NaN()
                               : std::numeric_limits<Float>::infinity();
    if (negative) read.value = -read.value;
    read.bytes = word.size() + (negative ? 1 : 0);
    break;
  }
  return read;
}

template <class Float>
Decimal<Float> read(std::string_view text) {
  Literal literal;
  scan(text, &literal);
  if (literal.bytes == 0) return read_word<Float>(text);
  Float value = 0;
  if (!literal.is_zero) {
    const std::optional<Float> quick = quickly(literal, Float{});
    value = quick ? *quick : exactly<Float>(literal);
  }
  return {literal.negative ? -value : value, literal.bytes};
}

/// A finite number as `value` times 2 to the power `exponent`.
struct Binary {
  uint64_t value = 0;
  int exponent = 0;
  bool is_uneven = false;  ///< the next smaller number is nearer than the next larger
};

template <class Float>
Binary binary_of(Float value) {
  constexpr int kStored = Format<Float>::kBits - 1;
  constexpr uint64_t kStoredMask = (uint64_t{1} << kStored) - 1;
  const uint64_t bits = bits_of<typename Format<Float>::Word>(value);
  const auto steps = static_cast<int>((bits & kInfinityBits<Float>) >> kStored);
  const uint64_t stored = bits & kStoredMask;
  if (steps == 0) return {stored, Format<Float>::kLeast, false};
  return {stored | uint64_t{1} << kStored, Format<Float>::kLeast + steps - 1,
          stored == 0 && steps > 1};
}

/// Digits of a natural number.
std::string digits_of(BigNatural number) {
  std::string digits;
  while (!number.is_zero()) digits.push_back(static_cast<char>('0' + number.divide(10)));
  std::reverse(digits.begin(), digits.end());
  return digits.empty() ? "0" : digits;
}

/// A number and how far its neighbours reach, all over `scale`.
struct Interval {
  BigNatural number;
  BigNatural scale;
  BigNatural below;  ///< half the way to the next smaller number
  BigNatural above;
  bool closed = false;  ///< its ends are read as the number too
  int power = 0;        ///< of ten, of the digit before the first

  bool reaches_scale() const {
    BigNatural top = number;
    top += above;
    return closed ? top >= scale : top > scale;
  }
  bool reaches_zero() const { return closed ? number <= below : number < below; }
  void multiply_by_10() {
    number.multiply(10);
    below.multiply(10);
    above.multiply(10);
  }
};

Interval interval_of(const Binary& binary) {
  Interval at;
  // Halves of halves are whole.
  constexpr int kQuarters = 2;
  const int up = std::max(binary.exponent, 0);
  at.number = BigNatural(binary.value);
  at.number <<= up + kQuarters;
  at.scale = BigNatural(1);
  at.scale <<= up - binary.exponent + kQuarters;
  at.above = BigNatural(2);
  at.above <<= up;
  at.below = BigNatural(binary.is_uneven ? 1 : 2);
  at.below <<= up;
  at.closed = binary.value % 2 == 0;
  // A power of ten that is not too large, and at most one too small.
  const double log2 = binary.exponent + std::log2(static_cast<double>(binary.value));
  at.power = static_cast<int>(std::ceil(log2 * 0.30102999566398120 - 1e-9));
  if (at.power >= 0) {
    at.scale.multiply_by_power_of_10(at.power);
  } else {
    at.number.multiply_by_power_of_10(-at.power);
    at.below.multiply_by_power_of_10(-at.power);
    at.above.multiply_by_power_of_10(-at.power);
  }
  if (at.reaches_scale()) {
    at.scale.multiply(10);
    ++at.power;
  }
  return at;
}

/// Source: Steele and White, "How to Print Floating-Point Numbers Accurately", 1990, (FPP)^2.
ShortestDigits shortest(const Binary& binary) {
  if (binary.value == 0) return {"0", 0};
  Interval at = interval_of(binary);
  ShortestDigits out;
  out.exponent = at.power - 1;
  for (;;) {
    at.multiply_by_10();
    char digit = '0';
    while (at.number >= at.scale) {
      at.number -= at.scale;
      ++digit;
    }
    const bool may_end = at.reaches_zero();
    const bool may_end_above = at.reaches_scale();
    if (!may_end && !may_end_above) {
      out.digits.push_back(digit);
      continue;
    }
    BigNatural twice = at.number;
    twice <<= 1;
    const bool is_odd = (digit - '0') % 2 != 0;
    const bool nearer_above = twice > at.scale || (twice == at.scale && is_odd);
    if (may_end_above && (!may_end || nearer_above)) ++digit;
    out.digits.push_back(digit);
    return out;
  }
}

std::string with_power(const ShortestDigits& shortest) {
  std::string text(1, shortest.digits[0]);
  if (shortest.digits.size() > 1) text.append(".").append(shortest.digits, 1);
  text.append(shortest.exponent < 0 ? "e-" : "e+");
  const std::string power = std::to_string(std::abs(shortest.exponent));
  return text.append(power.size() < 2 ? "0" : "").append(power);
}

std::string with_point(const ShortestDigits& shortest) {
  const std::string& digits = shortest.digits;
  if (shortest.exponent < 0) {
    return std::string("0.").append(static_cast<size_t>(-shortest.exponent - 1), '0') + digits;
  }
  const size_t whole = static_cast<size_t>(shortest.exponent) + 1;
  if (whole >= digits.size()) return digits;
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

template <class Float>
std::string text_of(Float value) {
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isnan(value)) return sign + "nan";
  if (std::isinf(value)) return sign + "inf";
  const Binary binary = binary_of(value);
  const ShortestDigits found = shortest(binary);
  const auto count = static_cast<int>(found.digits.size());
  const int last = found.exponent - count + 1;  // power of the last digit
  // A power takes four characters, and a point that one digit does without.
  const int fewest = count == 1 ? -3 : -count - 3;
  const int most = count == 1 ? 4 : 5;
  if (last < fewest || last > most) return sign + with_power(found);
  if (last <= 0) return sign + with_point(found);
  // A whole number: all of its digits.
  BigNatural whole(binary.value);
  if (binary.exponent >= 0) {
    whole <<= binary.exponent;
  } else {
    whole >>= -binary.exponent;
  }
  return sign + digits_of(whole);
}

}  // namespace

Decimal<float> read_float(std::string_view text) { return read<float>(text); }
Decimal<double> read_double(std::string_view text) { return read<double>(text); }

ShortestDigits shortest_digits(float value) { return shortest(binary_of(value)); }
ShortestDigits shortest_digits(double value) { return shortest(binary_of(value)); }

std::string shortest_text(float value) { return text_of(value); }
std::string shortest_text(double value) { return text_of(value); }

std::string fixed_text(double value, int decimals) {
  const Binary binary = binary_of(value);
  BigNatural number(binary.value);
  number.multiply_by_power_of_10(decimals);
  BigNatural whole = number;
  if (binary.exponent >= 0) {
    whole <<= binary.exponent;
  } else {
    whole >>= -binary.exponent;
    BigNatural rest = whole;
    rest <<= -binary.exponent;
    number -= rest;
    BigNatural half(1);
    half <<= -binary.exponent - 1;
    if (number > half || (number == half && whole.is_odd())) whole += BigNatural(1);
  }
  std::string digits = digits_of(whole);
  const auto places = static_cast<size_t>(decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, ".");
  return std::signbit(value) ? "-" + digits : digits;
}

}  // namespace rill
