#include "pulse/attention/first_keys.h"

#include <cmath>
#include <utility>

#include "ops/array/concat.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/select.h"
#include "ops/stream/latch.h"

namespace rill::pulse {
namespace {

Result<OutletId> numbers(PulseBuilder& b, std::string_view name, const ops::PulseRange& range,
                         int64_t count) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(range.start + range.step * i);
  RILL_ASSIGN(Tensor tensor, Tensor::of<int64_t>(DType::kI64, {count}, values));
  return b.konst(name, std::move(tensor));
}

}  // namespace

Result<OutletId> FirstKeys::keep(PulseBuilder& b, OutletId keys, const StreamFact& stream,
                                 OutletId passing) const {
  if (count_ == 0) return passing;
  auto latch = draft_op<ops::PulseLatch>();
  latch->axis = stream.axis;
  latch->end = count_;
  latch->delay = stream.delay;
  RILL_ASSIGN(const OutletId kept, b.add1("first", std::move(latch), {keys}));
  return b.add1("first", make_op<ops::Concat>(stream.axis), {kept, passing});
}

Result<OutletId> FirstKeys::number(PulseBuilder& b, std::string_view name,
                                   const ops::PulseRange& range, OutletId passing) const {
  if (count_ == 0) return passing;
  RILL_ASSIGN(const OutletId kept, numbers(b, name, range, count_));
  return b.add1(name, make_op<ops::Concat>(0), {kept, passing});
}

Result<OutletId> FirstKeys::hide(PulseBuilder& b, OutletId scores, const ops::PulseKeyMask& mask,
                                 const ops::PulseRange& positions) const {
  if (count_ == 0) return b.add1("keys", make_op<ops::PulseKeyMask>(mask), {scores});
  const auto part = [&](OutletId from, int64_t axis, int64_t begin, const Dim& end) {
    return b.add1("keys", make_op<ops::Slice>(axis, Dim(begin), end), {from});
  };
  const auto axis = static_cast<int>(mask.axis);
  RILL_ASSIGN(OutletId passing, part(scores, axis, count_, b.fact(scores).dim(axis)));
  RILL_ASSIGN(passing, b.add1("keys", make_op<ops::PulseKeyMask>(mask), {passing}));
  // Key 0 of the first keys has place 0 in every pulse.
  auto ends = draft_op<ops::PulseKeyMask>(mask);
  ends->pulse = 0;
  ends->delay = -count_;
  RILL_ASSIGN(OutletId first, part(scores, axis, 0, Dim(count_)));
  RILL_ASSIGN(first, b.add1("first", std::move(ends), {first}));
  RILL_ASSIGN(OutletId nearest, b.add1("keys", make_op<ops::PulseRange>(positions), {}));
  RILL_ASSIGN(nearest, part(nearest, 0, 0, Dim(1)));
  RILL_ASSIGN(const OutletId own, numbers(b, "first", {}, count_));
  RILL_ASSIGN(OutletId gone,
              b.add1("first", make_op<ops::Binary>(ops::BinaryKind::kLt), {own, nearest}));
  const Fact& fact = b.fact(first);
  std::vector<Dim> shape(static_cast<size_t>(fact.rank()), Dim(1));
  shape[static_cast<size_t>(axis)] = Dim(count_);
  RILL_ASSIGN(gone, b.add1("first", make_op<ops::Reshape>(0, 1, std::move(shape)), {gone}));
  RILL_ASSIGN(Tensor value, cast(Tensor::scalar(mask.weights ? 0.0F : -INFINITY), fact.dtype));
  RILL_ASSIGN(value, value.reshaped(std::vector<int64_t>(static_cast<size_t>(fact.rank()), 1)));
  RILL_ASSIGN(const OutletId none, b.konst("first", std::move(value)));
  RILL_ASSIGN(first, b.add1("first", make_op<ops::Select>(), {gone, first, none}));
  return b.add1("keys", make_op<ops::Concat>(axis), {first, passing});
}

}  // namespace rill::pulse
