#include "core/base/checked.h"

namespace rill {

bool Checked::within(int64_t least, int64_t most) const {
  return value_ != kNone && value_ >= least && value_ <= most;
}

int64_t Checked::at_most(int64_t most) const { return within(0, most) ? value_ : most; }

Checked operator+(Checked a, Checked b) {
  const bool fits = a.value_ != Checked::kNone && b.value_ != Checked::kNone &&
                    !__builtin_add_overflow(a.value_, b.value_, &a.value_);
  return fits ? a.value_ : Checked::kNone;
}

Checked operator-(Checked a, Checked b) {
  return b.value_ == Checked::kNone ? b : a + Checked(-b.value_);
}

Checked operator*(Checked a, Checked b) {
  const bool fits = a.value_ != Checked::kNone && b.value_ != Checked::kNone &&
                    !__builtin_mul_overflow(a.value_, b.value_, &a.value_);
  return fits ? a.value_ : Checked::kNone;
}

bool operator==(Checked a, Checked b) { return a.value_ != Checked::kNone && a.value_ == b.value_; }

bool operator<=(Checked a, Checked b) {
  return a.value_ != Checked::kNone && b.value_ != Checked::kNone && a.value_ <= b.value_;
}

}  // namespace rill
