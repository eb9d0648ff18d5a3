#include "core/exec/step_fields.h"

namespace rill {
namespace {

/// Shows the attributes of an operator among the arguments of a step.
class OpAttributes final : public FieldVisitor {
 public:
  explicit OpAttributes(StepFields& fields) : fields_(fields) {}
  void field(const char* name, bool& value) override { fields_.member(name, value); }
  void field(const char* name, int64_t& value) override { fields_.member(name, value); }
  void field(const char* name, float& value) override { fields_.member(name, value); }
  void field(const char* name, std::string& value) override { fields_.member(name, value); }
  void field(const char* name, DType& value) override { fields_.member(name, value); }
  void field(const char* name, Dim& value) override { fields_.member(name, value); }
  void field(const char* name, std::vector<int64_t>& value) override {
    fields_.member(name, value);
  }
  void field(const char* name, std::vector<Dim>& value) override { fields_.member(name, value); }
  void field(const char* name, Pads& value) override { fields_.member(name, value); }
  void field(const char* name, TensorPtr& value) override { fields_.member(name, value); }

 private:
  StepFields& fields_;
};

}  // namespace

std::string_view StepFields::first_of(std::string_view* names) {
  const size_t comma = names->find(',');
  const std::string_view first = names->substr(0, comma);
  *names = comma == std::string_view::npos ? std::string_view() : names->substr(comma + 1);
  while (!names->empty() && names->front() == ' ') names->remove_prefix(1);
  return first;
}

void StepFields::op(const OpClass& known, Op& value) {
  OpAttributes attributes(*this);
  known.describe(value, attributes);
}

void StepFields::op_fields(Op& op) {
  OpAttributes attributes(*this);
  op.fields(attributes);
}

}  // namespace rill
