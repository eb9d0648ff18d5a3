#include "core/base/printable.h"

#include <gtest/gtest.h>

#include "core/base/status.h"

namespace rill {
namespace {

TEST(Printable, KeepsTextOfAnyLanguage) {
  for (const char* text : {"", "conv1/weights:0", "C:\\models\\m.onnx", "größe", "音声", "🟰 ⓪ µs"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesTerminalCommands) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f"), "a\\x1b[2Jb\\x7f");
  EXPECT_EQ(printable("one\ntwo\r\tthree"), "one\\ntwo\\x0d\\x09three");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b" "31m"), "\\u009b31m") << "CSI of Latin 1";
  EXPECT_EQ(printable("\xe2\x80\xae" "gnp"), "\\u202egnp") << "right to left override";
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c\xe2\x80\xa8"),
            "\\u2066\\u2069\\u061c\\u2028");
}

// Source: Unicode 16, table 3-7, well-formed UTF-8.
TEST(Printable, EscapesInvalidUtf8) {
  EXPECT_EQ(printable("\x9b" "31m"), "\\x9b31m") << "CSI of 8 bits";
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80") << "cut";
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b") << "longer than it has to be";
  EXPECT_EQ(printable("\xc1\xbf\xff"), "\\xc1\\xbf\\xff");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xed\x9f\xbf\xee\x80\x80"), "\xed\x9f\xbf\xee\x80\x80") << "its neighbours";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(printable("a\xef\xbb\xbf" "b"), "a\\ufeffb") << "a byte order mark";
}

TEST(Printable, KeepsLineEndsOnRequest) {
  EXPECT_EQ(printable("a:\n b\x1b", Lines::kKept), "a:\n b\\x1b");
}

TEST(Printable, IsIdempotent) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(printable(printable(all)), printable(all));
}

TEST(Printable, StopsBeforeTextThatDoesNotFit) {
  char room[8];
  EXPECT_EQ(write_printable(room, 5, "ab\x1b" "c", Lines::kEscaped), 2U);
  EXPECT_EQ(write_printable(room, 6, "ab\x1b" "c", Lines::kEscaped), 6U);
  EXPECT_EQ(std::string_view(room, 6), "ab\\x1b");
  EXPECT_EQ(write_printable(room, 3, "aö!", Lines::kEscaped), 3U);
  EXPECT_EQ(write_printable(room, 2, "aö!", Lines::kEscaped), 1U);
}

TEST(Error, EscapesNamesAndKeepsItsOwnLines) {
  const std::string name = "a\nerror: b\x1b[31m";
  const Status status = fail(Code::kArg, "found ", name, ":\n  here")
                            .hint(name)
                            .in_node(name, "Conv");
  EXPECT_EQ(status.error().to_string(),
            "node \"a\\nerror: b\\x1b[31m\" (Conv): found a\\nerror: b\\x1b[31m:\n  here. "
            "a\\nerror: b\\x1b[31m");
}

}  // namespace
}  // namespace rill
