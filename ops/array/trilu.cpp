#include "ops/array/trilu.h"

#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
Result<Facts> Trilu::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(in[0].rank() >= 2, "expected a rank of at least 2, found ", in[0]);
  return one_fact(in[0].without_value());
}

Status Trilu::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  const auto diagonal = k.is_const() ? k.to_int() : ctx.value_of(k);
  if (!diagonal) RILL_NOT_IN_STEPS(return k.as_int().take_status();)
  // Two additional views, whose offsets are the row and column index.
  View row = out;
  View column = out;
  row.stride = {};
  column.stride = {};
  row.stride[static_cast<size_t>(out.rank - 2)] = 1;
  column.stride[static_cast<size_t>(out.rank - 1)] = 1;
  visit_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<4>({out, x, row, column}, [&](const std::array<int64_t, 4>& at) {
      int64_t bound = 0;
      if (__builtin_add_overflow(at[2], *diagonal, &bound)) bound = INT64_MAX;
      const bool keep = upper ? at[3] >= bound : at[3] <= bound;
      out.as<T>()[at[0]] = keep ? x.as<const T>()[at[1]] : T{};
    });
  });
  return {};
}

Course Trilu::course() const {
  return {.form = Course::Form::kTriangle, .begin = &k, .upper = upper};
}

std::vector<AxisTrack> Trilu::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  // `k` may contain the length of the stream, which is unknown here.
  if (!k.is_const()) return tracks;
  for (int i = 0; i + 2 < in[0].rank(); ++i) tracks.push_back({{i}, {i}});
  return tracks;
}

Status Trilu::pulsify(PulseBuilder& b) const {
  ScoresBuilder* scores = b.scores();
  if (!scores) return Op::pulsify(b);
  RILL_ASSIGN(const OutletId out, scores->keep_side(b.wire(0), k, upper));
  b.set(0, out, b.stream(0));
  return {};
}

namespace {

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_trilu(input: tensor<?>, k: integer, upper: logical)"
     " -> (output: tensor<?>);",
     load_on_input<Trilu>},
};

constexpr OpClass kClasses[] = {op_class<Trilu>("Trilu")};

}  // namespace

Status Trilu::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule trilu_module;
const OpModule trilu_module = {"trilu", kOps, kClasses};

}  // namespace rill::ops
