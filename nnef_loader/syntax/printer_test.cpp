#include "nnef_loader/syntax/printer.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "nnef_loader/syntax/parser.h"

namespace rill::nnef {
namespace {

Document parsed(const std::string& text) {
  Result<Document> document = parse_document(text, "text");
  EXPECT_TRUE(document.ok()) << text << "\n" << document.error().to_string();
  return document.ok() ? std::move(*document) : Document{};
}

void expect_reads_back(const Document& document) {
  const std::string text = print_document(document);
  EXPECT_TRUE(parsed(text) == document) << text;
  EXPECT_EQ(print_document(parsed(text)), text);
}

TEST(Printer, WritesTheFormThatReadersKnow) {
  const Document document = parsed(
      "version 1.0; extension tract_registry tract_core; extension tract_symbol S;"
      "fragment f<?>(x: tensor<?>, k: integer = 2) -> (y: tensor<?>) { y = x*k; }"
      "graph network(x) -> (y, z) { x = tract_core_external(shape=[1,S],datum_type='f32');"
      "y, z = f(x,k=(S+1)/2); }");
  EXPECT_EQ(print_document(document),
            "version 1.0;\n\n"
            "extension tract_registry tract_core;\nextension tract_symbol S;\n\n"
            "fragment f<?>(\n    x: tensor<?>,\n    k: integer = 2\n) -> (y: tensor<?>)\n"
            "{\n  y = (x * k);\n}\n\n"
            "graph network(x) -> (y, z) {\n"
            "  x = tract_core_external(shape = [1, S], datum_type = \"f32\");\n"
            "  (y, z) = f(x, k = ((S + 1) / 2));\n}\n");
}

TEST(Printer, EscapesBothQuotesAndBackslashes) {
  EXPECT_EQ(print_string("it's \"a\\b\" #1"), "\"it\\'s \\\"a\\\\b\\\" #1\"");
}

TEST(Printer, QuotesNamesThatOthersWouldMisread) {
  EXPECT_EQ(print_identifier("conv_1"), "conv_1");
  for (const char* name : {"info", "true_x", "false", "a.b", "0x", "a b", "if", "yield", "a\"b"}) {
    EXPECT_TRUE(print_identifier(name).starts_with("i\"")) << name;
  }
}

TEST(Printer, SortsDeclarations) {
  Document document = parsed(
      "version 1.0; extension tract_symbol S; extension tract_registry b; extension "
      "tract_registry a; fragment g() -> (); fragment f() -> (); graph n() -> () {}");
  sort_declarations(&document);
  EXPECT_EQ(document.extensions[0].rest, "a");
  EXPECT_EQ(document.extensions[2].name, "tract_symbol");
  EXPECT_EQ(document.fragments[0].name, "f");
}

TEST(Printer, FloatsAlwaysLookLikeFloats) {
  EXPECT_EQ(print_rvalue(RValue::scalar(1.0F)), "1.0");
  EXPECT_EQ(print_rvalue(RValue::scalar(1e-5F)), "1e-05");
  EXPECT_EQ(print_rvalue(RValue::scalar(-std::numeric_limits<float>::infinity())), "-inf");
  EXPECT_EQ(print_rvalue(RValue::integer(-3)), "-3");
}

/// Random trees of every kind of node, no deeper than the parser allows.
class RandomTree {
 public:
  explicit RandomTree(uint32_t seed) : random_(seed) {}

  Document document() {
    Document document;
    document.extensions.push_back({"tract_symbol", "S", {}});
    FragmentDecl fragment;
    fragment.name = name();
    fragment.is_generic = pick(2) == 0;
    TypeSpec pair{TypeSpec::Kind::kTuple, TypeName::kAny, pick(2) == 0, {{}, {}}};
    pair.items[0].kind = TypeSpec::Kind::kTensor;
    fragment.parameters.push_back({"p", pair, RValue::array({RValue::integer(1)}), {}});
    fragment.results.push_back({"r", pair, {}});
    fragment.body = body();
    document.fragments.push_back(std::move(fragment));
    document.graph = {name(), {name(), name()}, {name()}, body(), {}};
    return document;
  }

 private:
  uint32_t pick(uint32_t below) { return random_() % below; }
  std::string name() {
    static const std::vector<std::string> kNames = {
        "x", "info", "a.b", "if", "for", "yield", "true", "in", "y_1", "i'\"", "integer"};
    return kNames[pick(static_cast<uint32_t>(kNames.size()))];
  }
  std::vector<Assignment> body() {
    std::vector<Assignment> out;
    for (uint32_t i = 0; i < 3; ++i) {
      LValue left = LValue::of_names({name(), name()});
      if (pick(3) == 0) left.kind = LValue::Kind::kArray;
      out.push_back({pick(2) == 0 ? LValue::of_name(name()) : left, value(6), {}});
    }
    return out;
  }
  std::vector<RValue> values(uint32_t count, int depth) {
    std::vector<RValue> out;
    for (uint32_t i = 0; i < count; ++i) out.push_back(value(depth));
    return out;
  }
  RValue made(RValue::Node node) {
    RValue out;
    out.node = std::move(node);
    return out;
  }
  RValue leaf() {
    switch (pick(5)) {
      case 0:
        return RValue::integer(static_cast<int64_t>(pick(9)) - 4);
      case 1:
        return RValue::scalar(static_cast<float>(pick(9)) / 4.0F - 1.0F);
      case 2:
        return RValue::string("a'\"\\#;\n" + name());
      case 3:
        return RValue::logical(pick(2) == 0);
      default:
        return RValue::identifier(name());
    }
  }
  RValue value(int depth) {
    if (depth == 0) return leaf();
    const int below = depth - 1;
    switch (pick(11)) {
      case 0:
        return RValue::binary(static_cast<BinaryOp>(pick(14)), value(below), value(below));
      case 1:
        return made(UnaryExpr{"+-!"[pick(3)], value(below)});
      case 2:
        return RValue::tuple(values(2 * pick(2), below));
      case 3:
        return RValue::array(values(pick(3), below));
      case 4:
        return RValue::subscript(value(below), value(below));
      case 5:
        return made(RangeExpr{value(below), std::nullopt, Box<RValue>(value(below))});
      case 6:
        return made(RangeExpr{value(below), Box<RValue>(value(below)), std::nullopt});
      case 7:
        return made(IfElseExpr{value(below), value(below), value(below)});
      case 8:
        return made(ComprehensionExpr{{{name(), value(below)}}, value(below)});
      case 9:
        return RValue::call(name(), {{"", value(below), {}}, {name(), value(below), {}}},
                            pick(2) == 0 ? std::optional(TypeName::kAny) : std::nullopt);
      default:
        return leaf();
    }
  }

  std::mt19937 random_;
};

class PrinterRoundTrip : public ::testing::TestWithParam<uint32_t> {};

TEST_P(PrinterRoundTrip, PrintedDocumentsReadBackEqual) {
  expect_reads_back(RandomTree(GetParam()).document());
}

INSTANTIATE_TEST_SUITE_P(Seed, PrinterRoundTrip, ::testing::Range(0U, 200U));

TEST(Printer, TheDeepestTreesReadBack) {
  for (const char* piece : {"a + ", "-(", "a if b else (", "f(", "[", "a * ("}) {
    std::string text;
    const bool opens = std::string(piece).ends_with("(") || std::string(piece) == "[";
    const int levels = kMaxExpressionHeight - 2;
    for (int i = 0; i < levels; ++i) text += piece;
    text += "x";
    for (int i = 0; opens && i < levels; ++i) text += std::string(piece) == "[" ? "]" : ")";
    expect_reads_back(parsed("version 1.0; graph g() -> () { y = " + text + "; }"));
  }
}

}  // namespace
}  // namespace rill::nnef
