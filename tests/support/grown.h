#pragma once

#include <cstddef>
#include <string>

#include "rill/rill.h"

namespace rill::test {

/// How to combine statements of one kind into a graph of any size.
enum class Growth {
  kChain,    ///< each on the result of the previous one
  kFan,      ///< each on the input; their sum is a chain
  kDiamond,  ///< x = f(x) + x, repeated
  kCross,    ///< a, b = f(a) + b, a - b, repeated
  kConcat,   ///< each on the input, all joined by one operator
  kOutputs,  ///< each on the input, each an output of the model
};
const char* name_of(Growth growth);

/// An operation on one wire that gives a wire of the same shape. `@` is the input, `#` a number
/// that differs between statements.
struct Statement {
  std::string text;               ///< an expression
  std::string before = {};        ///< statements before all of them
  std::string fragments = {};     ///< declarations that the expression needs
  std::string shape = "[1,4,S]";  ///< the shape of the input
  std::string axis = "1";         ///< along which `kConcat` joins results
};

/// Write the archive of a graph with `count` statements, as the bytes of a tar file.
std::string grown_archive(Growth growth, const Statement& statement, size_t count);
/// Put a text into an archive as graph.nnef.
std::string archive_of(const std::string& text);

}  // namespace rill::test
