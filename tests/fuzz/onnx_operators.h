#pragma once

#include <string>
#include <vector>

namespace rill::test {

/// What a node of an operator of ai.onnx may have, as its module declares it.
struct Declared {
  struct Attribute {
    std::string name;
    std::string type;  ///< "integer", "scalar", "string", with [] for lists; others are not made
  };
  std::string op;
  int inputs = 0;  ///< those that it must have; two for a list
  std::vector<Attribute> attributes;
};

/// List every form of every operator of this build.
const std::vector<Declared>& declared_operators();

}  // namespace rill::test
