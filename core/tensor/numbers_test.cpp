#include "core/tensor/numbers.h"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(Numbers, OfIntegersOnlyAreI64) {
  const auto read = numbers_of_text("16000, -1,9223372036854775807");
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->dtype(), DType::kI64);
  EXPECT_EQ(read->shape(), std::vector<int64_t>{3});
  EXPECT_EQ(read->values<int64_t>()[1], -1);
  EXPECT_EQ(read->values<int64_t>()[2], INT64_MAX);
}

TEST(Numbers, WithOneFractionAreF64) {
  const auto read = numbers_of_text("1,0.5,-1e-3");
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->dtype(), DType::kF64);
  EXPECT_EQ(read->values<double>()[0], 1.0);
  EXPECT_EQ(read->values<double>()[2], -1e-3);
}

TEST(Numbers, MalformedTextIsRefused) {
  for (const char* text : {"", "1,", ",1", "x", "1 2", "1;2", "0x10"}) {
    EXPECT_FALSE(numbers_of_text(text).ok()) << text;
  }
}

}  // namespace
}  // namespace rill
