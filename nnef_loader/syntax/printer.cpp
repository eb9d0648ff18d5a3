#include "nnef_loader/syntax/printer.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/base/text.h"

namespace rill::nnef {
namespace {

constexpr std::array<std::string_view, 5> kKeywords = {"if", "else", "in", "for", "yield"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Return whether the unquoted name could be read as something else.
bool is_ambiguous(std::string_view name) {
  return name.starts_with("inf") || name.starts_with("true") || name.starts_with("false") ||
         contains(kKeywords, name);
}

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void document(const Document& document);
  void fragment(const FragmentDecl& fragment);
  void graph(const GraphDecl& graph);
  void body(const std::vector<Assignment>& body);
  void assignment(const Assignment& assignment);
  void lvalue(const LValue& value);
  void type(const TypeSpec& type);
  void rvalue(const RValue& value) { std::visit(*this, value.node); }

  void operator()(const Identifier& node) { put(print_identifier(node.name)); }
  void operator()(const NumberLiteral& node) { put(node.text); }
  void operator()(const StringLiteral& node) { put(print_string(node.value)); }
  void operator()(const LogicalLiteral& node) { put(node.value ? "true" : "false"); }
  void operator()(const BinaryExpr& node);
  void operator()(const UnaryExpr& node);
  void operator()(const TupleExpr& node) { list("(", node.items, ")"); }
  void operator()(const ArrayExpr& node) { list("[", node.items, "]"); }
  void operator()(const SubscriptExpr& node);
  void operator()(const RangeExpr& node);
  void operator()(const IfElseExpr& node);
  void operator()(const ComprehensionExpr& node);
  void operator()(const Invocation& node);

 private:
  template <class... Parts>
  void put(const Parts&... parts) {
    (append_piece(out_, parts), ...);
  }
  void list(std::string_view open, const std::vector<RValue>& items, std::string_view close);
  void names(const std::vector<std::string>& names);
  /// Print an expression where only an atom is allowed; `subscript_fits`: a subscript may follow.
  void atom(const RValue& value, bool subscript_fits);

  std::string out_;
};

void Printer::document(const Document& document) {
  put("version ", document.version, ";\n\n");
  for (const Extension& extension : document.extensions) {
    put("extension ", print_identifier(extension.name));
    if (!extension.rest.empty()) put(" ", extension.rest);
    put(";\n");
  }
  if (!document.extensions.empty()) put("\n");
  for (const FragmentDecl& declaration : document.fragments) fragment(declaration);
  // A text with only fragments has no graph.
  if (!document.graph.name.empty()) graph(document.graph);
}

void Printer::fragment(const FragmentDecl& fragment) {
  put("fragment ", print_identifier(fragment.name));
  if (fragment.generic_default) {
    put("<?=", type_name_text(*fragment.generic_default), ">");
  } else if (fragment.is_generic) {
    put("<?>");
  }
  put("(");
  for (size_t i = 0; i < fragment.parameters.size(); ++i) {
    const Parameter& parameter = fragment.parameters[i];
    put(i > 0 ? ",\n    " : "\n    ", print_identifier(parameter.name), ": ");
    type(parameter.type);
    if (parameter.default_value) {
      put(" = ");
      rvalue(*parameter.default_value);
    }
  }
  put("\n) -> (");
  for (size_t i = 0; i < fragment.results.size(); ++i) {
    put(i > 0 ? ", " : "", print_identifier(fragment.results[i].name), ": ");
    type(fragment.results[i].type);
  }
  if (!fragment.body) {
    put(");\n\n");
    return;
  }
  put(")\n{\n");
  body(*fragment.body);
  put("}\n\n");
}

void Printer::graph(const GraphDecl& graph) {
  put("graph ", print_identifier(graph.name));
  names(graph.parameters);
  put(" -> ");
  names(graph.results);
  put(" {\n");
  body(graph.body);
  put("}\n");
}

void Printer::names(const std::vector<std::string>& names) {
  put("(");
  for (size_t i = 0; i < names.size(); ++i) put(i > 0 ? ", " : "", print_identifier(names[i]));
  put(")");
}

void Printer::body(const std::vector<Assignment>& body) {
  for (const Assignment& statement : body) {
    put("  ");
    assignment(statement);
    put("\n");
  }
}

void Printer::assignment(const Assignment& assignment) {
  lvalue(assignment.left);
  put(" = ");
  rvalue(assignment.right);
  put(";");
}

void Printer::lvalue(const LValue& value) {
  if (value.kind == LValue::Kind::kName) {
    put(print_identifier(value.name));
    return;
  }
  const bool is_array = value.kind == LValue::Kind::kArray;
  put(is_array ? "[" : "(");
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) put(", ");
    lvalue(value.items[i]);
  }
  put(is_array ? "]" : ")");
}

void Printer::type(const TypeSpec& spec) {
  if (spec.kind == TypeSpec::Kind::kTuple) {
    put("(");
    for (size_t i = 0; i < spec.items.size(); ++i) {
      if (i > 0) put(", ");
      type(spec.items[i]);
    }
    put(")");
  } else if (spec.kind == TypeSpec::Kind::kTensor) {
    put("tensor<", type_name_text(spec.name), ">");
  } else {
    put(type_name_text(spec.name));
  }
  if (spec.is_array) put("[]");
}

void Printer::list(std::string_view open, const std::vector<RValue>& items,
                   std::string_view close) {
  put(open);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) put(", ");
    rvalue(items[i]);
  }
  put(close);
}

void Printer::atom(const RValue& value, bool subscript_fits) {
  // Binary operations print their own parentheses.
  const bool is_subscript =
      value.as<SubscriptExpr>() != nullptr || value.as<RangeExpr>() != nullptr;
  const bool wrap = value.as<IfElseExpr>() != nullptr || value.as<UnaryExpr>() != nullptr ||
                    (is_subscript && !subscript_fits);
  if (wrap) put("(");
  rvalue(value);
  if (wrap) put(")");
}

void Printer::operator()(const BinaryExpr& node) {
  put("(");
  atom(*node.left, true);
  put(" ", binary_op_text(node.op), " ");
  atom(*node.right, true);
  put(")");
}

void Printer::operator()(const UnaryExpr& node) {
  put(node.op);
  const size_t begin = out_.size();
  atom(*node.operand, true);
  // A minus directly before a number, even a subscripted one, would become its sign. Names that
  // start with `inf` are quoted, so they cannot occur here.
  const std::string_view operand = std::string_view(out_).substr(begin);
  if (operand.starts_with("inf") || (!operand.empty() && is_digit(operand[0]))) {
    out_.insert(begin, "(");
    put(")");
  }
}

void Printer::operator()(const SubscriptExpr& node) {
  atom(*node.base, false);
  put("[");
  rvalue(*node.index);
  put("]");
}

void Printer::operator()(const RangeExpr& node) {
  atom(*node.base, false);
  put("[");
  if (node.begin) rvalue(**node.begin);
  put(":");
  if (node.end) rvalue(**node.end);
  put("]");
}

void Printer::operator()(const IfElseExpr& node) {
  atom(*node.then, true);
  put(" if ");
  atom(*node.condition, true);
  put(" else ");
  atom(*node.otherwise, true);
}

void Printer::operator()(const ComprehensionExpr& node) {
  put("[for ");
  for (size_t i = 0; i < node.loops.size(); ++i) {
    put(i > 0 ? ", " : "", print_identifier(node.loops[i].name), " in ");
    rvalue(node.loops[i].range);
  }
  put(" yield ");
  rvalue(*node.yield);
  put("]");
}

void Printer::operator()(const Invocation& node) {
  put(print_identifier(node.callee));
  if (node.generic) put("<", type_name_text(*node.generic), ">");
  put("(");
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const Argument& argument = node.arguments[i];
    if (i > 0) put(", ");
    if (!argument.name.empty()) put(print_identifier(argument.name), " = ");
    rvalue(argument.value);
  }
  put(")");
}

}  // namespace

bool is_plain_identifier(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  return all_of(name, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string print_identifier(std::string_view name) {
  if (is_plain_identifier(name) && !is_ambiguous(name)) return std::string(name);
  return "i" + print_string(name);
}

std::string print_string(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"' || c == '\'') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

std::string print_document(const Document& document) {
  Printer printer;
  printer.document(document);
  return printer.take();
}

std::string print_fragment(const FragmentDecl& fragment) {
  Printer printer;
  printer.fragment(fragment);
  return printer.take();
}

std::string print_assignment(const Assignment& assignment) {
  Printer printer;
  printer.assignment(assignment);
  return printer.take();
}

std::string print_rvalue(const RValue& value) {
  Printer printer;
  printer.rvalue(value);
  return printer.take();
}

std::string print_type(const TypeSpec& type) {
  Printer printer;
  printer.type(type);
  return printer.take();
}

void sort_declarations(Document* document) {
  sort_list(document->extensions, [](const Extension& a, const Extension& b) {
    return std::tie(a.name, a.rest) < std::tie(b.name, b.rest);
  });
  sort_list(document->fragments,
            [](const FragmentDecl& a, const FragmentDecl& b) { return a.name < b.name; });
}

}  // namespace rill::nnef
