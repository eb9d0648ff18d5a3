#include "nnef_loader/syntax/expression.h"

#include <algorithm>
#include <array>

#include "nnef_loader/syntax/parser.h"

// Not inlined: inlining would make every level use the largest stack frame.
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
  // Most tokens after an operand close an expression.
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

RILL_OWN_FRAME Status ExpressionParser::check_depth() {
  if (depth_ <= kMaxNesting) return {};
  return tokens_.error_at(tokens_.peek().place,
                          str_cat("expression nested over ", kMaxNesting, " levels deep"));
}

RILL_OWN_FRAME Status ExpressionParser::finish(int height, RValue* out) {
  if (height > kMaxExpressionHeight) {
    return tokens_
        .error_at(out->place, str_cat("expression of over ", kMaxExpressionHeight, " levels"))
        .hint("split it into several assignments");
  }
  out->height = height;
  return {};
}

Result<RValue> ExpressionParser::rvalue() {
  RValue value;
  RILL_TRY(rvalue(&value));
  return value;
}

Result<RValue> ExpressionParser::literal() {
  RValue value;
  RILL_TRY(literal(&value));
  return value;
}

Status ExpressionParser::rvalue(RValue* out) {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  RILL_TRY(binary(kLoosest, out));
  if (!tokens_.accept_word("if")) return {};
  return if_else(out);
}

namespace {

RILL_OWN_FRAME void put_if_else(RValue* condition, RValue* otherwise, RValue* out) {
  const Place place = out->place;
  out->node = IfElseExpr{std::move(*out), std::move(*condition), std::move(*otherwise)};
  out->place = place;
}

RILL_OWN_FRAME void put_binary(BinaryOp op, RValue* right, RValue* out) {
  const Place place = out->place;
  out->node = BinaryExpr{op, std::move(*out), std::move(*right)};
  out->place = place;
}

RILL_OWN_FRAME void put_subscript(RValue* index, RValue* out) {
  const Place place = out->place;
  out->node = SubscriptExpr{std::move(*out), std::move(*index)};
  out->place = place;
}

RILL_OWN_FRAME void put_range(RValue* begin, RValue* end, RValue* out) {
  const Place place = out->place;
  RangeExpr range{std::move(*out), {}, {}};
  if (begin) range.begin = Box<RValue>(std::move(*begin));
  if (end) range.end = Box<RValue>(std::move(*end));
  out->node = std::move(range);
  out->place = place;
}

RILL_OWN_FRAME void put_sign(char op, RValue* operand, RValue* out) {
  out->node = UnaryExpr{op, std::move(*operand)};
}

RILL_OWN_FRAME void put_comprehension(std::vector<Loop> loops, RValue* yield, RValue* out) {
  out->node = ComprehensionExpr{std::move(loops), std::move(*yield)};
}

/// One item in parentheses is just that item.
RILL_OWN_FRAME void unwrap(RValue* out) {
  RValue only = std::move(out->as<TupleExpr>()->items[0]);
  *out = std::move(only);
}

}  // namespace

RILL_OWN_FRAME Status ExpressionParser::if_else(RValue* out) {
  const auto condition = std::make_unique<RValue>();
  RILL_TRY(binary(kLoosest, condition.get()));
  RILL_TRY(tokens_.expect_word("else"));
  const auto otherwise = std::make_unique<RValue>();
  RILL_TRY(rvalue(otherwise.get()));
  const int height = 1 + std::max({out->height, condition->height, otherwise->height});
  put_if_else(condition.get(), otherwise.get(), out);
  return finish(height, out);
}

Status ExpressionParser::binary(int loosest, RValue* out) {
  RILL_TRY(subscripted(out));
  for (;;) {
    const OperatorLevel* const found = operator_of(tokens_.peek());
    if (found == nullptr || found->level < loosest) return {};
    tokens_.skip();
    const Nesting nesting(&depth_);
    RILL_TRY(check_depth());
    const auto right = std::make_unique<RValue>();
    RILL_TRY(binary(found->level + 1, right.get()));
    RILL_TRY(join(found->op, right.get(), out));
  }
}

RILL_OWN_FRAME Status ExpressionParser::join(BinaryOp op, RValue* right, RValue* out) {
  const int height = 1 + std::max(out->height, right->height);
  put_binary(op, right, out);
  return finish(height, out);
}

Status ExpressionParser::subscripted(RValue* out) {
  RILL_TRY(atom(out));
  if (!tokens_.accept("[")) return {};
  return range_or_index(out);
}

RILL_OWN_FRAME Status ExpressionParser::range_or_index(RValue* out) {
  std::unique_ptr<RValue> index;
  if (!tokens_.peek().is(":")) {
    index = std::make_unique<RValue>();
    RILL_TRY(rvalue(index.get()));
    if (tokens_.accept("]")) {
      const int height = 1 + std::max(out->height, index->height);
      put_subscript(index.get(), out);
      return finish(height, out);
    }
  }
  return range(std::move(index), out);
}

RILL_OWN_FRAME Status ExpressionParser::range(std::unique_ptr<RValue> begin, RValue* out) {
  RILL_TRY(tokens_.expect(":", "or `]` in a subscript"));
  std::unique_ptr<RValue> end;
  if (!tokens_.peek().is("]")) {
    end = std::make_unique<RValue>();
    RILL_TRY(rvalue(end.get()));
  }
  RILL_TRY(tokens_.expect("]", "at the end of a range"));
  int height = out->height;
  if (begin) height = std::max(height, begin->height);
  if (end) height = std::max(height, end->height);
  put_range(begin.get(), end.get(), out);
  return finish(height + 1, out);
}

RILL_OWN_FRAME bool ExpressionParser::plain_literal(RValue* out) {
  const size_t skipped = tokens_.peek().is("-") ? 1 : 0;
  const Token& token = tokens_.peek(skipped);
  const std::string sign = skipped == 1 ? "-" : "";
  out->place = tokens_.peek().place;
  if (token.kind == Token::Kind::kNumber) {
    const bool is_scalar = token.text.find_first_of(".eE") != std::string_view::npos;
    out->node = NumberLiteral{str_cat(sign, token.text), is_scalar};
  } else if (token.is_word("inf")) {
    out->node = NumberLiteral{sign + "inf", true};
  } else if (skipped > 0) {
    return false;
  } else if (token.kind == Token::Kind::kString) {
    out->node = StringLiteral{token.value};
  } else if (token.is_word("true") || token.is_word("false")) {
    out->node = LogicalLiteral{token.is_word("true")};
  } else {
    return false;
  }
  for (size_t i = 0; i <= skipped; ++i) tokens_.skip();
  return true;
}

Status ExpressionParser::literal(RValue* out) {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  if (plain_literal(out)) return {};
  const bool is_array = tokens_.peek().is("[");
  if (!is_array && !tokens_.peek().is("(")) {
    return tokens_.unexpected("a literal, or an array or tuple of literals");
  }
  return literals(is_array, out);
}

RILL_OWN_FRAME Status ExpressionParser::literals(bool is_array, RValue* out) {
  out->place = tokens_.peek().place;
  tokens_.skip();
  const std::string_view closing = is_array ? "]" : ")";
  std::vector<RValue>& items =
      is_array ? out->node.emplace<ArrayExpr>().items : out->node.emplace<TupleExpr>().items;
  while (!tokens_.accept(closing)) {
    if (!items.empty()) RILL_TRY(tokens_.expect(",", "between literals"));
    RILL_TRY(literal(&items.emplace_back()));
  }
  const int height = 1 + tallest(items);
  if (is_array || items.size() != 1) return finish(height, out);
  unwrap(out);
  return {};
}

Status ExpressionParser::atom(RValue* out) {
  if (tokens_.peek().kind == Token::Kind::kName) return name(out);
  if (plain_literal(out)) return {};
  const Token& token = tokens_.peek();
  if (token.is("(")) return group(out);
  if (token.is("[")) return array(out);
  if (token.is("+") || token.is("-") || token.is("!")) return sign(out);
  return tokens_.unexpected("a value");
}

RILL_OWN_FRAME Status ExpressionParser::sign(RValue* out) {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  out->place = tokens_.peek().place;
  const char op = tokens_.peek().text[0];
  tokens_.skip();
  const auto operand = std::make_unique<RValue>();
  RILL_TRY(subscripted(operand.get()));
  const int height = operand->height + 1;
  put_sign(op, operand.get(), out);
  return finish(height, out);
}

RILL_OWN_FRAME Status ExpressionParser::name(RValue* out) {
  if (tokens_.peek(1).is("(")) return invocation(out);
  if (tokens_.peek(1).is("<") && type_name_of(tokens_.peek(2)) && tokens_.peek(3).is(">") &&
      tokens_.peek(4).is("(")) {
    return invocation(out);
  }
  if (!plain_literal(out)) identifier(out);
  return {};
}

RILL_OWN_FRAME Status ExpressionParser::invocation(RValue* out) {
  callee(out);
  Invocation& call = *out->as<Invocation>();
  if (tokens_.accept("<")) {
    call.generic = type_name_of(tokens_.peek());
    tokens_.skip();
    RILL_TRY(tokens_.expect(">", "after the type of an invocation"));
  }
  RILL_TRY(tokens_.expect("(", "before the arguments"));
  int height = 0;
  while (!tokens_.accept(")")) {
    if (!call.arguments.empty()) RILL_TRY(expect_comma(call));
    Argument& next = call.arguments.emplace_back();
    RILL_TRY(argument(&next));
    height = std::max(height, next.value.height);
  }
  return finish(height + 1, out);
}

RILL_OWN_FRAME Status ExpressionParser::expect_comma(const Invocation& call) {
  if (tokens_.accept(",")) return {};
  return tokens_.expect(",", str_cat("or `)` in the arguments of `", call.callee, "`"));
}

RILL_OWN_FRAME void ExpressionParser::callee(RValue* out) {
  out->place = tokens_.peek().place;
  out->node.emplace<Invocation>().callee = tokens_.peek().value;
  tokens_.skip();
}

RILL_OWN_FRAME void ExpressionParser::identifier(RValue* out) {
  out->place = tokens_.peek().place;
  out->node = Identifier{tokens_.peek().value};
  tokens_.skip();
}

Status ExpressionParser::argument(Argument* out) {
  out->place = tokens_.peek().place;
  if (tokens_.peek().kind == Token::Kind::kName && tokens_.peek(1).is("=")) {
    out->name = tokens_.peek().value;
    tokens_.skip();
    tokens_.skip();
  }
  return rvalue(&out->value);
}

RILL_OWN_FRAME Status ExpressionParser::group(RValue* out) {
  out->place = tokens_.peek().place;
  tokens_.skip();
  std::vector<RValue>& items = out->node.emplace<TupleExpr>().items;
  while (!tokens_.accept(")")) {
    if (!items.empty()) RILL_TRY(tokens_.expect(",", "or `)` after a value in parentheses"));
    RILL_TRY(rvalue(&items.emplace_back()));
  }
  if (items.size() != 1) return finish(1 + tallest(items), out);
  unwrap(out);
  return {};
}

RILL_OWN_FRAME Status ExpressionParser::array(RValue* out) {
  if (tokens_.peek(1).is_word("for") && tokens_.peek(2).kind == Token::Kind::kName) {
    return comprehension(out);
  }
  out->place = tokens_.peek().place;
  tokens_.skip();
  std::vector<RValue>& items = out->node.emplace<ArrayExpr>().items;
  while (!tokens_.accept("]")) {
    if (!items.empty()) RILL_TRY(tokens_.expect(",", "or `]` after an item of an array"));
    RILL_TRY(rvalue(&items.emplace_back()));
  }
  return finish(1 + tallest(items), out);
}

RILL_OWN_FRAME Status ExpressionParser::comprehension(RValue* out) {
  out->place = tokens_.peek().place;
  tokens_.skip();
  RILL_TRY(tokens_.expect_word("for"));
  std::vector<Loop> loops;
  int height = 0;
  do {
    Loop& loop = loops.emplace_back();
    RILL_ASSIGN(loop.name, tokens_.expect_name("the name of a loop variable"));
    RILL_TRY(tokens_.expect_word("in"));
    RILL_TRY(rvalue(&loop.range));
    height = std::max(height, loop.range.height);
  } while (tokens_.accept(","));
  RILL_TRY(tokens_.expect_word("yield"));
  const auto yield = std::make_unique<RValue>();
  RILL_TRY(rvalue(yield.get()));
  height = std::max(height, yield->height);
  RILL_TRY(tokens_.expect("]", "at the end of a comprehension"));
  put_comprehension(std::move(loops), yield.get(), out);
  return finish(height + 1, out);
}

}  // namespace rill::nnef
