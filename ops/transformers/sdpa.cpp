#include <cmath>

#include "core/graph/nnef.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/reshape.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum.h"
#include "ops/math/select.h"
#include "ops/math/wiring.h"
#include "ops/nn/einsum.h"
#include "ops/nn/softmax.h"

// Scaled dot-product attention has no op. The reader makes matmuls, a sum and a softmax. These
// stream, and written files contain them. Source: tract_transformers_sdpa.

namespace rill::ops {
namespace {

/// Adds the nodes of an attention.
class Attention {
 public:
  explicit Attention(LoadCtx& ctx) : ctx_(ctx) {}

  Result<Value> load() {
    RILL_TRY(read_inputs());
    RILL_TRY(group_heads());
    const std::string lead = grouped_ ? "bhr" : rank_ == 4 ? "bh" : "b";
    const std::string shared = grouped_ ? "bh" : lead;
    RILL_ASSIGN(OutletId scores,
                product(q_, k_, lead + "td," + shared + "sd->" + lead + "ts", "scores"));
    RILL_ASSIGN(const OutletId scale, ctx_.konst(Tensor::scalar(scale_), "scale"));
    RILL_ASSIGN(const OutletId scale_as_scores, cast_to(ctx_, scale, ctx_.fact(scores).dtype));
    RILL_ASSIGN(scores, load_binary(ctx_, BinaryKind::kMul, scores, scale_as_scores));
    if (has_mask_) {
      RILL_ASSIGN(scores, load_binary(ctx_, BinaryKind::kAdd, scores, mask_));
    }
    if (causal_) {
      RILL_ASSIGN(const OutletId limit, causal_mask());
      RILL_ASSIGN(scores, load_binary(ctx_, BinaryKind::kAdd, scores, limit));
    }
    const int last = ctx_.fact(scores).rank() - 1;
    RILL_ASSIGN(
        const OutletId weights,
        ctx_.add1(make_op<Softmax>(std::vector<int64_t>{last}, false), {scores}, "weights"));
    RILL_ASSIGN(OutletId out,
                product(weights, v_, lead + "ts," + shared + "sd->" + lead + "td", "values"));
    if (grouped_) {
      RILL_ASSIGN(out, ctx_.add1(make_op<Reshape>(1, 2, std::vector<Dim>{heads_}), {out}, "heads"));
    }
    RILL_ASSIGN(out, cast_to(ctx_, out, out_dtype_));
    return as_value(out);
  }

 private:
  Status read_inputs() {
    RILL_ASSIGN(q_, ctx_.wire("q"));
    RILL_ASSIGN(k_, ctx_.wire("k"));
    RILL_ASSIGN(v_, ctx_.wire("v"));
    rank_ = ctx_.fact(q_).rank();
    RILL_CHECK(rank_ == 3 || rank_ == 4, "q ", ctx_.fact(q_), ": expected rank 3 or 4");
    RILL_CHECK(ctx_.fact(k_).rank() == rank_ && ctx_.fact(v_).rank() == rank_, "k ", ctx_.fact(k_),
               ", v ", ctx_.fact(v_), ": expected rank ", rank_);
    RILL_ASSIGN(out_dtype_, dtype("datum_type"));
    RILL_ASSIGN(const DType inner, dtype("acc_datum_type"));
    for (OutletId* wire : {&q_, &k_, &v_}) {
      RILL_ASSIGN(*wire, cast_to(ctx_, *wire, inner));
    }
    RILL_ASSIGN(causal_, ctx_.boolean("is_causal"));
    RILL_ASSIGN(const Value mask, ctx_.value("mask"));
    has_mask_ = !mask.get<bool>();
    if (has_mask_ && causal_) return fail(Code::kArg, "is_causal together with a mask");
    if (has_mask_) {
      RILL_ASSIGN(mask_, ctx_.to_wire(mask));
      RILL_CHECK(ctx_.fact(mask_).rank() <= rank_, "mask ", ctx_.fact(mask_), ": expected rank ",
                 rank_);
      if (ctx_.fact(mask_).dtype == DType::kBool) {
        RILL_TRY(limit_where_false());
      }
      RILL_ASSIGN(mask_, cast_to(ctx_, mask_, inner));
      while (ctx_.fact(mask_).rank() < rank_) {
        RILL_ASSIGN(mask_, ctx_.add1(make_op<AddAxis>(0), {mask_}, "mask"));
      }
    }
    RILL_ASSIGN(const Value scale, ctx_.value("scale"));
    if (scale.get<bool>()) {
      // Queries and keys have the same width, so either may state it.
      const auto of_queries = ctx_.fact(q_).shape.back().to_int();
      RILL_ASSIGN(const int64_t width, of_queries ? Result<int64_t>(*of_queries)
                                                  : ctx_.fact(k_).shape.back().as_int());
      scale_ = 1.0F / std::sqrt(static_cast<float>(width));
    } else {
      RILL_ASSIGN(scale_, ctx_.number("scale"));
    }
    return {};
  }

  /// Turn a boolean mask into a summand: 0 where it is true, -infinity elsewhere.
  Status limit_where_false() {
    const std::vector<int64_t> one(static_cast<size_t>(ctx_.fact(mask_).rank()), 1);
    RILL_ASSIGN(Tensor zero, Tensor::zeros(DType::kF32, one));
    RILL_ASSIGN(Tensor lowest, Tensor::zeros(DType::kF32, one));
    lowest.mutable_data<float>()[0] = -INFINITY;
    RILL_ASSIGN(const OutletId seen, ctx_.konst(std::move(zero), "seen"));
    RILL_ASSIGN(const OutletId hidden, ctx_.konst(std::move(lowest), "hidden"));
    RILL_ASSIGN(mask_, ctx_.add1(make_op<Select>(), {mask_, seen, hidden}, "mask"));
    return {};
  }

  Result<DType> dtype(const char* argument) {
    RILL_ASSIGN(const std::string name, ctx_.text(argument));
    const auto found = dtype_from_name(name);
    if (!found || !is_float(*found))
      return fail(Code::kDType, argument, " \"", name, "\": expected a float type");
    return *found;
  }

  /// Group query heads that share one head of keys and values.
  Status group_heads() {
    if (rank_ != 4 || ctx_.fact(q_).dim(1) == ctx_.fact(k_).dim(1)) return {};
    heads_ = ctx_.fact(q_).dim(1);
    kv_heads_ = ctx_.fact(k_).dim(1);
    const auto ratio = exact_div(heads_, kv_heads_);
    RILL_CHECK(ratio, heads_, " query heads for ", kv_heads_,
               " heads of keys: expected a multiple");
    heads_per_ = *ratio;
    grouped_ = true;
    const std::vector<Dim> split{kv_heads_, heads_per_};
    RILL_ASSIGN(q_, ctx_.add1(make_op<Reshape>(1, 1, split), {q_}, "heads"));
    if (!has_mask_) return {};
    if (ctx_.fact(mask_).dim(1) == Dim(1)) {
      RILL_ASSIGN(mask_, ctx_.add1(make_op<AddAxis>(1), {mask_}, "mask"));
    } else {
      RILL_ASSIGN(mask_, ctx_.add1(make_op<Reshape>(1, 1, split), {mask_}, "mask"));
    }
    return {};
  }

  Result<OutletId> product(OutletId a, OutletId b, std::string expr, std::string_view suffix) {
    auto op = draft_op<EinSum>();
    op->expr = std::move(expr);
    return ctx_.add1(op, {a, b}, suffix);
  }

  /// Return the causal mask: 0 where query i sees key j, j <= i + keys - queries, else -infinity.
  Result<OutletId> causal_mask() {
    const int time = rank_ - 2 + (grouped_ ? 1 : 0);
    const auto queries = ctx_.fact(q_).dim(time).to_int();
    const auto keys = ctx_.fact(k_).dim(rank_ - 2).to_int();
    if (!queries || !keys) return counted_mask(time);
    std::vector<int64_t> shape(static_cast<size_t>(rank_ + (grouped_ ? 1 : 0)), 1);
    shape[shape.size() - 2] = *queries;
    shape.back() = *keys;
    RILL_ASSIGN(Tensor mask, Tensor::zeros(DType::kF32, shape));
    for (int64_t i = 0; i < *queries; ++i) {
      for (int64_t j = i + *keys - *queries + 1; j < *keys; ++j) {
        if (j >= 0) mask.mutable_data<float>()[i * *keys + j] = -INFINITY;
      }
    }
    RILL_ASSIGN(const OutletId wire, ctx_.konst(std::move(mask), "causal"));
    return cast_to(ctx_, wire, ctx_.fact(q_).dtype);
  }

  /// Return the causal mask for symbolic extents, by comparing positions.
  Result<OutletId> counted_mask(int time) {
    Wiring w(ctx_);
    const Dim queries = w.fact(q_).dim(time);
    const Dim keys = w.fact(k_).dim(rank_ - 2);
    const int rank = time + 2;
    const auto positions = [&](int axis, const Dim& extent) {
      std::vector<Dim> shape(static_cast<size_t>(rank), Dim(1));
      shape[static_cast<size_t>(axis)] = extent;
      const OutletId one = w.konst(Tensor::scalar(int64_t{1}));
      const OutletId ones = w.add(make_op<Broadcast>(shape), {one});
      auto count = draft_op<CumSum>(axis);
      count->exclusive = true;
      return w.add(std::move(count), {ones});
    };
    const OutletId ahead = w.cast(w.konst(Tensor::scalar(keys - queries)), DType::kI64);
    const OutletId last = w.plus(positions(time, queries), ahead);
    const OutletId seen = w.binary(BinaryKind::kGe, last, positions(time + 1, keys));
    const DType type = w.dtype(q_);
    const OutletId mask =
        w.select(seen, w.cast(w.number(0.0F), type), w.cast(w.number(-INFINITY), type));
    if (!w.ok()) return w.take_status();
    return mask;
  }

  LoadCtx& ctx_;
  OutletId q_;
  OutletId k_;
  OutletId v_;
  OutletId mask_;
  int rank_ = 4;
  bool has_mask_ = false;
  bool causal_ = false;
  bool grouped_ = false;
  Dim heads_;
  Dim kv_heads_;
  Dim heads_per_;
  float scale_ = 1;
  DType out_dtype_ = DType::kF32;
};

Result<Value> load(LoadCtx& ctx) { return Attention(ctx).load(); }

const NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_sdpa(q: tensor<scalar>, k: tensor<scalar>, v: tensor<scalar>, "
     "mask: tensor<scalar> = false, scale: scalar = false, datum_type: string = 'f32', "
     "acc_datum_type: string = 'f32', is_causal: logical = false) -> (output: tensor<scalar>);",
     load}};

}  // namespace

extern const OpModule sdpa_module;
const OpModule sdpa_module = {"sdpa", kOps};

}  // namespace rill::ops
