#include "nnef_loader/syntax/ast.h"

#include <array>

#include "core/base/text.h"

namespace rill::nnef {
namespace {

constexpr std::array<std::string_view, 6> kTypeNames = {"integer", "scalar",  "logical",
                                                        "string",  "complex", "?"};
constexpr std::array<std::string_view, 14> kOperators = {
    "+", "-", "*", "/", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in"};

struct KindText {
  std::string_view operator()(const Identifier&) const { return "a name"; }
  std::string_view operator()(const NumberLiteral&) const { return "a number"; }
  std::string_view operator()(const StringLiteral&) const { return "a string"; }
  std::string_view operator()(const LogicalLiteral&) const { return "a logical value"; }
  std::string_view operator()(const BinaryExpr&) const { return "a binary operation"; }
  std::string_view operator()(const UnaryExpr&) const { return "a unary operation"; }
  std::string_view operator()(const TupleExpr&) const { return "a tuple"; }
  std::string_view operator()(const ArrayExpr&) const { return "an array"; }
  std::string_view operator()(const SubscriptExpr&) const { return "a subscript"; }
  std::string_view operator()(const RangeExpr&) const { return "a range"; }
  std::string_view operator()(const IfElseExpr&) const { return "an if-else expression"; }
  std::string_view operator()(const ComprehensionExpr&) const { return "a comprehension"; }
  std::string_view operator()(const Invocation&) const { return "an invocation"; }
};

RValue make(RValue::Node node) {
  RValue value;
  value.node = std::move(node);
  return value;
}

}  // namespace

std::string_view type_name_text(TypeName name) { return kTypeNames[static_cast<size_t>(name)]; }
std::string_view binary_op_text(BinaryOp op) { return kOperators[static_cast<size_t>(op)]; }
std::string_view kind_text(const RValue& value) { return std::visit(KindText{}, value.node); }

bool TupleExpr::operator==(const TupleExpr& other) const { return items == other.items; }
bool ArrayExpr::operator==(const ArrayExpr& other) const { return items == other.items; }
bool ComprehensionExpr::operator==(const ComprehensionExpr& other) const {
  return loops == other.loops && yield == other.yield;
}
bool Invocation::operator==(const Invocation& other) const {
  return callee == other.callee && generic == other.generic && arguments == other.arguments;
}

RValue RValue::identifier(std::string name) { return make(Identifier{std::move(name)}); }
RValue RValue::integer(int64_t value) { return make(NumberLiteral{str_cat(value), false}); }

RValue RValue::scalar(float value) {
  std::string text = str_cat(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return make(NumberLiteral{std::move(text), true});
}

RValue RValue::string(std::string value) { return make(StringLiteral{std::move(value)}); }
RValue RValue::logical(bool value) { return make(LogicalLiteral{value}); }
RValue RValue::array(std::vector<RValue> items) { return make(ArrayExpr{std::move(items)}); }

RValue RValue::tuple(std::vector<RValue> items) {
  // One item in parentheses would read back as that item.
  if (items.size() == 1) return std::move(items[0]);
  return make(TupleExpr{std::move(items)});
}

RValue RValue::binary(BinaryOp op, RValue left, RValue right) {
  return make(BinaryExpr{op, std::move(left), std::move(right)});
}

RValue RValue::subscript(RValue base, RValue index) {
  return make(SubscriptExpr{std::move(base), std::move(index)});
}

RValue RValue::call(std::string callee, std::vector<Argument> arguments,
                    std::optional<TypeName> generic) {
  return make(Invocation{std::move(callee), generic, std::move(arguments)});
}

LValue LValue::of_name(std::string name) {
  LValue value;
  value.name = std::move(name);
  return value;
}

LValue LValue::of_names(const std::vector<std::string>& names) {
  if (names.size() == 1) return of_name(names[0]);
  LValue value;
  value.kind = Kind::kTuple;
  for (const std::string& name : names) value.items.push_back(of_name(name));
  return value;
}

}  // namespace rill::nnef
