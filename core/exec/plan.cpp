#include "core/exec/plan.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/exec/builder.h"
#include "core/exec/input_indices.h"
#include "core/exec/layout.h"
#include "core/exec/plan_streams.h"
#include "core/graph/fingerprint.h"
#include "core/optim/optim.h"
#include "core/tensor/small.h"

namespace rill {
namespace {

constexpr int64_t kReadBeyond = 64;

/// Fills the history of a ring with its start value, lane by lane.
std::vector<std::byte> ring_image(const Operand& placed, const HistoryNeed& need, const Ring& ring,
                                  int64_t bytes) {
  std::vector<std::byte> image;
  if (!need.pad_value) return image;
  image.resize(static_cast<size_t>(bytes));
  View to = placed.at(image.data());
  to.shape[static_cast<size_t>(need.axis)] = ring.history;
  View from = need.pad_value->view();
  if (from.rank == 0) from.rank = to.rank;  // all strides are zero
  for (int axis = 0; axis < to.rank; ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (need.pad_value->rank() == 0 || from.shape[i] == 1) from.stride[i] = 0;
    from.shape[i] = to.shape[i];
  }
  copy_view(from, to);
  return image;
}

/// Estimate the bytes of a graph's packed weights.
int64_t bytes_of_constants(const Graph& graph) {
  int64_t bytes = 0;
  for (const Node& node : graph.nodes) {
    const auto* constant = node.op->as<Const>();
    if (constant && is_plain(constant->value->dtype())) bytes += constant->value->size_bytes();
  }
  return bytes;
}

}  // namespace

PlanBuilder::PlanBuilder(const Graph& graph, const PrepareOptions& options, Plan* plan,
                         PlanBuilder* outer)
    : graph_(graph),
      options_(options),
      plan_(plan),
      outer_(outer),
      weights_(outer ? 0 : bytes_of_constants(graph)) {
  operands_.resize(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    operands_[i].resize(graph.nodes[i].outputs.size());
  }
  readers_.resize(graph.nodes.size());
  by_channels_.resize(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const OutletId input : node.inputs) ++readers_[static_cast<size_t>(input.node)];
  }
  for (const OutletId output : graph.outputs) ++readers_[static_cast<size_t>(output.node)];
}

List<Step>& PlanBuilder::steps() { return outer_ ? body_steps_ : plan_->steps; }

int PlanBuilder::current_step() const {
  return outer_ ? outer_->current_step() + 1 : static_cast<int>(plan_->steps.size());
}

uint32_t PlanBuilder::new_buffer(BufferKind kind, int64_t bytes) {
  if (bytes > kMostMemoryBytes) {
    refused_ = fail(Code::kNoMem, "no memory for a buffer of ", bytes, " bytes");
    bytes = 0;
  }
  PlanBuffer buffer;
  buffer.kind = kind;
  buffer.bytes = bytes;
  plan_->buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(plan_->buffers.size() - 1);
}

int64_t PlanBuilder::lay_out(Operand* operand, std::span<const int> order, int ring_axis,
                             int64_t ring_extent) {
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    operand->stride[axis] = stride;
    const int64_t extent = order[i] == ring_axis ? ring_extent : operand->shape[axis];
    // The volumes of tensors were checked, but not those of rings.
    if (__builtin_mul_overflow(stride, extent, &stride)) stride = kMostElements;
  }
  return stride * dtype_size(operand->dtype);
}

void PlanBuilder::add_state(std::string name, int node, const PlacedView& value, int axis,
                            int64_t pulse) {
  PlanState state;
  state.name = scope_ + std::move(name);
  state.node = outer_ ? outer_node_ : node;
  state.value = value;
  state.axis = axis;
  state.pulse = pulse;
  plan_->states.push_back(std::move(state));
}

Operand PlanBuilder::make_ring(Operand placed, std::span<const int> order, const HistoryNeed& need,
                               OutletId wire, int node, size_t* ring_index) {
  const auto axis = static_cast<size_t>(need.axis);
  Ring ring;
  ring.pulse = placed.shape[axis];
  ring.history = need.frames;
  // Allow for a few pulses, so that the history rarely moves back.
  const int64_t frames = std::max(ring.history, 3 * ring.pulse);
  const int64_t pulses = ring.pulse == 0 ? 0 : (frames + ring.pulse - 1) / ring.pulse;
  ring.capacity = ring.history + ring.pulse + pulses * ring.pulse;
  const int64_t bytes = lay_out(&placed, order, need.axis, ring.capacity);
  ring.row_bytes = placed.stride[axis] * dtype_size(placed.dtype);
  ring.lane_bytes = ring.capacity * ring.row_bytes;
  ring.lanes = ring.lane_bytes == 0 ? 0 : bytes / ring.lane_bytes;
  ring.buffer = new_buffer(BufferKind::kRing, bytes);
  PlanBuffer& buffer = plan_->buffers[ring.buffer];
  if (buffer.bytes == bytes) buffer.initial = ring_image(placed, need, ring, bytes);
  Operand kept = placed;
  kept.shape[axis] = ring.history;
  kept.ref = {ring.buffer, 0};
  std::string name = graph_.node(wire.node).name;
  if (wire.slot > 0) name += str_cat(":", wire.slot);
  add_state(std::move(name), node, kept, need.axis, ring.pulse);
  placed.ref = {ring.buffer, ring.history * ring.row_bytes};
  *ring_index = plan_->rings.size();
  plan_->rings.push_back(ring);
  return placed;
}

void PlanBuilder::note_use(std::span<const Touched> reads, std::span<const Touched> writes) {
  if (outer_) {
    body_touched_.insert(body_touched_.end(), reads.begin(), reads.end());
    body_touched_.insert(body_touched_.end(), writes.begin(), writes.end());
    return;
  }
  StepUse& use = uses_.emplace_back();
  const auto note = [&](std::span<const Touched> list, List<uint32_t>* buffers,
                        List<PlacedView>* operands) {
    for (const Touched& each : list) {
      touch(each.operand.ref, current_step() - 1);
      buffers->push_back(each.operand.ref.buffer);
      if (options_.keep_uses) operands->push_back(operand_of(each));
    }
  };
  note(reads, &use.reads, &use.inputs);
  note(writes, &use.writes, &use.outputs);
}

/// For a place without a view, return all bytes from there to the end of its buffer.
PlacedView PlanBuilder::operand_of(const Touched& touched) const {
  PlacedView operand = touched.operand;
  if (!touched.whole) return operand;
  operand.dtype = DType::kU8;
  operand.rank = 1;
  operand.shape[0] = plan_->buffers[operand.ref.buffer].bytes - operand.ref.offset;
  operand.stride[0] = 1;
  return operand;
}

void PlanBuilder::touch(Ref ref, int step) {
  PlanBuffer& buffer = plan_->buffers[ref.buffer];
  if (buffer.first_step < 0) buffer.first_step = step;
  buffer.first_step = std::min(buffer.first_step, step);
  buffer.last_step = std::max(buffer.last_step, step);
}

void PlanBuilder::find_history_needs() {
  for (const Node& node : graph_.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto need = node.op->history(static_cast<int>(i));
      if (!need) continue;
      const auto [it, fresh] = needs_.try_emplace(node.inputs[i], *need);
      if (fresh || it->second.axis != need->axis) continue;
      const bool same_pad_value = it->second.pad_value == need->pad_value;
      if (same_pad_value) it->second.frames = std::max(it->second.frames, need->frames);
    }
  }
  for (size_t id = graph_.nodes.size(); id-- > 0;) {
    const Node& node = graph_.nodes[id];
    const bool windowed = by_channels_[id] != 0 && node.op->history(0);
    if (!windowed && !node.op->traits().by_channels) continue;
    const OutletId input = node.inputs[0];
    if (input.slot == 0) by_channels_[static_cast<size_t>(input.node)] = 1;
  }
}

Status PlanBuilder::bind_sources(std::span<const Operand> body_sources) {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const OutletId outlet = graph_.inputs[i];
    if (outer_) {
      operand(outlet) = body_sources[i];
      continue;
    }
    const Node& node = graph_.node(outlet.node);
    Operand placed = Lowering(*this, outlet.node).out_shape(0);
    std::vector<int> order(static_cast<size_t>(placed.rank));
    std::iota(order.begin(), order.end(), 0);
    PlanIo io;
    io.name = node.name;
    io.dtype = placed.dtype;
    io.q = placed.q;
    io.shape.assign(placed.shape.begin(), placed.shape.begin() + placed.rank);
    io.bytes = lay_out(&placed, order, -1, 0);
    io.buffer = new_buffer(BufferKind::kInput, io.bytes);
    plan_->buffers[io.buffer].io = static_cast<int>(i);
    placed.ref = {io.buffer, 0};
    operand(outlet) = placed;
    plan_->inputs.push_back(std::move(io));
  }
  return {};
}

namespace {

/// Return whether all outputs of a node are empty. There is nothing to compute then, although the
/// other extents may be 2^31.
bool gives_nothing(const Node& node) {
  return !node.outputs.empty() && all_of(node.outputs, [](const Fact& fact) {
    return any_of(fact.shape, [](const Dim& dim) { return dim == Dim(0); });
  });
}

/// Fail if a number that is computed from sizes leaves the range of int64.
Status check_range(const Tensor& sizes) {
  for (const Dim& size : sizes.values<Dim>()) {
    if (!size.valid()) return size.as_int().take_status();
  }
  return {};
}

}  // namespace

Status PlanBuilder::run(std::span<const Operand> body_sources) {
  for (const Node& node : graph_.nodes) {
    for (const Fact& fact : node.outputs) {
      auto shape = fact.concrete_shape();
      if (!shape.ok()) return std::move(shape).take_status().in_node(node.name, node.op->name());
      if (!checked_volume(*shape)) {
        return fail(Code::kShape, "tensor shape ", *shape, " of ", dtype_name(fact.dtype),
                    " is too large")
            .in_node(node.name, node.op->name());
      }
    }
  }
  RILL_TRY(bind_sources(body_sources));
  if (!outer_) find_history_needs();
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    const int id = static_cast<int>(i);
    if (!outer_) RILL_TRY(progress(i, graph_.nodes.size()));
    if (const auto* constant = node.op->as<Const>()) {
      TensorPtr value = constant->value;
      if (value->dtype() == DType::kDim) {
        RILL_TRY(check_range(*value).in_node(node.name, node.op->name()));
        auto numbers = cast(*value, DType::kI64);
        // Only masks use a shape that mentions the stream's length, and they evaluate it
        // themselves.
        if (!numbers.ok()) numbers = Tensor::zeros(DType::kI64, value->shape());
        value = std::make_shared<const Tensor>(std::move(numbers).value());
      }
      place_constant(id, std::move(value));
      continue;
    }
    if (node.op->as<Source>()) continue;
    Lowering lowering(*this, id);
    if (gives_nothing(node)) {
      for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
        lowering.make_out(static_cast<int>(slot));
      }
      continue;
    }
    check_indices(id);
    Status lowered = node.op->lower(lowering);
    if (!refused_.ok()) lowered = std::move(refused_);
    RILL_TRY(std::move(lowered).in_node(node.name, node.op->name()).at("", node.line));
    if (shared_) share_packed();
  }
  return {};
}

void PlanBuilder::place_constant(int id, TensorPtr value) {
  const View view = value->view();
  Operand placed;
  placed.dtype = value->dtype();
  placed.q = value->qparams();
  placed.rank = view.rank;
  placed.shape = view.shape;
  placed.stride = view.stride;
  const uint32_t buffer = new_buffer(BufferKind::kConst, value->size_bytes());
  plan_->buffers[buffer].data = std::shared_ptr<const void>(value, value->raw());
  placed.ref = {buffer, 0};
  placed.konst = std::move(value);
  operand({id, 0}) = std::move(placed);
}

std::shared_ptr<void> PlanBuilder::take_packed(uint32_t buffer, int64_t bytes) {
  if (outer_) return outer_->take_packed(buffer, bytes);
  if (shared_) packed_.push_back(buffer);
  // Zeros, including the bytes that kernels read beyond the end.
  std::shared_ptr<void> memory = weights_.take(bytes + kReadBeyond);
  if (memory) return memory;
  auto owner = std::make_shared<Tensor>(small_zeros(DType::kU8, {bytes}));
  return {owner, owner->mutable_raw()};
}

void PlanBuilder::share_packed() {
  // The block can take back only its last allocation, so go backwards.
  for (size_t i = packed_.size(); i-- > 0;) {
    PlanBuffer& buffer = plan_->buffers[packed_[i]];
    if (!buffer.data) continue;
    std::shared_ptr<const void> known = shared_->find(buffer.data.get(), buffer.bytes);
    if (known) {
      weights_.give_back(buffer.data.get(), buffer.bytes + kReadBeyond);
      buffer.data = std::move(known);
    } else {
      shared_->add(buffer.data, buffer.bytes);
    }
  }
  packed_.clear();
}

void PlanBuilder::write_out(OutletId outlet) {
  Operand& constant = operand(outlet);
  if (!constant.konst || constant.konst->block_format() == BlockFormat::kNone) return;
  auto plain = dequantised(*constant.konst);
  if (!plain.ok()) {
    constant.konst = nullptr;
    refused_ = std::move(plain).take_status();
    return;
  }
  constant.konst = std::make_shared<const Tensor>(std::move(plain).value());
  PlanBuffer& buffer = plan_->buffers[constant.ref.buffer];
  buffer.bytes = constant.konst->size_bytes();
  buffer.data = std::shared_ptr<const void>(constant.konst, constant.konst->raw());
}

void PlanBuilder::forget(OutletId outlet) {
  const Operand& constant = operand(outlet);
  // A node that forwards a constant, for example with other axes, counts as a reader.
  if (!graph_.node(outlet.node).op->as<Const>()) return;
  if (!constant.konst || --readers_[static_cast<size_t>(outlet.node)] > 0) return;
  PlanBuffer& buffer = plan_->buffers[constant.ref.buffer];
  buffer.bytes = 0;
  buffer.data = nullptr;
  constant.konst->drop_pages();
}

Status PlanBuilder::place_outputs() {
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const OutletId outlet = graph_.outputs[i];
    write_out(outlet);
    RILL_TRY(std::move(refused_));
    const Operand from = operand(outlet);
    PlanIo& io = plan_->outputs[i];
    if (from.ref.buffer == io.buffer) continue;
    Operand to = from;
    to.konst = nullptr;
    std::vector<int> order(static_cast<size_t>(to.rank));
    std::iota(order.begin(), order.end(), 0);
    lay_out(&to, order, -1, 0);
    to.ref = {io.buffer, 0};
    Lowering(*this, outlet.node).copy(from, to);
  }
  return {};
}

Status PlanBuilder::run_constant_steps() {
  // The session reads it after the last step.
  if (!index_checks_.empty()) touch(bad_index_, current_step() - 1);
  // Intermediates must stay visible after every run.
  if (!options_.optimize || options_.keep_intermediates || !options_.run_constants) return {};
  return rill::run_constant_steps(graph_, &uses_, plan_);
}

void PlanBuilder::keep_uses() {
  if (options_.keep_uses) plan_->uses = uses_;
}

/// Assign offsets by liveness: buffers that are not alive at the same time share memory.
void PlanBuilder::lay_out_memory() {
  std::vector<PlanBuffer*> arena;
  std::vector<Lifetime> lifetimes;
  int64_t state = 0;
  int64_t all = 0;
  for (PlanBuffer& buffer : plan_->buffers) {
    if (buffer.kind == BufferKind::kArena && buffer.first_step >= 0) {
      buffer.offset = all;
      all += aligned_bytes(buffer.bytes);
      arena.push_back(&buffer);
      lifetimes.push_back({buffer.bytes, buffer.first_step, buffer.last_step});
    }
    if (buffer.kind == BufferKind::kState || buffer.kind == BufferKind::kRing) {
      buffer.offset = state;
      state += aligned_bytes(buffer.bytes);
    }
  }
  plan_->state_bytes = state;
  plan_->arena_bytes = all;
  if (options_.keep_intermediates) return;
  plan_->arena_bytes = rill::lay_out(lifetimes);
  for (size_t i = 0; i < arena.size(); ++i) arena[i]->offset = lifetimes[i].offset;
}

std::shared_ptr<void> make_args(const StepKind& kind) {
  const auto alignment = static_cast<std::align_val_t>(kind.args_alignment);
  void* const args = ::operator new(kind.args_bytes, alignment);
  kind.construct(args);
  return {args, [&kind, alignment](void* made) {
            kind.destroy(made);
            ::operator delete(made, alignment);
          }};
}

Result<std::shared_ptr<const Plan>> prepare(const Graph& graph, const PrepareOptions& options) {
  return prepare_sharing(nullptr, graph, options);
}

Result<std::shared_ptr<const Plan>> prepare_sharing(SharedWeights* weights, const Graph& graph,
                                                    const PrepareOptions& options) {
  const ProgressStage stage(Stage::kPrepare);
  RILL_TRY(progress(0));
  Graph ready = graph.streaming ? graph : graph.stateless();
  // A stream also computes frames that do not exist, from which any index may follow.
  IndexChecks checks;
  if (!graph.streaming) checks = computed_indices(ready);
  if (options.optimize) {
    const WeightFormat format = options.weights ? options.weights->format : WeightFormat::kF32;
    // The int8 GEMM is slower than a fused f32 layer.
    const bool few_bits = format != WeightFormat::kF32 && format != WeightFormat::kInt8;
    RILL_ASSIGN(ready, fuse(ready, -1, few_bits));
  }
  auto plan = std::make_shared<Plan>();
  for (const Node& node : ready.nodes) {
    plan->nodes.push_back({node.name, std::string(node.op->name())});
  }
  PlanBuilder builder(ready, options, plan.get(), nullptr);
  if (weights) weights->forget_freed();
  builder.share_weights(weights);
  for (size_t i = 0; i < ready.outputs.size(); ++i) {
    const Fact& fact = ready.fact(ready.outputs[i]);
    auto shape = fact.concrete_shape();
    if (!shape.ok()) {
      const Node& node = ready.node(ready.outputs[i].node);
      return std::move(shape).take_status().in_node(node.name, node.op->name());
    }
    PlanIo io;
    io.name = ready.output_names[i];
    io.dtype = fact.dtype == DType::kDim ? DType::kI64 : fact.dtype;
    io.q = fact.q;
    io.shape = *shape;
    const auto count = checked_volume(io.shape);
    const auto bytes = count ? checked_mul(*count, dtype_size(io.dtype)) : std::nullopt;
    if (!bytes) return fail(Code::kShape, "output ", io.name, " is too large: ", fact);
    io.bytes = *bytes;
    io.buffer = builder.add_output_buffer(static_cast<int>(i), ready.outputs[i], io.bytes);
    plan->outputs.push_back(std::move(io));
  }
  builder.watch_indices(std::move(checks));
  RILL_TRY(builder.run({}));
  const auto indices = graph.streaming ? graph.streaming->indices : input_indices(graph);
  for (size_t i = 0; i < indices.size() && i < plan->inputs.size(); ++i) {
    PlanIo& io = plan->inputs[i];
    if (!indices[i] || !is_int(io.dtype)) continue;
    io.indices = true;
    io.least = indices[i]->least;
    io.most = indices[i]->most;
  }
  RILL_TRY(builder.place_outputs());
  RILL_TRY(builder.run_constant_steps());
  builder.lay_out_memory();
  builder.keep_uses();
  if (ready.streaming) {
    RILL_TRY(describe_streams(*ready.streaming, plan.get()));
    // If the model was pulsed elsewhere, the pulsed graph itself counts as the model.
    plan->model = ready.streaming->model ? *ready.streaming->model : fingerprint(graph);
  }
  RILL_TRY(progress(1));
  return std::shared_ptr<const Plan>(std::move(plan));
}

uint32_t PlanBuilder::add_output_buffer(int index, OutletId outlet, int64_t bytes) {
  const uint32_t id = new_buffer(BufferKind::kOutput, bytes);
  plan_->buffers[id].io = index;
  direct_outputs_.try_emplace(outlet, index);
  return id;
}

}  // namespace rill
