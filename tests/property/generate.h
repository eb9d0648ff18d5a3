#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "audit/draw.h"

namespace rill::test {

/// A random graph: one streaming input and a chain of operators, some with branches.
struct Recipe {
  uint64_t seed = 0;
  std::vector<int> links;  ///< ascending indices of operators of the seed's chain, or `kShortLink`
};

/// In place of an index: an operator that treats short streams in another way.
constexpr int kShortLink = 990;

struct Generated {
  std::string text;        ///< the text of graph.nnef, with weights as literals
  int64_t pulse_unit = 1;  ///< the unit of legal pulses
  /// The largest difference of a stream: 0, except with attention, whose last bits other layers
  /// amplify.
  double tolerance = 0;
};

using Random = audit::Draw;

/// Return the recipe of a seed: 1 to 6 links.
Recipe recipe(uint64_t seed);
/// Return the recipe of the seed with a `kShortLink` somewhere.
Recipe short_recipe(uint64_t seed);
/// Generate the graph of a recipe. Equal recipes give equal graphs. Without a link, the other links
/// keep their random choices.
Generated generate(const Recipe& recipe);

/// Remove links while `fails(recipe)` holds, starting at the last one.
template <class Fails>
Recipe shrunk(Recipe recipe, const Fails& fails) {
  for (size_t i = recipe.links.size(); i-- > 0;) {
    Recipe fewer = recipe;
    fewer.links.erase(fewer.links.begin() + static_cast<std::ptrdiff_t>(i));
    if (fails(fewer)) recipe = fewer;
  }
  return recipe;
}

}  // namespace rill::test
