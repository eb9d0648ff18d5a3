// Properties of operator attributes, over the cases of tests/operators/cases.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "nnef_loader/load.h"
#include "tests/operators/case.h"

namespace rill::test {
namespace {

class AttributeProperties : public ::testing::TestWithParam<Case> {};

/// Find the numbers, booleans and strings in the statements of a case. Return the range of each.
std::vector<std::pair<size_t, size_t>> attributes_in(const std::string& text) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    const char first = text[at];
    if (first == '"' || first == '\'') {
      end = std::min(text.find(first, end), text.size() - 1) + 1;
      out.emplace_back(at, end);
    } else if (std::isalnum(first) || first == '_') {
      while (end < text.size() && (std::isalnum(text[end]) || text[end] == '_' || text[end] == '.'))
        ++end;
      const std::string word = text.substr(at, end - at);
      if (std::isdigit(first) || word == "true" || word == "false") out.emplace_back(at, end);
    }
    at = end;
  }
  return out;
}

/// Return other values to replace a written one.
std::vector<std::string> others_than(const std::string& written) {
  if (written == "true") return {"false"};
  if (written == "false") return {"true"};
  if (written[0] == '"' || written[0] == '\'') {
    std::vector<std::string> out;
    for (const char* text : {"constant", "reflect", "replicate", "replicated", "ignore", "nearest",
                             "linear", "cubic", "floor", "ceil", "zeros", "border", "reflection",
                             "none", "add", "mul", "min", "max", "half_pixel", "asymmetric",
                             "align_corners", "SUM", "MIN", "MAX", "uniform", "normal"}) {
      out.push_back(str_cat("\"", text, "\""));
    }
    return out;
  }
  if (written.find('.') != std::string::npos) return {"0.5", "0.125", "3.75"};
  return {"0", "1", "2", "3", "5"};
}

/// Return the operator, attributes and inputs of every node, and the name of every source.
std::vector<std::string> identity_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes) {
    std::string text = str_cat(node.op->name(), " ", node.op->attributes());
    for (const OutletId& input : node.inputs) text += str_cat(" ", input.node, ".", input.slot);
    if (node.op->as<Source>()) text += node.name;
    out.push_back(std::move(text));
  }
  return out;
}

/// Rewriting merges nodes whose operator, attributes and inputs are equal. So if the NNEF texts of
/// two graphs differ, one of these must differ at some node.
TEST_P(AttributeProperties, NodesThatAreWrittenDifferentlyDiffer) {
  auto loaded = load_case(GetParam());
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const Graph& original = *loaded;
  const std::string text = std::move(nnef::graph_text(original)).value();
  const std::vector<std::string> identity = identity_of(original);
  for (const auto& [at, end] : attributes_in(GetParam().statements)) {
    const std::string written = GetParam().statements.substr(at, end - at);
    for (const std::string& other : others_than(written)) {
      Case changed = GetParam();
      changed.statements.replace(at, end - at, other);
      auto graph = load_case(changed);
      if (!graph.ok()) continue;
      auto found = nnef::graph_text(*graph);
      if (!found.ok() || *found == text) continue;
      EXPECT_NE(identity_of(*graph), identity) << written << " as " << other << "\n"
                                               << changed.text();
    }
  }
}

struct CaseName {
  std::string operator()(const ::testing::TestParamInfo<Case>& of) const { return of.param.name; }
};

INSTANTIATE_TEST_SUITE_P(Cases, AttributeProperties, ::testing::ValuesIn(all_cases()), CaseName());

}  // namespace
}  // namespace rill::test
