#include <gtest/gtest.h>

#include "nnef_loader/build/test_ops.h"
#include "nnef_loader/properties.h"

namespace rill::nnef {
namespace {

using namespace test;  // NOLINT: the helpers of these tests

constexpr char kOfTract[] =
    "(\"pulse.delay\", tract_core_cast([3], to = \"i64\")), "
    "(\"pulse.input_axes\", tract_core_cast([2], to = \"i64\")), "
    "(\"pulse.output_axes\", tract_core_cast([2], to = \"i64\"))";

constexpr char kOfRill[] =
    "(\"pulse.delay\", tract_core_cast([3, 0], to = \"i64\")), "
    "(\"pulse.input_axes\", tract_core_cast([2, -1], to = \"i64\")), "
    "(\"pulse.output_axes\", tract_core_cast([2, -1], to = \"i64\")), "
    "(\"pulse.streaming_symbol\", [\"T\"]), "
    "(\"rill.model\", [\"0123456789abcdef0123456789abcdef\"]), "
    "(\"rill.pulse.approx\", [\"one\", \"two\"]), "
    "(\"rill.pulse.asserted\", [\"-1+T\", \"9-T\"]), "
    "(\"rill.pulse.begins\", tract_core_cast([4, 8], to = \"i64\")), "
    "(\"rill.pulse.input_lengths\", [\"3+T\", \"\"]), "
    "(\"rill.pulse.late_end\", tract_core_cast([1], to = \"i64\")), "
    "(\"rill.pulse.longest\", tract_core_cast([9], to = \"i64\")), "
    "(\"rill.pulse.output_lengths\", [\"-2+T\", \"\"]), "
    "(\"rill.pulse.pulse\", tract_core_cast([4], to = \"i64\")), "
    "(\"rill.pulse.wires\", [\"0 x\", \"3 a b:1\"])";

Result<Graph> load_properties(const std::string& list) {
  return load_text(
      str_cat("version 1.0; extension tract_registry tract_core;"
              "fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[])"
              "{ properties = [",
              list, "]; } graph network(x) -> (x) { x = external(shape = [1, 2, 4]); }"));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_written_back(const Graph& graph, const std::string& list) {
  const auto text = graph_text(graph, {});
  ASSERT_TRUE(text.ok()) << text.error().to_string();
  EXPECT_NE(text->find(str_cat("properties = [", list, ", (\"tract_nnef_ser_version\"")),
            std::string::npos)
      << *text;
}

TEST(Numbers, OfAFileAreRefusedWhereTheyAreCountedWrong) {
  const std::string numbers = R"x(("rill.numbers", ["-3+S", "max(-3+S, 0)", "y", "Mul"]))x";
  const Graph graph = loaded(load_text(
      str_cat("version 1.0; extension tract_registry tract_core; extension tract_symbol S;"
              "fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[])"
              "{ properties = [", numbers,
              "]; } graph network(x) -> (x) { x = tract_core_external(shape = [S], "
              "datum_type = 'f32'); }")));
  EXPECT_TRUE(graph.properties.empty());
  expect_written_back(graph, numbers);
  EXPECT_TRUE(graph.with_symbol("S", Dim(3)).ok());
  const auto few = graph.with_symbol("S", Dim(2));
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(few.error().node, "y");
}

TEST(Numbers, OfADamagedFileAreRefused) {
  for (const char* list : {R"(["S", "S", "y"])", R"(["S +", "S", "y", "Mul"])", "[1, 2, 3, 4]"}) {
    const auto graph = load_properties(str_cat("(\"rill.numbers\", ", list, ")"));
    ASSERT_FALSE(graph.ok()) << list;
    EXPECT_EQ(graph.error().code, Code::kParse);
    EXPECT_NE(graph.error().message.find("rill.numbers"), std::string::npos);
  }
}

TEST(Streaming, OfAFileByTractIsReadAndWrittenBack) {
  const Graph graph = loaded(load_properties(kOfTract));
  ASSERT_TRUE(graph.streaming);
  EXPECT_TRUE(graph.properties.empty());
  EXPECT_EQ(graph.streaming->symbol(), "S");
  EXPECT_EQ(graph.streaming->pulse, 0);
  EXPECT_EQ(graph.streaming->input_axis(0), 2);
  EXPECT_EQ(graph.streaming->output(0).axis, 2);
  EXPECT_EQ(graph.streaming->output(0).delay, 3);
  EXPECT_FALSE(graph.streaming->output(0).length);
  EXPECT_EQ(graph.streaming->output(1).axis, -1) << "past the end of the list";
  expect_written_back(graph, kOfTract);
  const std::string named = str_cat(kOfTract, ", (\"pulse.streaming_symbol\", [\"S\"])");
  expect_written_back(loaded(load_properties(named)), named);
}

TEST(Streaming, OfAFileByRillIsReadAndWrittenBack) {
  const Graph graph = loaded(load_properties(kOfRill));
  ASSERT_TRUE(graph.streaming);
  const Streaming& streaming = *graph.streaming;
  EXPECT_EQ(streaming.symbol(), "T");
  EXPECT_EQ(streaming.pulse, 4);
  EXPECT_EQ(streaming.input_axes, (std::vector<int>{2, -1}));
  ASSERT_TRUE(streaming.input_length(0).has_value());
  EXPECT_EQ(streaming.input_length(0)->to_string(), "3+T");
  EXPECT_FALSE(streaming.input_length(1).has_value());
  EXPECT_EQ(streaming.output(0).length, Dim::symbol("T") - Dim(2));
  EXPECT_FALSE(streaming.output(1).length);
  ASSERT_EQ(streaming.wires.size(), 2U);
  EXPECT_EQ(streaming.wires[1].name, "a b:1");
  EXPECT_EQ(streaming.wires[1].delay, 3);
  EXPECT_EQ(streaming.begin_unit, 4);
  EXPECT_EQ(streaming.settled, 8);
  EXPECT_TRUE(streaming.late_end);
  EXPECT_EQ(streaming.longest, 9);
  EXPECT_EQ(streaming.asserted.size(), 2U);
  EXPECT_EQ(streaming.approximations, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(streaming.model,
            (std::array<uint64_t, 2>{0x0123456789abcdefU, 0x0123456789abcdefU}));
  expect_written_back(graph, kOfRill);
}

TEST(Streaming, ThatDoesNotParseIsAnErrorWithKeyAndText) {
  const struct {
    const char* from;
    const char* to;
    std::vector<std::string> expected;
  } cases[] = {
      {"3 a b:1", "three a", {"rill.pulse.wires", "\"three a\""}},
      {"3 a b:1", "3", {"rill.pulse.wires", "\"3\""}},
      {"-2+T", "T-", {"rill.pulse.output_lengths", "\"T-\""}},
      {"[\"-2+T\", \"\"]", "[\"T-2\"]", {"rill.pulse.output_lengths", "2 texts", "found 1"}},
      {"[\"-2+T\", \"\"]", "[\"\", \"\"]", {"rill.pulse.output_lengths", "\"\""}},
      {"3+T", "3+(T", {"rill.pulse.input_lengths", "\"3+(T\""}},
      {"[\"3+T\", \"\"]", "[\"3+T\"]", {"rill.pulse.input_lengths", "2 texts", "found 1"}},
      {"9-T", "9-(T", {"rill.pulse.asserted", "\"9-(T\""}},
      {"cdef\"", "cdeg\"", {"rill.model", "89abcdeg"}},
      {"[4, 8]", "[4]", {"rill.pulse.begins", "2 integers", "found 1"}},
      {"[1], to", "[2], to", {"rill.pulse.late_end", "0 or 1", "found 2"}},
      {"[4], to", "[0], to", {"rill.pulse.pulse", "at least 1", "found 0"}},
      {"[9], to", "[-1], to", {"rill.pulse.longest", "at least 0", "found -1"}},
      {"tract_core_cast([4], to = \"i64\")", "relu(x)", {"rill.pulse.pulse", "relu"}},
      {"tract_core_cast([4], to = \"i64\")", "\"four\"", {"rill.pulse.pulse", "integers"}},
      {"[\"0 x\", \"3 a b:1\"]", "[1, 2]", {"rill.pulse.wires", "texts"}},
      {"[2, -1]", "[99, -1]", {"pulse.input_axes", "99"}},
      {"[3, 0]", "[3]", {"pulse.delay", "2 integers", "found 1"}},
      {"\"pulse.output_axes\"", "\"other\"", {"pulse.output_axes", "nothing"}},
      {"\"pulse.delay\"", "\"other\"", {"pulse.delay", "nothing"}},
      {"[\"T\"]", "[\"\"]", {"pulse.streaming_symbol"}},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(str_cat(each.from, " -> ", each.to));
    expect_error(load_properties(replaced(kOfRill, each.from, each.to)), each.expected);
  }
  expect_error(load_properties("(\"rill.pulse.pulse\", tract_core_cast([4], to = \"i64\"))"),
               {"pulse.delay", "graph.nnef:1"});
}

}  // namespace
}  // namespace rill::nnef
