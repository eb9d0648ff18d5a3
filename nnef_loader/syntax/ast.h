#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rill::nnef {

/// A position in a file; 1-based, 0 if it was not read from one. Comparing two places always gives
/// true, so places never make two trees differ.
struct Place {
  int line = 0;
  int column = 0;
  bool operator==(const Place&) const { return true; }
};

/// Hold one `T` by value where `T` is not complete yet. Never empty unless moved from.
template <class T>
class Box {
 public:
  Box(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: a value is a box
  Box(const Box& other) : value_(std::make_unique<T>(*other.value_)) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    value_ = std::make_unique<T>(*other.value_);
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  bool operator==(const Box& other) const { return *value_ == *other.value_; }

 private:
  std::unique_ptr<T> value_;
};

enum class TypeName : uint8_t { kInteger, kScalar, kLogical, kString, kComplex, kAny };

/// Return a type name: "integer", ..., "?".
std::string_view type_name_text(TypeName name);

/// A declared type: `scalar`, `tensor<scalar>`, `(integer, integer)`, each with or without `[]`.
struct TypeSpec {
  enum class Kind : uint8_t { kPlain, kTensor, kTuple };
  Kind kind = Kind::kPlain;
  TypeName name = TypeName::kAny;  ///< for kPlain and kTensor
  bool is_array = false;
  std::vector<TypeSpec> items;  ///< for kTuple
  bool operator==(const TypeSpec& other) const = default;
};

struct RValue;

struct Identifier {
  std::string name;
  bool operator==(const Identifier&) const = default;
};

/// A number as written. `is_scalar` distinguishes a float (it has `.`, an exponent, or is an
/// infinity) from an integer. An integer may exceed int64: users of the tree read the value.
struct NumberLiteral {
  std::string text;  ///< with its sign: "-1", "1e-5", "-inf"
  bool is_scalar = false;
  bool operator==(const NumberLiteral&) const = default;
};

struct StringLiteral {
  std::string value;  ///< escapes resolved
  bool operator==(const StringLiteral&) const = default;
};

struct LogicalLiteral {
  bool value = false;
  bool operator==(const LogicalLiteral&) const = default;
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kLt,
  kLe,
  kGt,
  kGe,
  kEq,
  kNe,
  kAnd,
  kOr,
  kIn,
};

/// Return the text of an operator: "+", "&&", "in", ...
std::string_view binary_op_text(BinaryOp op);

struct BinaryExpr {
  BinaryOp op = BinaryOp::kAdd;
  Box<RValue> left;
  Box<RValue> right;
  bool operator==(const BinaryExpr&) const = default;
};

/// A sign or a negation. A minus before a number is part of the number instead.
struct UnaryExpr {
  char op = '-';  ///< '+', '-' or '!'
  Box<RValue> operand;
  bool operator==(const UnaryExpr&) const = default;
};

/// No items, or two and more: one item in parentheses is just that item.
struct TupleExpr {
  std::vector<RValue> items;
  bool operator==(const TupleExpr&) const;
};

struct ArrayExpr {
  std::vector<RValue> items;
  bool operator==(const ArrayExpr&) const;
};

/// `base[index]`
struct SubscriptExpr {
  Box<RValue> base;
  Box<RValue> index;
  bool operator==(const SubscriptExpr&) const = default;
};

/// `base[begin:end]`, either bound may be absent.
struct RangeExpr {
  Box<RValue> base;
  std::optional<Box<RValue>> begin;
  std::optional<Box<RValue>> end;
  bool operator==(const RangeExpr&) const = default;
};

/// `then if condition else otherwise`
struct IfElseExpr {
  Box<RValue> then;
  Box<RValue> condition;
  Box<RValue> otherwise;
  bool operator==(const IfElseExpr&) const = default;
};

struct Loop;

/// `[for a in b, c in d yield e]`
struct ComprehensionExpr {
  std::vector<Loop> loops;
  Box<RValue> yield;
  bool operator==(const ComprehensionExpr&) const;
};

struct Argument;

/// `callee<generic>(arguments)`
struct Invocation {
  std::string callee;
  std::optional<TypeName> generic;
  std::vector<Argument> arguments;
  bool operator==(const Invocation&) const;
};

/// An expression. Trees that the parser made are at most `kMaxExpressionHeight` high, so recursion
/// over them is safe.
struct RValue {
  using Node = std::variant<Identifier, NumberLiteral, StringLiteral, LogicalLiteral, BinaryExpr,
                            UnaryExpr, TupleExpr, ArrayExpr, SubscriptExpr, RangeExpr, IfElseExpr,
                            ComprehensionExpr, Invocation>;
  Node node;
  Place place;
  int height = 1;  ///< levels of the tree, as the parser counts them; not compared

  /// Return the node if it is of type T, else null.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&node);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&node);
  }
  bool operator==(const RValue& other) const { return node == other.node; }

  static RValue identifier(std::string name);
  static RValue integer(int64_t value);
  /// Make a float literal: `1.0`, `1e-05`, `inf`. NaN has no literal and must not be passed.
  static RValue scalar(float value);
  static RValue string(std::string value);
  static RValue logical(bool value);
  static RValue array(std::vector<RValue> items);
  static RValue tuple(std::vector<RValue> items);
  static RValue binary(BinaryOp op, RValue left, RValue right);
  static RValue subscript(RValue base, RValue index);
  static RValue call(std::string callee, std::vector<Argument> arguments,
                     std::optional<TypeName> generic = std::nullopt);
};

/// `name in range`
struct Loop {
  std::string name;
  RValue range;
  bool operator==(const Loop&) const = default;
};

struct Argument {
  std::string name;  ///< empty for a positional argument
  RValue value;
  Place place;
  bool operator==(const Argument&) const = default;
};

/// Return the kind of an expression for messages: "a comprehension", "a range", ...
std::string_view kind_text(const RValue& value);

inline constexpr int kMaxExpressionHeight = 36;

/// The left side of an assignment: one name, or a list of them.
struct LValue {
  enum class Kind : uint8_t { kName, kTuple, kArray };
  Kind kind = Kind::kName;
  std::string name;           ///< for kName
  std::vector<LValue> items;  ///< for kTuple (`a, b` and `(a, b)`) and kArray (`[a, b]`)
  Place place;
  bool operator==(const LValue& other) const = default;

  static LValue of_name(std::string name);
  static LValue of_names(const std::vector<std::string>& names);
};

struct Assignment {
  LValue left;
  RValue right;
  Place place;
  bool operator==(const Assignment&) const = default;
};

struct Parameter {
  std::string name;
  TypeSpec type;
  std::optional<RValue> default_value;  ///< literals, arrays and tuples of them
  Place place;
  bool operator==(const Parameter&) const = default;
};

struct ResultDecl {
  std::string name;
  TypeSpec type;
  Place place;
  bool operator==(const ResultDecl&) const = default;
};

struct FragmentDecl {
  std::string name;
  bool is_generic = false;                  ///< has `<?>` or `<? = type>`
  std::optional<TypeName> generic_default;  ///< the type in `<? = type>`
  std::vector<Parameter> parameters;
  std::vector<ResultDecl> results;
  std::optional<std::vector<Assignment>> body;  ///< nothing for a declaration that ends in `;`
  Place place;
  bool operator==(const FragmentDecl&) const = default;
};

/// `extension name rest;`, with the rest verbatim except for blanks at its ends.
struct Extension {
  std::string name;
  std::string rest;
  Place place;
  bool operator==(const Extension&) const = default;
};

struct GraphDecl {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::string> results;
  std::vector<Assignment> body;
  Place place;
  bool operator==(const GraphDecl&) const = default;
};

/// A whole `graph.nnef`. Documents are compared by content, not by layout.
struct Document {
  std::string version = "1.0";
  std::vector<Extension> extensions;
  std::vector<FragmentDecl> fragments;
  GraphDecl graph;
  bool operator==(const Document&) const = default;
};

}  // namespace rill::nnef
