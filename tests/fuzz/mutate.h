#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rill::test {

/// A `variable<scalar>(label = '...', shape = [...])` in a text.
struct Variable {
  std::string label;
  std::vector<int64_t> shape;
};
std::vector<Variable> variables_of(std::string_view text);

/// Change a graph text by its tokens, so that it usually still parses. Numbers become edge values.
/// Names become other names of the text, or other operators. Statements are repeated, moved or
/// dropped.
std::string mutated(std::string_view text, uint64_t seed);

}  // namespace rill::test
