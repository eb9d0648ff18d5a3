#include "nnef_loader/syntax/json.h"

#include <gtest/gtest.h>

namespace rill::nnef {
namespace {

Json read(std::string_view text) {
  auto json = parse_json(text, "t.json");
  EXPECT_TRUE(json.ok()) << json.error().to_string();
  return json.ok() ? std::move(json).value() : Json{};
}

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = read(R"( {"a": [1, -2.5e1, true, null, "x\n\u00e9\ud83d\ude00"], "b": {}} )");
  EXPECT_EQ(*(*json.at("$.a[0]"))->get<int64_t>(), 1);
  EXPECT_EQ(*(*json.at("$.a[1]"))->get<double>(), -25.0);
  EXPECT_TRUE(*(*json.at("$.a[2]"))->get<bool>());
  EXPECT_TRUE((*json.at("$.a[3]"))->get<std::monostate>());
  EXPECT_EQ(*(*json.at("$.a[4]"))->get<std::string>(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_TRUE((*json.at("$.b"))->get<Json::Object>());
  EXPECT_EQ(*json.at("$"), &json);
}

TEST(Json, KeepsWholeNumbersWhole) {
  EXPECT_EQ(*read("9223372036854775807").get<int64_t>(), INT64_MAX);
  EXPECT_EQ(*read("9223372036854775808").get<double>(), 9223372036854775808.0);
  EXPECT_EQ(*read("2.0").get<double>(), 2.0);
}

TEST(Json, LastOfEqualKeysCounts) {
  EXPECT_EQ(*(*read(R"({"a": 1, "a": 2})").at("$.a"))->get<int64_t>(), 2);
}

TEST(Json, PathsThatLeadNowhereGiveNothing) {
  const Json json = read(R"({"a": [1]})");
  for (const char* path : {"$.b", "$.a[1]", "$.a.b", "$[0]", "$.b.c[3]"}) {
    const auto found = json.at(path);
    ASSERT_TRUE(found.ok()) << path;
    EXPECT_EQ(*found, nullptr) << path;
  }
  for (const char* path : {"", "a", "$a", "$.", "$.a[", "$.a[x]", "$.a[1", "$..a", "$.a b"}) {
    EXPECT_FALSE(json.at(path).ok()) << path;
  }
}

TEST(Json, MistakesHaveALine) {
  for (const char* text : {"", "{", "[1,", "[1,]", "{\"a\"}", "{\"a\":}", "{a: 1}", "nul", "\"x",
                           "\"\\q\"", "\"\\u12\"", "\"\\ud800\"", "1.2.3", "[1] 2", "\"a\nb\""}) {
    const auto json = parse_json(text, "t.json");
    ASSERT_FALSE(json.ok()) << text;
    EXPECT_EQ(json.error().code, Code::kParse) << text;
  }
  EXPECT_EQ(parse_json("{\n\"a\": 1,\n]", "t.json").error().line, 3);
  EXPECT_FALSE(parse_json(std::string(100000, '['), "t.json").ok());
}

}  // namespace
}  // namespace rill::nnef
