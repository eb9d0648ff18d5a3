#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "nnef_loader/syntax/ast.h"
#include "nnef_loader/syntax/token_stream.h"

namespace rill::nnef {

/// Read the type name of a token; nothing if the token is something else.
std::optional<TypeName> type_name_of(const Token& token);

/// Reads expressions. Operators, loosest first: `a if c else b`; `in`; `&&` `||`; comparisons;
/// `+` `-`; `*` `/`; `^`; all of them left-associative, a sign binding tighter than any.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  Result<RValue> rvalue();
  /// Read a literal, or an array or tuple of them.
  Result<RValue> literal();

 private:
  // Each reads into an existing tree, so that recursion uses little stack.
  Status rvalue(RValue* out);
  Status if_else(RValue* out);
  Status binary(int loosest, RValue* out);
  Status join(BinaryOp op, RValue* right, RValue* out);
  Status subscripted(RValue* out);
  Status range_or_index(RValue* out);
  Status range(std::unique_ptr<RValue> begin, RValue* out);
  Status atom(RValue* out);
  Status sign(RValue* out);
  Status name(RValue* out);
  Status invocation(RValue* out);
  Status expect_comma(const Invocation& call);
  void callee(RValue* out);
  void identifier(RValue* out);
  Status argument(Argument* out);
  Status group(RValue* out);
  Status array(RValue* out);
  Status comprehension(RValue* out);
  Status literal(RValue* out);
  Status literals(bool is_array, RValue* out);
  bool plain_literal(RValue* out);
  /// Record the height of a complete tree. Errors: kParse if it is too high.
  Status finish(int height, RValue* out);
  Status check_depth();

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace rill::nnef
