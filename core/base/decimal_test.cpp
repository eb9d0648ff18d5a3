#include "core/base/decimal.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/base/bits.h"
#include "core/base/splitmix.h"

namespace rill {
namespace {

constexpr int kDraws = 40000;

/// The C library's reading, in its C locale.
void expect_read_as_in_c(const std::string& text) {
  char* end = nullptr;
  const double wide = std::strtod(text.c_str(), &end);
  const Decimal<double> read = read_double(text);
  EXPECT_EQ(bits_of<uint64_t>(read.value), bits_of<uint64_t>(wide)) << text;
  EXPECT_EQ(read.bytes, static_cast<size_t>(end - text.c_str())) << text;
  const float narrow = std::strtof(text.c_str(), &end);
  EXPECT_EQ(bits_of<uint32_t>(read_float(text).value), bits_of<uint32_t>(narrow)) << text;
}

std::string printed(const char* format, int digits, double value) {
  char text[1200];
  std::snprintf(text, sizeof text, format, digits, value);
  return text;
}

/// A finite number of any exponent, denormals and powers of two among them.
template <class Float, class Word>
Float draw_number(Splitmix64* draw) {
  for (;;) {
    Word bits = static_cast<Word>(draw->next());
    const uint64_t kind = draw->next() % 8;
    constexpr int kStored = std::numeric_limits<Float>::digits - 1;
    if (kind == 0) bits &= ~((Word{1} << kStored) - 1);
    if (kind == 1) bits &= (Word{1} << (draw->next() % kStored)) - 1;
    const auto value = bits_of<Float>(bits);
    if (std::isfinite(value)) return value;
  }
}

TEST(Decimal, NumbersAreReadAsTheCLibraryReadsThem) {
  for (const char* text :
       {"0", "-0", "0.0", "1", "-1.", ".5", "1e", "1e+", "1e-5x", "00012.500", "1.5E3", "1..2",
        "3.4028235e38", "3.4028236e38", "3.40282357e38", "1.7976931348623157e308",
        "1.7976931348623159e308", "4.9406564584124654e-324", "2.4703282292062327e-324",
        "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308",
        "1.401298464324817e-45", "7.006492321624085e-46", "7.006492321624086e-46",
        "1.1754943508222875e-38", "1.17549435e-38", "9007199254740993", "9007199254740992.5",
        "9007199254740993.00000000000000000000000000001", "16777217", "16777217.0000000001",
        "8.5899340e9", "1e23", "8.442911973260991817129021e-309", "6.631236846766476e-316",
        "1e310", "1e-400", "-1e99999999999999999999", "0e99999999999999999999",
        "1e-99999999999999999999", "inf", "-INF", "Infinity", "nan", "-", ".", "", "x", "e5",
        "-.e1"}) {
    if (std::strstr(text, "nan") != nullptr) {
      EXPECT_TRUE(std::isnan(read_double(text).value));
      continue;
    }
    expect_read_as_in_c(text);
  }
}

TEST(Decimal, WhatOnlyCReadsIsNoNumber) {
  for (const char* text : {"+1", " 1", "\t1", "i", "-in"}) {
    EXPECT_EQ(read_double(text).bytes, 0U) << text;
  }
  EXPECT_EQ(read_double("0x10").bytes, 1U);
}

TEST(Decimal, AnyDigitsAreReadAsTheCLibraryReadsThem) {
  Splitmix64 draw(1);
  for (int i = 0; i < kDraws; ++i) {
    std::string text = draw.next() % 2 == 0 ? "-" : "";
    const auto digits = static_cast<int>(draw.next() % (draw.next() % 50 == 0 ? 900 : 25));
    for (int d = 0; d <= digits; ++d) {
      text.push_back(static_cast<char>('0' + draw.next() % 10));
      if (draw.next() % 16 == 0 && text.find('.') == std::string::npos) text.push_back('.');
    }
    if (draw.next() % 4 != 0) text += "e" + std::to_string(draw.in(-400, 360));
    expect_read_as_in_c(text);
  }
}

TEST(Decimal, TiesAndWhatIsNextToThemAreReadAsTheCLibraryReadsThem) {
  Splitmix64 draw(2);
  for (int i = 0; i < kDraws / 20; ++i) {
    // Half the way between two numbers has at most 767 digits, all of which C prints.
    const double narrow = std::fabs(draw_number<float, uint32_t>(&draw));
    const double next = std::nextafter(static_cast<float>(narrow), INFINITY);
    const double wide = std::fabs(draw_number<double, uint64_t>(&draw));
    std::vector<std::string> ties;
    if (std::isfinite(next)) ties.push_back(printed("%.*e", 800, narrow / 2 + next / 2));
    // A double's tie: the digits of an odd multiple of half its last place, by a long double.
    if (std::numeric_limits<long double>::digits >= 64) {
      const double above = std::nextafter(wide, INFINITY);
      char text[1200];
      std::snprintf(text, sizeof text, "%.*Le", 1100,
                    (static_cast<long double>(wide) + static_cast<long double>(above)) / 2);
      if (std::isfinite(above)) ties.emplace_back(text);
    }
    for (const std::string& tie : ties) {
      expect_read_as_in_c(tie);
      const size_t e = tie.find('e');
      std::string above = tie;
      above.insert(e, "000000001");
      expect_read_as_in_c(above);
      // One less in the last place that is no zero.
      std::string below = tie;
      const size_t last = below.find_last_of("123456789", e - 1);
      if (last == std::string::npos) continue;
      --below[last];
      for (size_t at = last + 1; at < e; ++at) below[at] = '9';
      expect_read_as_in_c(below);
    }
  }
}

template <class Float, class Word>
void expect_shortest(uint64_t seed, int digits) {
  Splitmix64 draw(seed);
  for (int i = 0; i < kDraws; ++i) {
    const auto value = draw_number<Float, Word>(&draw);
    const std::string text = shortest_text(value);
    const auto read = sizeof(Float) == 4 ? std::strtof(text.c_str(), nullptr)
                                         : std::strtod(text.c_str(), nullptr);
    EXPECT_EQ(bits_of<Word>(static_cast<Float>(read)), bits_of<Word>(value)) << text;
    // C finds no shorter one; where one of the same length is nearer, it is this one.
    const ShortestDigits found = shortest_digits(value);
    const auto count = static_cast<int>(found.digits.size());
    ASSERT_LE(count, digits);
    if (count > 1) {
      const std::string fewer = printed("%.*e", count - 2, static_cast<double>(value));
      const auto other = sizeof(Float) == 4 ? std::strtof(fewer.c_str(), nullptr)
                                            : std::strtod(fewer.c_str(), nullptr);
      EXPECT_NE(static_cast<Float>(other), value) << text << ' ' << fewer;
    }
#ifdef __cpp_lib_to_chars
    char expected[64];
    const auto end = std::to_chars(expected, expected + sizeof expected, value).ptr;
    EXPECT_EQ(text, std::string(expected, end));
#endif
  }
}

TEST(Decimal, ShortestTextsOfFloatsAreThoseOfTheStandardLibrary) {
  expect_shortest<float, uint32_t>(3, 9);
}

TEST(Decimal, ShortestTextsOfDoublesAreThoseOfTheStandardLibrary) {
  expect_shortest<double, uint64_t>(4, 17);
}

TEST(Decimal, WholeNumbersAndPowersAreWrittenAsTheStandardLibraryWritesThem) {
#ifdef __cpp_lib_to_chars
  std::vector<double> values = {0.0, -0.0, INFINITY, -INFINITY, 0.1, 1e5, 123456, 1e-3, 1e-4, 1e22};
  for (int power = -330; power <= 308; ++power) values.push_back(std::pow(10.0, power));
  for (int power = -1074; power <= 1023; ++power) values.push_back(std::ldexp(1.0, power));
  Splitmix64 draw(5);
  for (int i = 0; i < kDraws; ++i) {
    const auto whole = static_cast<double>(draw.next() >> (draw.next() % 64));
    values.push_back(draw.next() % 3 == 0 ? whole * 100 : whole);
    values.push_back(static_cast<double>(draw.next() % 100000) / 1000);
  }
  for (const double value : values) {
    char expected[64];
    auto end = std::to_chars(expected, expected + sizeof expected, value).ptr;
    EXPECT_EQ(shortest_text(value), std::string(expected, end));
    const auto narrow = static_cast<float>(value);
    end = std::to_chars(expected, expected + sizeof expected, narrow).ptr;
    EXPECT_EQ(shortest_text(narrow), std::string(expected, end));
  }
#endif
  EXPECT_EQ(shortest_text(1e-3F), "0.001");
  EXPECT_EQ(shortest_text(1e-5), "1e-05");
  EXPECT_EQ(shortest_text(5e-324), "5e-324");
  EXPECT_EQ(shortest_text(1e100), "1e+100");
  EXPECT_EQ(shortest_text(-2.5F), "-2.5");
}

TEST(Decimal, FixedTextsAreThoseOfTheCLibrary) {
  for (const double value : {0.0, -0.0, 0.5, 1.5, 2.5, 0.125, 0.375, 1e22, 5e-324, 1.7e308}) {
    for (const int decimals : {0, 1, 2, 9}) {
      EXPECT_EQ(fixed_text(value, decimals), printed("%.*f", decimals, value));
    }
  }
  Splitmix64 draw(6);
  for (int i = 0; i < kDraws / 10; ++i) {
    const auto value = draw_number<double, uint64_t>(&draw);
    const double small = std::ldexp(static_cast<double>(draw.next() % 4096), -9);
    for (const int decimals : {0, 2, 9}) {
      EXPECT_EQ(fixed_text(value, decimals), printed("%.*f", decimals, value));
      EXPECT_EQ(fixed_text(small, decimals), printed("%.*f", decimals, small));
    }
  }
}

}  // namespace
}  // namespace rill
