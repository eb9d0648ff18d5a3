#include <algorithm>
#include <cmath>

#include "core/exec/index_checks.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"
#include "ops/math/binary.h"
#include "ops/math/integers.h"
#include "ops/math/scatter_slices.h"

namespace rill::ops {
namespace {

/// Return how an update combines with the existing element.
std::optional<BinaryKind> reduction_of(std::string_view name) {
  if (name == "add") return BinaryKind::kAdd;
  if (name == "mul") return BinaryKind::kMul;
  if (name == "min") return BinaryKind::kMin;
  if (name == "max") return BinaryKind::kMax;
  return std::nullopt;
}

Status check_reduction(const std::string& name, const Fact& data, const Fact& updates) {
  if (name != "none" && !reduction_of(name)) {
    return fail(Code::kUnsupported, "reduction \"", name,
                "\": expected \"none\", \"add\", \"mul\", \"min\" or \"max\"");
  }
  if (data.dtype != updates.dtype || !(data.q == updates.q)) {
    return fail(Code::kDType, "expected updates of the input's type, found ", data, " and ",
                updates);
  }
  if (name != "none" && !is_number(data.dtype)) {
    return fail(Code::kDType, "reduction \"", name, "\" is not defined for ",
                dtype_name(data.dtype));
  }
  return {};
}

template <class T>
T combined(BinaryKind kind, T a, T b) {
  const Wide<T> x = upcast(a);
  const Wide<T> y = upcast(b);
  if constexpr (std::is_integral_v<Wide<T>>) {
    return narrow<T>(integer_binary(kind, x, y, 8 * static_cast<int>(sizeof(T))));
  } else {
    switch (kind) {
      case BinaryKind::kAdd:
        return narrow<T>(x + y);
      case BinaryKind::kMul:
        return narrow<T>(x * y);
      case BinaryKind::kMin:
        return narrow<T>(std::fmin(x, y));
      default:
        return narrow<T>(std::fmax(x, y));
    }
  }
}

/// Puts element j of one array at index i of another.
using Store = void (*)(BinaryKind kind, void* to, const void* from, int64_t i,
                       int64_t j) noexcept RILL_NONBLOCKING;

/// Return the function for a reduction and a type.
Store store_of(const std::string& reduction, DType dtype) {
  Store out = nullptr;
  if (reduction_of(reduction)) {
    visit_number(dtype, [&](auto tag) {
      using T = decltype(tag);
      out = [](BinaryKind kind, void* to, const void* from, int64_t i,
               int64_t j) noexcept RILL_NONBLOCKING {
        T& place = static_cast<T*>(to)[i];
        place = combined(kind, place, static_cast<const T*>(from)[j]);
      };
    });
    return out;
  }
  visit_size(dtype, [&](auto tag) {
    using T = decltype(tag);
    out = [](BinaryKind, void* to, const void* from, int64_t i,
             int64_t j) noexcept RILL_NONBLOCKING {
      // Plans hold no strings; no other type allocates here.
      RILL_NOT_IN_STEPS(static_cast<T*>(to)[i] = static_cast<const T*>(from)[j];)
    };
  });
  return out;
}

/// Copy the input, then put each update where its index says along one axis, in row-major order.
/// Shapes: data [D0..Dn], indices and updates [I0..In], I <= D but on `axis` -> [D0..Dn].
/// Types: data and updates of one type, numbers unless `reduction` is "none"; integer indices,
/// negative ones count from the end.
/// Errors: kShape if there is no such axis, or a constant index is out of range; kDType. Sessions
/// refuse an index out of range in an input of the model, and one that a whole run computes. In a
/// stream, an update whose index the model computes is left out if that is out of range.
/// Stream: pointwise on the other axes where all extents agree.
/// Source: ONNX, `ScatterElements`; tract, `tract_core_scatter_elements`.
class ScatterElements final : public OpBase<ScatterElements> {
 public:
  int64_t axis = 0;
  std::string reduction = "none";
  std::string_view name() const override { return "ScatterElements"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axis", axis);
    visitor.field("reduction", reduction);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 3));
    RILL_TRY(check_reduction(reduction, in[0], in[2]));
    RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
    RILL_CHECK(in[1].rank() == in[0].rank() && in[2].rank() == in[0].rank(),
               "expected inputs of one rank, found ", in[0], ", ", in[1], " and ", in[2]);
    for (int i = 0; i < in[0].rank(); ++i) {
      const auto same = (in[1].dim(i) - in[2].dim(i)).to_int();
      RILL_CHECK(!same || *same == 0, "indices ", in[1], " and updates ", in[2], " differ");
      const auto spare = (in[0].dim(i) - in[1].dim(i)).to_int();
      RILL_CHECK(i == axis || !spare || *spare >= 0, "extents of axis ", i, ": ", in[0], " and ",
                 in[1]);
    }
    RILL_TRY(check_indices(in[1], in[0].dim(static_cast<int>(axis))));
    return one_fact(in[0].without_value());
  }
  void demands(FactSpan in, std::vector<Dim>* non_negative) const override {
    demand_indices(in[1], in[0].dim(static_cast<int>(axis)), non_negative);
  }
  std::optional<NumberRange> indices(int input, FactSpan in) const override {
    return input == 1 ? indices_of(in[0].dim(static_cast<int>(axis))) : std::nullopt;
  }
  Status eval(EvalCtx& ctx) const override {
    const View& out = ctx.out[0];
    const View& indices = ctx.in[1];
    const View& updates = ctx.in[2];
    RILL_TRY(known_indices(indices));
    copy_view(ctx.in[0], out);
    const auto on = static_cast<size_t>(axis);
    View base = out;
    base.stride[on] = 0;
    const Store store = store_of(reduction, out.dtype);
    const BinaryKind kind = reduction_of(reduction).value_or(BinaryKind::kAdd);
    for_each_element<3>({indices, updates, base}, [&](const std::array<int64_t, 3>& at) {
      const int64_t index = wrapped_index(index_at(indices, at[0]), out.shape[on]);
      if (index >= 0) store(kind, out.data, updates.data, at[2] + index * out.stride[on], at[1]);
    });
    return {};
  }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int i = 0; i < in[0].rank(); ++i) {
      if (i != axis && in[0].dim(i) == in[1].dim(i)) tracks.push_back({{i, i, i}, {i}});
    }
    return tracks;
  }
  Status save(SaveCtx& ctx) const override;
};

/// Copy the input, then put each slice of the updates at the place given by the last axis of the
/// indices, in row-major order.
/// Shapes: data [D0..Dn], indices [I0..Im, k], updates [I0..Im, Dk..Dn] -> [D0..Dn].
/// Types, Errors: as for `ScatterElements`; k is a number.
/// Stream: if the indices along each axis are a separate range, as for y[:, 1:, ::2] = u, it
/// becomes slices and selections; refused otherwise.
/// Source: ONNX, `ScatterND`; tract, `tract_core_scatter_nd`.
class ScatterNd final : public OpBase<ScatterNd> {
 public:
  std::string reduction = "none";
  std::string_view name() const override { return "ScatterNd"; }
  void fields(FieldVisitor& visitor) override { visitor.field("reduction", reduction); }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 3));
    RILL_TRY(check_reduction(reduction, in[0], in[2]));
    RILL_TRY(check_indices(in[1].without_value(), Dim(0)));
    RILL_CHECK(in[1].rank() > 0, "indices ", in[1], ": expected at least one axis");
    RILL_ASSIGN(const int64_t depth, in[1].shape.back().as_int());
    RILL_CHECK(depth >= 0 && depth <= in[0].rank(), "indices of ", counted(depth, "axis", "axes"),
               " for ", in[0]);
    std::vector<Dim> expected(in[1].shape.begin(), in[1].shape.end() - 1);
    expected.insert(expected.end(), in[0].shape.begin() + depth, in[0].shape.end());
    bool fits = expected.size() == in[2].shape.size();
    for (size_t i = 0; fits && i < expected.size(); ++i) {
      const auto difference = (expected[i] - in[2].shape[i]).to_int();
      fits = !difference || *difference == 0;
    }
    RILL_CHECK(fits, "updates ", in[2], ": expected the shape ", expected);
    return one_fact(in[0].without_value());
  }
  std::optional<NumberRange> indices(int input, FactSpan in) const override {
    const auto depth = in[1].shape.back().to_int();
    return input == 1 && depth ? indices_of_axes(in[0], 0, *depth) : std::nullopt;
  }
  Status eval(EvalCtx& ctx) const override {
    const View& out = ctx.out[0];
    const View& indices = ctx.in[1];
    const View& updates = ctx.in[2];
    RILL_TRY(known_indices(indices));
    copy_view(ctx.in[0], out);
    const int places = indices.rank - 1;
    const auto depth = static_cast<int>(indices.extent(places));
    View outer = indices;
    View outer_updates = updates;
    outer.rank = outer_updates.rank = places;
    View slice = out;
    View slice_updates = updates;
    slice.rank = slice_updates.rank = out.rank - depth;
    for (int i = 0; i < slice.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      slice.shape[at] = slice_updates.shape[at] = out.extent(depth + i);
      slice.stride[at] = out.step(depth + i);
      slice_updates.stride[at] = updates.step(places + i);
    }
    const Store store = store_of(reduction, out.dtype);
    const BinaryKind kind = reduction_of(reduction).value_or(BinaryKind::kAdd);
    for_each_element<2>({outer, outer_updates}, [&](const std::array<int64_t, 2>& place) {
      int64_t to = 0;
      for (int k = 0; k < depth; ++k) {
        const int64_t raw = index_at(indices, place[0] + k * indices.step(places));
        const int64_t index = wrapped_index(raw, out.extent(k));
        if (index < 0) return;
        to += index * out.step(k);
      }
      for_each_element<2>({slice, slice_updates}, [&](const std::array<int64_t, 2>& at) {
        store(kind, out.data, updates.data, to + at[0], place[1] + at[1]);
      });
    });
    return {};
  }
  Status lower(Lowering& lowering) const override {
    const Operand& indices = lowering.in(1);
    check_index_lists(lowering, 1, 0, static_cast<int>(indices.extent(indices.rank - 1)));
    return Op::lower(lowering);
  }
  Status declutter(Rewrite& rewrite) const override;
  Status pulsify(PulseBuilder& b) const override;
  Status save(SaveCtx& ctx) const override;
};

/// Replace updates of ranges of axes by a concat with the data around them, or by a selection.
Status ScatterNd::declutter(Rewrite& rewrite) const {
  return reduction == "none" ? scatter_as_slices(rewrite) : Status();
}

Status ScatterNd::pulsify(PulseBuilder& b) const {
  for (int i = 0; i < b.inputs(); ++i) {
    if (!b.stream(i)) continue;
    const std::string remedy = str_cat(
        "Write at slices that count up from a fixed frame, as in y[:, :, 1:] = u; or assert how "
        "long streams are, as in --assert '",
        b.symbol(), " >= N' with the fixed frame N at which a slice ends");
    return b.refuse(remedy, "it writes at places of a stream that are not slices within it");
  }
  return Op::pulsify(b);
}

struct Arguments {
  std::vector<OutletId> wires;
  std::string reduction;
};

Result<Arguments> arguments_of(LoadCtx& ctx) {
  Arguments out;
  for (const char* name : {"input", "indices", "updates"}) {
    RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
    out.wires.push_back(wire);
  }
  RILL_ASSIGN(out.reduction, ctx.text("reduction"));
  const DType data = ctx.fact(out.wires[0]).dtype;
  const DType updates = ctx.fact(out.wires[2]).dtype;
  // Floats promote to the wider float, integers to the wider integer; otherwise the input's type
  // wins.
  const bool kin = (is_float(data) && is_float(updates)) || (is_int(data) && is_int(updates));
  const bool wider = kin && dtype_size(updates) > dtype_size(data);
  const QParams q = ctx.fact(out.wires[0]).q;
  RILL_ASSIGN(out.wires[0], cast_to(ctx, out.wires[0], wider ? updates : data, q));
  RILL_ASSIGN(out.wires[2], cast_to(ctx, out.wires[2], wider ? updates : data, q));
  return out;
}

Result<Value> load_elements(LoadCtx& ctx) {
  RILL_ASSIGN(Arguments arguments, arguments_of(ctx));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  auto op = draft_op<ScatterElements>();
  RILL_ASSIGN(op->axis, axis_in(written, ctx.fact(arguments.wires[0]).rank()));
  op->reduction = std::move(arguments.reduction);
  return ctx.add_value(std::move(op), std::move(arguments.wires));
}

Result<Value> load_nd(LoadCtx& ctx) {
  RILL_ASSIGN(Arguments arguments, arguments_of(ctx));
  auto op = draft_op<ScatterNd>();
  op->reduction = std::move(arguments.reduction);
  return ctx.add_value(std::move(op), std::move(arguments.wires));
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_scatter_elements(input: tensor<?>, indices: tensor<integer>,"
     " updates: tensor<?>, axis: integer, reduction: string = 'none') -> (output: tensor<?>);",
     load_elements},
    {"tract_core",
     "fragment tract_core_scatter_nd(input: tensor<?>, indices: tensor<integer>,"
     " updates: tensor<?>, reduction: string = 'none') -> (output: tensor<?>);",
     load_nd},
};

constexpr OpClass kClasses[] = {
    op_class<ScatterElements>("ScatterElements"),
    op_class<ScatterNd>("ScatterNd"),
};

}  // namespace

Status ScatterElements::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }
Status ScatterNd::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[1]); }

extern const OpModule scatter_module;
const OpModule scatter_module = {"scatter", kOps, kClasses};

}  // namespace rill::ops
