#include "core/graph/op.h"

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/graph.h"
#include "core/graph/nnef.h"
#include "core/graph/some_fields.h"
#include "core/tensor/small.h"

namespace rill {
namespace {

/// Prints every field. Small tensors are printed by content, and others by address: unshared copies
/// of a large tensor therefore differ.
class FieldPrinter final : public FieldVisitor {
 public:
  std::string out;
  void field(const char* name, bool& value) override { print(name, value); }
  void field(const char* name, int64_t& value) override { print(name, value); }
  void field(const char* name, float& value) override { print(name, value); }
  void field(const char* name, std::string& value) override { print(name, value); }
  void field(const char* name, DType& value) override { print(name, dtype_name(value)); }
  void field(const char* name, Dim& value) override { print(name, value); }
  void field(const char* name, std::vector<int64_t>& value) override { print(name, value); }
  void field(const char* name, std::vector<Dim>& value) override { print(name, value); }
  void field(const char* name, Pads& value) override { print(name, nnef_text(value)); }
  void field(const char* name, TensorPtr& value) override {
    if (!value) return print(name, "none");
    if (value->volume() <= 16) return print(name, tensor_text(*value, 16));
    print(name, str_cat(tensor_text(*value, 2), "@", reinterpret_cast<uintptr_t>(value.get())));
  }

 private:
  template <class T>
  void print(const char* name, const T& value) {
    out += str_cat(out.empty() ? "" : " ", name, "=", value);
  }
};

class SymbolReplacer final : public SomeFields {
 public:
  using SomeFields::field;
  SymbolReplacer(std::string_view symbol, const Dim& by) : symbol_(symbol), by_(by) {}
  bool changed = false;
  void field(const char*, Dim& value) override { replace(&value); }
  void field(const char*, std::vector<Dim>& values) override {
    for (Dim& value : values) replace(&value);
  }
  void field(const char*, TensorPtr& value) override {
    if (!value || value->dtype() != DType::kDim) return;
    Tensor out = small_zeros(DType::kDim, value->shape());
    for (int64_t i = 0; i < out.volume(); ++i) {
      out.mutable_data<Dim>()[i] = value->data<Dim>()[i];
      replace(&out.mutable_data<Dim>()[i]);
    }
    value = std::make_shared<const Tensor>(std::move(out));
  }

 private:
  void replace(Dim* dim) {
    if (!dim->mentions(symbol_)) return;
    *dim = dim->substitute(symbol_, by_);
    changed = true;
  }
  std::string_view symbol_;
  const Dim& by_;
};

}  // namespace

std::shared_ptr<Op> shared_op(Op* op) { return std::shared_ptr<Op>(op); }

std::string Op::attributes() const {
  FieldPrinter printer;
  clone()->fields(printer);
  return std::move(printer.out);
}

bool Op::draws() const {
  const Graph* body = nested();
  return body && any_of(body->nodes, [](const Node& node) { return node.op->draws(); });
}

Course Op::course() const {
  const OpTraits own = traits();
  const bool moves = own.keeps_order || own.moves == Moves::kFrames;
  return {.form = moves ? Course::Form::kMoved : Course::Form::kOther};
}

OpPtr Op::with_symbol(std::string_view symbol, const Dim& by) const {
  std::shared_ptr<Op> copy = clone();
  SymbolReplacer replacer(symbol, by);
  copy->fields(replacer);
  return replacer.changed ? copy : nullptr;
}

Status Op::save(SaveCtx& ctx) const {
  (void)ctx;
  return fail(Code::kUnsupported, "no NNEF form for this operator").in_node("", name());
}

std::vector<AxisTrack> elementwise_axes(FactSpan in, FactSpan out) {
  std::vector<AxisTrack> tracks;
  for (int axis = 0; axis < out[0].rank(); ++axis) {
    AxisTrack track;
    for (const Fact& fact : in) {
      const bool present =
          axis < fact.rank() && !(fact.dim(axis) == Dim(1) && !(out[0].dim(axis) == Dim(1)));
      track.in.push_back(present ? axis : -1);
    }
    for (size_t i = 0; i < out.size(); ++i) track.out.push_back(axis);
    tracks.push_back(std::move(track));
  }
  return tracks;
}

void Source::fields(FieldVisitor& visitor) {
  visitor.field("dtype", fact.dtype);
  visitor.field("shape", fact.shape);
}
Result<Facts> Source::infer(FactSpan) const { return one_fact(fact); }
Status Source::eval(EvalCtx&) const { return fail(Code::kInternal, "a source has no value"); }
Status Source::save(SaveCtx& ctx) const {
  ctx.need_registry("tract_core");
  ctx.assign(str_cat("tract_core_external(shape = ", ctx.dims(fact.shape), ", datum_type = \"",
                     dtype_lower_name(fact.dtype), "\")"));
  return {};
}

void Const::fields(FieldVisitor& visitor) { visitor.field("value", value); }
Result<Facts> Const::infer(FactSpan) const { return one_fact(Fact::of_tensor(value)); }
Status Const::eval(EvalCtx& ctx) const {
  copy_view(value->view(), ctx.out[0]);
  return {};
}
Status Const::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string text, ctx.literal(*value));
  ctx.assign(text);
  return {};
}

}  // namespace rill
