#pragma once

namespace rill::ops {

/// What one kind of an operator is called.
struct KindNames {
  const char* name;  ///< in dumps
  const char* nnef;
  const char* registry;  ///< of the dialect that has it
};

}  // namespace rill::ops
