#include "plan_file/step_reader.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/run/plan_records.h"

namespace rill::plan_file {
namespace {

// The maximum length of an argument that is a list; in real plans these have a few hundred
// elements.
constexpr int64_t kMostElementsOfLists = 1 << 16;

template <class T>
T entry_of(const std::vector<T>& table, RecordReader* from) {
  if (table.empty()) {
    from->fail("a step refers to a part that the file does not have");
    return T{};
  }
  return table[static_cast<size_t>(from->number(0, static_cast<int64_t>(table.size()) - 1))];
}

}  // namespace

List<Step> StepReader::steps() {
  List<Step> out;
  if (++depth_ > kMaxLoopDepth) from_.fail("its loops are nested too deep");
  const int64_t count = from_.count();
  out.reserve(static_cast<size_t>(std::min<int64_t>(count, kMostElementsOfLists)));
  for (int64_t i = 0; i < count && from_.good(); ++i) {
    const StepKind* kind = entry_of(tables_.kinds, &from_);
    if (kind == nullptr) break;
    Step step;
    step.run = kind->run;
    step.kind = kind;
    step.node = static_cast<int>(
        from_.number(-1, static_cast<int64_t>(plan_.nodes.size()) - 1));
    step.parts.units = from_.number();
    step.parts.most = from_.number();
    step.parts.scratch = ref();
    std::shared_ptr<void> args = make_args(*kind);
    kind->describe(args.get(), *this);
    step.args = args.get();
    plan_.owned.push_back(std::move(args));
    out.push_back(step);
  }
  --depth_;
  return out;
}

Ref StepReader::ref() {
  Ref out;
  const uint64_t buffer = from_.natural();
  if (buffer >= plan_.buffers.size()) from_.fail("a step refers to a buffer that does not exist");
  out.buffer = from_.good() ? static_cast<uint32_t>(buffer) : 0;
  out.offset = from_.number(-kMostMemoryBytes, kMostMemoryBytes, "offset");
  return out;
}

PlacedView StepReader::operand() {
  PlacedView out;
  const ReadType type = read_type(from_);
  out.dtype = type.dtype;
  out.q = type.q;
  out.rank = type.rank;
  out.shape = type.shape;
  for (size_t axis = 0; axis < static_cast<size_t>(out.rank); ++axis) {
    out.stride[axis] = from_.number(-kMostPlanStride, kMostPlanStride, "stride");
  }
  out.ref = ref();
  return out;
}

TensorPtr StepReader::tensor() {
  if (from_.number(0, 1) == 0) return nullptr;
  const ReadType type = read_type(from_);
  const auto block =
      static_cast<BlockFormat>(from_.number(0, static_cast<int64_t>(BlockFormat::kQ8_1)));
  const int64_t number =
      from_.number(-1, static_cast<int64_t>(tables_.constants.size()) - 1);
  std::span<const std::byte> bytes;
  if (from_.good() && number >= 0) bytes = tables_.constants[static_cast<size_t>(number)];
  std::vector<int64_t> shape(type.shape.begin(), type.shape.begin() + type.rank);
  auto borrowed = Tensor::borrowed(type.dtype, block, std::move(shape), type.q, bytes,
                                   {tables_.owner, bytes.data()});
  if (!borrowed.ok()) {
    from_.fail("the bytes of a tensor do not match its shape");
    return nullptr;
  }
  return std::make_shared<const Tensor>(std::move(borrowed).value());
}

void StepReader::field(std::string_view, OpPtr& value) {
  const OpClass* known = entry_of(tables_.classes, &from_);
  if (known == nullptr) return;
  const std::shared_ptr<Op> made = known->make();
  describe(*this, *known, *made);
  value = made;
}

void StepReader::field(std::string_view, List<Step>& value) { value = steps(); }

void StepReader::kernel(std::string_view, std::span<const KernelName> names, int64_t& index) {
  index = -1;
  const int64_t own = from_.number(-1, static_cast<int64_t>(tables_.kernels.size()) - 1);
  if (own < 0 || !from_.good()) return;
  const std::string_view wanted = tables_.kernels[static_cast<size_t>(own)];
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].name == wanted) index = static_cast<int64_t>(i);
  }
  if (index < 0) {
    refuse(fail(Code::kUnsupported, "the plan runs the kernel ", wanted,
                ", which this build of rill does not have")
               .hint("Compile the model for a tier that this build has"));
  } else if (!names[static_cast<size_t>(index)].runs) {
    refuse(fail(Code::kUnsupported, "the plan runs the kernel ", wanted,
                ", which this CPU cannot run")
               .hint("Compile the model for a target that this CPU supports"));
    index = -1;
  }
}

void StepReader::begin_list(std::string_view, int64_t& count) {
  count = from_.count(kMostElementsOfLists);
}

}  // namespace rill::plan_file
