#include "nnef_loader/build/test_ops.h"

#include <algorithm>
#include <type_traits>

namespace rill::nnef::test {
namespace {

template <class T>
T apply(char what, const T& a, const T& b) {
  if (what == '+') return a + b;
  if (what == '-') return a - b;
  if (what == '*') return a * b;
  if constexpr (std::is_same_v<T, Dim>) {
    return what == 'M' ? rill::max(a, b) : rill::min(a, b);
  } else {
    return what == 'M' ? std::max(a, b) : std::min(a, b);
  }
}

int64_t offset(const View& v, int64_t flat, const View& out) {
  int64_t at = 0;
  for (int axis = out.rank - 1; axis >= 0; --axis) {
    const int64_t index = flat % out.extent(axis);
    flat /= out.extent(axis);
    if (axis < v.rank && v.extent(axis) != 1) at += index * v.step(axis);
  }
  return at;
}

class Binary final : public OpBase<Binary> {
 public:
  std::string what;
  explicit Binary(std::string w) : what(std::move(w)) {}
  std::string_view name() const override { return "Binary"; }
  void fields(FieldVisitor& v) override { v.field("what", what); }
  Result<Facts> infer(FactSpan in) const override {
    if (in[0].dtype != in[1].dtype) {
      return fail(Code::kDType, "No super type for ", dtype_name(in[0].dtype), " and ",
                  dtype_name(in[1].dtype));
    }
    Fact out = in[0].rank() >= in[1].rank() ? in[0].without_value() : in[1].without_value();
    for (int axis = 0; axis < out.rank(); ++axis) {
      Dim extent = 1;
      for (const Fact& fact : in) {
        if (axis < fact.rank()) extent = broadcast(extent, fact.dim(axis));
      }
      out.shape[static_cast<size_t>(axis)] = extent;
    }
    return one_fact(out);
  }
  Status eval(EvalCtx& ctx) const override {
    const View& out = ctx.out[0];
    for (int64_t i = 0; i < out.volume(); ++i) {
      const int64_t a = offset(ctx.in[0], i, out);
      const int64_t b = offset(ctx.in[1], i, out);
      if (out.dtype == DType::kF32) {
        out.as<float>()[i] = apply(what[0], ctx.in[0].as<float>()[a], ctx.in[1].as<float>()[b]);
      } else if (out.dtype == DType::kI64) {
        out.as<int64_t>()[i] =
            apply(what[0], ctx.in[0].as<int64_t>()[a], ctx.in[1].as<int64_t>()[b]);
      } else if (out.dtype == DType::kDim) {
        out.as<Dim>()[i] = apply(what[0], ctx.in[0].as<Dim>()[a], ctx.in[1].as<Dim>()[b]);
      } else {
        return fail(Code::kDType, "type");
      }
    }
    return {};
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string a, ctx.in(0));
    RILL_ASSIGN(const std::string b, ctx.in(1));
    const char* callee = what == "+"   ? "add"
                         : what == "-" ? "sub"
                         : what == "*" ? "mul"
                         : what == "M" ? "max"
                                       : "min";
    ctx.assign(str_cat(callee, "(", a, ", ", b, ")"));
    return {};
  }
};

template <char kWhat>
Result<Value> load_binary(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId a, ctx.wire("x"));
  RILL_ASSIGN(const OutletId b, ctx.wire("y"));
  return ctx.add_value(make_op<Binary>(std::string(1, kWhat)), {a, b});
}

class Cast final : public OpBase<Cast> {
 public:
  DType to;
  QParams q;
  Cast(DType t, QParams p) : to(t), q(p) {}
  std::string_view name() const override { return "Cast"; }
  void fields(FieldVisitor& v) override { v.field("to", to); }
  Result<Facts> infer(FactSpan in) const override { return one_fact({to, q, in[0].shape, {}}); }
  Status eval(EvalCtx& ctx) const override { return cast_into(ctx.in[0], ctx.out[0]); }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    ctx.need_registry("tract_core");
    ctx.assign(is_quantised(to)
                   ? str_cat("tract_core_cast(", x, ")")
                   : str_cat("tract_core_cast(", x, ", to = \"", dtype_lower_name(to), "\")"));
    return {};
  }
};

Result<Value> load_cast(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId in, ctx.wire("input"));
  DType to = DType::kF32;
  QParams q;
  if (const auto quant = ctx.quant()) {
    to = quant->dtype;
    q = quant->q;
  } else {
    RILL_ASSIGN(const std::string text, ctx.text("to"));
    to = dtype_from_name(text).value_or(DType::kF32);
  }
  return ctx.add_value(make_op<Cast>(to, q), {in});
}

/// Reshapes its input.
class Reshape final : public OpBase<Reshape> {
 public:
  std::vector<Dim> shape;
  explicit Reshape(std::vector<Dim> s) : shape(std::move(s)) {}
  std::string_view name() const override { return "Reshape"; }
  void fields(FieldVisitor& v) override { v.field("shape", shape); }
  Result<Facts> infer(FactSpan in) const override {
    RILL_CHECK(volume(in[0].shape) == volume(shape), "cannot reshape ", in[0], " to ", shape);
    return one_fact({in[0].dtype, in[0].q, shape, {}});
  }
  Status eval(EvalCtx& ctx) const override {
    View from = ctx.in[0];
    View to = ctx.out[0];
    for (View* view : {&from, &to}) {
      view->shape = {view->volume()};
      view->rank = 1;
      view->stride = {1};
    }
    copy_view(from, to);
    return {};
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    ctx.assign(str_cat("reshape(", x, ", shape = ", ctx.dims(shape), ")"));
    return {};
  }
};

Result<Value> load_reshape(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId in, ctx.wire("input"));
  RILL_ASSIGN(std::vector<Dim> shape, ctx.dims("shape"));
  return ctx.add_value(make_op<Reshape>(std::move(shape)), {in});
}

Result<Value> load_unsqueeze(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId in, ctx.wire("input"));
  RILL_ASSIGN(const std::vector<int64_t> axes, ctx.integers("axes"));
  std::vector<Dim> shape = ctx.fact(in).shape;
  for (const int64_t axis : axes) shape.insert(shape.begin() + axis, Dim(1));
  return ctx.add_value(make_op<Reshape>(std::move(shape)), {in});
}

Result<Value> load_shape_of(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId in, ctx.wire("input"));
  return as_value(ctx.konst(Tensor::dims(ctx.fact(in).shape)));
}

/// Joins along axis 0.
class Concat final : public OpBase<Concat> {
 public:
  std::string_view name() const override { return "Concat"; }
  void fields(FieldVisitor&) override {}
  Result<Facts> infer(FactSpan in) const override {
    for (const Fact& fact : in) RILL_CHECK(fact.rank() > 0, "no axis to join");
    Fact out = in[0].without_value();
    for (size_t i = 1; i < in.size(); ++i) out.shape[0] += in[i].shape[0];
    return one_fact(out);
  }
  Status eval(EvalCtx& ctx) const override {
    int64_t at = 0;
    for (const View& in : ctx.in) {
      View to = ctx.out[0];
      to.shape[0] = in.extent(0);
      to.data = to.as<float>() + at;
      copy_view(in, to);
      at += in.volume();
    }
    return {};
  }
  Status save(SaveCtx& ctx) const override {
    std::string list;
    for (size_t i = 0; i < ctx.node().inputs.size(); ++i) {
      RILL_ASSIGN(const std::string x, ctx.in(static_cast<int>(i)));
      list += str_cat(i > 0 ? ", " : "", x);
    }
    ctx.assign(str_cat("concat([", list, "], axis = 0)"));
    return {};
  }
};

Result<Value> load_concat(LoadCtx& ctx) {
  RILL_ASSIGN(std::vector<OutletId> wires, ctx.wires("values"));
  return ctx.add_value(make_op<Concat>(), wires);
}

/// Cuts [begin, end) of axis 0.
class Slice final : public OpBase<Slice> {
 public:
  Dim begin;
  Dim end;
  Slice(Dim b, Dim e) : begin(std::move(b)), end(std::move(e)) {}
  std::string_view name() const override { return "Slice"; }
  void fields(FieldVisitor& v) override {
    v.field("begin", begin);
    v.field("end", end);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_CHECK(in[0].rank() > 0, "no axis to slice");
    Fact out = in[0].without_value();
    out.shape[0] = end - begin;
    return one_fact(out);
  }
  Status eval(EvalCtx& ctx) const override {
    RILL_ASSIGN(const int64_t at, begin.as_int());
    View from = ctx.in[0];
    from.shape[0] = ctx.out[0].extent(0);
    from.data = from.as<std::byte>() + at * from.step(0) * dtype_size(from.dtype);
    copy_view(from, ctx.out[0]);
    return {};
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    ctx.assign(str_cat("slice(", x, ", axes = [0], begin = [", ctx.dim(begin), "], end = [",
                       ctx.dim(end), "])"));
    return {};
  }
};

Result<Value> load_slice(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId in, ctx.wire("input"));
  RILL_ASSIGN(std::vector<Dim> begin, ctx.dims("begin"));
  RILL_ASSIGN(std::vector<Dim> end, ctx.dims("end"));
  return ctx.add_value(make_op<Slice>(begin[0], end[0]), {in});
}

/// Returns its input twice.
class Pair final : public OpBase<Pair> {
 public:
  std::string_view name() const override { return "Pair"; }
  void fields(FieldVisitor&) override {}
  Result<Facts> infer(FactSpan in) const override {
    return Facts{in[0].without_value(), in[0].without_value()};
  }
  Status eval(EvalCtx& ctx) const override {
    copy_view(ctx.in[0], ctx.out[0]);
    copy_view(ctx.in[0], ctx.out[1]);
    return {};
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    ctx.assign_all(str_cat("pair(", x, ")"));
    return {};
  }
};

Result<Value> load_pair(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId in, ctx.wire("input"));
  RILL_ASSIGN(const std::vector<OutletId> out, ctx.add(make_op<Pair>(), {in}));
  return Value::of_wires(out);
}

/// Shows how its arguments were read.
class Probe final : public OpBase<Probe> {
 public:
  int64_t n = 0;
  float f = 0;
  bool flag = false;
  std::string s;
  std::vector<int64_t> list;
  std::vector<Dim> dims;
  Pads pads;
  std::string_view name() const override { return "Probe"; }
  void fields(FieldVisitor& v) override {
    v.field("n", n);
    v.field("f", f);
    v.field("flag", flag);
    v.field("s", s);
    v.field("list", list);
    v.field("dims", dims);
    v.field("pads", pads);
  }
  Result<Facts> infer(FactSpan in) const override { return one_fact(in[0].without_value()); }
  Status eval(EvalCtx&) const override { return fail(Code::kUnsupported, "probe"); }
};

Result<Value> load_probe(LoadCtx& ctx) {
  auto op = draft_op<Probe>();
  RILL_ASSIGN(const OutletId in, ctx.wire("input"));
  RILL_ASSIGN(op->n, ctx.integer("n"));
  RILL_ASSIGN(op->f, ctx.number("f"));
  RILL_ASSIGN(op->flag, ctx.boolean("flag"));
  RILL_ASSIGN(op->s, ctx.text("s"));
  RILL_ASSIGN(op->list, ctx.integers("list"));
  RILL_ASSIGN(op->dims, ctx.dims("dims"));
  RILL_ASSIGN(op->pads, ctx.pads("pads"));
  if (ctx.has("extra")) {
    RILL_ASSIGN(op->n, ctx.integer("extra"));
  }
  return ctx.add_value(op, {in});
}

/// Holds a body and never runs it.
class Scan final : public OpBase<Scan> {
 public:
  std::shared_ptr<const Graph> body;
  std::string names;
  explicit Scan(std::shared_ptr<const Graph> b) : body(std::move(b)) {}
  std::string_view name() const override { return "Scan"; }
  void fields(FieldVisitor& v) override {
    names = node_list(*body);
    v.field("body", names);
  }
  Result<Facts> infer(FactSpan) const override {
    return one_fact(body->fact(body->outputs[0]).without_value());
  }
  Status eval(EvalCtx&) const override { return fail(Code::kUnsupported, "scan"); }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string fragment, ctx.body(*body));
    std::string list;
    for (size_t i = 0; i < ctx.node().inputs.size(); ++i) {
      RILL_ASSIGN(const std::string x, ctx.in(static_cast<int>(i)));
      list += str_cat(i > 0 ? ", " : "", x);
    }
    ctx.need_registry("tract_core");
    ctx.assign(str_cat("tract_core_scan(body = \"", fragment, "\", full = [", list, "])"));
    return {};
  }
};

Result<Value> load_scan(LoadCtx& ctx) {
  RILL_ASSIGN(const std::string fragment, ctx.text("body"));
  RILL_ASSIGN(const std::vector<OutletId> full, ctx.wires("full"));
  std::vector<Fact> facts;
  for (const OutletId& wire : full) facts.push_back(ctx.fact(wire));
  RILL_ASSIGN(const std::vector<std::string> parameters, ctx.fragment_parameters(fragment));
  RILL_CHECK(parameters.size() == full.size(), "expected ", parameters.size(), " wires");
  RILL_ASSIGN(Graph body, ctx.fragment_graph(fragment, facts));
  RILL_ASSIGN(const OutletId out,
              ctx.add1(make_op<Scan>(std::make_shared<const Graph>(std::move(body))), full));
  return as_value(out);
}

Result<Value> load_unstack(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId in, ctx.wire("value"));
  RILL_ASSIGN(const int64_t count, ctx.fact(in).dim(0).as_int());
  std::vector<Value> out;
  for (int64_t i = 0; i < count; ++i) {
    RILL_ASSIGN(const OutletId one, ctx.add1(make_op<Slice>(Dim(i), Dim(i + 1)), {in}));
    out.emplace_back(one);
  }
  return Value(std::move(out));
}

constexpr NnefOp kOps[] = {
    {"tract_nnef", "fragment add(x: tensor<scalar>, y: tensor<scalar>) -> (z: tensor<scalar>);",
     load_binary<'+'>},
    {"tract_nnef", "fragment sub(x: tensor<scalar>, y: tensor<scalar>) -> (z: tensor<scalar>);",
     load_binary<'-'>},
    {"tract_nnef", "fragment mul(x: tensor<scalar>, y: tensor<scalar>) -> (z: tensor<scalar>);",
     load_binary<'*'>},
    {"tract_nnef", "fragment max(x: tensor<scalar>, y: tensor<scalar>) -> (z: tensor<scalar>);",
     load_binary<'M'>},
    {"tract_nnef", "fragment min(x: tensor<scalar>, y: tensor<scalar>) -> (z: tensor<scalar>);",
     load_binary<'m'>},
    {"tract_nnef",
     "fragment reshape<?>(input: tensor<?>, shape: integer[]) -> (output: tensor<?>);",
     load_reshape},
    {"tract_nnef",
     "fragment unsqueeze<?>(input: tensor<?>, axes: integer[]) -> (output: tensor<?>);",
     load_unsqueeze},
    {"tract_nnef", "fragment concat<?>(values: tensor<?>[], axis: integer) -> (value: tensor<?>);",
     load_concat},
    {"tract_nnef",
     "fragment slice<?>(input: tensor<?>, axes: integer[], begin: integer[], end: integer[]) -> "
     "(output: tensor<?>);",
     load_slice},
    {"tract_nnef", "fragment unstack<?>(value: tensor<?>, axis: integer) -> (values: tensor<?>[]);",
     load_unstack},
    {"tract_nnef", "fragment pair<?>(input: tensor<?>) -> (a: tensor<?>, b: tensor<?>);",
     load_pair},
    {"tract_nnef",
     "fragment probe(input: tensor<scalar>, n: integer = 7, f: scalar = 0.5, "
     "flag: logical = true, s: string = 'abc', list: integer[] = [1, 2], dims: integer[] = [], "
     "pads: (integer, integer)[] = []) -> (output: tensor<scalar>);",
     load_probe},
    {"tract_core", "fragment tract_core_cast(input: tensor<?>, to: string) -> (output: tensor<?>);",
     load_cast},
    {"tract_core", "fragment tract_core_shape_of(input: tensor<?>) -> (shape: tensor<integer>);",
     load_shape_of},
    {"tract_core",
     "fragment tract_core_scan(body: string, full: tensor<?>[]) -> (outputs: tensor<?>[]);",
     load_scan},
    {"tract_core", "fragment tract_core_rms_norm(input: tensor<scalar>) -> (o: tensor<scalar>);",
     load_probe},
    {"tract_extra", "fragment tract_extra_thing(input: tensor<scalar>) -> (o: tensor<scalar>);",
     load_probe},
};

constexpr OpModule kRoom = {"test", kOps};
const OpModule* const kModules[] = {&kRoom};

}  // namespace

std::span<const OpModule* const> ops() { return kModules; }

}  // namespace rill::nnef::test
