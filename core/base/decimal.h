#pragma once

#include <string>
#include <string_view>

namespace rill {

/// A number that was read: its value, and how many bytes of the text it took, 0 if there is none.
template <class Float>
struct Decimal {
  Float value = 0;
  size_t bytes = 0;
};

/// Read the number at the start of a text: digits with a point and a power of ten, or `inf`,
/// `infinity` and `nan` in any case, with or without a minus. No blanks, no plus, no locale.
/// Accuracy: the nearest float, ties to even; beyond all floats an infinity, near zero a zero.
Decimal<float> read_float(std::string_view text);
Decimal<double> read_double(std::string_view text);

/// The fewest digits that are read back as the same number, the nearest to it among these: `digits`
/// with a point after the first, times ten to the power `exponent`.
struct ShortestDigits {
  std::string digits;
  int exponent = 0;
};

/// Find the shortest digits of a finite number, without its sign.
ShortestDigits shortest_digits(float value);
ShortestDigits shortest_digits(double value);

/// Write the shortest text that is read back as the same number, with a power of ten where that is
/// shorter, as `std::to_chars` does.
std::string shortest_text(float value);
std::string shortest_text(double value);

/// Write a finite number with so many decimals, rounded to the nearest, ties to even.
std::string fixed_text(double value, int decimals);

}  // namespace rill
