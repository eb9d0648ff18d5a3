#pragma once

#include <string_view>
#include <vector>

#include "cli/args.h"
#include "core/exec/session.h"
#include "core/tensor/tensor.h"

namespace rill::cli {

/// A stage before the first step, and its time.
struct Stage {
  std::string_view name;
  double seconds;
};

/// Time steps of a session over the first frames of `values`, and print the result.
Status bench_session(const Args& args, Session* session, std::vector<Tensor>* values,
                     Stage before);

}  // namespace rill::cli
