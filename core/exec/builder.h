#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/exec/constant_steps.h"
#include "core/exec/index_checks.h"
#include "core/exec/lowering.h"
#include "core/exec/shared_weights.h"
#include "core/exec/weights.h"

namespace rill {

/// A plan under construction. Loop bodies have their own builders, which share buffers with the
/// outer one.
class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const PrepareOptions& options, Plan* plan, PlanBuilder* outer);

  /// Record the first index that the operators of these checks do not have; call it before `run`.
  void watch_indices(IndexChecks checks);
  Status run(std::span<const Operand> body_sources);
  /// As the function of that name.
  static void check_index_lists(Lowering& lowering, int input, int first, int depth);
  Status place_outputs();
  /// Errors: kNoMem.
  Status run_constant_steps();
  void lay_out_memory();
  /// Store the recorded uses of its steps in the plan, if the options request them.
  void keep_uses();
  /// Share packed weights with other plans. Null: share none.
  void share_weights(SharedWeights* shared) { shared_ = shared; }
  /// Make the buffer of a model output; the producing step may write to it directly.
  uint32_t add_output_buffer(int index, OutletId outlet, int64_t bytes);

 private:
  friend class Lowering;
  struct RingOf {
    HistoryNeed need;
    size_t ring = 0;
    int64_t axis_stride_bytes = 0;
  };

  Status bind_sources(std::span<const Operand> body_sources);
  void find_history_needs();
  const IndexChecks& index_checks() const;
  /// Emit the checks of a node before its own steps.
  void check_indices(int id);
  void check_indices(int id, const PlacedView& indices, const NumberRange& range);
  uint32_t new_buffer(BufferKind kind, int64_t bytes);
  /// Compute strides for an axis order. `ring` scales the strides of axes outside the ring's axis.
  static int64_t lay_out(Operand* operand, std::span<const int> order, int ring_axis,
                         int64_t ring_extent);
  /// Make a ring that keeps frames of the outlet `wire` for the node `node`.
  Operand make_ring(Operand operand, std::span<const int> order, const HistoryNeed& need,
                    OutletId wire, int node, size_t* ring_index);
  /// Record the state that a buffer keeps between steps.
  void add_state(std::string name, int node, const PlacedView& value, int axis, int64_t pulse);
  /// Record the reads and writes of the last emitted step.
  void note_use(std::span<const Touched> reads, std::span<const Touched> writes);
  PlacedView operand_of(const Touched& touched) const;
  void touch(Ref ref, int step);
  void place_constant(int id, TensorPtr value);
  /// Unpack a block-quantised constant into plain elements, once. `run` reports failures.
  void write_out(OutletId outlet);
  /// Decrement the reader count of a constant.
  void forget(OutletId outlet);
  int current_step() const;
  /// Return the weight report of a node.
  WeightLayer& weight_layer(const Node& node);
  Weights& weights() { return outer_ ? outer_->weights() : weights_; }
  /// Return memory for a constant that a node packs.
  std::shared_ptr<void> take_packed(uint32_t buffer, int64_t bytes);
  /// Let the constants that the last node packed use memory of other plans that has the same bytes.
  void share_packed();
  List<Step>& steps();
  bool is_read_by_channels(int node) const {
    return by_channels_[static_cast<size_t>(node)] != 0;
  }
  Operand& operand(OutletId outlet) {
    return operands_[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
  }

  const Graph& graph_;
  const PrepareOptions& options_;
  Plan* plan_;
  PlanBuilder* outer_;
  Weights weights_;
  SharedWeights* shared_ = nullptr;
  std::vector<uint32_t> packed_;  ///< buffers that the current node packed, to share
  std::string scope_;    ///< of a loop body: the names of the loops around it
  int outer_node_ = -1;  ///< of a loop body: the outermost loop
  std::vector<std::vector<Operand>> operands_;
  std::vector<int> readers_;  ///< by node: readers of its output
  Status refused_;  ///< why a constant was not unpacked, or a buffer not made
  std::map<OutletId, HistoryNeed> needs_;
  /// For each node, whether a reader needs the channels of its first output, or of a window of it,
  /// contiguous.
  std::vector<int> by_channels_;
  std::map<OutletId, RingOf> rings_;
  std::map<OutletId, int> direct_outputs_;  ///< outlets that may be written straight to an output
  IndexChecks index_checks_;   ///< of the model; bodies ask the builder around them
  Ref bad_index_;              ///< the `BadIndex` of the model
  std::vector<StepUse> uses_;  ///< by step of the plan
  List<Step> body_steps_;
  std::vector<Touched> body_touched_;
};

}  // namespace rill
