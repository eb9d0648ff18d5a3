#pragma once

#include "core/graph/graph.h"

namespace rill::pulse {

/// Replace each attention of a graph, the nodes from its scores to the product with its values, by
/// one node, so that it can stream as a whole. A wire of frames against frames cannot stream alone,
/// because only the masks bound the frames that it holds.
Graph gather_attention(Graph whole, std::string_view symbol);

/// Add expressions that must not be negative, so that every query finds at least one key in the
/// stream. Without keys, a whole run gives zeros, but a stream gives the result for hidden keys.
void add_keys(const Graph& gathered, std::vector<Dim>* non_negative);

/// Attention over a stream, while its graph is being pulsed: queries meet the keys that masks show
/// them, and the stream keeps a fixed number of keys. Inputs: those of `body`. Shapes, types: those
/// of the product with the values, its last node. Stream: a query waits for the last key that it
/// sees, and the keys that the latest queries see are kept. Keys before the stream and after its
/// end get the score minus infinity.
/// Source: NNEF 1.0, `matmul`, `softmax`; PyTorch, `scaled_dot_product_attention`.
struct Attention final : OpBase<Attention> {
  std::shared_ptr<const Graph> body;
  std::vector<OutletId> large;  ///< inputs of the body that may hold numbers that hide keys
  int64_t weights = 0;          ///< the operand of the product with axes of queries and of keys
  char query = 't';             ///< the letters of the product for queries and for keys
  char key = 's';

  /// Return the axis of a letter in operand 0 or 1 of the product, or in its result for operand 2.
  int place(int operand, char letter) const;

  std::string_view name() const override { return "Attention"; }
  void fields(FieldVisitor& visitor) override;
  std::string attributes() const override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status pulsify(PulseBuilder& builder) const override;
  const Graph* nested() const override { return body.get(); }
};

/// Return the operator of a node that attends; null for all others.
const Attention* attention_of(const Node& node);

}  // namespace rill::pulse
