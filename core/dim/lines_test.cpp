#include "core/dim/lines.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/splitmix.h"
#include "core/base/text.h"

namespace rill {
namespace {

bool proven(std::string_view text) {
  const auto dim = parse_dim(text);
  EXPECT_TRUE(dim.ok()) << text;
  return dim.ok() && never_negative(*dim);
}

TEST(NeverNegative, BoundsTheRoundingOfDivisions) {
  EXPECT_TRUE(proven("S/2"));
  EXPECT_TRUE(proven("4*((S+7)/8) - (S+1)/2"));
  EXPECT_FALSE(proven("4*((S+6)/8) - (S+1)/2"));  // -1 at 1
  EXPECT_TRUE(proven("4 + (1+S)/2 - max((1+S)/2 - 4*((7+S)/8), 0)"));
  EXPECT_FALSE(proven("S-3"));
  EXPECT_TRUE(proven("max(S-3, 0)"));
  EXPECT_TRUE(proven("S - min(S, 4)"));
  EXPECT_FALSE(proven("S - min(2*S, 4)"));
}

TEST(NeverNegative, TreatsAProductOfSizesAsASize) {
  EXPECT_TRUE(proven("B*S"));
  EXPECT_TRUE(proven("B*(S/8) + B*max(0, S-5)"));
  EXPECT_FALSE(proven("B*S - S"));
}

/// Draw an expression in S and B.
std::string drawn(Splitmix64* draw, int depth) {
  if (depth == 0) {
    const int64_t form = draw->in(0, 3);
    return form == 0 ? "B" : form == 1 ? str_cat(draw->in(-9, 9)) : "S";
  }
  const std::string a = drawn(draw, depth - 1);
  const std::string b = drawn(draw, depth - 1);
  switch (draw->in(0, 7)) {
    case 0: return str_cat("(", a, ")/", draw->in(2, 5));
    case 1: return str_cat("max(", a, ", ", b, ")");
    case 2: return str_cat("min(", a, ", ", b, ")");
    case 3: return str_cat("ge(", a, ", ", b, ")");
    case 4: return str_cat("(", a, ")*(", b, ")");
    case 5: return str_cat(draw->in(2, 4), "*(", a, ") - (", b, ")");
    default: return str_cat("(", a, ") + (", b, ")");
  }
}

TEST(NeverNegative, HoldsAtEverySize) {
  Splitmix64 draw(1);
  int proofs = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto dim = parse_dim(drawn(&draw, static_cast<int>(draw.in(1, 4))));
    if (!dim.ok() || dim->is_const() || !never_negative(*dim)) continue;
    ++proofs;
    for (int64_t s = 0; s < 24; ++s) {
      for (const int64_t b : {0, 1, 2, 5}) {
        EXPECT_GE(dim->eval({{"S", s}, {"B", b}}).value_or(0), 0)
            << dim->to_string() << " at S=" << s << ", B=" << b;
      }
    }
  }
  EXPECT_GT(proofs, 500);
}

}  // namespace
}  // namespace rill
