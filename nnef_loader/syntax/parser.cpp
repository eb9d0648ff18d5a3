#include "nnef_loader/syntax/parser.h"

#include <algorithm>

#include "core/base/sorted.h"
#include "core/base/utf8.h"
#include "nnef_loader/syntax/expression.h"
#include "nnef_loader/syntax/token_stream.h"

namespace rill::nnef {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : tokens_(text, file) {}

  Result<Document> document();
  Result<Document> fragments_only();

 private:
  Result<Extension> extension();
  Result<FragmentDecl> fragment();
  Status generic(FragmentDecl* fragment);
  Result<Parameter> parameter();
  Result<ResultDecl> result();
  Result<TypeSpec> type();
  Result<TypeSpec> type_atom();
  Result<TypeName> type_name();
  Status check_names(const FragmentDecl& fragment);
  Result<GraphDecl> graph();
  Result<std::vector<std::string>> names();
  Result<std::vector<Assignment>> body();
  Result<Assignment> assignment();
  Result<LValue> lvalue();
  Result<LValue> lvalue_item();
  Status check_depth();

  TokenStream tokens_;
  ExpressionParser expressions_{&tokens_};
  int depth_ = 0;
};

Status Parser::check_depth() {
  if (depth_ <= kMaxNesting) return {};
  return tokens_.error_at(tokens_.peek().place,
                          str_cat("list nested over ", kMaxNesting, " levels deep"));
}

Result<Document> Parser::document() {
  Document document;
  RILL_TRY(tokens_.expect_word("version"));
  if (tokens_.peek().kind != Token::Kind::kNumber) {
    return tokens_.unexpected("a version number, as in `version 1.0;`");
  }
  document.version = tokens_.take().text;
  RILL_TRY(tokens_.expect(";", "after the version"));
  while (tokens_.peek().is_word("extension")) {
    RILL_ASSIGN(Extension next, extension());
    document.extensions.push_back(std::move(next));
  }
  while (tokens_.peek().is_word("fragment")) {
    RILL_ASSIGN(FragmentDecl next, fragment());
    document.fragments.push_back(std::move(next));
  }
  if (!tokens_.peek().is_word("graph")) {
    return tokens_.unexpected(document.fragments.empty() ? "`extension`, `fragment` or `graph`"
                                                         : "`fragment` or `graph`");
  }
  RILL_ASSIGN(document.graph, graph());
  RILL_TRY(tokens_.expect_end("the graph"));
  return document;
}

Result<Document> Parser::fragments_only() {
  Document document;
  while (tokens_.peek().is_word("fragment")) {
    RILL_ASSIGN(FragmentDecl next, fragment());
    document.fragments.push_back(std::move(next));
  }
  RILL_TRY(tokens_.expect_end("the last fragment"));
  return document;
}

Result<Extension> Parser::extension() {
  Extension extension;
  extension.place = tokens_.take().place;
  RILL_ASSIGN(extension.name, tokens_.expect_name("the name of an extension"));
  RILL_ASSIGN(const std::string_view rest, tokens_.raw_until_semicolon());
  extension.rest = trimmed(rest);
  RILL_TRY(tokens_.expect(";", "after the extension"));
  return extension;
}

Result<FragmentDecl> Parser::fragment() {
  FragmentDecl fragment;
  fragment.place = tokens_.take().place;
  RILL_ASSIGN(fragment.name, tokens_.expect_name("the name of a fragment"));
  if (tokens_.accept("<")) RILL_TRY(generic(&fragment));
  RILL_TRY(tokens_.expect("(", "before the parameters of a fragment"));
  while (!tokens_.accept(")")) {
    if (!fragment.parameters.empty()) RILL_TRY(tokens_.expect(",", "or `)` after a parameter"));
    RILL_ASSIGN(Parameter next, parameter());
    fragment.parameters.push_back(std::move(next));
  }
  RILL_TRY(tokens_.expect("->", "after the parameters of a fragment"));
  RILL_TRY(tokens_.expect("(", "before the results of a fragment"));
  while (!tokens_.accept(")")) {
    if (!fragment.results.empty()) RILL_TRY(tokens_.expect(",", "or `)` after a result"));
    RILL_ASSIGN(ResultDecl next, result());
    fragment.results.push_back(std::move(next));
  }
  RILL_TRY(check_names(fragment));
  if (tokens_.accept(";")) return fragment;
  if (!tokens_.peek().is("{")) return tokens_.unexpected("`{` or `;` after a declaration");
  RILL_ASSIGN(fragment.body, body());
  return fragment;
}

Status Parser::generic(FragmentDecl* fragment) {
  fragment->is_generic = true;
  RILL_TRY(tokens_.expect("?", "in the generic declaration"));
  if (tokens_.accept("=")) {
    RILL_ASSIGN(fragment->generic_default, type_name());
  }
  return tokens_.expect_closing_angle("at the end of the generic declaration");
}

Result<Parameter> Parser::parameter() {
  Parameter parameter;
  parameter.place = tokens_.peek().place;
  RILL_ASSIGN(parameter.name, tokens_.expect_name("the name of a parameter"));
  RILL_TRY(tokens_.expect(":", "after the name of a parameter"));
  RILL_ASSIGN(parameter.type, type());
  if (tokens_.accept("=")) {
    RILL_ASSIGN(parameter.default_value, expressions_.literal());
  }
  return parameter;
}

Result<ResultDecl> Parser::result() {
  ResultDecl result;
  result.place = tokens_.peek().place;
  RILL_ASSIGN(result.name, tokens_.expect_name("the name of a result"));
  RILL_TRY(tokens_.expect(":", "after the name of a result"));
  RILL_ASSIGN(result.type, type());
  return result;
}

Result<TypeSpec> Parser::type() {
  RILL_ASSIGN(TypeSpec spec, type_atom());
  if (tokens_.accept("[")) {
    RILL_TRY(tokens_.expect("]", "after `[` in a type"));
    spec.is_array = true;
  }
  return spec;
}

Result<TypeSpec> Parser::type_atom() {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  TypeSpec spec;
  if (tokens_.accept("(")) {
    spec.kind = TypeSpec::Kind::kTuple;
    while (!tokens_.accept(")")) {
      if (!spec.items.empty()) RILL_TRY(tokens_.expect(",", "or `)` in a tuple type"));
      RILL_ASSIGN(TypeSpec item, type());
      spec.items.push_back(std::move(item));
    }
    return spec;
  }
  if (tokens_.accept_word("tensor")) {
    spec.kind = TypeSpec::Kind::kTensor;
    RILL_TRY(tokens_.expect("<", "after `tensor`"));
    RILL_ASSIGN(spec.name, type_name());
    RILL_TRY(tokens_.expect_closing_angle("after the type of a tensor"));
    return spec;
  }
  RILL_ASSIGN(spec.name, type_name());
  return spec;
}

Result<TypeName> Parser::type_name() {
  const std::optional<TypeName> name = type_name_of(tokens_.peek());
  if (!name) return tokens_.unexpected("a type: integer, scalar, logical, string, complex or ?");
  tokens_.take();
  return *name;
}

Status Parser::check_names(const FragmentDecl& fragment) {
  std::vector<std::pair<std::string_view, Place>> names;
  for (const Parameter& parameter : fragment.parameters) {
    names.emplace_back(parameter.name, parameter.place);
  }
  for (const ResultDecl& result : fragment.results) names.emplace_back(result.name, result.place);
  sort_list(names, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i].first != names[i - 1].first) continue;
    return tokens_.error_at(names[i].second, str_cat("fragment `", fragment.name, "` declares `",
                                                     names[i].first, "` twice"));
  }
  return {};
}

Result<GraphDecl> Parser::graph() {
  GraphDecl graph;
  graph.place = tokens_.take().place;
  RILL_ASSIGN(graph.name, tokens_.expect_name("the name of the graph"));
  RILL_ASSIGN(graph.parameters, names());
  RILL_TRY(tokens_.expect("->", "after the inputs of the graph"));
  RILL_ASSIGN(graph.results, names());
  RILL_ASSIGN(graph.body, body());
  return graph;
}

Result<std::vector<std::string>> Parser::names() {
  std::vector<std::string> names;
  RILL_TRY(tokens_.expect("(", "before a list of names"));
  while (!tokens_.accept(")")) {
    if (!names.empty()) RILL_TRY(tokens_.expect(",", "or `)` in a list of names"));
    RILL_ASSIGN(std::string name, tokens_.expect_name("a name"));
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<Assignment>> Parser::body() {
  std::vector<Assignment> assignments;
  RILL_TRY(tokens_.expect("{", "before the assignments"));
  while (!tokens_.accept("}")) {
    RILL_ASSIGN(Assignment next, assignment());
    assignments.push_back(std::move(next));
  }
  return assignments;
}

Result<Assignment> Parser::assignment() {
  Assignment assignment;
  assignment.place = tokens_.peek().place;
  RILL_ASSIGN(assignment.left, lvalue());
  RILL_TRY(tokens_.expect("=", "in an assignment"));
  RILL_ASSIGN(assignment.right, expressions_.rvalue());
  RILL_TRY(tokens_.expect(";", "at the end of an assignment"));
  return assignment;
}

Result<LValue> Parser::lvalue() {
  const Place place = tokens_.peek().place;
  RILL_ASSIGN(LValue first, lvalue_item());
  if (!tokens_.peek().is(",")) return first;
  LValue list;
  list.kind = LValue::Kind::kTuple;
  list.place = place;
  list.items.push_back(std::move(first));
  while (tokens_.accept(",")) {
    RILL_ASSIGN(LValue item, lvalue_item());
    list.items.push_back(std::move(item));
  }
  return list;
}

Result<LValue> Parser::lvalue_item() {
  const Nesting nesting(&depth_);
  RILL_TRY(check_depth());
  LValue value;
  value.place = tokens_.peek().place;
  const bool is_array = tokens_.peek().is("[");
  if (!is_array && !tokens_.peek().is("(")) {
    RILL_ASSIGN(value.name, tokens_.expect_name("a name to assign to, or `}`"));
    return value;
  }
  tokens_.take();
  value.kind = is_array ? LValue::Kind::kArray : LValue::Kind::kTuple;
  const std::string_view closing = is_array ? "]" : ")";
  while (!tokens_.accept(closing)) {
    if (!value.items.empty()) RILL_TRY(tokens_.expect(",", "in a list of names to assign to"));
    RILL_ASSIGN(LValue item, lvalue_item());
    value.items.push_back(std::move(item));
  }
  return value;
}

Status check_text(std::string_view text, std::string_view file) {
  if (text.size() > kMaxTextBytes) {
    return fail(Code::kParse, "a text of ", text.size(), " bytes: the limit is ", kMaxTextBytes)
        .at(file, 0);
  }
  const size_t bad = find_bad_utf8(text);
  if (bad == std::string_view::npos) return {};
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(bad), '\n');
  return fail(Code::kParse, "text is not UTF-8").at(file, static_cast<int>(line));
}

}  // namespace

Result<Document> parse_document(std::string_view text, std::string_view file) {
  RILL_TRY(check_text(text, file));
  return Parser(text, file).document();
}

Result<Document> parse_fragments(std::string_view text, std::string_view file) {
  RILL_TRY(check_text(text, file));
  return Parser(text, file).fragments_only();
}

}  // namespace rill::nnef
