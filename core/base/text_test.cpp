#include "core/base/text.h"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(Counted, JoinsACountWithItsNoun) {
  EXPECT_EQ(str_cat("delay of ", counted(1, "frame")), "delay of 1 frame");
  EXPECT_EQ(str_cat(counted(0, "frame"), " and ", counted(3, "frame")), "0 frames and 3 frames");
  EXPECT_EQ(str_cat(counted(size_t{1}, "axis", "axes")), "1 axis");
  EXPECT_EQ(str_cat(counted(uint32_t{2}, "axis", "axes")), "2 axes");
}

}  // namespace
}  // namespace rill
