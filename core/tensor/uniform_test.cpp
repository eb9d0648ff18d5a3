#include "core/tensor/uniform.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/tensor/visit_number.h"

namespace rill {
namespace {

TensorPtr floats(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  return std::make_shared<const Tensor>(
      std::move(Tensor::of<float>(DType::kF32, {count}, values)).value());
}

TEST(Uniform, ComparesBits) {
  EXPECT_TRUE(is_uniform(floats({2, 2, 2})));
  EXPECT_TRUE(is_uniform(floats({NAN, NAN})));
  EXPECT_FALSE(is_uniform(floats({2, 2, 3})));
  EXPECT_FALSE(is_uniform(floats({0.0F, -0.0F})));
  EXPECT_FALSE(is_uniform(floats({})));
  EXPECT_FALSE(is_uniform(nullptr));
}

TEST(Uniform, FindsTheNumber) {
  EXPECT_EQ(uniform_number(floats({2, 2, 2})), 2.0);
  EXPECT_EQ(uniform_number(floats({0.0F, -0.0F})), 0.0);
  EXPECT_FALSE(uniform_number(floats({2, 3})));
  EXPECT_FALSE(uniform_number(floats({})));
  EXPECT_FALSE(uniform_number(nullptr));
  const std::vector<Dim> dims = {Dim(4), Dim(4)};
  const auto same = std::make_shared<const Tensor>(
      std::move(Tensor::of<Dim>(DType::kDim, {2}, dims)).value());
  EXPECT_EQ(uniform_number(same), 4.0);
  EXPECT_FALSE(uniform_number(std::make_shared<const Tensor>(Tensor::scalar(Dim::symbol("S")))));
}

TEST(Uniform, FindsTensorsOfZeroBits) {
  EXPECT_TRUE(has_zero_bits_only(*floats({0, 0})));
  EXPECT_FALSE(has_zero_bits_only(*floats({0.0F, -0.0F})));
  EXPECT_TRUE(has_zero_bits_only(*floats({})));
}

TEST(VisitOneOf, VisitsListedTypesOnly) {
  int64_t bytes = 0;
  const auto visit = [&](auto tag) { bytes = sizeof tag; };
  EXPECT_TRUE((visit_one_of<float, int16_t>(DType::kI16, visit)));
  EXPECT_EQ(bytes, 2);
  EXPECT_FALSE((visit_one_of<float, int16_t>(DType::kU16, visit)));
  EXPECT_FALSE((visit_one_of<float, int16_t>(DType::kQI8, visit)));
  EXPECT_TRUE((visit_one_of<int8_t>(stored_type(DType::kQI8), visit)));
  EXPECT_EQ(bytes, 1);
}

}  // namespace
}  // namespace rill
