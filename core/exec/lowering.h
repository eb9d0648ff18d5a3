#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/exec/op_fields.h"
#include "core/exec/plan.h"

namespace rill {

class PlanBuilder;

/// Memory that a step reads or writes: an operand, or its buffer from `ref` to the end.
struct Touched {
  Touched(const PlacedView& touched);
  Touched(Ref ref);
  PlacedView operand;
  bool whole = false;
};

/// The interface of `prepare` for one node: its placed inputs, memory for its outputs, and the
/// steps that it emits.
class Lowering {
 public:
  Lowering(PlanBuilder& builder, int node_id) : builder_(builder), node_(node_id) {}

  const Node& node() const;
  int inputs() const { return static_cast<int>(node().inputs.size()); }
  int outputs() const { return static_cast<int>(node().outputs.size()); }
  /// Return the operand of an input; a block-quantised constant is dequantised for it.
  const Operand& in(int i) const;
  /// Return the operand as stored: if `konst` is block-quantised, the operand has no memory.
  const Operand& stored_in(int i) const;
  /// Declare that the steps of this node do not read input i, a constant, because they read a
  /// packed copy. Constants without a reader are dropped.
  void packed(int i);
  /// Return the operand of an unplaced output: type and shape, no memory.
  Operand out_shape(int i) const;

  /// Allocate output i. `order` lists the axes from the outermost to the innermost; empty means
  /// row-major. Readers of the output get these strides; `prepare` copies outputs of the model to
  /// row-major order if needed.
  Operand make_out(int i, std::span<const int> order = {});
  /// Make output i a view of existing memory.
  void set_out(int i, Operand operand);
  /// Return scratch memory for the steps of this node.
  Operand scratch(DType dtype, std::span<const int64_t> shape, std::span<const int> order = {});
  Ref scratch_bytes(int64_t bytes);
  /// Return memory that lives as long as the stream, initialised with zeros or `initial`. Its
  /// content must depend only on the frames that have passed, not on the pulse: sessions save it
  /// unchanged, and a plan with another pulse may continue from it.
  Ref state(int64_t bytes, std::vector<std::byte> initial = {});
  /// Return memory of the plan that the caller fills before `prepare` returns, such as packed
  /// weights or tables.
  template <class T>
  std::pair<Ref, T*> constant(int64_t count) {
    auto [ref, data] = constant_bytes(count * static_cast<int64_t>(sizeof(T)));
    return {ref, static_cast<T*>(data)};
  }
  /// Return the elements of a tensor of plain type, in memory of the plan.
  PlacedView constant(const Tensor& value);
  /// Keep something alive as long as the plan.
  void keep(std::shared_ptr<void> owned);
  /// Return a buffer whose address a loop sets while it runs.
  uint32_t slot();

  /// Return the axes of an operand, from the largest stride to the smallest.
  static std::vector<int> physical_order(const Operand& operand);
  /// Return the operand itself if its strides follow `order` without gaps; else a copy that does.
  Operand ordered(const Operand& operand, std::span<const int> order);
  Operand row_major(const Operand& operand);
  /// Return the operand itself if `axis` has stride 1 or extent 1; else a copy with `axis`
  /// innermost.
  Operand innermost(const Operand& operand, int axis);
  /// Emit a copy between operands of one shape.
  void copy(const Operand& from, const Operand& to);

  /// Return the axis order for the first output, given the op's preference. Channels become
  /// innermost if a reader reads its history by channels, and this history is longer than the new
  /// frames of a step. In another order, each step would copy the whole history.
  std::vector<int> order_read(std::vector<int> order) const;

  /// Return the history that output i must keep before its frames; for ops that place this output
  /// themselves.
  const HistoryNeed* history(int i) const;
  /// If the input was placed with a history of at least `need`, set `window` to the frames [-back,
  /// -back + frames), relative to the pulse, and return true. Else return false.
  bool window_on_history(int i, const HistoryNeed& need, int64_t back, int64_t frames,
                         Operand* window) const;
  /// Copy input i into a separate ring, and return its window.
  Operand own_ring(int i, const HistoryNeed& need, int64_t back, int64_t frames);

  /// Compile an expression for steps. If steps cannot evaluate it, `prepare` refuses the plan.
  Extent extent(const Dim& dim);

  /// Emit a step. `args` is copied into the plan. `reads` and `writes` list the memory that the
  /// step touches; `writes` includes all memory that may change.
  template <class Args>
  void step(const StepKindOf<Args>& kind, std::type_identity_t<Args> args, Given<Touched> reads,
            Given<Touched> writes) {
    add_step(kind, shared(std::move(args)), {}, reads, writes);
  }
  /// The work of a step that may run in parts, and the scratch memory that each part needs.
  struct Work {
    int64_t units = 1;
    double multiply_adds = 0;   ///< multiply-adds of all units; for other work, the number that
                                ///< takes as long
    int64_t scratch_bytes = 0;  ///< scratch bytes of one part
  };
  template <class Args>
  void step_in_parts(const PartedStepKindOf<Args>& kind, std::type_identity_t<Args> args,
                     const Work& work, Given<Touched> reads, Given<Touched> writes) {
    add_step_in_parts(kind, shared(std::move(args)), work, reads, writes);
  }
  /// Lower a loop body: its sources read the given operands. Return the steps, which a step of this
  /// node, emitted next, must run, and the operands of the outlets.
  struct Body {
    List<Step> steps;
    std::vector<Operand> outputs;
    std::vector<Touched> touched;  ///< all memory that the steps touch
  };
  Result<Body> body(const Graph& graph, std::span<const Operand> sources);

  /// Return the requested format for the weights of this node.
  WeightFormat weight_format() const;
  /// Report the weight bytes of this node, as f32 and as stored. Repeated calls are added up.
  void report_weights(std::span<const int64_t> shape, int64_t f32_bytes, int64_t bytes);
  /// Report why the weights of this node stay in f32; call it before `report_weights`.
  void keep_weights(std::string why);

  /// Return whether the plan may use optimised steps that do not correspond to the graph's nodes.
  bool optimize() const;

 private:
  friend class PlanBuilder;
  std::pair<Ref, void*> constant_bytes(int64_t bytes);
  /// Copy arguments into the plan. All kinds of steps share one reference-count class.
  template <class Args>
  static std::shared_ptr<void> shared(Args&& args) {
    return shared(new Args(std::move(args)), [](void* kept) { delete static_cast<Args*>(kept); });
  }
  static std::shared_ptr<void> shared(void* args, void (*drop)(void* args));
  void add_step(const StepKind& kind, std::shared_ptr<void> args, const StepParts& parts,
                Given<Touched> reads, Given<Touched> writes);
  void add_step_in_parts(const StepKind& kind, std::shared_ptr<void> args, const Work& work,
                         Given<Touched> reads, Given<Touched> writes);
  /// Return how the work is split into parts, and their scratch memory.
  StepParts parts_of(const Work& work);

  PlanBuilder& builder_;
  int node_;
};

}  // namespace rill
