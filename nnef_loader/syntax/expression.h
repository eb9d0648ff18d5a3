#pragma once

#include <optional>
#include <vector>

#include "core/base/status.h"
#include "nnef_loader/syntax/ast.h"
#include "nnef_loader/syntax/token_stream.h"

namespace rill::nnef {

/// Read the type name that the token spells; nothing if it spells none.
std::optional<TypeName> type_name_of(const Token& token);

/// Read expressions. Operators, loosest first: `a if c else b`; `in`; `&&` `||`; comparisons;
/// `+` `-`; `*` `/`; `^`; all of them left-associative, a sign binding tighter than any.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  Result<RValue> rvalue();
  /// Read a literal, or an array or tuple of them.
  Result<RValue> literal();

 private:
  Result<RValue> if_else(RValue then);
  Result<RValue> binary(int loosest);
  Status join(BinaryOp op, RValue right, RValue* left);
  Result<RValue> subscripted();
  Result<RValue> range_or_index(RValue base);
  Result<RValue> atom();
  Result<RValue> sign();
  Result<RValue> name();
  Result<RValue> invocation();
  Result<Argument> argument();
  Result<RValue> group();
  Result<RValue> array();
  Result<RValue> comprehension();
  std::optional<RValue> plain_literal();
  Result<RValue> finish(Place place, RValue::Node node, int height);
  Status check_depth();

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace rill::nnef
