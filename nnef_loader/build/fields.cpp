// Maps the fields of an op to arguments of its declaration; only `Op::fields` names them.

#include <algorithm>

#include "core/base/search.h"
#include "nnef_loader/build/call.h"
#include "nnef_loader/build/writer.h"
#include "nnef_loader/syntax/parser.h"

namespace rill::nnef {
namespace {

const Parameter* find(const FragmentDecl& decl, std::string_view name) {
  const auto at =
      find_if(decl.parameters, [&](const Parameter& each) { return each.name == name; });
  return at == decl.parameters.end() ? nullptr : &*at;
}

/// Sets the declared fields, up to the first that cannot be read.
class FieldReader final : public FieldVisitor {
 public:
  FieldReader(CallCtx* call, const FragmentDecl& decl) : call_(*call), decl_(decl) {}
  Status status;
  size_t taken = 0;

  void field(const char* name, bool& value) override { set(name, &value, &LoadCtx::boolean); }
  void field(const char* name, int64_t& value) override { set(name, &value, &LoadCtx::integer); }
  void field(const char* name, float& value) override { set(name, &value, &LoadCtx::number); }
  void field(const char* name, std::string& value) override { set(name, &value, &LoadCtx::text); }
  void field(const char* name, DType&) override { refuse(name); }
  void field(const char* name, Dim& value) override { set(name, &value, &LoadCtx::dim); }
  void field(const char* name, std::vector<int64_t>& value) override {
    set(name, &value, &LoadCtx::integers);
  }
  void field(const char* name, std::vector<Dim>& value) override {
    set(name, &value, &LoadCtx::dims);
  }
  void field(const char* name, Pads& value) override { set(name, &value, &LoadCtx::pads); }
  void field(const char* name, TensorPtr& value) override {
    const Parameter* declared = find(decl_, name);
    if (!status.ok() || !declared) return;
    if (declared->type.kind != TypeSpec::Kind::kTensor) ++taken;
    if (!call_.given(name) && declared->default_value) return;
    status = read_constant(name, declared->default_value.has_value(), &value);
  }

 private:
  template <class T>
  void set(const char* name, T* value, Result<T> (LoadCtx::*read)(std::string_view)) {
    if (!status.ok() || !find(decl_, name)) return;
    Result<T> found = (call_.*read)(name);
    if (found.ok()) {
      *value = *std::move(found);
      ++taken;
    } else {
      status = found.take_status();
    }
  }
  /// Read a constant; `false` omits an optional one.
  Status read_constant(const char* name, bool optional, TensorPtr* value) {
    RILL_ASSIGN(const Value found, call_.value(name));
    if (const bool* truth = found.get<bool>(); optional && truth && !*truth) return {};
    RILL_ASSIGN(const OutletId wire, call_.wire(name));
    *value = call_.fact(wire).konst;
    if (*value) return {};
    return fail(Code::kArg, "argument \"", name, "\": expected a constant, found ",
                call_.fact(wire));
  }
  // Operators write types differently, so their modules read them.
  void refuse(const char* name) {
    if (!status.ok() || !find(decl_, name)) return;
    status = fail(Code::kInternal, "field \"", name, "\" needs a reader in the operator's module");
  }

  CallCtx& call_;
  const FragmentDecl& decl_;
};

/// Formats every field; the writer of the node formats tensors.
class FieldSpeller final : public FieldVisitor {
 public:
  explicit FieldSpeller(SaveCtx* ctx) : ctx_(*ctx) {}
  /// A field with a tensor.
  struct Constant {
    std::string_view name;
    TensorPtr tensor;
  };
  /// Return the field of that name if it has a tensor, else null.
  const Constant* constant_of(std::string_view name) const {
    const auto at = find_if(constants_, [&](const Constant& each) { return each.name == name; });
    return at == constants_.end() ? nullptr : &*at;
  }
  const std::string* text_of(std::string_view name) const {
    const auto at = find_if(texts_, [&](const Entry& each) { return each.first == name; });
    return at == texts_.end() ? nullptr : &at->second;
  }
  void field(const char* name, bool& value) override { add(name, nnef_text(value)); }
  void field(const char* name, int64_t& value) override { add(name, nnef_text(value)); }
  void field(const char* name, float& value) override { add(name, nnef_text(value)); }
  void field(const char* name, std::string& value) override {
    add(name, nnef_text(std::string_view(value)));
  }
  void field(const char*, DType&) override {}
  void field(const char* name, Dim& value) override { add(name, ctx_.dim(value)); }
  void field(const char* name, std::vector<int64_t>& value) override {
    add(name, nnef_text(std::span<const int64_t>(value)));
  }
  void field(const char* name, std::vector<Dim>& value) override { add(name, ctx_.dims(value)); }
  void field(const char* name, Pads& value) override { add(name, nnef_text(value)); }
  void field(const char* name, TensorPtr& value) override { constants_.push_back({name, value}); }

 private:
  using Entry = std::pair<std::string_view, std::string>;
  void add(const char* name, std::string text) { texts_.emplace_back(name, std::move(text)); }
  SaveCtx& ctx_;
  std::vector<Entry> texts_;
  std::vector<Constant> constants_;
};

}  // namespace

Status CallCtx::fields(Op& op) {
  FieldReader reader(this, decl_);
  op.fields(reader);
  return std::move(reader.status);
}

// Refuse an argument without a field, which would otherwise be dropped silently.
Status CallCtx::all_fields(Op& op) {
  FieldReader reader(this, decl_);
  op.fields(reader);
  RILL_TRY(std::move(reader.status));
  const auto declared = static_cast<size_t>(std::count_if(
      decl_.parameters.begin(), decl_.parameters.end(),
      [](const Parameter& each) { return each.type.kind != TypeSpec::Kind::kTensor; }));
  if (reader.taken == declared) return {};
  return fail(Code::kInternal, op.name(), " has fields for ", reader.taken, " of ", declared,
              " declared arguments");
}

Result<Value> CallCtx::add_declared(std::shared_ptr<Op> op) {
  std::vector<OutletId> inputs;
  for (const Parameter& each : decl_.parameters) {
    if (each.type.kind != TypeSpec::Kind::kTensor) continue;
    if (!each.type.is_array) {
      RILL_ASSIGN(const OutletId input, wire(each.name));
      inputs.push_back(input);
      continue;
    }
    RILL_ASSIGN(const std::vector<OutletId> list, wires(each.name));
    RILL_CHECK(!list.empty(), "argument \"", each.name,
               "\": expected at least 1 tensor, found none");
    inputs.insert(inputs.end(), list.begin(), list.end());
  }
  RILL_TRY(all_fields(*op));
  RILL_ASSIGN(const std::vector<OutletId> out, add(std::move(op), inputs, ""));
  return Value::of_wires(out);
}

// `input`: the first input that no earlier tensor has taken.
Result<std::string> NodeWriter::inputs_text(const Parameter& tensor, int* input) {
  const int count = static_cast<int>(node().inputs.size());
  const int end = tensor.type.is_array ? count : std::min(count, *input + 1);
  std::string text;
  for (const int first = *input; *input < end; ++*input) {
    RILL_ASSIGN(const std::string wire, in(*input));
    text += (*input > first ? ", " : "") + wire;
  }
  return tensor.type.is_array ? "[" + text + "]" : text;
}

Status NodeWriter::assign_declared(const NnefOp& form, std::span<const Argument> own) {
  RILL_ASSIGN(const Document document, parse_fragments(form.declaration, "operator declaration"));
  FieldSpeller speller(this);
  node().op->clone()->fields(speller);
  const FragmentDecl& decl = document.fragments[0];
  std::string arguments;
  int input = 0;
  for (const Parameter& each : decl.parameters) {
    std::string text;
    bool named = true;
    const auto given =
        find_if(own, [&](const Argument& argument) { return argument.name == each.name; });
    if (given != own.end()) {
      text = given->text;
    } else if (const FieldSpeller::Constant* constant = speller.constant_of(each.name)) {
      if (constant->tensor) {
        RILL_ASSIGN(text, literal(*constant->tensor));
      }
    } else if (each.type.kind == TypeSpec::Kind::kTensor) {
      RILL_ASSIGN(text, inputs_text(each, &input));
      named = false;
    } else if (const std::string* spelled = speller.text_of(each.name)) {
      text = *spelled;
    } else {
      return fail(Code::kInternal, "no field \"", each.name, "\"");
    }
    if (text.empty()) continue;
    arguments += str_cat(arguments.empty() ? "" : ", ", named ? each.name + " = " : "", text);
  }
  if (form.registry != std::string_view("tract_nnef")) need_registry(form.registry);
  assign_all(str_cat(decl.name, "(", arguments, ")"));
  return {};
}

}  // namespace rill::nnef
