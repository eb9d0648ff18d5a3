#include "tests/fuzz/onnx_operators.h"

#include <string_view>

#include "ops/onnx_table.h"

namespace rill::test {
namespace {

/// Split a text at the commas outside of brackets.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] != ',' || depth > 0) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Declared declared_by(std::string_view declaration) {
  Declared out;
  declaration.remove_prefix(std::string_view("fragment ").size());
  const size_t open = declaration.find('(');
  out.op = declaration.substr(0, open);
  const std::string_view head = declaration.substr(open + 1, declaration.find(") ->") - open - 1);
  for (const std::string_view part : parts_of(head)) {
    const size_t colon = part.find(':');
    const size_t equals = part.find('=');
    const std::string_view type = trimmed(part.substr(colon + 1, equals - colon - 1));
    if (type.starts_with("tensor<")) {
      if (equals == std::string_view::npos) out.inputs += type.ends_with("[]") ? 2 : 1;
    } else {
      out.attributes.push_back({std::string(trimmed(part.substr(0, colon))), std::string(type)});
    }
  }
  return out;
}

}  // namespace

const std::vector<Declared>& declared_operators() {
  static const std::vector<Declared> all = [] {
    std::vector<Declared> out;
    for (const OnnxModule* module : ops::onnx_table()) {
      for (const OnnxOp& op : module->ops) {
        if (op.domain[0] == '\0') out.push_back(declared_by(op.declaration));
      }
    }
    return out;
  }();
  return all;
}

}  // namespace rill::test
