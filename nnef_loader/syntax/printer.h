#pragma once

#include <string>
#include <string_view>

#include "nnef_loader/syntax/ast.h"

namespace rill::nnef {

/// Write a document so that `parse_document` reads back an equal tree: extensions and fragments in
/// the order given, one statement per line. Names that are not identifiers, or that other readers
/// treat as literals (`info`, `true_value`), are written as `i"..."`.
std::string print_document(const Document& document);

std::string print_fragment(const FragmentDecl& fragment);
/// Write one statement with its semicolon.
std::string print_assignment(const Assignment& assignment);
std::string print_rvalue(const RValue& value);
std::string print_type(const TypeSpec& type);
std::string print_identifier(std::string_view name);
/// Quote with `"`; a backslash goes before `\`, `"` and `'`.
std::string print_string(std::string_view value);

/// Sort extensions by name and text and fragments by name, as written files have them.
void sort_declarations(Document* document);

/// Return whether a name needs no quotes: ASCII letters, digits and `_`, no leading digit.
bool is_plain_identifier(std::string_view name);

}  // namespace rill::nnef
