#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rill::test {

/// The operators to take from a seed's random graph, ascending.
struct WideRecipe {
  uint64_t seed = 0;
  std::vector<int> links;
};

/// Return the recipe of a seed: 1 to 6 links.
WideRecipe wide_recipe(uint64_t seed);

/// Write a graph whose numbers do not depend on the implementation: trims, pads, dilations, strides
/// and offsets log-uniform up to 10^5, batches of 1 to 3, static inputs, second streams of tied
/// lengths, and outputs of different rates. Equal recipes give equal text. Without a link, the
/// other links keep their random choices.
std::string wide_graph(const WideRecipe& recipe);

}  // namespace rill::test
