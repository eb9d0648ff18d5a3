#include "nnef_loader/syntax/quant.h"

#include <gtest/gtest.h>

#include <string>

namespace rill::nnef {
namespace {

TEST(Quant, ReadsBothFormsWithArgumentsInAnyOrder) {
  const auto info = parse_quant(
      "# a comment\n\"a\": zero_point_linear_quantize(zero_point = 139, scale = 0.029, bits = 8, "
      "signed = false, symmetric = false);\n"
      "i\"b/c\": linear_quantize(max = 0.52, min = -1, bits = 8);\n"
      "\"d\": zero_point_linear_quantize(scale=1e-3, signed=true, bits=32, zero_point=-5);",
      "graph.quant");
  ASSERT_TRUE(info.ok()) << info.error().to_string();
  ASSERT_EQ(info->size(), 3U);
  EXPECT_EQ(info->at("a").zero_point, 139);
  EXPECT_EQ(info->at("a").scale, 0.029F);
  EXPECT_FALSE(info->at("a").is_signed);
  EXPECT_EQ(info->at("b/c").kind, QuantEntry::Kind::kMinMax);
  EXPECT_EQ(info->at("b/c").min, -1.0F);
  EXPECT_TRUE(info->at("b/c").is_signed);
  EXPECT_EQ(info->at("d").zero_point, -5);
  EXPECT_EQ(info->at("d").line, 4);
}

TEST(Quant, PrintedEntriesReadBackExactly) {
  QuantInfo info;
  info["plain"].scale = 1.1754944e-38F;
  info["plain"].zero_point = -128;
  info["odd 'name\""].is_signed = false;
  info["range"].kind = QuantEntry::Kind::kMinMax;
  info["range"].min = -0.1F;
  info["range"].max = 3.0F;
  info["channels"].scales = {0.5F, 0.25F};
  info["channels"].zero_points = {1, 2};
  const std::string text = print_quant(info);
  const auto again = parse_quant(text, "graph.quant");
  ASSERT_TRUE(again.ok()) << again.error().to_string() << text;
  EXPECT_EQ(print_quant(*again), text);
  EXPECT_EQ(again->at("plain").scale, 1.1754944e-38F);
  EXPECT_EQ(again->at("range").min, -0.1F);
  EXPECT_EQ(again->at("channels").scales, info["channels"].scales);
}

TEST(Quant, ReadsListsAsNumPyPrintsThem) {
  const auto info = parse_quant(
      "\"w\": zero_point_linear_quantize(zero_point = [0 0], scale = [0.1 2.e-02\n ], bits = 8, "
      "signed = true);",
      "graph.quant");
  ASSERT_TRUE(info.ok()) << info.error().to_string();
  EXPECT_EQ(info->at("w").scales, (std::vector<float>{0.1F, 0.02F}));
  EXPECT_EQ(quant_type(info->at("w")).error().code, Code::kUnsupported);
}

TEST(Quant, OfTwoEntriesForOneNameTheLastCounts) {
  const auto info = parse_quant(
      "\"a\": linear_quantize(min=0, max=1, bits=8);\"a\": linear_quantize(min=0, max=2, bits=8);",
      "graph.quant");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->at("a").max, 2.0F);
}

TEST(Quant, GivesElementTypesByWidthAndSign) {
  QuantEntry entry;
  entry.scale = 0.5F;
  entry.zero_point = 3;
  EXPECT_EQ(quant_type(entry)->first, DType::kQI8);
  EXPECT_EQ(quant_type(entry)->second, (QParams{3, 0.5F}));
  entry.is_signed = false;
  EXPECT_EQ(quant_type(entry)->first, DType::kQU8);
  entry.bits = 32;
  EXPECT_EQ(quant_type(entry)->first, DType::kU32);
  entry.is_signed = true;
  EXPECT_EQ(quant_type(entry)->first, DType::kQI32);
  entry.bits = 7;
  EXPECT_EQ(quant_type(entry).error().code, Code::kUnsupported);
}

TEST(Quant, ARangeGivesScaleAndTruncatedZeroPoint) {
  QuantEntry entry;
  entry.kind = QuantEntry::Kind::kMinMax;
  entry.min = -51.0F;
  entry.max = 204.0F;
  // scale = 255 / 255, zero point = -(-51 + 204) / 2 / 1 = -76.5, truncated.
  EXPECT_EQ(quant_type(entry)->second, (QParams{-76, 1.0F}));
  entry.max = entry.min;
  EXPECT_EQ(quant_type(entry).error().code, Code::kUnsupported);
}

TEST(Quant, RefusesBadEntriesWithTheirPlace) {
  for (const char* text :
       {"a: linear_quantize(min=0, max=1, bits=8);", "\"a\" linear_quantize(min=0, max=1, bits=8);",
        "\"a\": foo(min=0);", "\"a\": linear_quantize(min=0, bits=8);",
        "\"a\": linear_quantize(min=0, max=1, bits=8)",
        "\"a\": linear_quantize(min=0, min=0, max=1, bits=8);",
        "\"a\": linear_quantize(min=0, max=x, bits=8);",
        "\"a\": linear_quantize(min=0, max=1e99, bits=8);",
        "\"a\": linear_quantize(min=0, max=1, bits=99999999999);",
        "\"a\": zero_point_linear_quantize(zero_point=0.5, scale=1, bits=8, signed=true);",
        "\"a\": zero_point_linear_quantize(zero_point=0, scale=0, bits=8, signed=true);",
        "\"a\": zero_point_linear_quantize(zero_point=0, scale=-1, bits=8, signed=true);",
        "\"a\": zero_point_linear_quantize(zero_point=[], scale=1, bits=8, signed=true);",
        "\"a\": zero_point_linear_quantize(zero_point=[1,2], scale=[1], bits=8, signed=true);",
        "\"a\": zero_point_linear_quantize(zero_point=0, scale=1, bits=8, signed=1);", "\"a",
        "$"}) {
    const auto info = parse_quant(text, "graph.quant");
    ASSERT_FALSE(info.ok()) << text;
    EXPECT_EQ(info.error().code, Code::kParse) << text;
    EXPECT_EQ(info.error().line, 1) << text;
  }
}

TEST(Quant, TextCutShortAnywhereIsAnErrorOrFewerEntries) {
  const std::string text =
      "\"a\": linear_quantize(min=0, max=1, bits=8);\n"
      "\"b\": zero_point_linear_quantize(zero_point=1, scale=0.5, bits=8, signed=true);\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    const auto info = parse_quant(text.substr(0, size), "graph.quant");
    if (info.ok()) {
      EXPECT_LE(info->size(), 2U);
    }
  }
}

}  // namespace
}  // namespace rill::nnef
