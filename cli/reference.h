#pragma once

#include <span>
#include <string>

#include "cli/bundle.h"
#include "cli/options.h"
#include "cli/specs.h"
#include "core/graph/graph.h"

namespace rill::cli {

using audit::first_bad_frame;
using audit::mismatch;

/// Return the tolerance of the command line.
Result<Tolerance> tolerance_of(const CheckOptions& checks);

/// References of outputs: bundles, and values written on the command line.
class Reference {
 public:
  static Result<Reference> read(const CommonOptions& common, const CheckOptions& checks);
  bool any() const { return asked_; }

  /// Find the value for an output by its label, then by its node. Null if there is none and none is
  /// needed. Errors: kArg, "Missing reference output in bundle for ...".
  Result<const Bundle::Item*> find(const std::string& label, const std::string& node) const;
  /// Compare all outputs of a turn. All are checked: the first failure is the error, later ones
  /// are logged.
  Status check(const Graph& graph, std::span<const Tensor> outputs, size_t turn,
               const Log& log) const;
  Status check_output(size_t index, const Tensor& expected, const Tensor& got) const;

 private:
  Bundle bundle_;
  Tolerance tolerance_;
  bool asked_ = false;
  bool allow_missing_ = false;
  bool cast_floats_ = false;
  bool tract_ = false;
};

/// Word a mismatch as tract does, without the opening parenthesis, for programs that read tract's
/// log.
std::string worded_for_tract(std::string mismatch);

/// Check the model against `--assert-output-count` and `--assert-output-fact`.
Status check_output_facts(const CheckOptions& checks, const Graph& graph);
/// As above, for the computed values.
Status check_value_facts(const CheckOptions& checks, std::span<const Tensor> values,
                         std::span<const std::string> names);

}  // namespace rill::cli
