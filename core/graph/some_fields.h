#pragma once

#include "core/graph/fields.h"

namespace rill {

/// Ignores every attribute: the base of visitors that handle some types only. These declare `using
/// SomeFields::field`, and override the types that they handle.
class SomeFields : public FieldVisitor {
 public:
  void field(const char*, bool&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, float&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, DType&) override {}
  void field(const char*, Dim&) override {}
  void field(const char*, std::vector<int64_t>&) override {}
  void field(const char*, std::vector<Dim>&) override {}
  void field(const char*, Pads&) override {}
  void field(const char*, TensorPtr&) override {}
};

}  // namespace rill
