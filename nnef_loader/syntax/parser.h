#pragma once

#include <string_view>

#include "core/base/status.h"
#include "nnef_loader/syntax/ast.h"

namespace rill::nnef {

/// The printer emits at most two brackets per level of a tree, so the parser can read everything it
/// prints. This depth takes about 40 KiB of stack.
inline constexpr int kMaxNesting = 2 * kMaxExpressionHeight + 8;
/// A tree takes up to about a hundred times the memory of its text.
inline constexpr size_t kMaxTextBytes = size_t{16} << 20;

/// Read the text of a `graph.nnef`. `file` is named in errors.
/// Errors: kParse, with line and column, for bad syntax, text that is not UTF-8, over
/// `kMaxTextBytes` of text, or expressions nested deeper than `kMaxNesting`. Source:
/// docs/nnef-dialect.md, grammar.
Result<Document> parse_document(std::string_view text, std::string_view file);

/// Read declarations of fragments, with or without bodies; the document has no graph.
Result<Document> parse_fragments(std::string_view text, std::string_view file);

}  // namespace rill::nnef
