#include "nnef_loader/syntax/parser.h"

#include <gtest/gtest.h>

#include <string>

#include "nnef_loader/syntax/numbers.h"
#include "nnef_loader/syntax/printer.h"

namespace rill::nnef {
namespace {

std::string in_graph(const std::string& body) {
  return "version 1.0;\ngraph g(x) -> (y) {\n" + body + "\n}\n";
}

Result<Document> parse(const std::string& text) { return parse_document(text, "graph.nnef"); }

/// Return the right side of the only statement.
RValue value_of(const std::string& expression) {
  Result<Document> document = parse(in_graph("y = " + expression + ";"));
  EXPECT_TRUE(document.ok()) << expression << ": " << document.error().to_string();
  return document.ok() ? document->graph.body.at(0).right : RValue{};
}

std::string shape_of(const std::string& expression) { return print_rvalue(value_of(expression)); }

/// Return the error of a text; fail the test if there is none.
Error error_of(const std::string& text) {
  const Result<Document> document = parse(text);
  EXPECT_FALSE(document.ok()) << text;
  return document.ok() ? Error{} : document.error();
}

TEST(Parser, ReadsAWholeDocument) {
  const auto document = parse(
      "# made by hand\nversion 1.0;\n"
      "extension tract_registry tract_core;\nextension tract_assert tg: S==1 ;\n"
      "fragment twice<?>(x: tensor<?>, by: scalar = 2.0) -> (y: tensor<?>) { y = x * by; }\n"
      "fragment external<? = scalar>(shape: integer[]) -> (output: tensor<?>);\n"
      "graph network(x) -> (y, z)\n{\n  x = external(shape = [1, S]);\n"
      "  y, z = split(x, axis = 0);\n}\n");
  ASSERT_TRUE(document.ok()) << document.error().to_string();
  EXPECT_EQ(document->version, "1.0");
  ASSERT_EQ(document->extensions.size(), 2U);
  EXPECT_EQ(document->extensions[1].name, "tract_assert");
  EXPECT_EQ(document->extensions[1].rest, "tg: S==1");
  EXPECT_EQ(document->extensions[1].place.line, 4);
  ASSERT_EQ(document->fragments.size(), 2U);
  EXPECT_TRUE(document->fragments[0].is_generic);
  EXPECT_FALSE(document->fragments[0].generic_default);
  ASSERT_TRUE(document->fragments[0].parameters[1].default_value);
  EXPECT_TRUE(document->fragments[0].body);
  EXPECT_EQ(document->fragments[1].generic_default, TypeName::kScalar);
  EXPECT_FALSE(document->fragments[1].body);
  EXPECT_EQ(document->graph.results, (std::vector<std::string>{"y", "z"}));
  ASSERT_EQ(document->graph.body.size(), 2U);
  const Assignment& split = document->graph.body[1];
  EXPECT_EQ(split.left.kind, LValue::Kind::kTuple);
  EXPECT_EQ(split.left.items[1].name, "z");
  EXPECT_EQ(split.place.line, 10);
  EXPECT_EQ(split.right.place.column, 10);
}

TEST(Parser, KeepsTheTextOfNumbersAndDistinguishesFloatsFromIntegers) {
  for (const char* text : {"1.0", "1.", "1e3", "1E3", "1e-05", "inf", "-inf", "-1.5e+10"}) {
    const RValue value = value_of(text);
    ASSERT_NE(value.as<NumberLiteral>(), nullptr) << text;
    EXPECT_TRUE(value.as<NumberLiteral>()->is_scalar) << text;
    EXPECT_EQ(value.as<NumberLiteral>()->text, text);
  }
  for (const char* text : {"0", "-1", "9223372036854775807", "99999999999999999999"}) {
    const RValue value = value_of(text);
    ASSERT_NE(value.as<NumberLiteral>(), nullptr) << text;
    EXPECT_FALSE(value.as<NumberLiteral>()->is_scalar) << text;
  }
}

TEST(Parser, AMinusBelongsToANumberAtTheStartOfAnAtomOnly) {
  EXPECT_EQ(shape_of("x -1.0"), "(x - 1.0)");
  EXPECT_EQ(shape_of("x-1.0"), "(x - 1.0)");
  EXPECT_EQ(shape_of("x - -1.0"), "(x - -1.0)");
  EXPECT_EQ(shape_of("-2 ^ 2"), "(-2 ^ 2)");
  EXPECT_NE(value_of("-x").as<UnaryExpr>(), nullptr);
}

TEST(Parser, BindsOperatorsLoosestFirstAndToTheLeft) {
  EXPECT_EQ(shape_of("a + b * c - d"), "((a + (b * c)) - d)");
  EXPECT_EQ(shape_of("a ^ b ^ c"), "((a ^ b) ^ c)");
  EXPECT_EQ(shape_of("a * b ^ c / d"), "((a * (b ^ c)) / d)");
  EXPECT_EQ(shape_of("a < b + 1 && c || d"), "(((a < (b + 1)) && c) || d)");
  EXPECT_EQ(shape_of("a && b in c"), "((a && b) in c)");
  EXPECT_EQ(shape_of("a == b != c"), "((a == b) != c)");
  EXPECT_EQ(shape_of("!a && -b[0]"), "((!a) && (-b[0]))");
  EXPECT_EQ(shape_of("(S+1)/2"), "((S + 1) / 2)");
}

TEST(Parser, ReadsTheSyntaxThatOnlyKhronosFilesUse) {
  EXPECT_NE(value_of("a if b > 0 else c if d else e").as<IfElseExpr>(), nullptr);
  EXPECT_NE(value_of("x[1:]").as<RangeExpr>(), nullptr);
  EXPECT_NE(value_of("x[:n - 1]").as<RangeExpr>(), nullptr);
  EXPECT_NE(value_of("x[:]").as<RangeExpr>(), nullptr);
  const RValue value = value_of("[for i in range_of(a), j in b yield a[i] * j]");
  ASSERT_NE(value.as<ComprehensionExpr>(), nullptr);
  EXPECT_EQ(value.as<ComprehensionExpr>()->loops.size(), 2U);
}

TEST(Parser, DistinguishesGenericInvocationsFromComparisons) {
  const RValue variable = value_of("variable<scalar>(label = 'w', shape = [])");
  ASSERT_NE(variable.as<Invocation>(), nullptr);
  EXPECT_EQ(variable.as<Invocation>()->generic, TypeName::kScalar);
  EXPECT_EQ(variable.as<Invocation>()->arguments[0].name, "label");
  EXPECT_NE(value_of("scalar < integer").as<BinaryExpr>(), nullptr);
  EXPECT_NE(value_of("x<y").as<BinaryExpr>(), nullptr);
}

TEST(Parser, OneItemInParenthesesIsThatItem) {
  EXPECT_NE(value_of("(a)").as<Identifier>(), nullptr);
  EXPECT_EQ(value_of("()").as<TupleExpr>()->items.size(), 0U);
  EXPECT_EQ(value_of("(a, 1)").as<TupleExpr>()->items.size(), 2U);
}

TEST(Parser, NamesThatStartAsLiteralsAreNames) {
  for (const char* name : {"info", "infinity", "true_value", "falsehood", "inf_", "e1", "i"}) {
    const RValue value = value_of(name);
    ASSERT_NE(value.as<Identifier>(), nullptr) << name;
    EXPECT_EQ(value.as<Identifier>()->name, name);
  }
  EXPECT_NE(value_of("true").as<LogicalLiteral>(), nullptr);
  EXPECT_NE(value_of("inf").as<NumberLiteral>(), nullptr);
}

TEST(Parser, ExtendedNamesMayHoldAnyText) {
  EXPECT_EQ(value_of("i\"true\"").as<Identifier>()->name, "true");
  EXPECT_EQ(value_of("i'a.b/c'").as<Identifier>()->name, "a.b/c");
  EXPECT_EQ(value_of("i\"x\" + 1"), value_of("x + 1"));
  EXPECT_EQ(value_of("i\"f\"(1)").as<Invocation>()->callee, "f");
}

TEST(Parser, AStringEndsOnlyAtItsOwnQuote) {
  EXPECT_EQ(value_of("\"it's #1\"").as<StringLiteral>()->value, "it's #1");
  EXPECT_EQ(value_of("'say \"x\"'").as<StringLiteral>()->value, "say \"x\"");
  EXPECT_EQ(value_of("'a\\'b\\\\c\\n'").as<StringLiteral>()->value, "a'b\\cn");
  EXPECT_EQ(value_of("'Linux #1 SMP; x'").as<StringLiteral>()->value, "Linux #1 SMP; x");
}

TEST(Parser, CommentsStandWhereverBlanksMay) {
  EXPECT_EQ(value_of("f( # first\n 1, # second\n 2)"), value_of("f(1,2)"));
}

TEST(Parser, ADefaultMayFollowATypeWithoutABlank) {
  const auto document = parse_fragments(
      "fragment f<?=scalar>(a: tensor<scalar>=1.0, b: (integer,integer)[]=[(0,0)], c: "
      "string[] = ['x'], d: tensor<scalar>[] = [], e: integer = -1) -> (r: (string, ?)[]);",
      "std");
  ASSERT_TRUE(document.ok()) << document.error().to_string();
  const FragmentDecl& fragment = document->fragments.at(0);
  EXPECT_EQ(print_rvalue(*fragment.parameters[0].default_value), "1.0");
  EXPECT_EQ(print_rvalue(*fragment.parameters[1].default_value), "[(0, 0)]");
  EXPECT_EQ(print_type(fragment.parameters[1].type), "(integer, integer)[]");
  EXPECT_EQ(print_type(fragment.results[0].type), "(string, ?)[]");
}

TEST(Parser, FragmentsAloneMayBeEmptyButHoldNothingElse) {
  EXPECT_TRUE(parse_fragments("# nothing\n", "std").ok());
  EXPECT_FALSE(parse_fragments("fragment f() -> (); graph g() -> () {}", "std").ok());
}

TEST(Parser, AByteOrderMarkIsSkipped) { EXPECT_TRUE(parse("\xEF\xBB\xBF" + in_graph("")).ok()); }

TEST(Parser, ErrorsNamePlaceFoundAndExpected) {
  const Error error = error_of(in_graph("y = f(1,\n  2 3);"));
  EXPECT_EQ(error.code, Code::kParse);
  EXPECT_EQ(error.file, "graph.nnef");
  EXPECT_EQ(error.line, 4);
  EXPECT_EQ(error.column, 5);
  EXPECT_EQ(error.message, "expected `,` or `)` in the arguments of `f`, found `3`");
}

TEST(Parser, RefusesInvalidDocuments) {
  for (const char* text : {
           "",
           "version;",
           "version 1.0",
           "version 1.0;",
           "version 1.0; fragment f() -> (); extension a b; graph g() -> () {}",
           "version 1.0; extension a b",
           "version 1.0; extension ; graph g() -> () {}",
           "version 1.0; graph g() -> () {} graph h() -> () {}",
           "version 1.0; graph g() -> () { y = 1 }",
           "version 1.0; graph g() -> () { y = 1;",
           "version 1.0; graph g(a,) -> () {}",
           "version 1.0; fragment f(a: scalar[][]) -> (); graph g() -> () {}",
           "version 1.0; fragment f(a: scalar = x) -> (); graph g() -> () {}",
           "version 1.0; fragment f(a: scalar, a: scalar) -> (); graph g() -> () {}",
           "version 1.0; fragment f(a: scalar) -> (a: scalar); graph g() -> () {}",
           "version 1.0; graph g() -> () { y = \xFF; }",
           "version 1.0; graph g() -> () { y = '\xC0\x80'; }",
       }) {
    EXPECT_EQ(error_of(text).code, Code::kParse) << text;
  }
}

TEST(Parser, RefusesInvalidExpressions) {
  for (const char* text : {"",       "[2,3,]", "(1,)",  "f(1,)", "1 +",      "x[0][1]",
                           "x[",     "x[]",    "'a",    "2x",    "1.5.2",    "a b",
                           "a ? b",  "$",      "f(",    "f(=1)", "i''",      "[for i yield 1]",
                           "1 if 2", "&& 1",   "a & b", "1e",    "f(a == )", "-",
                           "\x01"}) {
    EXPECT_EQ(error_of(in_graph(std::string("y = ") + text + ";")).code, Code::kParse) << text;
  }
}

TEST(Parser, DeepNestingIsAnErrorAndNoStackOverflow) {
  constexpr size_t kDeep = 100000;
  for (const char* piece :
       {"(", "[", "-", "!", "f(", "x[", "[for i in ", "a if b else ", "(a+", "f(x=[("}) {
    std::string text;
    for (size_t i = 0; i < kDeep; ++i) text += piece;
    EXPECT_EQ(error_of(in_graph("y = " + text)).code, Code::kParse) << piece;
  }
  for (const char* piece : {"(", "["}) {
    std::string text;
    for (size_t i = 0; i < kDeep; ++i) text += piece;
    EXPECT_EQ(error_of(in_graph(text)).code, Code::kParse);
    EXPECT_FALSE(parse_fragments("fragment f(a: " + text, "std").ok());
    EXPECT_FALSE(parse_fragments("fragment f(a: scalar = " + text, "std").ok());
  }
}

TEST(Parser, LongChainsAreAnErrorSinceTheirTreesAreDeep) {
  std::string text = "a";
  for (int i = 0; i < 100000; ++i) text += " + a";
  const Error error = error_of(in_graph("y = " + text + ";"));
  EXPECT_EQ(error.code, Code::kParse);
  EXPECT_FALSE(error.hint.empty());
}

TEST(Parser, WideListsAreFine) {
  std::string text = "[0";
  for (int i = 0; i < 100000; ++i) text += ",1+a";
  EXPECT_EQ(value_of(text + "]").as<ArrayExpr>()->items.size(), 100001U);
}

TEST(Parser, RefusesTextOverTheLimit) {
  EXPECT_FALSE(parse(std::string(kMaxTextBytes + 1, ' ')).ok());
}

TEST(Parser, TextCutShortAnywhereIsAnErrorOrTheSameDocument) {
  const std::string text =
      "version 1.0;\nextension tract_symbol S;\nfragment f<?>(x: tensor<?>, k: (integer, string)[] "
      "= [(1, 'a')]) -> (y: tensor<?>)\n{ y = [for i in x yield -i[0:1]] if !x else i\"a b\"; }\n"
      "graph g(x) -> (y, z)\n{\n  x = external<scalar>(shape = [1, S + 1]);\n"
      "  (y, z) = f(x ^ 2.0e-5 >= \"#'\", k = []);\n}";
  const auto whole = parse(text);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  for (size_t size = 0; size < text.size(); ++size) {
    const auto cut = parse(text.substr(0, size));
    if (cut.ok()) {
      EXPECT_TRUE(*cut == *whole) << size;
    }
  }
}

TEST(Parser, TextWithAnyByteChangedGivesAnErrorOrADocument) {
  const std::string text = in_graph("y = f(a[0:1], 'b', i\"c\", [1.5, -2], (a, b), !c && d, <?>);");
  const std::string probes = std::string("()[]{}<>,;:=?+-*/^!\"'\\#i0.e \n\xFF", 31) + '\0';
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char probe : probes) {
      std::string changed = text;
      changed[at] = probe;
      const auto document = parse(changed);
      if (!document.ok()) {
        EXPECT_FALSE(document.error().message.empty());
      }
    }
  }
}

TEST(Numbers, ReadAsTheNearestFloat) {
  EXPECT_EQ(parse_float("1."), 1.0F);
  EXPECT_EQ(parse_float("1E3"), 1000.0F);
  EXPECT_EQ(parse_float("-inf"), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(parse_float("1e99"), std::numeric_limits<float>::infinity());
  EXPECT_EQ(parse_float("-1e-99"), 0.0F);
  EXPECT_EQ(parse_float("0." + std::string(80, '0') + "1"), 0.0F);
  EXPECT_EQ(parse_float("1" + std::string(80, '0')), std::numeric_limits<float>::infinity());
  EXPECT_FALSE(parse_float("x"));
  EXPECT_FALSE(parse_float(""));
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(parse_int("9223372036854775808"));
  EXPECT_FALSE(parse_int("1.0"));
}

}  // namespace
}  // namespace rill::nnef
