#include "ops/math/cumsum.h"

#include <algorithm>

#include "core/base/kept_count.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/indices.h"
#include "ops/math/elements.h"

namespace rill::ops {
namespace {

/// Sums lie 8 bytes apart, behind the count of frames seen.
constexpr int64_t kSlotBytes = 8;

template <class T>
Wide<T> added(Wide<T> a, Wide<T> b) {
  if constexpr (std::is_integral_v<Wide<T>>) {
    return static_cast<Wide<T>>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace

Result<Facts> CumSum::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  if (!is_number(in[0].dtype)) {
    return fail(Code::kDType, "not defined for ", dtype_name(in[0].dtype), ": input ", in[0]);
  }
  RILL_CHECK(skip >= 0, "skip ", skip, ": expected 0 or more");
  return Facts{in[0].without_value()};
}

int64_t CumSum::state_bytes(FactSpan in) const {
  if (!streaming) return 0;
  int64_t sums = 1;
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis) sums *= in[0].dim(i).to_int().value_or(0);
  }
  return kSlotBytes * (sums + 1);
}

Status CumSum::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const int on = static_cast<int>(axis);
  const int64_t length = x.extent(on);
  auto* slots = static_cast<std::byte*>(ctx.state);
  int64_t* seen = reinterpret_cast<int64_t*>(slots);
  if (slots) *seen = kept_count(*seen);
  const int64_t wait = slots ? std::clamp<int64_t>(skip - *seen, 0, length) : 0;
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    int64_t lane = 0;
    for_each_element<2>(
        {without_axis(x, on), without_axis(y, on)}, [&](const std::array<int64_t, 2>& at) {
          const T* from = x.as<const T>() + at[0];
          T* to = y.as<T>() + at[1];
          ++lane;
          Wide<T> sum = 0;
          auto* kept = slots ? reinterpret_cast<Wide<T>*>(slots + kSlotBytes * lane) : nullptr;
          if (kept) sum = *kept;
          for (int64_t n = 0; n < length; ++n) {
            const int64_t i = reverse ? length - 1 - n : n;
            if (i < wait) {
              to[i * y.step(on)] = narrow<T>(Wide<T>(0));
              continue;
            }
            const Wide<T> next = added<T>(sum, widen(from[i * x.step(on)]));
            to[i * y.step(on)] = narrow<T>(exclusive ? sum : next);
            sum = next;
          }
          if (kept) *kept = sum;
        });
  });
  if (slots) *seen += length;
  return {};
}

std::vector<AxisTrack> CumSum::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis) tracks.push_back({{i}, {i}});
  }
  return tracks;
}

Status CumSum::pulsify(PulseBuilder& b) const {
  const auto found = b.stream(0);
  if (!found || found->axis != axis) return Op::pulsify(b);
  if (reverse) {
    return b.refuse("Sum forwards", "sums backwards along streaming axis ", axis,
                    ": every output needs all that follows");
  }
  StreamFact stream = *found;
  OutletId wire = b.wire(0);
  // Virtual first frames of zeros sum to zeros, and stay virtual.
  if (stream.has_prefix() && stream.fill) {
    RILL_ASSIGN(wire, b.materialise(wire, &stream));
  }
  auto op = std::make_shared<CumSum>(*this);
  op->streaming = true;
  op->skip = std::max<int64_t>(stream.delay, 0);
  // A sum without its own frame is the one with it, of a frame before; the first one is zero.
  if (exclusive) {
    op->exclusive = false;
    --stream.delay;
  }
  RILL_ASSIGN(const OutletId out, b.add1("", std::move(op), {wire}));
  b.set(0, out, stream);
  return {};
}

Status CumSum::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  if (streaming) {
    ctx.need_registry("tract_pulse");
    ctx.assign(str_cat("tract_pulse_cumsum(", x, ", axis = ", axis, ", exclusive = ", exclusive,
                       ", skip = ", skip, ")"));
    return {};
  }
  ctx.need_registry("tract_core");
  ctx.assign(str_cat("tract_core_cumsum(", x, ", axis = ", axis, ", exclusive = ", exclusive,
                     ", reverse = ", reverse, ")"));
  return {};
}

namespace {

Result<std::shared_ptr<CumSum>> op_of(LoadCtx& ctx, OutletId x) {
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(x).rank()));
  auto op = std::make_shared<CumSum>(axis);
  RILL_ASSIGN(op->exclusive, ctx.boolean("exclusive"));
  return op;
}

Result<Value> load_cumsum(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::shared_ptr<CumSum> op, op_of(ctx, x));
  RILL_ASSIGN(op->reverse, ctx.boolean("reverse"));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::move(op), {x}));
  return Value(out);
}

Result<Value> load_pulsed(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::shared_ptr<CumSum> op, op_of(ctx, x));
  RILL_ASSIGN(op->skip, ctx.integer("skip"));
  op->streaming = true;
  RILL_ASSIGN(const OutletId out, ctx.add1(std::move(op), {x}));
  return Value(out);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_cumsum(input: tensor<scalar>, axis: integer, exclusive: logical = false,"
     " reverse: logical = false) -> (output: tensor<scalar>);",
     load_cumsum},
    {"tract_pulse",
     "fragment tract_pulse_cumsum(input: tensor<scalar>, axis: integer,"
     " exclusive: logical = false, skip: integer = 0) -> (output: tensor<scalar>);",
     load_pulsed},
};

constexpr OpClass kClasses[] = {op_class<CumSum>("CumSum")};

}  // namespace

extern const OpRoom cumsum_room;
const OpRoom cumsum_room = {"cumsum", kOps, kClasses};

}  // namespace rill::ops
