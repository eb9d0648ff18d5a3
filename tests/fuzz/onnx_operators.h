#pragma once

#include <string>
#include <vector>

namespace rill::test {

/// The declaration of an ai.onnx operator, as its module states it.
struct Declared {
  struct Attribute {
    std::string name;
    std::string type;  ///< "integer", "scalar", "string", with [] for lists; others are not drawn
  };
  std::string op;
  int inputs = 0;  ///< the number of required inputs; two for a list
  std::vector<Attribute> attributes;
};

/// Return every form of every operator of this build.
const std::vector<Declared>& declared_operators();

}  // namespace rill::test
