#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rill {

/// Read the decimal number at the start of a text: "1", "-1.5e-3", ".5", "1.", "inf", "nan"; no
/// leading plus. Rounds to nearest, ties to even, in any locale and rounding mode; overflow gives
/// an infinity, underflow a zero. Return the number's length in characters. If there is no number,
/// return 0 and leave `value` unchanged.
size_t read_number(std::string_view text, float* value);
size_t read_number(std::string_view text, double* value);

/// The decimal digits of a number: 0.d1d2d3... * 10^point.
struct Decimal {
  char digits[17];
  int count = 0;
  int point = 0;
};

/// Return the shortest digits that read back as the same number, finite and above 0; of several,
/// the nearest.
Decimal shortest_decimal(float value);
Decimal shortest_decimal(double value);

/// Append the shortest text that reads back as the number, without an exponent ("0.001", "1200")
/// unless the exponent makes it shorter ("1e-05"). Integers written as digits are exact.
void append_number(std::string& out, float value);
void append_number(std::string& out, double value);

/// Append a finite number with `decimals` decimals, at most 40; round to nearest, ties to even.
void append_fixed(std::string& out, double value, int decimals);

}  // namespace rill
