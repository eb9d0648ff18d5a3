#include "ops/math/pointwise.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/graph/rewrite.h"
#include "ops/array/common.h"
#include "ops/math/f16_operands.h"
#include "ops/math/pointwise_step.h"

namespace rill::ops {
namespace {

using kernels::PointwiseArgs;
using kernels::PointwiseImm;
using kernels::PointwiseInstr;
using kernels::PointwiseOp;

struct Axis {
  int64_t extent = 1;
  int64_t stride[kPointwiseOperands] = {};
};

/// Merge adjacent axes that are contiguous in every operand; order them by the output's strides.
/// Return the number of axes.
int merged_axes(std::span<const View> in, const View& out, Axis* axes) {
  std::array<int, kMaxRank> order{};
  int rank = 0;
  for (int axis = 0; axis < out.rank; ++axis) {
    if (out.extent(axis) != 1) order[static_cast<size_t>(rank++)] = axis;
  }
  // Insertion sort: stable, and without the buffer that std::stable_sort allocates.
  for (int i = 1; i < rank; ++i) {
    for (int j = i; j > 0; --j) {
      int& a = order[static_cast<size_t>(j - 1)];
      int& b = order[static_cast<size_t>(j)];
      if (std::abs(out.step(a)) >= std::abs(out.step(b))) break;
      std::swap(a, b);
    }
  }
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    const int axis = order[static_cast<size_t>(i)];
    Axis next;
    next.extent = out.extent(axis);
    for (size_t k = 0; k < in.size(); ++k) {
      next.stride[k] = in[k].extent(axis) == 1 ? 0 : in[k].step(axis);
    }
    next.stride[kPointwiseOperands - 1] = out.step(axis);
    bool merges = count > 0;
    for (int k = 0; k < kPointwiseOperands && merges; ++k) {
      merges = axes[count - 1].stride[k] == next.extent * next.stride[k];
    }
    if (merges) next.extent *= axes[--count].extent;
    axes[count++] = next;
  }
  return count;
}

PointwiseLoops make_loops(std::span<const PointwiseInstr> code, std::span<const View> in,
                          const View& out) {
  Axis axes[kMaxRank];
  const int count = merged_axes(in, out, axes);
  PointwiseLoops loops;
  PointwiseArgs& args = loops.args;
  args.inputs = static_cast<int>(in.size());
  args.code_len = static_cast<int>(code.size());
  std::copy(code.begin(), code.end(), args.code);
  loops.outer = std::max(0, count - kernels::kPointwiseAxes);
  for (int i = 0; i < count; ++i) {
    if (i < loops.outer) {
      loops.extent[i] = axes[i].extent;
      std::copy(axes[i].stride, axes[i].stride + kPointwiseOperands, loops.stride[i]);
      continue;
    }
    const int d = kernels::kPointwiseAxes - count + i;
    args.extent[d] = axes[i].extent;
    args.out_stride[d] = axes[i].stride[kPointwiseOperands - 1];
    for (int k = 0; k < args.inputs; ++k) args.in[k].stride[d] = axes[i].stride[k];
  }
  kernels::pointwise_collapse(&args);
  return loops;
}

PointwiseSlices slices_of(const PointwiseArgs& args) {
  constexpr int64_t kRun = 512;    // consecutive positions
  constexpr int64_t kEnough = 64;  // enough slices to balance any number of threads
  PointwiseSlices best;
  for (int axis = 0; axis < kernels::kPointwiseAxes && best.count < kEnough; ++axis) {
    const int64_t slice = axis == kernels::kPointwiseAxes - 1 ? kRun : 1;
    const int64_t count = (args.extent[axis] + slice - 1) / slice;
    if (count > best.count) best = {axis, slice, count};
  }
  if (best.count <= 1) best.extent = args.extent[best.axis];
  return best;
}

/// The multiply-adds that take as long as one access to the L2 cache. An operand may be in the
/// cache of another core, so consecutive small steps should be split among threads in the same way.
constexpr double kWorkPerOperand = 7;

/// Return the multiply-adds that take as long as one instruction on one element.
double work_of(const PointwiseInstr& instr) {
  constexpr double kArithmetic = 2;
  constexpr double kFunction = 48;
  constexpr double kLibrary = 400;
  const PointwiseOp op = instr.op;
  const bool library = op >= PointwiseOp::kTan && op <= PointwiseOp::kAtanh;
  if (op == PointwiseOp::kPow || library) return kLibrary;
  const bool function = (op >= PointwiseOp::kExp && op <= PointwiseOp::kGeluApprox) ||
                        op == PointwiseOp::kSin || op == PointwiseOp::kCos;
  return function ? kFunction : kArithmetic;
}

}  // namespace

namespace {

/// Run with registers for `kRegisters` values on the stack, which is small in some threads.
template <size_t kRegisters>
[[gnu::noinline]] void run_with(std::span<const PointwiseInstr> code, std::span<const View> in,
                                const View& out) noexcept {
  constexpr size_t kFloats = 512 + 128;
  alignas(64) float scratch[kRegisters * kFloats];
  RILL_ASSERT(kernels::pointwise_scratch_floats() <= kernels::kPointwiseRegisters * kFloats);
  const PointwiseLoops loops = make_loops(code, in, out);
  PointwiseArgs args = loops.args;
  for (size_t k = 0; k < in.size(); ++k) args.in[k].ptr = in[k].as<const float>();
  args.out = out.as<float>();
  // This also runs while a plan for another CPU is made, to fold constants.
  const kernels::PointwiseFn run = kernels::pointwise_f32(kernels::running_tier());
  run_pointwise_loops(loops, 0, &args, run, scratch);
}

}  // namespace

void run_pointwise(std::span<const PointwiseInstr> code, std::span<const View> in,
                   const View& out) noexcept {
  constexpr size_t kFew = 4;
  size_t registers = in.size();
  for (const PointwiseInstr& instr : code) {
    registers = std::max(registers, static_cast<size_t>(instr.dst) + 1);
  }
  if (registers <= kFew) return run_with<kFew>(code, in, out);
  run_with<kernels::kPointwiseRegisters>(code, in, out);
}

Status lower_pointwise(Lowering& lowering, std::span<const PointwiseInstr> code,
                       std::span<const int> inputs) {
  std::vector<View> in;
  std::vector<Touched> reads;
  int main = inputs[0];
  for (const int i : inputs) {
    const Operand& operand = lowering.in(i);
    const Operand read = upcast(lowering, operand);
    in.push_back(read.at(nullptr));
    reads.emplace_back(read);
    const Operand& best = lowering.in(main);
    const bool better = operand.volume() > best.volume() ||
                        (operand.volume() == best.volume() && best.konst && !operand.konst);
    if (better) main = i;
  }
  const std::vector<int> order = lowering.order_read(Lowering::physical_order(lowering.in(main)));
  const Operand to = lowering.make_out(0, order);
  const Operand out = in_floats(lowering, to, order);
  PointwiseStep step;
  step.run = kernels::pointwise_f32();
  step.loops = make_loops(code, in, out.at(nullptr));
  for (size_t i = 0; i < reads.size(); ++i) step.in[i] = reads[i].operand.ref;
  step.out = out.ref;
  step.slices = slices_of(step.loops.args);
  Lowering::Work work;
  work.units = step.slices.count;
  work.multiply_adds = kWorkPerOperand * static_cast<double>(inputs.size() + 1);
  for (const PointwiseInstr& instr : code) work.multiply_adds += work_of(instr);
  work.multiply_adds *= static_cast<double>(out.volume());
  work.scratch_bytes = static_cast<int64_t>(kernels::pointwise_scratch_floats() * sizeof(float));
  lowering.step_in_parts(kPointwise, step, work, reads, {out});
  narrow(lowering, out, to, order);
  return {};
}

namespace {

int operand_count(PointwiseOp op) {
  if (op > PointwiseOp::kSelect) return 1;
  return op == PointwiseOp::kSelect ? 3 : 2;
}

/// The values that an instruction reads.
struct Reads {
  int count = 0;
  uint8_t value[3] = {};
};

Reads reads_of(const PointwiseInstr& instr) {
  Reads reads;
  const int count = operand_count(instr.op);
  if (count == 1 || instr.imm_at != PointwiseImm::kA) reads.value[reads.count++] = instr.a;
  if (count >= 2 && instr.imm_at != PointwiseImm::kB) reads.value[reads.count++] = instr.b;
  if (count == 3) reads.value[reads.count++] = instr.c;
  return reads;
}

constexpr int kMaxValues = kernels::kPointwiseMaxInputs + kernels::kPointwiseMaxCode;

}  // namespace

bool assign_registers(int64_t inputs, std::span<const PointwiseInstr> code,
                      PointwiseInstr* out) noexcept {
  const int first = static_cast<int>(inputs);
  const int length = static_cast<int>(code.size());
  if (first > kernels::kPointwiseMaxInputs || length > kernels::kPointwiseMaxCode) return false;
  int last_use[kMaxValues] = {};
  for (int k = 0; k < length; ++k) {
    const Reads reads = reads_of(code[static_cast<size_t>(k)]);
    for (int i = 0; i < reads.count; ++i) last_use[reads.value[i]] = k;
  }
  uint8_t place[kMaxValues] = {};
  bool taken[kernels::kPointwiseRegisters] = {};
  for (int v = 0; v < first; ++v) {
    place[v] = static_cast<uint8_t>(v);
    taken[v] = true;
  }
  for (int k = 0; k < length; ++k) {
    const PointwiseInstr& instr = code[static_cast<size_t>(k)];
    int free = 0;
    while (free < kernels::kPointwiseRegisters && taken[free]) ++free;
    if (free == kernels::kPointwiseRegisters) return false;
    taken[free] = true;
    place[first + k] = static_cast<uint8_t>(free);
    out[k] = instr;
    out[k].dst = static_cast<uint8_t>(free);
    out[k].a = place[instr.a];
    out[k].b = place[instr.b];
    out[k].c = place[instr.c];
    const Reads reads = reads_of(instr);
    for (int i = 0; i < reads.count; ++i) {
      if (last_use[reads.value[i]] == k) taken[place[reads.value[i]]] = false;
    }
  }
  return true;
}

namespace {

/// Check an untrusted program: every operand must be an input or an earlier result, and integers
/// may only be read as the nearest floats.
Status check_program(int64_t inputs, std::span<const PointwiseInstr> code, FactSpan in) {
  PointwiseInstr placed[kernels::kPointwiseMaxCode];
  RILL_CHECK(inputs > 0 && inputs <= kernels::kPointwiseMaxInputs && !code.empty() &&
                 code.size() <= kernels::kPointwiseMaxCode,
             "a program of ", code.size(), " instructions on ", counted(inputs, "input"));
  for (size_t k = 0; k < code.size(); ++k) {
    const Reads reads = reads_of(code[k]);
    for (int i = 0; i < reads.count; ++i) {
      RILL_CHECK(reads.value[i] < static_cast<size_t>(inputs) + k, "instruction ", k,
                 " reads value ", reads.value[i], ", which comes later");
      const size_t value = reads.value[i];
      const bool integer = value < in.size() && in[value].dtype == DType::kI32;
      if (integer != (code[k].op == PointwiseOp::kOfInteger)) {
        return fail(Code::kDType, "instruction ", k, " reads value ", value, ": expected ",
                    integer ? "F32" : "I32");
      }
    }
  }
  RILL_CHECK(assign_registers(inputs, code, placed), "the program needs too many registers");
  return {};
}

}  // namespace

void Pointwise::fields(FieldVisitor& visitor) {
  visitor.field("inputs", inputs);
  std::string text;
  for (const PointwiseInstr& instr : code) {
    text += str_cat(text.empty() ? "" : " ", static_cast<int>(instr.op), "(", instr.a, ",", instr.b,
                    ",", instr.c, ",", static_cast<int>(instr.imm_at), ",", instr.imm, ")");
  }
  visitor.field("code", text);
}

Result<Facts> Pointwise::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, static_cast<size_t>(inputs)));
  RILL_TRY(check_program(inputs, code, in));
  Fact out = Fact::of(DType::kF32, in[0].shape);
  for (const Fact& fact : in) {
    if (fact.dtype != DType::kF32 && fact.dtype != DType::kI32) {
      return fail(Code::kDType, "expected F32 or I32, found ", fact);
    }
    RILL_CHECK(fact.rank() == out.rank(), "expected inputs of one rank, found ", in[0], " and ",
               fact);
    for (int axis = 0; axis < out.rank(); ++axis) {
      Dim& extent = out.shape[static_cast<size_t>(axis)];
      extent = broadcast(extent, fact.dim(axis));
      RILL_CHECK(extent.valid(), "extents of axis ", axis, " clash: ", in[0], " and ", fact);
    }
  }
  return one_fact(std::move(out));
}

Status Pointwise::eval(EvalCtx& ctx) const {
  PointwiseInstr placed[kernels::kPointwiseMaxCode];
  assign_registers(inputs, code, placed);
  run_pointwise({placed, code.size()}, ctx.in, ctx.out[0]);
  return {};
}

Status Pointwise::lower(Lowering& lowering) const {
  PointwiseInstr placed[kernels::kPointwiseMaxCode];
  assign_registers(inputs, code, placed);
  int all[kernels::kPointwiseMaxInputs];
  for (int i = 0; i < static_cast<int>(inputs); ++i) all[i] = i;
  return lower_pointwise(lowering, {placed, code.size()}, {all, static_cast<size_t>(inputs)});
}

std::vector<AxisTrack> Pointwise::axes(FactSpan in, FactSpan out) const {
  return elementwise_axes(in, out);
}

Status Pointwise::fuse(Rewrite& rewrite) const { return fuse_elementwise(rewrite); }

Cost Pointwise::cost(FactSpan, FactSpan out) const {
  const Dim count = volume(out[0].shape);
  return {Dim(static_cast<int64_t>(code.size())) * count, Dim(4 * (inputs + 1)) * count};
}

std::vector<std::string> Pointwise::details() const {
  return {str_cat(code.size(), " operations on ", counted(inputs, "input"))};
}

namespace {

/// Return the bounds that the instructions code[from..] apply to value `v`; nothing if they do
/// more.
std::optional<Pointwise::Clip> clip_from(std::span<const PointwiseInstr> code, size_t from,
                                         int64_t v, int64_t inputs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Pointwise::Clip clip{-kInfinity, kInfinity};
  if (from == code.size() || code.size() - from > 2) return std::nullopt;
  for (size_t k = from; k < code.size(); ++k) {
    const PointwiseInstr& instr = code[k];
    const bool limits = instr.op == PointwiseOp::kMax || instr.op == PointwiseOp::kMin;
    if (!limits || instr.imm_at != PointwiseImm::kB || instr.a != v) return std::nullopt;
    if (instr.op == PointwiseOp::kMax) {
      if (k > from) return std::nullopt;  // max after min differs if low > high
      clip.low = instr.imm;
    } else {
      if (clip.high != kInfinity) return std::nullopt;
      clip.high = instr.imm;
    }
    v = inputs + static_cast<int64_t>(k);
  }
  return clip;
}

}  // namespace

std::optional<Pointwise::Clip> Pointwise::as_clip() const {
  return inputs == 1 ? clip_from(code, 0, 0, inputs) : std::nullopt;
}

std::optional<Pointwise::Clip> Pointwise::as_add_clip() const {
  if (inputs != 2 || code.empty() || code[0].op != PointwiseOp::kAdd) return std::nullopt;
  if (code[0].imm_at != PointwiseImm::kNone || code[0].a == code[0].b) return std::nullopt;
  return clip_from(code, 1, inputs, inputs);
}

}  // namespace rill::ops
