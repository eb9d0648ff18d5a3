#include "nnef_loader/syntax/expression.h"

#include <algorithm>
#include <array>

#include "nnef_loader/syntax/parser.h"

// Inlined into one another these would all take the stack of the largest at every level.
#define RILL_OWN_FRAME [[gnu::noinline]]

namespace rill::nnef {
namespace {

struct OperatorLevel {
  BinaryOp op;
  int level;
};

constexpr int kLoosest = 1;
constexpr std::array<OperatorLevel, 14> kOperators = {{
    {BinaryOp::kIn, 1},
    {BinaryOp::kAnd, 2},
    {BinaryOp::kOr, 2},
    {BinaryOp::kLt, 3},
    {BinaryOp::kLe, 3},
    {BinaryOp::kGt, 3},
    {BinaryOp::kGe, 3},
    {BinaryOp::kEq, 3},
    {BinaryOp::kNe, 3},
    {BinaryOp::kAdd, 4},
    {BinaryOp::kSub, 4},
    {BinaryOp::kMul, 5},
    {BinaryOp::kDiv, 5},
    {BinaryOp::kPow, 6},
}};

const OperatorLevel* operator_of(const Token& token) {
  // Most tokens behind an operand close something.
  constexpr std::string_view kFirst = "i<>=!&|+-*/^";
  if (token.text.empty() || kFirst.find(token.text[0]) == std::string_view::npos) return nullptr;
  for (const OperatorLevel& entry : kOperators) {
    const std::string_view text = binary_op_text(entry.op);
    if (token.is(text) || (entry.op == BinaryOp::kIn && token.is_word(text))) return &entry;
  }
  return nullptr;
}

int tallest(const std::vector<RValue>& items) {
  int height = 0;
  for (const RValue& item : items) height = std::max(height, item.height);
  return height;
}

}  // namespace

std::optional<TypeName> type_name_of(const Token& token) {
  for (const TypeName name : {TypeName::kInteger, TypeName::kScalar, TypeName::kLogical,
                              TypeName::kString, TypeName::kComplex}) {
    if (token.is_word(type_name_text(name))) return name;
  }
  if (token.is("?")) return TypeName::kAny;
  return std::nullopt;
}

Status ExpressionParser::check_depth() {
  if (depth_ <= kMaxNesting) return {};
  return tokens_.error_at(tokens_.peek().place,
                          str_cat("expression nested over ", kMaxNesting, " levels deep"));
}

Result<RValue> ExpressionParser::finish(Place place, RValue::Node node, int height) {
  if (height > kMaxExpressionHeight) {
    return tokens_.error_at(place, str_cat("expression of over ", kMaxExpressionHeight, " levels"))
        .hint("split it into several assignments");
  }
  RValue value;
  value.node = std::move(node);
  value.place = place;
  value.height = height;
  return value;
}

Result<RValue> ExpressionParser::rvalue() {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  Result<RValue> value = binary(kLoosest);
  if (!value.ok() || !tokens_.accept_word("if")) return value;
  return if_else(std::move(*value));
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::if_else(RValue then) {
  RILL_ASSIGN(RValue condition, binary(kLoosest));
  RILL_TRY(tokens_.expect_word("else"));
  RILL_ASSIGN(RValue otherwise, rvalue());
  const Place place = then.place;
  const int height = 1 + std::max({then.height, condition.height, otherwise.height});
  return finish(place, IfElseExpr{std::move(then), std::move(condition), std::move(otherwise)},
                height);
}

Result<RValue> ExpressionParser::binary(int loosest) {
  Result<RValue> left = subscripted();
  while (left.ok()) {
    const OperatorLevel* const found = operator_of(tokens_.peek());
    if (found == nullptr || found->level < loosest) break;
    tokens_.take();
    const Nesting nesting(&depth_);
    RILL_TRY(check_depth());
    Result<RValue> right = binary(found->level + 1);
    if (!right.ok()) return right;
    RILL_TRY(join(found->op, std::move(*right), &*left));
  }
  return left;
}

RILL_OWN_FRAME Status ExpressionParser::join(BinaryOp op, RValue right, RValue* left) {
  const Place place = left->place;
  const int height = 1 + std::max(left->height, right.height);
  RILL_ASSIGN(*left, finish(place, BinaryExpr{op, std::move(*left), std::move(right)}, height));
  return {};
}

Result<RValue> ExpressionParser::subscripted() {
  Result<RValue> base = atom();
  if (!base.ok() || !tokens_.accept("[")) return base;
  return range_or_index(std::move(*base));
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::range_or_index(RValue base) {
  const Place place = base.place;
  int height = base.height;
  std::optional<Box<RValue>> begin;
  if (!tokens_.peek().is(":")) {
    RILL_ASSIGN(RValue index, rvalue());
    height = std::max(height, index.height);
    if (tokens_.accept("]")) {
      return finish(place, SubscriptExpr{std::move(base), std::move(index)}, height + 1);
    }
    begin = std::move(index);
  }
  RILL_TRY(tokens_.expect(":", "or `]` in a subscript"));
  std::optional<Box<RValue>> end;
  if (!tokens_.peek().is("]")) {
    RILL_ASSIGN(RValue bound, rvalue());
    height = std::max(height, bound.height);
    end = std::move(bound);
  }
  RILL_TRY(tokens_.expect("]", "at the end of a range"));
  return finish(place, RangeExpr{std::move(base), std::move(begin), std::move(end)}, height + 1);
}

RILL_OWN_FRAME std::optional<RValue> ExpressionParser::plain_literal() {
  const size_t skipped = tokens_.peek().is("-") ? 1 : 0;
  const Token& token = tokens_.peek(skipped);
  const Place place = tokens_.peek().place;
  const std::string sign = skipped == 1 ? "-" : "";
  RValue value;
  value.place = place;
  if (token.kind == Token::Kind::kNumber) {
    const bool is_scalar = token.text.find_first_of(".eE") != std::string_view::npos;
    value.node = NumberLiteral{str_cat(sign, token.text), is_scalar};
  } else if (token.is_word("inf")) {
    value.node = NumberLiteral{sign + "inf", true};
  } else if (skipped > 0) {
    return std::nullopt;
  } else if (token.kind == Token::Kind::kString) {
    value.node = StringLiteral{token.value};
  } else if (token.is_word("true") || token.is_word("false")) {
    value.node = LogicalLiteral{token.is_word("true")};
  } else {
    return std::nullopt;
  }
  for (size_t i = 0; i <= skipped; ++i) tokens_.take();
  return value;
}

Result<RValue> ExpressionParser::literal() {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  if (std::optional<RValue> value = plain_literal()) return std::move(*value);
  const Place place = tokens_.peek().place;
  const bool is_array = tokens_.peek().is("[");
  if (!is_array && !tokens_.peek().is("(")) {
    return tokens_.unexpected("a literal, or an array or tuple of literals");
  }
  tokens_.take();
  const std::string_view closing = is_array ? "]" : ")";
  std::vector<RValue> items;
  while (!tokens_.accept(closing)) {
    if (!items.empty()) RILL_TRY(tokens_.expect(",", "between literals"));
    RILL_ASSIGN(RValue item, literal());
    items.push_back(std::move(item));
  }
  const int height = 1 + tallest(items);
  if (is_array) return finish(place, ArrayExpr{std::move(items)}, height);
  if (items.size() == 1) return std::move(items[0]);
  return finish(place, TupleExpr{std::move(items)}, height);
}

Result<RValue> ExpressionParser::atom() {
  const Token& token = tokens_.peek();
  if (token.kind == Token::Kind::kName) return name();
  if (std::optional<RValue> value = plain_literal()) return std::move(*value);
  if (token.is("(")) return group();
  if (token.is("[")) return array();
  if (token.is("+") || token.is("-") || token.is("!")) return sign();
  return tokens_.unexpected("a value");
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::sign() {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  const Token token = tokens_.take();
  RILL_ASSIGN(RValue operand, subscripted());
  const int height = operand.height + 1;
  return finish(token.place, UnaryExpr{token.text[0], std::move(operand)}, height);
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::name() {
  if (tokens_.peek(1).is("(")) return invocation();
  if (tokens_.peek(1).is("<") && type_name_of(tokens_.peek(2)) && tokens_.peek(3).is(">") &&
      tokens_.peek(4).is("(")) {
    return invocation();
  }
  if (std::optional<RValue> value = plain_literal()) return std::move(*value);
  const Token token = tokens_.take();
  return finish(token.place, Identifier{token.value}, 1);
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::invocation() {
  const Token callee = tokens_.take();
  Invocation call{callee.value, std::nullopt, {}};
  if (tokens_.accept("<")) {
    call.generic = type_name_of(tokens_.take());
    RILL_TRY(tokens_.expect(">", "after the type of an invocation"));
  }
  RILL_TRY(tokens_.expect("(", "before the arguments"));
  int height = 0;
  while (!tokens_.accept(")")) {
    if (!call.arguments.empty()) {
      RILL_TRY(tokens_.expect(",", str_cat("or `)` in the arguments of `", callee.value, "`")));
    }
    RILL_ASSIGN(Argument next, argument());
    height = std::max(height, next.value.height);
    call.arguments.push_back(std::move(next));
  }
  return finish(callee.place, std::move(call), height + 1);
}

RILL_OWN_FRAME Result<Argument> ExpressionParser::argument() {
  Argument argument;
  argument.place = tokens_.peek().place;
  if (tokens_.peek().kind == Token::Kind::kName && tokens_.peek(1).is("=")) {
    argument.name = tokens_.take().value;
    tokens_.take();
  }
  RILL_ASSIGN(argument.value, rvalue());
  return argument;
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::group() {
  const Place place = tokens_.take().place;
  std::vector<RValue> items;
  while (!tokens_.accept(")")) {
    if (!items.empty()) RILL_TRY(tokens_.expect(",", "or `)` after a value in parentheses"));
    RILL_ASSIGN(RValue item, rvalue());
    items.push_back(std::move(item));
  }
  if (items.size() == 1) return std::move(items[0]);
  const int height = 1 + tallest(items);
  return finish(place, TupleExpr{std::move(items)}, height);
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::array() {
  if (tokens_.peek(1).is_word("for") && tokens_.peek(2).kind == Token::Kind::kName) {
    return comprehension();
  }
  const Place place = tokens_.take().place;
  std::vector<RValue> items;
  while (!tokens_.accept("]")) {
    if (!items.empty()) RILL_TRY(tokens_.expect(",", "or `]` after an item of an array"));
    RILL_ASSIGN(RValue item, rvalue());
    items.push_back(std::move(item));
  }
  const int height = 1 + tallest(items);
  return finish(place, ArrayExpr{std::move(items)}, height);
}

RILL_OWN_FRAME Result<RValue> ExpressionParser::comprehension() {
  const Place place = tokens_.take().place;
  RILL_TRY(tokens_.expect_word("for"));
  std::vector<Loop> loops;
  int height = 0;
  do {
    RILL_ASSIGN(std::string name, tokens_.expect_name("the name of a loop variable"));
    RILL_TRY(tokens_.expect_word("in"));
    RILL_ASSIGN(RValue range, rvalue());
    height = std::max(height, range.height);
    loops.push_back({std::move(name), std::move(range)});
  } while (tokens_.accept(","));
  RILL_TRY(tokens_.expect_word("yield"));
  RILL_ASSIGN(RValue yield, rvalue());
  height = std::max(height, yield.height);
  RILL_TRY(tokens_.expect("]", "at the end of a comprehension"));
  return finish(place, ComprehensionExpr{std::move(loops), std::move(yield)}, height + 1);
}

}  // namespace rill::nnef
