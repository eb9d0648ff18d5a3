#include "plan_file/reopen.h"

#include <algorithm>
#include <cstring>

#include "core/base/aligned.h"
#include "core/base/mapped_file.h"
#include "core/run/plan_format.h"
#include "plan_file/check.h"
#include "plan_file/map.h"
#include "plan_file/step_writer.h"

namespace rill::plan_file {
namespace {

/// Copy the bytes of a file to memory with the alignment of a map.
Result<MappedFile> aligned(std::span<const std::byte> file) {
  const size_t capacity = std::max<size_t>(1, (file.size() + kAlign - 1) / kAlign) * kAlign;
  auto* const memory = static_cast<std::byte*>(allocate_aligned(kAlign, capacity));
  if (memory == nullptr) return fail(Code::kNoMem, "no memory for ", capacity, " bytes");
  if (!file.empty()) std::memcpy(memory, file.data(), file.size());
  return MappedFile{std::shared_ptr<const void>(memory, free_aligned), {memory, file.size()}};
}

/// Return the written arguments of a step.
std::vector<std::byte> step_bytes(const Plan& plan, size_t index, const Known& known) {
  Constants all;
  ConstantTable constants(&all);
  StepWriter writer(plan, known.modules, &constants);
  writer.steps({plan.steps[index]});
  return writer.record().bytes();
}

Status differs(std::string_view target, const Plan& expected, const Plan& found,
               const Known& known) {
  Status status =
      fail(Code::kInternal, "the plan for ", target, " differs from the one that its file holds");
  const size_t steps = std::min(expected.steps.size(), found.steps.size());
  for (size_t i = 0; i < steps; ++i) {
    if (step_bytes(expected, i, known) == step_bytes(found, i, known)) continue;
    const int id = expected.steps[i].node;
    if (id < 0 || static_cast<size_t>(id) >= expected.nodes.size()) break;
    const PlanNode& node = expected.nodes[static_cast<size_t>(id)];
    return std::move(status).in_node(node.name, node.op);
  }
  return status;
}

/// Open the plan of a target from a file, and compare it. `mapped`: the bytes of the file if it is
/// mapped.
Status expect_same(const TargetPlan& each, const MappedFile& file,
                   std::span<const std::byte> mapped, Known known, const WriteOptions& options) {
  known.rank = [&](std::string_view target) { return target == each.target ? 0 : -1; };
  auto opened = open(file.bytes, file.owner, known, options.limits);
  // The plan has kernels of another CPU, but its numbers can be checked here.
  if (!opened.ok() && opened.error().code == Code::kUnsupported) {
    return check(*each.plan, options.limits).status();
  }
  if (!opened.ok()) return opened.take_status();
  const TargetPlan again{each.target, opened->plan};
  RILL_ASSIGN(const PlanFile expected, make_file({&each, 1}, known.modules, options));
  WriteOptions read = options;
  read.properties = std::move(opened->properties);
  RILL_ASSIGN(const PlanFile found, make_file({&again, 1}, known.modules, read, mapped));
  return expected.is_same(found, mapped) ? Status()
                                         : differs(each.target, *each.plan, *opened->plan, known);
}

}  // namespace

namespace {

Status expect_reopens(const MappedFile& file, std::span<const std::byte> mapped,
                      std::span<const TargetPlan> plans, std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options) {
  Known known;
  known.steps = steps;
  known.modules = modules;
  Status status = verify(file.bytes, mapped);
  for (size_t i = 0; status.ok() && i < plans.size(); ++i) {
    status = expect_same(plans[i], file, mapped, known, options);
  }
  const bool too_large = status.code() == Code::kNoMem || status.code() == Code::kUnsupported;
  if (status.ok() || too_large) return status;
  status.error().code = Code::kInternal;
  return std::move(status).hint(
      "Nothing was written: this is a bug of rill; please report it with the model");
}

}  // namespace

Status expect_reopens(std::span<const std::byte> file, std::span<const TargetPlan> plans,
                      std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options) {
  RILL_ASSIGN(const MappedFile whole, aligned(file));
  return expect_reopens(whole, {}, plans, steps, modules, options);
}

Status expect_file_reopens(const std::string& path, std::span<const TargetPlan> plans,
                           std::span<const StepKind* const> steps,
                           std::span<const OpModule* const> modules, const WriteOptions& options) {
  RILL_ASSIGN(const MappedFile file, map_file(path));
  return expect_reopens(file, kMapsFiles ? file.bytes : std::span<const std::byte>(), plans, steps,
                        modules, options);
}

}  // namespace rill::plan_file
