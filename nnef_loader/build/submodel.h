#pragma once

#include <memory>
#include <string>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace rill::nnef {

/// Represents another model of the archive as one node, for `LoadOptions::keep_submodels`.
/// Shapes and types: those of the inner model. Errors: kUnsupported when it is prepared or pulsed;
/// for that, load the model inlined.
/// Stream: refused. Source: tract_core_submodel.
struct Submodel final : OpBase<Submodel> {
  std::string label;
  std::shared_ptr<const Graph> model;

  std::string_view name() const override { return "SubmodelOp"; }
  void fields(FieldVisitor& visitor) override { visitor.field("label", label); }
  std::string attributes() const override;
  OpPtr with_symbol(std::string_view symbol, const Dim& by) const override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status declutter(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
  const Graph* nested() const override { return model.get(); }

 private:
  bool settled_ = false;  ///< the model is simplified
};

}  // namespace rill::nnef
