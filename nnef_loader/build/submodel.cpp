#include "nnef_loader/build/submodel.h"

#include "core/graph/fingerprint.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "core/optim/optim.h"
#include "nnef_loader/build/writer.h"

namespace rill::nnef {

std::string Submodel::attributes() const {
  return str_cat("label=", label, " model=", identity(*model));
}

OpPtr Submodel::with_symbol(std::string_view symbol, const Dim& by) const {
  auto bound = model->with_symbol(symbol, by);
  if (!bound.ok()) return nullptr;  // infer reports the mismatch
  auto copy = draft_op<Submodel>(*this);
  copy->model = std::make_shared<const Graph>(std::move(bound).value());
  return copy;
}

Result<Facts> Submodel::infer(FactSpan in) const {
  RILL_CHECK(in.size() == model->inputs.size(), counted(in.size(), "input"), " for a model of ",
             model->inputs.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const Fact& declared = model->fact(model->inputs[i]);
    if (declared.same_type(in[i])) continue;
    return fail(declared.dtype == in[i].dtype ? Code::kShape : Code::kDType, "input \"",
                model->input_name(i), "\" of the model is ", declared, ", found ", in[i]);
  }
  Facts out;
  for (const OutletId& output : model->outputs) out.push_back(model->fact(output).without_value());
  return out;
}

Status Submodel::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a model within a model is run as its nodes");
}

Status Submodel::declutter(Rewrite& rewrite) const {
  if (settled_) return {};
  auto simpler = draft_op<Submodel>(*this);
  RILL_ASSIGN(Graph settled, rill::declutter(*model));
  simpler->model = std::make_shared<const Graph>(std::move(settled));
  simpler->settled_ = true;
  return rewrite.replace_by(simpler, rewrite.mapped_inputs(rewrite.node()));
}

Status Submodel::save(SaveCtx& ctx) const {
  ctx.need_registry("tract_core");
  std::string wires;
  for (size_t i = 0; i < model->inputs.size(); ++i) {
    RILL_ASSIGN(const std::string wire, ctx.in(static_cast<int>(i)));
    wires += str_cat(i > 0 ? ", " : "", wire);
  }
  if (model->inputs.size() != 1) wires = str_cat("[", wires, "]");
  static_cast<NodeWriter&>(ctx).keep_model(label, model);
  ctx.assign_all(str_cat("tract_core_submodel(", wires, ", label = ", nnef_text(label), ")"));
  return {};
}

}  // namespace rill::nnef
