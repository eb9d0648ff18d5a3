#include "ops/quant/byte_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/exec/lowering.h"
#include "core/tensor/uniform.h"
#include "ops/array/cast_step.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/quant/byte_table_step.h"

namespace rill::ops {
namespace {

bool is_entry(DType type) { return is_byte(type) || type == DType::kF32; }

constexpr int64_t kBytes = 256;

/// Look every element up in a table of 256 entries. Made by `fuse` only.
/// Shapes: x, table [256] -> the shape of x. The index is the byte as an unsigned number.
/// Types: U8, I8, QU8, QI8 -> the type of the table, which is one of these, or F32.
/// Errors: kDType. Stream: pointwise. Accuracy: the same bits as the replaced operations.
/// Source: NNEF 1.0, elementwise operations between `linear_quantize`d tensors.
struct ByteTable final : OpBase<ByteTable> {
  std::string_view name() const override { return "LookupTable"; }
  void fields(FieldVisitor&) override {}
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 2));
    if (!is_byte(in[0].dtype) || !is_entry(in[1].dtype)) {
      return fail(Code::kDType, "input ", in[0], ", table ", in[1], ": expected 8 bits");
    }
    return one_fact({in[1].dtype, in[1].q, in[0].shape, {}});
  }
  Status eval(EvalCtx& ctx) const override {
    if (ctx.in[1].dtype == DType::kF32) {
      look_up<float>(ctx);
    } else {
      look_up<uint8_t>(ctx);
    }
    return {};
  }
  template <class T>
  static void look_up(EvalCtx& ctx) {
    const View& y = ctx.out[0];
    const View& x = ctx.in[0];
    const T* entries = ctx.in[1].as<const T>();
    for_each_element<2>({y, x}, [&](const std::array<int64_t, 2>& at) {
      y.as<T>()[at[0]] = entries[x.as<const uint8_t>()[at[1]]];
    });
  }
  Status lower(Lowering& lowering) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override {
    std::vector<AxisTrack> tracks = elementwise_axes(in.first(1), out);
    for (AxisTrack& track : tracks) track.in.push_back(-1);
    return tracks;
  }
  Cost cost(FactSpan in, FactSpan out) const override {
    return {0, volume(in[0].shape) + volume(out[0].shape)};
  }
  Status save(SaveCtx&) const override {
    return fail(Code::kUnsupported, "a table of bytes is part of a plan only");
  }
};

Status ByteTable::lower(Lowering& lowering) const {
  const Operand& in = lowering.in(0);
  const Operand& table = lowering.in(1);
  const std::vector<int> order = Lowering::physical_order(in);
  const Operand x = lowering.ordered(in, order);
  const Operand out = lowering.make_out(0, order);
  if (out.volume() == 0) return {};
  // Frames with a history are not contiguous.
  const bool separate = lowering.history(0) != nullptr;
  const std::span extents(out.shape.data(), static_cast<size_t>(out.rank));
  const Operand y = separate ? lowering.scratch(out.dtype, extents, order) : out;
  if (table.dtype == DType::kF32) {
    ByteCastArgs args;
    args.rounding.n = y.volume();
    args.x = x.ref;
    args.table = table.ref;
    args.y = y.ref;
    lowering.step(kByteCast, args, {x, table}, {y});
  } else {
    lowering.step(kByteTable, {y.volume(), x.ref, table.ref, y.ref}, {x, table}, {y});
  }
  if (separate) lowering.copy(y, out);
  return {};
}

/// Return the index of the only input of an elementwise node that is not constant; nothing if there
/// are several.
std::optional<size_t> wire_of(const Graph& graph, const Node& node) {
  if (node.op->as<ByteTable>()) return 0;
  if (!node.op->traits().per_element) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Fact& fact = graph.fact(node.inputs[i]);
    if (is_uniform(fact.konst)) continue;
    if (found || fact.shape != node.outputs[0].shape) return std::nullopt;
    found = i;
  }
  return found;
}

/// A node on the path from bytes to bytes.
struct Hop {
  const Node* node;
  size_t wire;
};

/// Return the result of the path for each byte. `hops` begins with the last node of the path.
Result<Tensor> table_of(const Graph& graph, const std::vector<Hop>& hops, const Fact& from) {
  const auto rank = static_cast<size_t>(std::max(from.rank(), 1));
  std::vector<int64_t> one(rank, 1);
  std::vector<int64_t> all = one;
  all.back() = kBytes;
  Graph body;
  RILL_ASSIGN(Tensor bytes, Tensor::zeros(from.dtype, std::move(all), from.q));
  for (int64_t i = 0; i < kBytes; ++i) {
    bytes.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i);
  }
  OutletId at = body.add_const("bytes", std::make_shared<const Tensor>(std::move(bytes)));
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    std::vector<OutletId> inputs;
    for (size_t i = 0; i < hop->node->inputs.size(); ++i) {
      if (i == hop->wire) {
        inputs.push_back(at);
        continue;
      }
      const TensorPtr& konst = graph.fact(hop->node->inputs[i]).konst;
      if (hop->node->op->as<ByteTable>()) {
        inputs.push_back(body.add_const(body.unique_name("table"), konst));
        continue;
      }
      const Tensor number = first_element(*konst);
      RILL_ASSIGN(Tensor spread, number.reshaped(one));
      inputs.push_back(body.add_const(body.unique_name("number"),
                                      std::make_shared<const Tensor>(std::move(spread))));
    }
    RILL_ASSIGN(const std::vector<OutletId> outs,
                body.add_folded(body.unique_name("hop"), hop->node->op, inputs));
    at = outs[0];
  }
  if (!body.fact(at).konst) return fail(Code::kInternal, "bytes that become no constants");
  return body.fact(at).konst->reshaped({kBytes});
}

/// Replace the node under rewriting, the first hop, by a table.
Status replace_by_table(Rewrite& rewrite, const std::vector<Hop>& hops) {
  const Graph& graph = rewrite.old_graph();
  const OutletId from = hops.back().node->inputs[hops.back().wire];
  RILL_ASSIGN(Tensor table, table_of(graph, hops, graph.fact(from)));
  const OutletId entries = rewrite.konst("table", std::move(table));
  return rewrite.replace_by(make_op<ByteTable>(), {rewrite.mapped(from), entries});
}

Status ByteTable::absorb(const Node& producer, Rewrite& consumer, int input) const {
  if (producer.outputs[0].dtype != DType::kF32 || !is_entry(consumer.out().dtype)) return {};
  const Node& node = consumer.node();
  const auto wire = wire_of(consumer.old_graph(), node);
  if (!wire || static_cast<int>(*wire) != input) return {};
  return replace_by_table(consumer, {{&node, *wire}, {&producer, 0}});
}

}  // namespace

Status fuse_byte_table(Rewrite& rewrite) {
  if (!is_entry(rewrite.out().dtype)) return {};
  const Graph& graph = rewrite.old_graph();
  std::vector<Hop> hops{{&rewrite.node(), 0}};
  OutletId from = rewrite.input(0);
  while (!is_byte(graph.fact(from).dtype)) {
    const Node& node = graph.node(from.node);
    const auto wire = rewrite.uses(from) == 1 ? wire_of(graph, node) : std::nullopt;
    if (!wire) return {};
    hops.push_back({&node, *wire});
    from = node.inputs[*wire];
  }
  return hops.size() < 2 ? Status() : replace_by_table(rewrite, hops);
}

}  // namespace rill::ops
