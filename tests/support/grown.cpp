#include "tests/support/grown.h"

#include <cstdio>
#include <cstring>

namespace rill::test {
namespace {

std::string numbered(const char* stem, size_t i) { return stem + std::to_string(i); }

std::string applied(const Statement& statement, const std::string& input, size_t i) {
  std::string out;
  for (const char c : statement.text) {
    if (c == '@') {
      out += input;
    } else if (c == '#') {
      out += std::to_string(i);
    } else {
      out += c;
    }
  }
  return out;
}

/// The statements of a graph, and the name of its output.
struct Body {
  std::string text;
  std::string result;

  std::string put(const std::string& name, const std::string& value) {
    text += name + "=" + value + ";\n";
    return name;
  }
};

Body in_a_row(Growth growth, const Statement& statement, size_t count) {
  Body body;
  std::string a = "x";
  std::string b = body.put("b", "x*0.5");
  for (size_t i = 0; i < count; ++i) {
    const std::string made = body.put(numbered("v", i), applied(statement, a, i));
    const std::string before = a;
    if (growth == Growth::kChain) a = made;
    if (growth == Growth::kDiamond) a = body.put(numbered("w", i), made + "+" + a);
    if (growth == Growth::kCross) {
      a = body.put(numbered("w", i), made + "+" + b);
      b = body.put(numbered("u", i), before + "-" + b);
    }
  }
  body.result = growth == Growth::kCross ? body.put("y", a + "-" + b) : a;
  return body;
}

Body side_by_side(Growth growth, const Statement& statement, size_t count) {
  Body body;
  std::string all;
  for (size_t i = 0; i < count; ++i) {
    const std::string made = body.put(numbered("v", i), applied(statement, "x", i));
    all += (i == 0 ? "" : ",") + made;
    if (growth != Growth::kFan) continue;
    body.result = i == 0 ? made : body.put(numbered("s", i), body.result + "+" + made);
  }
  if (growth == Growth::kConcat) {
    body.result = body.put("y", "concat([" + all + "],axis=" + statement.axis + ")");
  }
  if (growth == Growth::kOutputs) body.result = all;
  return body;
}

}  // namespace

const char* name_of(Growth growth) {
  constexpr const char* kNames[] = {"Chain", "Fan", "Diamond", "Cross", "Concat", "Outputs"};
  return kNames[static_cast<size_t>(growth)];
}

std::string archive_of(const std::string& text) {
  // A tar file of one entry: a header of 512 bytes, then blocks of 512 bytes, and two blocks of
  // zeros.
  std::string out(512, '\0');
  char* const header = out.data();
  std::strcpy(header, "graph.nnef");
  std::strcpy(header + 100, "0000644");
  std::snprintf(header + 124, 12, "%011zo", text.size());
  std::memcpy(header + 257, "ustar\00000", 8);
  header[156] = '0';
  std::memset(header + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : out) sum += static_cast<unsigned char>(c);
  std::snprintf(header + 148, 7, "%06o", sum);
  out += text;
  out.append((512 - text.size() % 512) % 512 + 1024, '\0');
  return out;
}

std::string grown_archive(Growth growth, const Statement& statement, size_t count) {
  const bool wide =
      growth == Growth::kFan || growth == Growth::kConcat || growth == Growth::kOutputs;
  const Body body = wide ? side_by_side(growth, statement, count)
                         : in_a_row(growth, statement, count);
  std::string text = "version 1.0;\n";
  for (const char* registry : {"tract_core", "tract_extra", "tract_transformers", "tract_onnx"}) {
    text += std::string("extension tract_registry ") + registry + ";\n";
  }
  text += "extension tract_symbol S;\n" + statement.fragments;
  text += "graph g(x)->(" + body.result + "){\nx=external(shape=" + statement.shape + ");\n";
  return archive_of(text + statement.before + body.text + "}\n");
}

}  // namespace rill::test
