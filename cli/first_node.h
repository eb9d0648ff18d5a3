#pragma once

#include <optional>
#include <string>

#include "cli/check.h"
#include "cli/inputs.h"
#include "pulse/pulse.h"

namespace rill::cli {

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
/// `frames`: the length of the stream, in its symbol.
std::optional<FirstNode> first_node(const Graph& whole, const pulse::Options& options,
                                    const InputValues& inputs, int64_t frames,
                                    const Tolerance& tolerance);

/// ", frame 7" for the first frame that differs; empty if there is none, or no axis.
std::string first_bad_frame(int axis, const Tensor& want, const Tensor& got,
                            const Tolerance& tolerance);

}  // namespace rill::cli
