#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/tensor/tensor.h"

namespace rill {

using Pads = std::vector<std::pair<int64_t, int64_t>>;

/// Visits each attribute of an op once, by name. Generic operations on ops (print, compare, hash,
/// bind symbols) are visitors of the attributes.
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
  /// Report a field whose value no operator accepts. Visitors that read steps refuse it.
  virtual void wrong(const char* name) { (void)name; }
};

/// Visit a number with its valid range, ends included. If a visitor sets a number outside the
/// range, `wrong` is called. If the visitor does not refuse the number, `infer` must.
inline void ranged_field(FieldVisitor& visitor, const char* name, int64_t least, int64_t most,
                         int64_t& value) {
  visitor.field(name, value);
  if (value < least || value > most) visitor.wrong(name);
}
inline void ranged_field(FieldVisitor& visitor, const char* name, int64_t least, int64_t most,
                         std::vector<int64_t>& values) {
  visitor.field(name, values);
  for (const int64_t each : values) {
    if (each < least || each > most) return visitor.wrong(name);
  }
}

/// Visit an enumerator or a small number in [0, `last`]; other numbers leave it unchanged.
template <class Narrow>
void enum_field(FieldVisitor& visitor, const char* name, Narrow last, Narrow& value) {
  auto number = static_cast<int64_t>(value);
  visitor.field(name, number);
  if (number < 0 || number > static_cast<int64_t>(last)) return visitor.wrong(name);
  value = static_cast<Narrow>(number);
}

/// Visit an axis. Model files may count axes from the end; `infer` checks the axis against the
/// rank.
inline void axis_field(FieldVisitor& visitor, const char* name, int64_t& value) {
  ranged_field(visitor, name, -kMaxRank, kMaxRank, value);
}
inline void axis_field(FieldVisitor& visitor, const char* name, std::vector<int64_t>& values) {
  ranged_field(visitor, name, -kMaxRank, kMaxRank, values);
}

/// Visit a number of frames.
inline void frames_field(FieldVisitor& visitor, const char* name, int64_t& value) {
  ranged_field(visitor, name, 0, kMostFrames, value);
}
/// Visit a position in a stream, or a delay, which may be negative.
inline void position_field(FieldVisitor& visitor, const char* name, int64_t& value) {
  ranged_field(visitor, name, -kMostFrames, kMostFrames, value);
}

/// Visit the scale and the zero point.
inline void quant_fields(FieldVisitor& visitor, QParams& q) {
  visitor.field("scale", q.scale);
  auto zero_point = static_cast<int64_t>(q.zero_point);
  ranged_field(visitor, "zero_point", INT32_MIN, INT32_MAX, zero_point);
  q.zero_point = static_cast<int32_t>(zero_point);
}

}  // namespace rill
