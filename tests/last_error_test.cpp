// Errors escape control characters in names from files.

#include <gtest/gtest.h>

#include <string>

#include "rill/rill.h"

namespace rill::test {
namespace {

constexpr char kHostile[] = "a\x1b[2Jb\xe2\x80\xae\nforged\xc2\x9b";
constexpr char kShown[] = "a\\x1b[2Jb\\u202e\\nforged\\u009b";

std::string load_error(const std::string& statement) {
  const std::string text =
      "version 1.0;\nextension tract_registry tract_core;\n"
      "graph network(x) -> (y)\n{\n"
      "  x = tract_core_external(shape = [2], datum_type = 'f32');\n  " +
      statement + "\n}\n";
  rill_model* model = nullptr;
  EXPECT_NE(rill_load_memory(text.data(), text.size(), nullptr, &model), RILL_OK);
  return rill_last_error();
}

void expect_shown(const std::string& text) {
  EXPECT_NE(text.find(kShown), std::string::npos) << text;
  for (const char* obeyed : {"\x1b", "\xe2\x80\xae", "\xc2\x9b", "\nforged"}) {
    EXPECT_EQ(text.find(obeyed), std::string::npos) << text;
  }
}

TEST(LastError, EscapesNamesOfTheFile) {
  const std::string name = std::string("i\"") + kHostile + "\"";
  expect_shown(load_error("y = " + name + "(x);"));
  expect_shown(load_error("y = relu(" + name + ");"));
  expect_shown(load_error(name + " = conv(x, x); y = relu(" + name + ");"));
}

TEST(LastError, EscapesThePartsOfAnErrorAsWell) {
  load_error(std::string("y = i\"") + kHostile + "\"(x);");
  rill_error_info info{};
  info.size = sizeof info;
  ASSERT_EQ(rill_last_error_info(&info), RILL_OK);
  for (const char* part : {info.message, info.node, info.op, info.file, info.hint}) {
    const std::string text = part;
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\nforged"), std::string::npos) << text;
  }
}

TEST(LastError, EscapesNamesOfTheCaller) {
  rill_model* model = nullptr;
  ASSERT_NE(rill_load(kHostile, nullptr, &model), RILL_OK);
  expect_shown(rill_last_error());
}

}  // namespace
}  // namespace rill::test
