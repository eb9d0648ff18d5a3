// A file beyond a limit that the caller set is refused, and the error contains that limit.

#include <gtest/gtest.h>

#include <cstring>

#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/build/test_ops.h"

namespace rill::nnef {
namespace {

std::string error_of(const std::string& text, const LoadLimits& limits) {
  Entry entry{"graph.nnef", std::vector<std::byte>(text.size())};
  std::memcpy(entry.bytes.data(), text.data(), text.size());
  LoadOptions options;
  options.limits = limits;
  const auto graph = load_entries({entry}, test::ops(), options);
  return graph.ok() ? std::string() : graph.error().to_string();
}

std::string graph_of(const std::string& head, const std::string& statements) {
  return "version 1.0;\n" + head + "graph g(x) -> (y)\n{\n  x = external<scalar>(shape = [2]);\n" +
         statements + "}\n";
}

TEST(Limits, OfTheText) {
  LoadLimits limits;
  const std::string text = graph_of("", "  y = x + 1.0;\n");
  limits.max_text_bytes = static_cast<int64_t>(text.size());
  EXPECT_EQ(error_of(text, limits), "");
  limits.max_text_bytes -= 1;
  EXPECT_NE(error_of(text, limits).find("graph.nnef: a text of "), std::string::npos);
}

TEST(Limits, OfTheNodes) {
  LoadLimits limits;
  limits.max_nodes = 4;
  std::string statements = "  a = x + x;\n  b = a + x;\n";
  EXPECT_EQ(error_of(graph_of("", statements + "  y = b + x;\n"), limits), "");
  statements += "  c = b + x;\n  y = c + x;\n";
  EXPECT_NE(error_of(graph_of("", statements), limits).find("at least 5 nodes: the limit is 4"),
            std::string::npos);
}

TEST(Limits, OfTheSymbols) {
  LoadLimits limits;
  limits.max_symbols = 2;
  const std::string two = "extension tract_symbol A;\nextension tract_symbol B;\n";
  EXPECT_EQ(error_of(graph_of(two, "  y = x + x;\n"), limits), "");
  EXPECT_NE(error_of(graph_of(two + "extension tract_symbol C;\n", "  y = x + x;\n"), limits)
                .find("at least 3 symbols: the limit is 2"),
            std::string::npos);
}

TEST(Limits, OfTheAssertions) {
  LoadLimits limits;
  limits.max_symbols = 2;
  std::string head = "extension tract_symbol A;\n";
  for (int i = 0; i < 32; ++i) head += "extension tract_assert A >= 1;\n";
  EXPECT_EQ(error_of(graph_of(head, "  y = x + x;\n"), limits), "");
  head += "extension tract_assert A >= 1;\n";
  EXPECT_NE(error_of(graph_of(head, "  y = x + x;\n"), limits)
                .find("at least 33 assertions: the limit is 32"),
            std::string::npos);
}

TEST(Limits, OfTheConstants) {
  LoadLimits limits;
  limits.max_folded_bytes = 64;
  const std::string statements = "  c = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];\n";
  EXPECT_EQ(error_of(graph_of("", "  y = x + x;\n"), limits), "");
  std::string many;
  for (int i = 0; i < 40; ++i)
    many += "  y" + std::to_string(i) + " = x + " + std::to_string(i) + ".5;\n";
  EXPECT_NE(error_of(graph_of("", many + "  y = y0 + y1;\n"), limits).find("the limit is 64"),
            std::string::npos);
}

}  // namespace
}  // namespace rill::nnef
