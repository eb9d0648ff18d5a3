#include "core/dim/dim.h"

#include <gtest/gtest.h>

namespace rill {
namespace {

Dim dim(std::string_view text) {
  auto parsed = parse_dim(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Dim::invalid();
}

const Dim kS = Dim::symbol("S");
const Dim kB = Dim::symbol("B");

TEST(Dim, SumsAndProductsHaveOneNormalForm) {
  EXPECT_EQ(kS + kS, dim("2*S"));
  EXPECT_EQ((kS + Dim(1)) * (kS - Dim(1)), kS * kS - Dim(1));
  EXPECT_EQ(kS * kB, kB * kS);
  EXPECT_EQ(kS - kS, Dim(0));
  EXPECT_TRUE((kS - kS).is_const());
  EXPECT_NE(kS + kB, kS * kB);
}

TEST(Dim, DivisionRoundsDown) {
  EXPECT_EQ(floor_div(Dim(7), 2), Dim(3));
  EXPECT_EQ(floor_div(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(ceil_div(Dim(7), 2), Dim(4));
  EXPECT_EQ(ceil_div(Dim(-7), 2), Dim(-3));
  EXPECT_FALSE(floor_div(kS, 0).valid());
  EXPECT_FALSE(floor_div(kS, -2).valid());
}

TEST(Dim, MultiplesOfTheDivisorMoveOutOfADivision) {
  EXPECT_EQ(floor_div(Dim(2) * kS + Dim(3), 2), kS + Dim(1));
  EXPECT_EQ(floor_div(kS + Dim(7), 4), floor_div(kS + Dim(3), 4) + Dim(1));
  EXPECT_EQ(floor_div(floor_div(kS, 2), 3), floor_div(kS, 6));
  EXPECT_EQ(floor_div(Dim(4) * kS, 2), Dim(2) * kS);
}

TEST(Dim, NormalFormsKeepTheValue) {
  const Dim forms[] = {dim("(S+3)/4"),   dim("(3*S-1)/2"),   dim("2*((S+1)/2)-S"),
                       dim("(S/2+7)/3"), dim("min(S, 9)/2"), dim("max(S-4, 0)*3"),
                       dim("(6*S+9)/4")};
  const auto floor_of = [](int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  for (int64_t s = 0; s < 50; ++s) {
    const Bindings at{{"S", s}};
    EXPECT_EQ(forms[0].eval(at), floor_of(s + 3, 4));
    EXPECT_EQ(forms[1].eval(at), floor_of(3 * s - 1, 2));
    EXPECT_EQ(forms[2].eval(at), 2 * floor_of(s + 1, 2) - s);
    EXPECT_EQ(forms[3].eval(at), floor_of(floor_of(s, 2) + 7, 3));
    EXPECT_EQ(forms[4].eval(at), std::min<int64_t>(s, 9) / 2);
    EXPECT_EQ(forms[5].eval(at), std::max<int64_t>(s - 4, 0) * 3);
    EXPECT_EQ(forms[6].eval(at), floor_of(6 * s + 9, 4));
  }
}

TEST(Dim, ExactDivisionIsProvedOrRefused) {
  EXPECT_EQ(exact_div(Dim(6) * kS, Dim(3)), Dim(2) * kS);
  EXPECT_EQ(exact_div(kS * kB, kB), kS);
  EXPECT_EQ(exact_div(Dim(12), Dim(4)), Dim(3));
  EXPECT_FALSE(exact_div(Dim(7), Dim(2)));
  EXPECT_FALSE(exact_div(kS + Dim(1), Dim(2)));
  EXPECT_FALSE(exact_div(kS, kB));
  EXPECT_FALSE(exact_div(kS, Dim(0)));
}

TEST(Dim, MinMaxAndBroadcastFold) {
  EXPECT_EQ(min(Dim(3), Dim(5)), Dim(3));
  EXPECT_EQ(max(Dim(3), Dim(5)), Dim(5));
  EXPECT_EQ(min(kS, kS), kS);
  EXPECT_EQ(max(kS, kS), kS);
  EXPECT_EQ(min(kS, kB), min(kB, kS));
  EXPECT_EQ(broadcast(kS, Dim(1)), kS);
  EXPECT_EQ(broadcast(Dim(1), kS), kS);
  EXPECT_EQ(broadcast(kS, kS), kS);
  EXPECT_EQ(broadcast(Dim(3), Dim(3)), Dim(3));
  EXPECT_FALSE(broadcast(Dim(3), Dim(2)).valid());
  const Dim both = broadcast(Dim(3), kS);
  EXPECT_EQ(broadcast(both, both), both);
  EXPECT_EQ(broadcast(kS, both), both);
  EXPECT_EQ(broadcast(broadcast(kB, kS), both), broadcast(both, broadcast(kS, kB)));
  EXPECT_EQ(dim(broadcast(both, kB).to_string()), broadcast(both, kB));
  EXPECT_FALSE(broadcast(both, Dim(2)).valid());
}

TEST(Dim, ABroadcastResolvesOnceItsSymbolsAreBound) {
  const Dim both = broadcast(kS, kB);
  EXPECT_EQ(both.eval({{"S", 4}, {"B", 1}}), 4);
  EXPECT_EQ(both.eval({{"S", 1}, {"B", 5}}), 5);
  EXPECT_EQ(both.eval({{"S", 4}, {"B", 4}}), 4);
  EXPECT_EQ(both.eval({{"S", 4}, {"B", 5}}), std::nullopt);
  EXPECT_EQ(both.substitute("B", Dim(1)), kS);
}

TEST(Dim, ComparisonsAreOneOrZero) {
  EXPECT_EQ(ge(Dim(3), Dim(3)), Dim(1));
  EXPECT_EQ(ge(Dim(2), Dim(3)), Dim(0));
  EXPECT_EQ(eq(kS, kS), Dim(1));
  EXPECT_EQ(ge(kS, Dim(3)).eval({{"S", 3}}), 1);
  EXPECT_EQ(ge(kS, Dim(3)).eval({{"S", 2}}), 0);
  EXPECT_EQ(eq(kS, Dim(3)).eval({{"S", 3}}), 1);
  EXPECT_EQ(eq(kS, Dim(3)).eval({{"S", 4}}), 0);
  for (const Dim& written : {ge(kS, Dim(3)), eq(kS, kB), kS - kS * ge(kS - Dim(2), Dim(0))}) {
    EXPECT_EQ(dim(written.to_string()), written);
  }
}

TEST(Dim, OverflowInvalidatesAllLaterResults) {
  const Dim huge = Dim(INT64_MAX);
  EXPECT_FALSE((huge + Dim(1)).valid());
  EXPECT_FALSE((huge * Dim(2)).valid());
  EXPECT_FALSE((huge * kS * Dim(2)).valid());
  EXPECT_FALSE((Dim(INT64_MIN) - Dim(1)).valid());
  const Dim bad = huge + Dim(1);
  EXPECT_FALSE((bad - bad).valid());
  EXPECT_FALSE((bad * Dim(0) + kS).valid());
  EXPECT_FALSE(bad == bad);
  EXPECT_FALSE(bad.to_int());
  EXPECT_EQ((huge * kS).eval({{"S", 2}}), std::nullopt);
}

TEST(Dim, GrowthWithoutBoundIsInvalid) {
  Dim product = 1;
  for (int i = 0; i < 40; ++i) {
    product *= Dim::symbol("a" + std::to_string(i)) + Dim::symbol("b" + std::to_string(i));
  }
  EXPECT_FALSE(product.valid());
}

TEST(Dim, EvaluatesIfAllSymbolsAreBound) {
  EXPECT_EQ(dim("(S+B)/2").eval({{"S", 4}, {"B", 3}}), 3);
  EXPECT_EQ(dim("(S+B)/2").eval({{"S", 4}}), std::nullopt);
  EXPECT_EQ(dim("5").eval({}), 5);
}

TEST(Dim, SubstitutesExpressions) {
  EXPECT_EQ(dim("(S+1)/2").substitute("S", Dim(2) * kB + Dim(1)), kB + Dim(1));
  EXPECT_EQ(dim("min(S, B)").substitute("S", kB), kB);
  EXPECT_EQ(kS.substitute("B", Dim(3)), kS);
  EXPECT_TRUE(dim("S*(B/2)").mentions("B"));
  EXPECT_FALSE(dim("S*(B/2)").substitute("B", Dim(4)).mentions("B"));
}

TEST(Dim, AnInvalidDimHasNoValue) {
  const auto found = (Dim(INT64_MAX) + Dim(1)).as_int();
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("beyond 64 bits"), std::string::npos);
}

TEST(Dim, AsIntNamesTheExpressionAndItsSymbols) {
  const auto found = dim("(S+1)/2").as_int();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::kSymbol);
  EXPECT_NE(found.error().to_string().find("S"), std::string::npos);
}

TEST(Dim, AsSymbolReturnsTheNameOfASingleSymbol) {
  EXPECT_EQ(kS.as_symbol(), "S");
  EXPECT_EQ((kS + Dim(0)).as_symbol(), "S");
  EXPECT_EQ((kS + Dim(1)).as_symbol(), std::nullopt);
  EXPECT_EQ(Dim(1).as_symbol(), std::nullopt);
}

class Printed : public ::testing::TestWithParam<const char*> {};

TEST_P(Printed, ParsesBack) {
  const Dim first = dim(GetParam());
  EXPECT_EQ(dim(first.to_string()), first) << first.to_string();
}

INSTANTIATE_TEST_SUITE_P(Dim, Printed,
                         ::testing::Values("0", "-3", "S", "-S", "2*S-3", "S*S", "S*B*2",
                                           "(S+1)/2-1", "(S/2+B)/3", "min(S, B)", "max(S-4, 0)",
                                           "broadcast(S, B)", "S*(B/2)", "3*(S/2)+2*(B/3)",
                                           "(3*S+1)/2*B", "min(S, 4*B)/2",
                                           "9223372036854775807*S"));

// -(1+S)/2 parses as (-(1+S))/2, so a negated division must be printed in parentheses.
TEST(Dim, ADivisionAfterALeadingSignParsesBack) {
  for (const char* text : {"-((S+1)/2)", "S-(S+1)/2", "-(S/2)"}) {
    const Dim first = dim(text);
    EXPECT_EQ(dim(first.to_string()), first) << first.to_string();
  }
}

class Malformed : public ::testing::TestWithParam<const char*> {};

TEST_P(Malformed, IsAnErrorThatQuotesTheText) {
  const auto parsed = parse_dim(GetParam());
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, Code::kParse);
  EXPECT_NE(parsed.error().to_string().find(GetParam()), std::string::npos)
      << parsed.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(Dim, Malformed,
                         ::testing::Values("", "S+", "(S", "S)", "S/0", "S S", "min(S", "foo(S)",
                                           "99999999999999999999", "*S", "S$"));

// Symbols in tract's files are named by PyTorch, and may contain a slash.
TEST(Dim, NamesMayContainASlash) { EXPECT_EQ(dim("S/B").as_symbol(), "S/B"); }

TEST(Dim, DeepNestingIsAnError) {
  const std::string deep(200000, '(');
  EXPECT_FALSE(parse_dim(deep + "S").ok());
  std::string chain = "S";
  for (int i = 0; i < 100; ++i) chain += str_cat("#A", i);
  EXPECT_FALSE(parse_dim(chain).ok());
}

TEST(Dim, VolumeMultiplies) {
  const std::vector<Dim> shape = {2, kS, 3};
  EXPECT_EQ(volume(shape), Dim(6) * kS);
  EXPECT_EQ(volume({}), Dim(1));
}

}  // namespace
}  // namespace rill
