#pragma once

namespace rill::ops {

/// The names of one kind of an operator.
struct KindNames {
  const char* name;  ///< in dumps
  const char* nnef;
  const char* registry;  ///< of the dialect that defines it
};

}  // namespace rill::ops
