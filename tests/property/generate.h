#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "audit/draw.h"

namespace rill::test {

/// A random graph: one input that streams, and a chain of operators, of which some have branches.
struct Recipe {
  uint64_t seed = 0;
  std::vector<int> links;  ///< which operators of the seed's chain to take, ascending
};

struct Generated {
  std::string text;        ///< of graph.nnef, weights written out
  int64_t pulse_unit = 1;  ///< the unit of legal pulses
  /// The most by which a stream may differ: 0, unless there is attention, whose last bits other
  /// layers amplify.
  double tolerance = 0;
};

using Random = audit::Draw;

/// The recipe of a seed: 1 to 6 links.
Recipe recipe(uint64_t seed);
/// Equal recipes give equal graphs. Leaving out a link leaves the random choices of the others.
Generated generate(const Recipe& recipe);

/// Leave out links while `fails(recipe)` holds, the last ones first.
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
