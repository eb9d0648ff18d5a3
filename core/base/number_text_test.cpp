#include "core/base/number_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "core/base/bits.h"

namespace rill {
namespace {

// Test programs set no locale, so the C library writes a decimal point.
float by_c_library(const std::string& text, float) { return std::strtof(text.c_str(), nullptr); }
double by_c_library(const std::string& text, double) { return std::strtod(text.c_str(), nullptr); }

template <class T>
void expect_read(const std::string& text) {
  T value = T(-7);
  EXPECT_EQ(read_number(text, &value), text.size()) << text;
  const T expected = by_c_library(text, T());
  EXPECT_EQ(std::signbit(value), std::signbit(expected)) << text;
  EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
      << text << ": " << value << ", expected " << expected;
}

void expect_both(const std::string& text) {
  expect_read<float>(text);
  expect_read<double>(text);
}

template <class T>
std::string shortest(T value) {
  std::string out;
  append_number(out, value);
  return out;
}

/// Return random bits, or bits near a power of two, where the gaps to both neighbours differ.
template <class T, class Bits>
T some_number(std::mt19937_64& rng, int mantissa_bits) {
  Bits bits = static_cast<Bits>(rng());
  if (rng() % 4 == 0) {
    bits = static_cast<Bits>(bits >> (mantissa_bits - 1) << (mantissa_bits - 1));
    bits += static_cast<Bits>(rng() % 5) - 2;
  }
  return bit_cast<T>(bits);
}

TEST(ReadNumber, AcceptsTheNumbersOfTheCLibrary) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "1.",
                           ".5",
                           "-.5",
                           "00012.5000",
                           "1e3",
                           "1E+3",
                           "1e-3",
                           "0.1",
                           "0e999999999",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "1e99999999999999999999",
                           "1e-99999999999999999999",
                           "3.4028234663852886e38",
                           "3.4028235677973366e38",
                           "3.40282356779733661637e38",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "4.9e-324",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "1.401298464324817e-45",
                           "7.006492321624085e-46",
                           "7.0064923216240854e-46",
                           "2.2250738585072011e-308",
                           "9007199254740993",
                           "16777217",
                           "16777219",
                           "8388608.5",
                           "8388609.5",
                           "inf",
                           "-inf",
                           "Infinity",
                           "NaN"}) {
    expect_both(text);
  }
}

TEST(ReadNumber, RoundsHalvesOfGapsWithAllTheirDigits) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 4000; ++i) {
    const double a = std::fabs(some_number<double, uint64_t>(rng, 53));
    const double b = std::nextafter(a, std::numeric_limits<double>::infinity());
    if (!std::isfinite(b)) continue;
    // Midpoints between floats are doubles; midpoints between doubles are long doubles.
    const float c = std::fabs(some_number<float, uint32_t>(rng, 24));
    if (!std::isfinite(c) || c > 3e38F) continue;
    const double half = (static_cast<double>(c) + std::nextafter(c, INFINITY)) / 2;
    char text[1200];
    std::snprintf(text, sizeof text, "%.200f", half);
    expect_read<float>(text);
    expect_read<float>(std::string(text) + "000000000000000000001");
#if LDBL_MANT_DIG >= 64
    const long double wide = (static_cast<long double>(a) + b) / 2;
    std::snprintf(text, sizeof text, "%.800Le", wide);
    std::string with_more(text);
    expect_read<double>(with_more);
    expect_read<double>(with_more.insert(with_more.find('e'), "0000000001"));
#endif
  }
}

TEST(ReadNumber, TakesRandomDigits) {
  std::mt19937_64 rng(2);
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    const size_t whole = rng() % 20;
    const size_t fraction = rng() % 24;
    for (size_t k = 0; k < whole; ++k) text += static_cast<char>('0' + rng() % 10);
    text += '.';
    for (size_t k = 0; k <= fraction; ++k) text += static_cast<char>('0' + rng() % 10);
    if (rng() % 2 == 0) text += "e" + std::to_string(static_cast<int>(rng() % 760) - 380);
    expect_both(text);
  }
}

TEST(ReadNumber, ReadsOnlyTheCharactersOfTheNumber) {
  const struct {
    const char* text;
    size_t length;
  } cases[] = {{"", 0},     {"-", 0},   {".", 0},    {"-.", 0},    {"+1", 0},       {"e5", 0},
               {"1e", 1},   {"1e+", 1}, {"1.5x", 3}, {"1..", 2},   {"1.5.5", 3},    {"in", 0},
               {"infx", 3}, {" 1", 0},  {"0x10", 1}, {"1e5e5", 3}, {"-infinit", 4}, {"--1", 0}};
  for (const auto& each : cases) {
    double value = 42;
    EXPECT_EQ(read_number(each.text, &value), each.length) << each.text;
    EXPECT_TRUE(each.length > 0 || value == 42) << each.text;
  }
}

TEST(ReadNumber, TakesTextsOfAnyLength) {
  const std::string zeros(100000, '0');
  expect_both("1" + zeros + "e-100000");
  expect_both("0." + zeros + "1e100001");
  expect_both("1." + zeros + "1");
  expect_both(std::string(100000, '9'));
  expect_both("0." + std::string(100000, '9'));
}

template <class T, class Bits>
void expect_shortest(int mantissa_bits, int count) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < count; ++i) {
    const T value = some_number<T, Bits>(rng, mantissa_bits);
    if (!std::isfinite(value) || value == 0) continue;
    const std::string text = shortest(value);
    T back = 0;
    ASSERT_EQ(read_number(text, &back), text.size());
    ASSERT_EQ(back, value) << text;
    // With one digit less, no text reads back as the number.
    const Decimal decimal = shortest_decimal(std::fabs(value));
    if (decimal.count > 1) {
      char fewer[64];
      std::snprintf(fewer, sizeof fewer, "%.*e", decimal.count - 2, static_cast<double>(value));
      ASSERT_NE(by_c_library(fewer, T()), value) << text << " " << fewer;
    }
#ifdef __cpp_lib_to_chars
    char standard[400];
    const auto end = std::to_chars(standard, standard + sizeof standard, value).ptr;
    ASSERT_EQ(text, std::string(standard, end));
#endif
  }
}

TEST(ShortestNumber, EqualsThatOfTheStandardLibrary) {
  expect_shortest<float, uint32_t>(24, 200000);
  expect_shortest<double, uint64_t>(53, 200000);
  for (int power = -330; power < 310; ++power) {
    const std::string text = "1e" + std::to_string(power);
    const double value = std::strtod(text.c_str(), nullptr);
    if (value == 0) continue;
    EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value);
  }
}

TEST(ShortestNumber, ChoosesTheShorterForm) {
  EXPECT_EQ(shortest(0.0F), "0");
  EXPECT_EQ(shortest(-0.0F), "-0");
  EXPECT_EQ(shortest(1.0F), "1");
  EXPECT_EQ(shortest(0.1F), "0.1");
  EXPECT_EQ(shortest(100000.0F), "1e+05");
  EXPECT_EQ(shortest(120000.0F), "120000");
  EXPECT_EQ(shortest(1e-5F), "1e-05");
  EXPECT_EQ(shortest(1e23), "1e+23");
  EXPECT_EQ(shortest(INFINITY), "inf");
  EXPECT_EQ(shortest(-static_cast<double>(INFINITY)), "-inf");
  EXPECT_EQ(shortest(static_cast<float>(NAN)), "nan");
}

TEST(FixedNumber, EqualsTheTextOfTheCLibrary) {
  std::mt19937_64 rng(4);
  for (int i = 0; i < 20000; ++i) {
    const double value = some_number<double, uint64_t>(rng, 53);
    const auto narrow = static_cast<double>(some_number<float, uint32_t>(rng, 24));
    for (const double each : {value, narrow, 0.5, 1.5, 2.5, 0.0, -0.0, 1e-9, 5e-10}) {
      if (!std::isfinite(each)) continue;
      const int decimals = static_cast<int>(rng() % 41);
      char expected[400];
      std::snprintf(expected, sizeof expected, "%.*f", decimals, each);
      std::string out;
      append_fixed(out, each, decimals);
      ASSERT_EQ(out, expected);
    }
  }
}

}  // namespace
}  // namespace rill
