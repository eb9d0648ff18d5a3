#include "plan_file/read.h"

#include <algorithm>
#include <cstring>

#include "core/base/checked.h"
#include "core/base/mapped_file.h"
#include "core/base/search.h"
#include "core/run/plan_format.h"
#include "core/run/plan_records.h"
#include "kernels/target.h"
#include "plan_file/check.h"
#include "plan_file/checksum.h"
#include "plan_file/properties.h"
#include "plan_file/step_reader.h"

namespace rill::plan_file {
namespace {

Status damaged(std::string_view how) {
  return fail(Code::kParse, "not a plan file of rill: ", how)
      .hint("Compile the model again, or copy the file again");
}

Status damaged(const Record& record) {
  if (record.field() == nullptr) return damaged(record.why());
  return damaged(str_cat(record.field(), ": ", record.why()));
}

/// Reads one plan of a file.
class PlanReader {
 public:
  PlanReader(std::span<const std::byte> record, size_t notes_bytes,
             std::span<const std::byte> constants, std::shared_ptr<const void> owner,
             const Known& known)
      : from_(record), notes_bytes_(notes_bytes), constants_(constants), known_(known) {
    tables_.owner = std::move(owner);
  }

  Result<std::shared_ptr<Plan>> run(const Limits& limits, std::string* audit,
                                    std::string* weights) {
    RILL_TRY(read_tables());
    plan_fields(*this, *plan_);
    *audit = from_.text();
    *weights = from_.text();
    plan_->nodes.resize(static_cast<size_t>(read_node_count(from_, notes_bytes_)));
    StepReader steps(&from_, tables_, plan_.get());
    for (PlanState& state : plan_->states) state.value = steps.operand();
    plan_->steps = steps.steps();
    RILL_TRY(steps.status());
    if (from_.good() && from_.left() > 0) from_.fail("a record has bytes after its contents");
    if (!from_.good()) return damaged(from_);
    if (tables_.owner) plan_->owned.push_back(std::const_pointer_cast<void>(tables_.owner));
    RILL_TRY(check(*plan_, limits).status());
    return std::move(plan_);
  }

  // The members that plan_records.h asks for.
  template <class T>
  void number(const char* name, T& value, PlanRange range) {
    read_number(from_, name, value, range);
  }
  void buffer(const char* name, uint32_t& value) {
    read_buffer_index(from_, name, plan_->buffers.size(), value);
  }
  void text(Text& value) { value = from_.text(); }
  void raw(uint64_t& value) { value = from_.raw(); }
  void extent(Extent& value) { value = from_.extent(); }
  int type(PlanIo& io) {
    const ReadType type = read_type(from_);
    io.dtype = type.dtype;
    io.q = type.q;
    io.shape.assign(type.shape.begin(), type.shape.begin() + type.rank);
    io.bytes = checked_volume(io.shape).value_or(0) * dtype_size(io.dtype);
    return type.rank;
  }
  void content(PlanBuffer& buffer) {
    const int64_t number = from_.number(-1, static_cast<int64_t>(tables_.constants.size()) - 1);
    if (!from_.good()) return;
    std::span<const std::byte> bytes;
    if (number >= 0) bytes = tables_.constants[static_cast<size_t>(number)];
    if (buffer.kind == BufferKind::kConst) {
      if (static_cast<int64_t>(bytes.size()) != buffer.bytes) {
        from_.fail("a buffer and its constant have different sizes");
      }
      if (!bytes.empty()) buffer.data = {tables_.owner, bytes.data()};
      plan_->const_bytes += buffer.bytes;
    } else {
      // The content stays in the file, where several buffers may share it. No step writes to it.
      auto* const begin = const_cast<std::byte*>(bytes.data());
      buffer.initial = List<std::byte>::at(begin, bytes.size());
    }
  }
  void require(bool holds, const char* why, const char* name) {
    if (!holds) from_.fail(why, name);
  }
  int64_t count(size_t) { return from_.count(); }
  template <class Each, class... T>
  void many(int64_t count, const Each& each, List<T>&... lists) {
    for (int64_t i = 0; i < count && from_.good(); ++i) {
      (lists.emplace_back(), ...);
      each(lists.back()...);
    }
  }

 private:
  std::vector<std::string_view> names() {
    std::vector<std::string_view> out;
    const int64_t count = from_.count(kMostNames);
    for (int64_t i = 0; i < count && from_.good(); ++i) out.push_back(from_.text());
    return out;
  }
  Status read_tables() {
    for (const std::string_view name : names()) {
      const auto found =
          find_if(known_.steps, [&](const StepKind* kind) { return name == kind->name; });
      if (found == known_.steps.end()) {
        return fail(Code::kUnsupported, "the plan has steps of the kind \"", name,
                    "\", which this build of rill does not have")
            .hint("Use a build with all operators, or of the version that compiled the model");
      }
      tables_.kinds.push_back(*found);
    }
    tables_.kernels = names();
    for (const std::string_view name : names()) {
      const OpClass* found = nullptr;
      for (const OpModule* module : known_.modules) {
        for (const OpClass& each : module->classes) {
          if (name == each.name) found = &each;
        }
      }
      if (found == nullptr) {
        return fail(Code::kUnsupported, "the plan calls the operator \"", name,
                    "\", which this build of rill does not have")
            .hint("Use a build with all operators, or of the version that compiled the model");
      }
      tables_.classes.push_back(found);
    }
    const int64_t count = from_.count();
    for (int64_t i = 0; i < count && from_.good(); ++i) {
      tables_.constants.push_back(read_constant(from_, constants_));
    }
    return {};
  }

  RecordReader from_;
  size_t notes_bytes_;
  std::span<const std::byte> constants_;
  const Known& known_;
  Tables tables_;
  std::shared_ptr<Plan> plan_ = std::make_shared<Plan>();
};

Status read_notes(std::span<const std::byte> record, Plan* plan) {
  RecordReader from(record);
  if (from.count() != static_cast<int64_t>(plan->nodes.size())) {
    return damaged("its notes are of another plan");
  }
  for (PlanNode& node : plan->nodes) {
    node.name = from.text();
    node.op = from.text();
  }
  std::vector<StepUse> uses(static_cast<size_t>(from.count()));
  if (!uses.empty() && uses.size() != plan->steps.size()) {
    return damaged("its notes are of another plan");
  }
  std::vector<std::pair<int64_t, int64_t>> operands;
  for (StepUse& use : uses) {
    for (auto* list : {&use.reads, &use.writes}) {
      list->resize(static_cast<size_t>(from.count()));
      for (uint32_t& buffer : *list) {
        buffer = static_cast<uint32_t>(from.natural());
        if (buffer >= plan->buffers.size())
          from.fail("its notes name a buffer that does not exist");
      }
    }
    const int64_t inputs = from.count();
    operands.emplace_back(inputs, from.count());
  }
  const Tables none;
  StepReader reader(&from, none, plan);
  for (size_t i = 0; i < uses.size() && from.good(); ++i) {
    for (int64_t k = 0; k < operands[i].first && from.good(); ++k) {
      uses[i].inputs.push_back(reader.operand());
    }
    for (int64_t k = 0; k < operands[i].second && from.good(); ++k) {
      uses[i].outputs.push_back(reader.operand());
    }
  }
  if (!from.good()) return damaged(from);
  plan->uses = uses;
  return {};
}

/// A header that passed its checks, and its targets.
struct Head {
  Header header{};
  std::vector<TargetEntry> targets;
};

Result<Head> read_head(std::span<const std::byte> bytes) {
  Head head;
  if (!is_plan_file(bytes)) return damaged("its first bytes are wrong");
  Header& header = head.header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.byte_order != kByteOrder) {
    return fail(Code::kAbi, "the plan file is for machines of another byte order");
  }
  if (header.version != kVersion) {
    return fail(Code::kAbi, "a plan file of version ", header.version, ": this library reads ",
                kVersion)
        .hint("Compile the model with the version of rill that opens the file");
  }
  const auto size = static_cast<int64_t>(bytes.size());
  if (header.bytes != size) {
    return damaged(str_cat("it has ", size, " bytes of ", header.bytes));
  }
  if (!adds_up(header, size)) return damaged("its sizes contradict each other");
  const auto summed = static_cast<size_t>(header.constants) - kSummedFrom;
  if (checksum(bytes.subspan(kSummedFrom, summed)) != header.checksum) {
    return damaged("its checksum is wrong");
  }
  for (uint32_t i = 0; i < header.targets; ++i) {
    TargetEntry entry;
    std::memcpy(&entry, bytes.data() + sizeof header + i * sizeof entry, sizeof entry);
    if (!lies_inside(entry, header)) return damaged("a record lies outside of it");
    head.targets.push_back(entry);
  }
  return head;
}

}  // namespace

bool is_plan_file(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof(Header) &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Known known_here(std::span<const StepKind* const> steps,
                 std::span<const OpModule* const> modules) {
  const char* const cpu = kernels::target_name(kernels::running_target());
  return {steps, modules, kernels::target_rank, cpu};
}

Result<OpenedPlan> open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                        const Known& known, const Limits& limits) {
  RILL_TRY(check_size(static_cast<int64_t>(bytes.size()), limits));
  RILL_ASSIGN(const Head head, read_head(bytes));
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlign != 0) {
    return fail(Code::kArg, "a plan file in memory that is not aligned to ", kAlign, " bytes")
        .hint("Align the memory, as mmap and aligned_alloc(64, ...) do");
  }
  OpenedPlan out;
  const TargetEntry* best = nullptr;
  int rank = -1;
  for (const TargetEntry& entry : head.targets) {
    out.targets.emplace_back(entry.name.data());
    const int own = known.rank(out.targets.back());
    if (own <= rank) continue;
    rank = own;
    best = &entry;
  }
  if (best == nullptr) {
    std::string all;
    for (const std::string& target : out.targets) all += (all.empty() ? "" : ", ") + target;
    return fail(Code::kUnsupported, "a plan for ", all, ": this CPU and build run ", known.cpu)
        .hint(str_cat("Compile the model with --target ", known.cpu));
  }
  const auto at = [&](const Place& place) {
    return bytes.subspan(static_cast<size_t>(place.begin), static_cast<size_t>(place.bytes));
  };
  out.target = best->name.data();
  PlanReader reader(at(best->plan), static_cast<size_t>(best->notes.bytes),
                    bytes.subspan(static_cast<size_t>(head.header.constants)), std::move(owner),
                    known);
  RILL_ASSIGN(const std::shared_ptr<Plan> plan, reader.run(limits, &out.audit, &out.weights));
  if (best->notes.bytes > 0) RILL_TRY(read_notes(at(best->notes), plan.get()));
  RILL_ASSIGN(out.properties, read_properties(at(best->properties)));
  out.plan = plan;
  return out;
}

Result<std::set<std::string>> kinds_in(std::span<const std::byte> bytes) {
  RILL_ASSIGN(const Head head, read_head(bytes));
  std::set<std::string> out;
  for (const TargetEntry& entry : head.targets) {
    Record plan(bytes.subspan(static_cast<size_t>(entry.plan.begin),
                              static_cast<size_t>(entry.plan.bytes)));
    const int64_t count = plan.count();
    for (int64_t i = 0; i < count && plan.good(); ++i) out.emplace(plan.text());
    if (!plan.good()) return damaged(plan);
  }
  return out;
}

Status verify(std::span<const std::byte> bytes, std::span<const std::byte> mapped) {
  RILL_ASSIGN(const Head head, read_head(bytes));
  const auto constants = bytes.subspan(static_cast<size_t>(head.header.constants));
  Checksum sum(constants.size());
  constexpr size_t kPieceBytes = size_t{4} << 20;
  for (size_t at = 0; at < constants.size(); at += kPieceBytes) {
    const auto piece = constants.subspan(at, std::min(kPieceBytes, constants.size() - at));
    sum.add(piece);
    if (!mapped.empty()) drop_pages(piece);
  }
  return sum.value() == head.header.constant_checksum
             ? Status()
             : damaged("the checksum of its constants is wrong");
}

}  // namespace rill::plan_file
