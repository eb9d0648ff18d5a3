#pragma once

#include <optional>
#include <span>
#include <string>

#include "audit/mismatch.h"
#include "pulse/pulse.h"

namespace rill::audit {

/// Where a stream and the whole run part.
struct FirstNode {
  std::string name;
  std::string op;
  int line = 0;
  std::string what;

  std::string to_string() const;
};

/// Find the first wire of a whole graph that the stream gives otherwise: as plans run, else with
/// every node in a step of its own. Nothing if no wire differs so.
/// `bindings`: of all symbols, that of the stream included; `frames` is its value.
std::optional<FirstNode> first_node(const Graph& whole, const pulse::Options& options,
                                    std::span<const Tensor> inputs, const Bindings& bindings,
                                    int64_t frames, const Tolerance& tolerance);

}  // namespace rill::audit
