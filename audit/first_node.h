#pragma once

#include <optional>
#include <span>
#include <string>

#include "audit/mismatch.h"
#include "pulse/pulse.h"

namespace rill::audit {

/// The first place at which a stream differs from the whole run.
struct FirstNode {
  std::string name;
  std::string op;
  int line = 0;
  std::string what;

  std::string to_string() const;
};

/// Find the first wire of a whole graph that differs in the stream: with optimised plans, or, if
/// these show no difference, with every node in a separate step. Nothing if no wire differs.
/// `bindings`: of all symbols, including the stream's; `frames` is its value.
std::optional<FirstNode> first_node(const Graph& whole, const pulse::Options& options,
                                    std::span<const Tensor> inputs, const Bindings& bindings,
                                    int64_t frames, const Tolerance& tolerance);

}  // namespace rill::audit
