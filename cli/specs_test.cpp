#include "cli/specs.h"

#include <gtest/gtest.h>

#include "cli/ron_impl.h"

namespace rill::cli {
namespace {

TEST(FactSpec, ReadsNameExtentsAndType) {
  const auto spec = parse_fact_spec("x:1,S+2,_,F32");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->name, "x");
  EXPECT_EQ(spec->dtype, DType::kF32);
  ASSERT_EQ(spec->shape.size(), 3U);
  EXPECT_EQ(*spec->shape[0], Dim(1));
  EXPECT_EQ(*spec->shape[1], Dim::symbol("S") + Dim(2));
  EXPECT_FALSE(spec->shape[2].has_value());
}

TEST(FactSpec, NameAndTypeMayBeAbsent) {
  const auto spec = parse_fact_spec("1,3,224");
  ASSERT_TRUE(spec.ok());
  EXPECT_TRUE(spec->name.empty());
  EXPECT_FALSE(spec->dtype.has_value());
  EXPECT_EQ(spec->shape.size(), 3U);
}

TEST(FactSpec, FunctionsKeepTheirCommas) {
  const auto spec = parse_fact_spec("max(B,2),f32");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->shape.size(), 1U);
}

TEST(FactSpec, ValuesBecomeATensor) {
  const auto spec = parse_fact_spec("x:2,f32=1,-2.5");
  ASSERT_TRUE(spec.ok());
  const auto tensor = spec_tensor(*spec);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->data<float>()[1], -2.5F);
  EXPECT_FALSE(spec_tensor(*parse_fact_spec("x:3,f32=1,2")).ok());
  EXPECT_FALSE(spec_tensor(*parse_fact_spec("x:S,f32=1,2")).ok());
}

TEST(FactSpec, RefusesInvalidExtents) {
  EXPECT_FALSE(parse_fact_spec("4x2").ok());
  EXPECT_FALSE(parse_fact_spec("-1,f32").ok());
  EXPECT_FALSE(parse_fact_spec("@io.npz").ok());
}

TEST(PulseSpec, TakesASymbolOrMeansS) {
  EXPECT_EQ(parse_pulse_spec("T=16")->first, "T");
  EXPECT_EQ(parse_pulse_spec("8")->first, "S");
  EXPECT_EQ(parse_pulse_spec("8")->second, Dim(8));
}

TEST(PulseSpec, RefusesLessThanAFrame) {
  EXPECT_EQ(parse_pulse_spec("S=0").status().code(), Code::kPulse);
  EXPECT_FALSE(parse_pulse_spec("S=-4").ok());
  EXPECT_FALSE(parse_pulse_spec("S=").ok());
  EXPECT_FALSE(parse_pulse_spec("=8").ok());
}

TEST(Setting, NamesTheWrongForm) {
  const auto setting = parse_setting("B");
  ASSERT_FALSE(setting.ok());
  EXPECT_EQ(setting.error().message, "--set must be in the X=value form, got B");
  EXPECT_FALSE(parse_setting("B=").ok());
  EXPECT_FALSE(parse_setting("B=-1").ok());
  EXPECT_EQ(parse_setting("S=2*B")->second, Dim(2) * Dim::symbol("B"));
}

TEST(RangeSpec, ReadsBothForms) {
  const auto named = parse_range_spec("x=1.0..10.0");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->name, "x");
  EXPECT_EQ(named->high, 10.0);
  EXPECT_TRUE(parse_range_spec("0..4")->name.empty());
  EXPECT_FALSE(parse_range_spec("4..0").ok());
  EXPECT_FALSE(parse_range_spec("x").ok());
}

TEST(Tolerance, LevelsAreThoseOfTheTable) {
  EXPECT_EQ(tolerance_named("approximate")->absolute, 1e-4);
  EXPECT_EQ(tolerance_named("approximate")->relative, 5e-4);
  EXPECT_EQ(audit::for_half(*tolerance_named("close")).absolute, 1e-3);
  EXPECT_FALSE(tolerance_named("roughly").has_value());
  EXPECT_EQ(parse_custom_tolerance("0.1,0.2,0.3")->outliers, 0.3);
  EXPECT_FALSE(parse_custom_tolerance("0.1").ok());
}

TEST(Transform, ReadsNameCallAndJson) {
  EXPECT_EQ(parse_transform("unfold-kv-cache")->name, "unfold_kv_cache");
  const auto call = parse_transform(R"(set_symbols(values: {"B": 1, "S": "2*B"}))");
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->fields["values"]["B"], 1);
  EXPECT_EQ(call->fields["values"]["S"], "2*B");
  const auto pulse = parse_transform(R"(pulse(symbol: Some("T"), pulse: "8"))");
  ASSERT_TRUE(pulse.ok());
  EXPECT_EQ(pulse->fields["symbol"], "T");
  const auto json = parse_transform(R"({"name": "select_outputs", "outputs": ["y"]})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->name, "select_outputs");
  EXPECT_EQ(json->fields["outputs"][0], "y");
}

TEST(Transform, RefusesBrokenCalls) {
  for (const char* text : {"", "pulse(", "pulse(pulse: )", "pulse(pulse: \"8)", "pulse(8)",
                           "pulse(pulse: \"8\") x", "{\"no\": 1}", "{"}) {
    EXPECT_FALSE(parse_transform(text).ok()) << text;
  }
}

}  // namespace
}  // namespace rill::cli
