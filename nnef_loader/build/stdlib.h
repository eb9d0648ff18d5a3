#pragma once

#include <string_view>

namespace rill::nnef {

/// Return the text of the standard fragments: NNEF operators that consist of others. Operators that
/// a module reads take precedence. Source: Khronos NNEF 1.0.5, appendix of compound operations;
/// docs/nnef-dialect.md, stdlib.
std::string_view stdlib_text();

/// Return whether the Khronos specification has an operator of that name that no loader of this
/// dialect supports.
bool is_unsupported_khronos_op(std::string_view name);

}  // namespace rill::nnef
