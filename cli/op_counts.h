#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Return the text after `key=` in the attributes of an op; nothing if there is none.
std::string attribute(const Op& op, std::string_view key);

/// Count operators by name, including those of loop bodies. A delay that begins with padding counts
/// as a delay and as tract's upstream PulsePad.
std::map<std::string, int64_t, std::less<>> count_ops(const Graph& graph);

/// Check `--assert-op-count` and `--assert-op-only`.
Status check_ops(const CheckOptions& checks, const Graph& graph);
/// Return whether the options assert operators.
inline bool asserts_ops(const CheckOptions& checks) {
  return !checks.assert_op_counts.empty() || !checks.assert_op_only.empty();
}

}  // namespace rill::cli
