#include "plan_file/reopen.h"

#include <algorithm>
#include <cstring>

#include "core/base/aligned.h"
#include "core/run/plan_format.h"
#include "plan_file/check.h"
#include "plan_file/step_writer.h"

namespace rill::plan_file {
namespace {

/// The bytes of a file as a map has them.
struct Aligned {
  std::shared_ptr<std::byte> memory;
  std::span<const std::byte> bytes;
};

Result<Aligned> aligned(std::span<const std::byte> file) {
  const size_t room = std::max<size_t>(1, (file.size() + kAlign - 1) / kAlign) * kAlign;
  auto* const memory = static_cast<std::byte*>(allocate_aligned(kAlign, room));
  if (memory == nullptr) return fail(Code::kNoMem, "no memory for ", room, " bytes");
  if (!file.empty()) std::memcpy(memory, file.data(), file.size());
  return Aligned{{memory, [](std::byte* all) { free_aligned(all); }}, {memory, file.size()}};
}

/// The arguments of a step as they are written.
std::vector<std::byte> step_bytes(const Plan& plan, size_t index, const Known& known) {
  Constants all;
  ConstantTable constants(&all);
  StepWriter writer(plan, known.modules, &constants);
  writer.steps({plan.steps[index]});
  return writer.record().bytes();
}

Status differs(std::string_view target, const Plan& expected, const Plan& found,
               const Known& known) {
  Status status = fail(Code::kInternal, "the plan for ", target,
                       " is another one when its file is opened");
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

Status expect_same(const TargetPlan& each, const Aligned& file, Known known,
                   const WriteOptions& options) {
  known.rank = [&](std::string_view target) { return target == each.target ? 0 : -1; };
  auto opened = open(file.bytes, file.memory, known);
  // Kernels of another CPU: its numbers can be checked here, though.
  if (!opened.ok() && opened.error().code == Code::kUnsupported) {
    return check(*each.plan).status();
  }
  if (!opened.ok()) return opened.take_status();
  const TargetPlan again{each.target, opened->plan};
  RILL_ASSIGN(const auto expected, write({&each, 1}, known.modules, options));
  WriteOptions read = options;
  read.properties = std::move(opened->properties);
  RILL_ASSIGN(const auto found, write({&again, 1}, known.modules, read));
  return expected == found ? Status() : differs(each.target, *each.plan, *opened->plan, known);
}

}  // namespace

Status expect_reopens(std::span<const std::byte> file, std::span<const TargetPlan> plans,
                      std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options) {
  Known known;
  known.steps = steps;
  known.modules = modules;
  RILL_ASSIGN(const Aligned whole, aligned(file));
  Status status = verify(whole.bytes);
  for (size_t i = 0; status.ok() && i < plans.size(); ++i) {
    status = expect_same(plans[i], whole, known, options);
  }
  const bool too_large = status.code() == Code::kNoMem || status.code() == Code::kUnsupported;
  if (status.ok() || too_large) return status;
  status.error().code = Code::kInternal;
  return std::move(status).hint(
      "Nothing was written: this is a bug of rill, and worth a report with the model");
}

}  // namespace rill::plan_file
