#include "core/exec/lowering.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/exec/builder.h"
#include "core/exec/extents.h"
#include "core/graph/rewrite.h"
#include "core/run/copy_step.h"

namespace rill {
namespace {

/// The multiply-adds that take as long as copying one element.
constexpr double kWorkPerCopy = 12;

/// Merge axes that are contiguous in both operands, drop unit axes, and put the smallest stride of
/// the target last, so that the copy has long inner runs.
void collapse(PlacedView* from, PlacedView* to) {
  std::vector<int> order(static_cast<size_t>(to->rank));
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int axis) { return to->extent(axis) == 1; });
  sort_list(order, [&](int a, int b) { return std::abs(to->step(a)) > std::abs(to->step(b)); });
  PlacedView f = *from;
  PlacedView t = *to;
  f.rank = 0;
  t.rank = 0;
  for (const int axis : order) {
    const auto last = static_cast<size_t>(t.rank) - 1;
    if (t.rank > 0 && t.stride[last] == to->step(axis) * to->extent(axis) &&
        f.stride[last] == from->step(axis) * from->extent(axis)) {
      t.shape[last] *= to->extent(axis);
      f.shape[last] = t.shape[last];
      t.stride[last] = to->step(axis);
      f.stride[last] = from->step(axis);
      continue;
    }
    const auto next = static_cast<size_t>(t.rank);
    t.shape[next] = to->extent(axis);
    f.shape[next] = to->extent(axis);
    t.stride[next] = to->step(axis);
    f.stride[next] = from->step(axis);
    ++t.rank;
    ++f.rank;
  }
  *from = f;
  *to = t;
}

struct EvalArgs {
  OpPtr op;
  List<PlacedView> in;
  List<PlacedView> out;
  Ref state;
  bool has_state = false;
};

RILL_STEP_FIELDS(EvalArgs, op, in, out, state, has_state)

constexpr size_t kMaxOperands = 32;
/// How many multiply-adds of kernels take as long as one of the reference implementation.
constexpr int64_t kReferenceWork = 8;

void run_eval(const EvalArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  View in[kMaxOperands];
  View out[kMaxOperands];
  for (size_t i = 0; i < args.in.size(); ++i) in[i] = frame.view(args.in[i]);
  for (size_t i = 0; i < args.out.size(); ++i) out[i] = frame.view(args.out[i]);
  EvalCtx ctx;
  ctx.in = {in, args.in.size()};
  ctx.out = {out, args.out.size()};
  ctx.symbol = frame.symbol;
  ctx.symbol_value = frame.symbol_value().value_or(0);
  ctx.clock = frame.clock;
  ctx.state = args.has_state ? frame.ptr<void>(args.state) : nullptr;
  // `infer` has excluded all failures but one: an expression, for example from a plan file, may
  // have no value for this stream length. Then the outputs stay unchanged.
  const Status status = args.op->eval(ctx);
  (void)status;
}

void touch_eval(const EvalArgs& args, StepTouches& touches) {
  touches.require(args.op != nullptr && args.in.size() <= kMaxOperands &&
                      args.out.size() <= kMaxOperands,
                  "an operator and its operands");
  if (!touches.holds()) return;
  const std::span<const PlacedView> ins(args.in.begin(), args.in.end());
  const std::span<const PlacedView> outs(args.out.begin(), args.out.end());
  touches.infers(*args.op, ins, outs);
  if (!touches.holds()) return;
  // Skip empty outputs, whose other extents may be 2^31.
  const auto is_empty = [](const PlacedView& view) {
    return std::count(view.shape.begin(), view.shape.begin() + view.rank, 0) > 0;
  };
  touches.require(!all_of(outs, is_empty), "an output with elements");
  const Facts in = facts_of(ins);
  const auto work = args.op->work(in, facts_of(outs)).to_int();
  touches.require(work && *work >= 0, "a number of operations");
  if (work) touches.works({kReferenceWork, *work});
  const int64_t state = args.op->state_bytes(in);
  touches.require(state >= 0 && args.has_state == (state > 0), "a state for its operator");
  if (args.has_state) touches.keeps(region<std::byte>(args.state).over(state).aligned(8));
  for (const PlacedView& operand : args.in) touches.reads(operand);
  for (const PlacedView& operand : args.out) touches.writes(operand);
}

constexpr auto kEvaluate = step_kind<EvalArgs, run_eval, touch_eval>("evaluate");

}  // namespace

extern const StepKind evaluate_kind;
const StepKind evaluate_kind = kEvaluate;

Touched::Touched(const PlacedView& touched) : operand(touched) {}

Touched::Touched(Ref ref) : whole(true) { operand.ref = ref; }

Status Op::lower(Lowering& lowering) const {
  const size_t n_in = static_cast<size_t>(lowering.inputs());
  const size_t n_out = static_cast<size_t>(lowering.outputs());
  if (n_in > kMaxOperands || n_out > kMaxOperands) {
    return fail(Code::kUnsupported, counted(n_in, "input"), ": at most ", kMaxOperands);
  }
  EvalArgs args;
  args.op = clone();
  std::vector<Touched> reads;
  std::vector<Touched> writes;
  for (size_t i = 0; i < n_in; ++i) {
    args.in.push_back(lowering.in(static_cast<int>(i)));
    reads.emplace_back(args.in.back());
  }
  for (size_t i = 0; i < n_out; ++i) {
    args.out.push_back(lowering.make_out(static_cast<int>(i)));
    writes.emplace_back(args.out.back());
  }
  const int64_t state = state_bytes(facts_of({args.in.begin(), args.in.end()}));
  if (state > 0) {
    args.state = lowering.state(state);
    args.has_state = true;
    writes.emplace_back(args.state);
  }
  lowering.step(kEvaluate, std::move(args), std::move(reads), std::move(writes));
  return {};
}

Status Source::lower(Lowering&) const { return {}; }

Status Const::lower(Lowering&) const { return {}; }

const Node& Lowering::node() const { return builder_.graph_.node(node_); }

const Operand& Lowering::in(int i) const {
  const OutletId outlet = node().inputs[static_cast<size_t>(i)];
  builder_.write_out(outlet);
  return builder_.operand(outlet);
}

const Operand& Lowering::stored_in(int i) const {
  return builder_.operand(node().inputs[static_cast<size_t>(i)]);
}

void Lowering::packed(int i) { builder_.forget(node().inputs[static_cast<size_t>(i)]); }

Operand Lowering::out_shape(int i) const {
  const Fact& fact = node().outputs[static_cast<size_t>(i)];
  Operand operand;
  operand.dtype = fact.dtype == DType::kDim ? DType::kI64 : fact.dtype;
  operand.q = fact.q;
  operand.rank = fact.rank();
  for (int axis = 0; axis < fact.rank(); ++axis) {
    operand.shape[static_cast<size_t>(axis)] = *fact.dim(axis).to_int();
  }
  return operand;
}

Operand Lowering::make_out(int i, std::span<const int> order) {
  const OutletId outlet{node_, i};
  Operand operand = out_shape(i);
  std::vector<int> row_major_order(static_cast<size_t>(operand.rank));
  std::iota(row_major_order.begin(), row_major_order.end(), 0);
  if (order.empty()) order = row_major_order;
  if (const HistoryNeed* need = history(i)) {
    size_t ring = 0;
    operand = builder_.make_ring(operand, order, *need, outlet, node_, &ring);
    builder_.rings_[outlet] = {*need, ring, 0};
  } else {
    const int64_t bytes = PlanBuilder::lay_out(&operand, order, -1, 0);
    const auto direct = builder_.direct_outputs_.find(outlet);
    if (direct != builder_.direct_outputs_.end() && operand.contiguous()) {
      operand.ref = {builder_.plan_->outputs[static_cast<size_t>(direct->second)].buffer, 0};
    } else {
      operand.ref = {builder_.new_buffer(BufferKind::kArena, bytes), 0};
    }
  }
  builder_.operand(outlet) = operand;
  return operand;
}

void Lowering::set_out(int i, Operand operand) {
  builder_.operand({node_, i}) = std::move(operand);
}

Operand Lowering::scratch(DType dtype, std::span<const int64_t> shape, std::span<const int> order) {
  Operand operand;
  operand.dtype = dtype;
  operand.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), operand.shape.begin());
  std::vector<int> row_major_order(shape.size());
  std::iota(row_major_order.begin(), row_major_order.end(), 0);
  const int64_t bytes =
      PlanBuilder::lay_out(&operand, order.empty() ? row_major_order : order, -1, 0);
  operand.ref = {builder_.new_buffer(BufferKind::kArena, bytes), 0};
  return operand;
}

Ref Lowering::scratch_bytes(int64_t bytes) {
  return {builder_.new_buffer(BufferKind::kArena, bytes), 0};
}

Ref Lowering::state(int64_t bytes, std::vector<std::byte> initial) {
  const uint32_t id = builder_.new_buffer(BufferKind::kState, bytes);
  builder_.plan_->buffers[id].initial = std::move(initial);
  Operand kept;
  kept.dtype = DType::kU8;
  kept.rank = 1;
  kept.shape[0] = bytes;
  kept.stride[0] = 1;
  kept.ref = {id, 0};
  builder_.add_state(node().name, node_, std::move(kept), -1, 0);
  return {id, 0};
}

std::pair<Ref, void*> Lowering::constant_bytes(int64_t bytes) {
  const uint32_t id = builder_.new_buffer(BufferKind::kConst, bytes);
  std::shared_ptr<void> memory = builder_.take_packed(id, bytes);
  void* data = memory.get();
  builder_.plan_->buffers[id].data = std::move(memory);
  builder_.plan_->const_bytes += bytes;
  return {Ref{id, 0}, data};
}

PlacedView Lowering::constant(const Tensor& value) {
  const View view = value.view();
  PlacedView placed;
  placed.dtype = view.dtype;
  placed.q = view.q;
  placed.rank = view.rank;
  placed.shape = view.shape;
  placed.stride = view.stride;
  const auto [ref, data] = constant_bytes(value.size_bytes());
  if (value.size_bytes() > 0) {
    std::memcpy(data, value.raw(), static_cast<size_t>(value.size_bytes()));
  }
  placed.ref = ref;
  return placed;
}

void Lowering::keep(std::shared_ptr<void> owned) {
  builder_.plan_->owned.push_back(std::move(owned));
}

uint32_t Lowering::slot() { return builder_.new_buffer(BufferKind::kSlot, 0); }

std::vector<int> Lowering::physical_order(const Operand& operand) {
  std::vector<int> order(static_cast<size_t>(operand.rank));
  std::iota(order.begin(), order.end(), 0);
  sort_list(order,
            [&](int a, int b) { return std::abs(operand.step(a)) > std::abs(operand.step(b)); });
  return order;
}

Operand Lowering::ordered(const Operand& operand, std::span<const int> order) {
  Operand wanted = operand;
  PlanBuilder::lay_out(&wanted, order, -1, 0);
  bool same = true;
  for (int axis = 0; axis < operand.rank; ++axis) {
    same &= operand.extent(axis) == 1 || wanted.step(axis) == operand.step(axis);
  }
  if (same) return operand;
  std::vector<int64_t> shape(operand.shape.begin(), operand.shape.begin() + operand.rank);
  Operand copied = scratch(operand.dtype, shape, order);
  copied.q = operand.q;
  copy(operand, copied);
  return copied;
}

Operand Lowering::row_major(const Operand& operand) {
  std::vector<int> order(static_cast<size_t>(operand.rank));
  std::iota(order.begin(), order.end(), 0);
  return ordered(operand, order);
}

namespace {

void put_innermost(int axis, std::vector<int>* order) {
  std::erase(*order, axis);
  order->push_back(axis);
}

}  // namespace

Operand Lowering::innermost(const Operand& operand, int axis) {
  if (operand.extent(axis) == 1 || operand.step(axis) == 1) return operand;
  std::vector<int> order = physical_order(operand);
  put_innermost(axis, &order);
  return ordered(operand, order);
}

std::vector<int> Lowering::order_read(std::vector<int> order) const {
  const HistoryNeed* const need = history(0);
  if (need && builder_.is_read_by_channels(node_) &&
      need->frames > out_shape(0).extent(need->axis)) {
    put_innermost(1, &order);
  }
  return order;
}

void Lowering::copy(const Operand& from, const Operand& to) {
  CopyArgs args{from, to, 1};
  collapse(&args.from, &args.to);
  Work work;
  // Views of one buffer may overlap, so a single call must copy everything.
  const bool separate = from.ref.buffer != to.ref.buffer && args.to.rank > 0;
  work.units = separate ? args.to.extent(0) : 1;
  work.multiply_adds = kWorkPerCopy * static_cast<double>(args.to.volume());
  args.units = work.units;
  step_in_parts(kCopy, args, work, {from}, {to});
}

const HistoryNeed* Lowering::history(int i) const {
  const auto it = builder_.needs_.find({node_, i});
  return it == builder_.needs_.end() ? nullptr : &it->second;
}

bool Lowering::window_on_history(int i, const HistoryNeed& need, int64_t back, int64_t frames,
                                 Operand* window) const {
  const auto it = builder_.rings_.find(node().inputs[static_cast<size_t>(i)]);
  if (it == builder_.rings_.end()) return false;
  const HistoryNeed& held = it->second.need;
  const bool same_pad_value =
      held.pad_value == need.pad_value ||
      (held.pad_value && need.pad_value && held.pad_value->same_bits(*need.pad_value));
  if (held.axis != need.axis || held.frames < need.frames || !same_pad_value) return false;
  *window = in(i);
  window->shape[static_cast<size_t>(need.axis)] = frames;
  window->advance(need.axis, -back);
  return true;
}

Operand Lowering::own_ring(int i, const HistoryNeed& need, int64_t back, int64_t frames) {
  const Operand& from = in(i);
  size_t ring = 0;
  const OutletId wire = node().inputs[static_cast<size_t>(i)];
  std::vector<int> order = physical_order(from);
  if (builder_.is_read_by_channels(node_)) put_innermost(1, &order);
  Operand placed = builder_.make_ring(from, order, need, wire, node_, &ring);
  placed.konst = nullptr;
  copy(from, placed);
  Operand window = placed;
  window.shape[static_cast<size_t>(need.axis)] = frames;
  window.advance(need.axis, -back);
  return window;
}

Extent Lowering::extent(const Dim& dim) {
  auto extent = extent_of(dim);
  if (extent.ok()) return std::move(extent).value();
  builder_.refused_ = extent.take_status();
  return {};
}

std::shared_ptr<void> Lowering::shared(void* args, void (*drop)(void* args)) {
  return {args, drop};
}

void Lowering::add_step(const StepKind& kind, std::shared_ptr<void> args, const StepParts& parts,
                        Given<Touched> reads, Given<Touched> writes) {
  Step step;
  step.run = kind.run;
  step.args = args.get();
  step.kind = &kind;
  step.node = builder_.outer_ ? -1 : node_;
  step.parts = parts;
  builder_.plan_->owned.push_back(std::move(args));
  builder_.steps().push_back(step);
  builder_.note_use(reads, writes);
}

void Lowering::add_step_in_parts(const StepKind& kind, std::shared_ptr<void> args, const Work& work,
                                 Given<Touched> reads, Given<Touched> writes) {
  const StepParts parts = parts_of(work);
  std::vector<Touched> all = writes.to_vector();
  if (work.scratch_bytes > 0) all.emplace_back(parts.scratch);
  add_step(kind, std::move(args), parts, reads, all);
}

StepParts Lowering::parts_of(const Work& work) {
  StepParts parts;
  parts.units = work.units;
  const double worth =
      std::min(work.multiply_adds / builder_.options_.part_work, double{kMostThreads});
  parts.most = std::min(work.units, static_cast<int64_t>(worth));
  if (work.scratch_bytes > 0) parts.scratch = scratch_bytes(work.scratch_bytes);
  if (parts.most < 2) return parts;
  int64_t& most = builder_.plan_->part_scratch_bytes;
  most = std::max(most, (work.scratch_bytes + 63) / 64 * 64);
  return parts;
}

Result<Lowering::Body> Lowering::body(const Graph& graph, std::span<const Operand> sources) {
  // Each iteration is a complete run of the body, so a loop inside it restarts.
  const Graph iteration = graph.stateless();
  PlanBuilder inner(iteration, builder_.options_, builder_.plan_, &builder_);
  inner.scope_ = builder_.scope_ + node().name + "/";
  inner.outer_node_ = builder_.outer_ ? builder_.outer_node_ : node_;
  RILL_TRY(inner.run(sources));
  Body out;
  for (const OutletId& output : graph.outputs) out.outputs.push_back(inner.operand(output));
  out.steps = std::move(inner.body_steps_);
  out.touched = std::move(inner.body_touched_);
  return out;
}

WeightFormat Lowering::weight_format() const {
  const WeightChoice* choice = builder_.options_.weights;
  if (choice == nullptr) return WeightFormat::kF32;
  const bool kept = choice->kept.contains(builder_.scope_ + node().name);
  return kept ? WeightFormat::kF32 : choice->format;
}

WeightLayer& PlanBuilder::weight_layer(const Node& node) {
  std::vector<WeightLayer>& layers = options_.weights->layers;
  const std::string name = scope_ + node.name;
  const auto found = find_if(layers, [&](const WeightLayer& each) { return each.node == name; });
  if (found != layers.end()) return *found;
  WeightLayer& layer = layers.emplace_back();
  layer.node = name;
  layer.op = node.op->name();
  if (options_.weights->kept.contains(name)) layer.kept = "as requested";
  return layer;
}

void Lowering::report_weights(std::span<const int64_t> shape, int64_t f32_bytes, int64_t bytes) {
  if (builder_.options_.weights == nullptr) return;
  WeightLayer& layer = builder_.weight_layer(node());
  if (layer.shape.empty()) layer.shape.assign(shape.begin(), shape.end());
  layer.f32_bytes += f32_bytes;
  layer.bytes += bytes;
}

void Lowering::keep_weights(std::string why) {
  if (builder_.options_.weights != nullptr) builder_.weight_layer(node()).kept = std::move(why);
}

bool Lowering::optimize() const { return builder_.options_.optimize; }

}  // namespace rill
