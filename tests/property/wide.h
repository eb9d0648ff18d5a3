#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rill::test {

/// Which operators of a seed's random graph to take, ascending.
struct WideRecipe {
  uint64_t seed = 0;
  std::vector<int> links;
};

/// The recipe of a seed: 1 to 6 links.
WideRecipe wide_recipe(uint64_t seed);

/// Write a graph whose numbers are drawn without a look at the code: trims, pads, dilations,
/// strides and offsets log-uniform up to 10^5, batches of 1 to 3, inputs that do not stream, second
/// streams of tied lengths, several outputs of different rates. Equal recipes give equal text;
/// leaving out a link leaves the random choices of the others.
std::string wide_graph(const WideRecipe& recipe);

}  // namespace rill::test
