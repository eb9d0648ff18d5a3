#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/exec/plan.h"
#include "core/exec/property.h"
#include "core/graph/nnef.h"
#include "plan_file/limits.h"

namespace rill::plan_file {

/// A plan made for a target.
struct TargetPlan {
  std::string target;  ///< name of the target, such as "avx2"
  std::shared_ptr<const Plan> plan;
};

struct WriteOptions {
  bool notes = true;                 ///< for profiles: names of nodes, operands of steps
  std::string audit;                 ///< the report of an audit of the model; empty if none ran
  std::string weights;               ///< how the weights were quantised; empty if they were not
  std::vector<Property> properties;  ///< of the model, in the order of their keys
  Limits limits;                     ///< the file opens within these
};

/// A constant of a file.
struct FileConstant {
  const std::byte* data = nullptr;  ///< in the memory of a plan
  int64_t begin = 0;                ///< from the start of the constants
  int64_t bytes = 0;
};

/// A file before it is written. It refers to constants in the memory of the plans, which must
/// outlive it, so that weights are in memory only once.
class PlanFile {
 public:
  using Sink = std::function<Status(std::span<const std::byte>)>;

  int64_t bytes() const { return static_cast<int64_t>(head.size()) + constant_bytes; }
  /// Pass all bytes to `sink`, in order.
  Status each_piece(const Sink& sink) const;
  /// Pass the bytes of all constants to `sink`, in pieces of a multiple of 64 bytes.
  Status each_constant_piece(const Sink& sink) const;
  std::vector<std::byte> joined() const;
  /// Return whether both files have the same bytes. `mapped` may contain constants of `other`; its
  /// pages are released from memory after they are compared.
  bool is_same(const PlanFile& other, std::span<const std::byte> mapped) const;

  std::vector<std::byte> head;  ///< up to the first constant
  std::vector<FileConstant> constants;
  int64_t constant_bytes = 0;
};

/// Make a file of plans of one model. The same plans give the same bytes. `modules` define the
/// operators that plans call. `mapped`: the mapped file that contains the plans' constants, if they
/// come from one.
/// Errors: kUnsupported for a plan with values that no file holds, such as strings, and for more
/// properties than a file holds.
Result<PlanFile> make_file(std::span<const TargetPlan> plans,
                           std::span<const OpModule* const> modules,
                           const WriteOptions& options = {},
                           std::span<const std::byte> mapped = {});

/// Return whether `part` is a range inside `whole`.
bool is_within(std::span<const std::byte> part, std::span<const std::byte> whole);

/// Return the bytes of a file that holds plans of one model. The same plans give the same bytes.
/// Errors: those of `make_file`.
Result<std::vector<std::byte>> write(std::span<const TargetPlan> plans,
                                     std::span<const OpModule* const> modules,
                                     const WriteOptions& options = {});

/// Recompute the checksums of a file, for tests that alter it.
void seal(std::span<std::byte> file);

}  // namespace rill::plan_file
