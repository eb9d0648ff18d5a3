#include <cmath>
#include <utility>

#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
namespace {

/// Compute determinants. The second output is scratch for elimination: the matrices with exchanged
/// rows and the upper triangles of their factors.
/// Shapes: [.., n, n] -> [..], [.., n, n]. Types: f32, f64 -> the same, f64.
/// Errors: kShape, kDType.
/// Stream: pointwise on the leading axes; refused along rows or columns.
/// Accuracy: Gaussian elimination in f64 with partial pivoting.
/// Source: ONNX, `Det`; G. Golub and C. Van Loan, Matrix Computations, 3.4.
class Det final : public OpBase<Det> {
 public:
  std::string_view name() const override { return "Det"; }
  void fields(FieldVisitor&) override {}
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    const Fact& x = in[0];
    const int rank = x.rank();
    RILL_CHECK(rank >= 2 && x.dim(rank - 1) == x.dim(rank - 2), "input ", x,
               ": expected square matrices on the last two axes");
    if (x.dtype != DType::kF32 && x.dtype != DType::kF64) {
      return fail(Code::kDType, "input ", x, ": expected f32 or f64");
    }
    return Facts{Fact::of(x.dtype, {x.shape.begin(), x.shape.end() - 2}),
                 Fact::of(DType::kF64, x.shape)};
  }
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int i = 0; i + 2 < in[0].rank(); ++i) tracks.push_back({{i}, {i, i}});
    return tracks;
  }
  Cost cost(FactSpan in, FactSpan) const override {
    const Dim count = volume(in[0].shape);
    return {count * in[0].shape.back(), Dim(16) * count};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

/// A square matrix in memory.
struct Square {
  double* data;
  int64_t rows;
  int64_t row_step;
  int64_t column_step;

  double& at(int64_t row, int64_t column) const {
    return data[row * row_step + column * column_step];
  }
  /// Return the row >= `column` with the largest element in that column; NaN counts as largest.
  int64_t pivot(int64_t column) const {
    int64_t best = column;
    for (int64_t row = column + 1; row < rows; ++row) {
      const double size = std::abs(at(row, column));
      if (std::isnan(size)) return row;
      if (size > std::abs(at(best, column))) best = row;
    }
    return best;
  }
  double eliminate() const {
    double product = 1.0;
    for (int64_t column = 0; column < rows; ++column) {
      const int64_t from = pivot(column);
      if (from != column) {
        for (int64_t i = 0; i < rows; ++i) std::swap(at(from, i), at(column, i));
        product = -product;
      }
      const double head = at(column, column);
      product *= head;
      if (head == 0.0) continue;
      for (int64_t row = column + 1; row < rows; ++row) {
        const double factor = at(row, column) / head;
        for (int64_t i = column; i < rows; ++i) at(row, i) -= factor * at(column, i);
      }
    }
    return product;
  }
};

/// Return the view without the axes of the matrices.
View outer(View view) {
  view.rank -= 2;
  return view;
}

Status Det::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const View& work = ctx.out[1];
  const int last = x.rank - 1;
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      for_each_element<2>({x, work}, [&](const std::array<int64_t, 2>& at) {
        work.as<double>()[at[1]] = static_cast<double>(x.as<const T>()[at[0]]);
      });
      for_each_element<2>({outer(work), y}, [&](const std::array<int64_t, 2>& at) {
        const Square square{work.as<double>() + at[0], work.extent(last), work.step(last - 1),
                            work.step(last)};
        y.as<T>()[at[1]] = static_cast<T>(square.eliminate());
      });
    }
  });
  return {};
}

constexpr NnefOp kOps[] = {
    {"rill_onnx",
     "fragment rill_onnx_det(input: tensor<scalar>)"
     " -> (output: tensor<scalar>, eliminated: tensor<scalar>);",
     load_declared<Det>},
};

constexpr OpClass kClasses[] = {op_class<Det>("Det")};

}  // namespace

Status Det::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule det_module;
const OpModule det_module = {"det", kOps, kClasses};

}  // namespace rill::ops
