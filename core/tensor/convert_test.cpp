// Casts by the rules of tract_core_cast: the table in the dialect's chapter on casts.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/tensor/tensor.h"

namespace rill {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
Tensor tensor(DType dtype, const std::vector<T>& values, QParams q = {}) {
  Tensor out = std::move(Tensor::zeros(dtype, {static_cast<int64_t>(values.size())}, q)).value();
  std::copy(values.begin(), values.end(), out.mutable_data<T>());
  return out;
}

template <class To, class From>
std::vector<To> cast_of(DType from, const std::vector<From>& values, DType to, QParams from_q = {},
                        QParams to_q = {}) {
  const auto out = cast(tensor(from, values, from_q), to, to_q);
  EXPECT_TRUE(out.ok());
  if (!out.ok()) return {};
  return {out->template values<To>().begin(), out->template values<To>().end()};
}

TEST(Cast, FloatsToIntegersTruncateAndSaturate) {
  EXPECT_EQ((cast_of<int8_t, float>(DType::kF32, {1.9F, -1.9F, 300, -300, kInf, -kInf, kNan},
                                    DType::kI8)),
            (std::vector<int8_t>{1, -1, 127, -128, 127, -128, 0}));
  EXPECT_EQ((cast_of<uint8_t, float>(DType::kF32, {-1, 255.9F, 256, kNan}, DType::kU8)),
            (std::vector<uint8_t>{0, 255, 255, 0}));
  EXPECT_EQ((cast_of<int32_t, float>(DType::kF32, {2147483648.0F, -2147483648.0F, 2147483520.0F},
                                     DType::kI32)),
            (std::vector<int32_t>{INT32_MAX, INT32_MIN, 2147483520}));
  EXPECT_EQ((cast_of<int64_t, double>(DType::kF64, {1e300, -1e300, 0x1p62}, DType::kI64)),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN, int64_t{1} << 62}));
  EXPECT_EQ((cast_of<uint64_t, double>(DType::kF64, {1e300, -1.0}, DType::kU64)),
            (std::vector<uint64_t>{UINT64_MAX, 0}));
}

TEST(Cast, IntegersWrap) {
  EXPECT_EQ((cast_of<uint8_t, int32_t>(DType::kI32, {256, 257, -1}, DType::kU8)),
            (std::vector<uint8_t>{0, 1, 255}));
  EXPECT_EQ((cast_of<int8_t, int64_t>(DType::kI64, {128, -129}, DType::kI8)),
            (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ((cast_of<int32_t, uint64_t>(DType::kU64, {UINT64_MAX, 0x80000000U}, DType::kI32)),
            (std::vector<int32_t>{-1, INT32_MIN}));
}

TEST(Cast, IntegersToFloatsRoundToNearestEven) {
  EXPECT_EQ((cast_of<float, int64_t>(DType::kI64, {16777217, 16777219, -16777217}, DType::kF32)),
            (std::vector<float>{16777216.0F, 16777220.0F, -16777216.0F}));
  EXPECT_EQ(
      (cast_of<float, double>(DType::kF64, {1.0 + 0x1p-24, 1.0 + 0x3p-24, 1e300}, DType::kF32)),
      (std::vector<float>{1.0F, 1.0F + 0x1p-22F, kInf}));
}

TEST(Cast, HalfPrecisionRoundsToNearestEvenAndOverflowsToInfinity) {
  const std::vector<float> values = {1.0F + 0x1p-11F, 1.0F + 0x3p-11F, 65519.0F, 65520.0F,
                                     0x1p-25F};
  const auto out = cast(tensor(DType::kF32, values), DType::kF16);
  ASSERT_TRUE(out.ok());
  const auto* bits = out->data<uint16_t>();
  EXPECT_EQ(bits[0], 0x3C00);
  EXPECT_EQ(bits[1], 0x3C02);
  EXPECT_EQ(bits[2], 0x7BFF);
  EXPECT_EQ(bits[3], 0x7C00);
  EXPECT_EQ(bits[4], 0x0000);
}

TEST(Cast, AnythingButZeroIsTrue) {
  EXPECT_EQ((cast_of<uint8_t, float>(DType::kF32, {0, -0.0F, 0.5F, kNan, -3}, DType::kBool)),
            (std::vector<uint8_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ((cast_of<uint8_t, int64_t>(DType::kI64, {0, 256}, DType::kBool)),
            (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ((cast_of<float, uint8_t>(DType::kBool, {0, 1}, DType::kF32)),
            (std::vector<float>{0, 1}));
}

TEST(Cast, DimsThatAreNumbersConvert) {
  const auto out = cast(tensor<Dim>(DType::kDim, {Dim(7), Dim(-1)}), DType::kF32);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->data<float>()[0], 7.0F);
  EXPECT_EQ(out->data<float>()[1], -1.0F);
  const auto open = cast(tensor<Dim>(DType::kDim, {Dim::symbol("S")}), DType::kI64);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, Code::kSymbol);
}

TEST(Cast, NumbersToDimsKeepAllBits) {
  const auto out = cast(tensor<int64_t>(DType::kI64, {3000000000, -5}), DType::kDim);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->data<Dim>()[0], Dim(3000000000));
  EXPECT_EQ(out->data<Dim>()[1], Dim(-5));
}

TEST(Cast, QuantisedNumbersConvertAsReals) {
  const QParams q{10, 0.5F};
  EXPECT_EQ((cast_of<float, uint8_t>(DType::kQU8, {0, 10, 13}, DType::kF32, q)),
            (std::vector<float>{-5, 0, 1.5F}));
  // 0.25/0.5+10 = 10.5 and 0.75/0.5+10 = 11.5 round to even.
  EXPECT_EQ((cast_of<uint8_t, float>(DType::kF32, {0.25F, 0.75F, 1000, -1000}, DType::kQU8, {}, q)),
            (std::vector<uint8_t>{10, 12, 255, 0}));
}

TEST(Cast, StringsAreRefused) {
  const auto text = cast(tensor<int64_t>(DType::kI64, {42}), DType::kString);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::kUnsupported);
}

TEST(Cast, DISABLED_Open_StringsAreParsedAndPrinted) {
  const auto number = cast(tensor<std::string>(DType::kString, {"42", "-7"}), DType::kI64);
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(number->data<int64_t>()[1], -7);
  const auto text = cast(tensor<int64_t>(DType::kI64, {42}), DType::kString);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->data<std::string>()[0], "42");
}

TEST(Cast, EmptyTensorsStayEmpty) {
  const auto out = cast(tensor<float>(DType::kF32, {}), DType::kI64);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->volume(), 0);
}

}  // namespace
}  // namespace rill
