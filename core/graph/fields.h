#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

namespace rill {

using Pads = std::vector<std::pair<int64_t, int64_t>>;

/// Sees each attribute of an op once, by name. What can be done to an op without knowing it (print,
/// compare, hash, bind symbols) is a visitor of its fields.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, int64_t& value) = 0;
  virtual void field(const char* name, float& value) = 0;
  virtual void field(const char* name, std::string& value) = 0;
  virtual void field(const char* name, DType& value) = 0;
  virtual void field(const char* name, Dim& value) = 0;
  virtual void field(const char* name, std::vector<int64_t>& value) = 0;
  virtual void field(const char* name, std::vector<Dim>& value) = 0;
  virtual void field(const char* name, Pads& value) = 0;
  virtual void field(const char* name, TensorPtr& value) = 0;
};

/// Show an enumerator of those up to `last`; another number leaves it as it is.
template <class Enum>
void enum_field(FieldVisitor& visitor, const char* name, Enum last, Enum& value) {
  auto number = static_cast<int64_t>(value);
  visitor.field(name, number);
  const bool known = number >= 0 && number <= static_cast<int64_t>(last);
  if (known) value = static_cast<Enum>(number);
}

/// Show scale and zero point.
inline void quant_fields(FieldVisitor& visitor, QParams& q) {
  auto zero_point = static_cast<int64_t>(q.zero_point);
  visitor.field("scale", q.scale);
  visitor.field("zero_point", zero_point);
  q.zero_point = static_cast<int32_t>(zero_point);
}

}  // namespace rill
