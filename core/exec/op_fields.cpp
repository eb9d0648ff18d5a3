#include "core/exec/op_fields.h"

#include <string>
#include <vector>

namespace rill {
namespace {

class OpAttributes final : public FieldVisitor {
 public:
  explicit OpAttributes(StepFields& fields) : fields_(fields) {}
  void field(const char* name, bool& value) override { fields_.member(name, value); }
  void field(const char* name, int64_t& value) override { fields_.member(name, value); }
  void field(const char* name, float& value) override { fields_.member(name, value); }
  void field(const char* name, std::string& value) override {
    Text text(value);
    fields_.member(name, text);
    value = text.view();
  }
  void field(const char* name, DType& value) override {
    fields_.member(name, value);
    if (value <= DType::kBlob) return;
    value = DType::kF32;
    wrong(name);
  }
  void field(const char* name, Dim& value) override { fields_.member(name, value); }
  void field(const char* name, std::vector<int64_t>& value) override { list(name, value); }
  void field(const char* name, std::vector<Dim>& value) override { list(name, value); }
  void field(const char* name, Pads& value) override { list(name, value); }
  void field(const char* name, TensorPtr& value) override { fields_.member(name, value); }
  void wrong(const char* name) override { fields_.wrong(name); }

 private:
  template <class T>
  void list(const char* name, std::vector<T>& value) {
    auto count = static_cast<int64_t>(value.size());
    fields_.begin_list(name, count);
    value.resize(static_cast<size_t>(count));
    for (T& each : value) fields_.member({}, each);
    fields_.end();
  }

  StepFields& fields_;
};

}  // namespace

void describe(StepFields& fields, const OpClass& known, Op& op) {
  OpAttributes attributes(fields);
  known.describe(op, attributes);
}

void describe(StepFields& fields, Op& op) {
  OpAttributes attributes(fields);
  op.fields(attributes);
}

}  // namespace rill
