#include <algorithm>
#include <cmath>
#include <utility>

#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"

namespace rill::ops {
namespace {

/// The maximum number of points along one side of a bin, if an attribute gives it.
constexpr int64_t kMostPoints = 1024;
/// The maximum number of points of all bins of a region, if an attribute gives it.
constexpr double kMostOfRegion = 0x1p28;
/// The largest side of a bin in pixels; in a larger one, indices overflow and nothing is sampled.
constexpr float kLargestBin = 4e18F;

/// Pool regions of images. Each region is cut into `height` x `width` bins. A bin has `points` x
/// `points` points, or if that is 0, one per pixel, each sampled by bilinear interpolation.
/// Shapes: x [N, C, H, W], regions [R, 4] as x1, y1, x2, y2, and the index [R] of each region's
/// image -> [R, C, `height`, `width`]. If the image does not exist, the output is 0.
/// Types: f32; integers for the indices. Errors: kShape, kDType.
/// Stream: region by region while the images are static, and channel by channel; sampling along a
/// streaming axis is refused.
/// Accuracy: f32, sums over ascending points; with `largest`, the largest of the weighted corners
/// of all points, as in onnxruntime.
/// Source: K. He et al., Mask R-CNN, 2017; ONNX, `RoiAlign`.
class RoiAlign final : public OpBase<RoiAlign> {
 public:
  int64_t height = 1;
  int64_t width = 1;
  int64_t points = 0;
  float scale = 1.0F;      ///< of the regions' coordinates to pixels
  bool half_pixel = true;  ///< whether pixel centres are at halves; else sides are at least 1
  bool largest = false;

  std::string_view name() const override { return "RoiAlign"; }
  void fields(FieldVisitor& visitor) override {
    ranged_field(visitor, "height", 1, INT32_MAX, height);
    ranged_field(visitor, "width", 1, INT32_MAX, width);
    ranged_field(visitor, "points", 0, kMostPoints, points);
    visitor.field("scale", scale);
    visitor.field("half_pixel", half_pixel);
    visitor.field("largest", largest);
  }
  Result<Facts> infer(FactSpan in) const override;
  void demands(FactSpan in, std::vector<Dim>* non_negative) const override {
    demand_indices(in[2], in[0].dim(0), non_negative);
  }
  std::optional<NumberRange> indices(int input, FactSpan in) const override {
    return input == 2 ? indices_of(in[0].dim(0)) : std::nullopt;
  }
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan, FactSpan) const override {
    return {{{-1, 0, 0}, {0}}, {{1, -1, -1}, {1}}};
  }
  Cost cost(FactSpan, FactSpan out) const override {
    const Dim each(4 * std::max<int64_t>(points * points, 1));
    return {each * volume(out[0].shape), Dim(4) * each * volume(out[0].shape)};
  }
  /// The work per bin is at most that of its points, or about that of the whole image.
  Dim work(FactSpan in, FactSpan out) const override {
    const Dim image = (in[0].dim(2) + Dim(4)) * (in[0].dim(3) + Dim(4));
    return Dim(4) * volume(out[0].shape) * (points > 0 ? Dim(points * points) : image);
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

Result<Facts> RoiAlign::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 3));
  constexpr int64_t kMost = int64_t{1} << 31;
  RILL_CHECK(height > 0 && height < kMost && width > 0 && width < kMost, height, " x ",
             counted(width, "bin"));
  RILL_CHECK(points >= 0 && points <= kMostPoints, points, " points: expected 0 to ", kMostPoints);
  const double of_region = static_cast<double>(points) * static_cast<double>(points) *
                           static_cast<double>(height) * static_cast<double>(width);
  RILL_CHECK(of_region <= kMostOfRegion, points, " x ", points, " points in each of ", height,
             " x ", counted(width, "bin"), ": expected at most 2^28 in all");
  RILL_CHECK(in[0].rank() == 4 && in[1].rank() == 2 && in[2].rank() == 1 &&
                 in[1].dim(1) == Dim(4) && in[1].dim(0) == in[2].dim(0),
             "input ", in[0], ", regions ", in[1], ", images ", in[2],
             ": expected [N, C, H, W], [R, 4] and [R]");
  if (in[0].dtype != DType::kF32 || in[1].dtype != DType::kF32) {
    return fail(Code::kDType, "input ", in[0], ", regions ", in[1], ": expected f32");
  }
  RILL_TRY(check_indices(in[2], in[0].dim(0)));
  return one_fact(Fact::of(DType::kF32, {in[1].dim(0), in[0].dim(1), Dim(height), Dim(width)}));
}

/// One side of a region: its start, and the sampling of its bins.
struct Side {
  float begin;
  float bin;
  int64_t points;

  /// Return the range of points of a bin that may be on an image of that extent. Its length is
  /// bounded by the image's pixels, however large the region is.
  std::pair<int64_t, int64_t> on_image(int64_t bin_index, int64_t extent) const {
    const double step = static_cast<double>(bin) / static_cast<double>(points);
    if (!(std::abs(step) > 0.0)) return {0, std::min(points, kMostPoints)};
    const double base = static_cast<double>(begin) + static_cast<double>(bin_index) * bin;
    const auto index = [&](double place) {
      const double point = (place - base) / step;
      return static_cast<int64_t>(std::fmin(std::fmax(point, 0.0), static_cast<double>(points)));
    };
    // A region with swapped ends is sampled backwards.
    const auto [first, last] = std::minmax({index(-1.0), index(static_cast<double>(extent))});
    return {std::max<int64_t>(first - 2, 0), std::min(last + 2, points)};
  }
  float at(int64_t bin_index, int64_t point) const {
    return begin + static_cast<float>(bin_index) * bin +
           (static_cast<float>(point) + 0.5F) * bin / static_cast<float>(points);
  }
};

Side side_of(const RoiAlign& op, float low, float high, int64_t bins) {
  const float shift = op.half_pixel ? 0.5F : 0.0F;
  const float begin = low * op.scale - shift;
  float extent = high * op.scale - shift - begin;
  if (!op.half_pixel) extent = std::fmax(extent, 1.0F);
  Side side{begin, extent / static_cast<float>(bins), op.points};
  if (op.points == 0) {
    const float count = std::ceil(extent / static_cast<float>(bins));
    side.points = count > 0.0F && count < kLargestBin ? static_cast<int64_t>(count) : 0;
  }
  return side;
}

/// The two pixels around a point along an axis, and the weight of the second one.
struct Pair {
  int64_t low = 0;
  int64_t high = 0;
  float share = 0.0F;
  bool inside = false;
};

Pair pair_at(float at, int64_t extent) {
  Pair pair;
  pair.inside = extent > 0 && at >= -1.0F && at <= static_cast<float>(extent);
  if (!pair.inside) return pair;
  at = std::fmax(at, 0.0F);
  pair.low = static_cast<int64_t>(at);
  if (pair.low >= extent - 1) {
    pair.low = pair.high = extent - 1;
  } else {
    pair.high = pair.low + 1;
    pair.share = at - static_cast<float>(pair.low);
  }
  return pair;
}

/// Pools the points of one bin, in a channel that begins at `image`.
struct Bin {
  const View& x;
  bool largest;

  float run(int64_t image, const Side& rows, int64_t row, const Side& columns,
            int64_t column) const {
    const auto [top, bottom] = rows.on_image(row, x.extent(2));
    const auto [left, right] = columns.on_image(column, x.extent(3));
    float sum = 0.0F;
    float most = 0.0F;
    // Points outside the image are 0: if there are any, the maximum starts from 0.
    bool first = bottom - top == rows.points && right - left == columns.points;
    for (int64_t i = top; i < bottom; ++i) {
      const Pair v = pair_at(rows.at(row, i), x.extent(2));
      for (int64_t j = left; j < right; ++j) {
        const Pair u = pair_at(columns.at(column, j), x.extent(3));
        float corners[4] = {};
        if (v.inside && u.inside) read(image, v, u, corners);
        const float here = std::max({corners[0], corners[1], corners[2], corners[3]});
        most = first ? here : std::max(most, here);
        first = false;
        sum += corners[0] + corners[1] + corners[2] + corners[3];
      }
    }
    if (largest) return most;
    const float count = static_cast<float>(rows.points) * static_cast<float>(columns.points);
    return sum / std::fmax(count, 1.0F);
  }

 private:
  void read(int64_t image, const Pair& v, const Pair& u, float* corners) const {
    const auto pixel = [&](int64_t row, int64_t column) {
      return x.as<const float>()[image + row * x.step(2) + column * x.step(3)];
    };
    corners[0] = (1.0F - v.share) * (1.0F - u.share) * pixel(v.low, u.low);
    corners[1] = (1.0F - v.share) * u.share * pixel(v.low, u.high);
    corners[2] = v.share * (1.0F - u.share) * pixel(v.high, u.low);
    corners[3] = v.share * u.share * pixel(v.high, u.high);
  }
};

Status RoiAlign::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& regions = ctx.in[1];
  const View& y = ctx.out[0];
  RILL_TRY(known_indices(ctx.in[2]));
  const Bin pool{x, largest};
  for (int64_t r = 0; r < y.extent(0); ++r) {
    const auto edge = [&](int64_t i) {
      return regions.as<const float>()[r * regions.step(0) + i * regions.step(1)];
    };
    const Side columns = side_of(*this, edge(0), edge(2), width);
    const Side rows = side_of(*this, edge(1), edge(3), height);
    const int64_t index = wrapped_index(index_at(ctx.in[2], r * ctx.in[2].step(0)), x.extent(0));
    for (int64_t c = 0; c < y.extent(1); ++c) {
      const int64_t image = index * x.step(0) + c * x.step(1);
      const int64_t to = r * y.step(0) + c * y.step(1);
      for (int64_t i = 0; i < height * width; ++i) {
        const int64_t row = i / width;
        const int64_t column = i % width;
        y.as<float>()[to + row * y.step(2) + column * y.step(3)] =
            index < 0 ? 0.0F : pool.run(image, rows, row, columns, column);
      }
    }
  }
  return {};
}

constexpr NnefOp kOps[] = {
    {"rill_onnx",
     "fragment rill_onnx_roi_align(input: tensor<scalar>, regions: tensor<scalar>,"
     " images: tensor<integer>, height: integer = 1, width: integer = 1, points: integer = 0,"
     " scale: scalar = 1.0, half_pixel: logical = true, largest: logical = false)"
     " -> (output: tensor<scalar>);",
     load_declared<RoiAlign>},
};

constexpr OpClass kClasses[] = {op_class<RoiAlign>("RoiAlign")};

}  // namespace

Status RoiAlign::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule roi_align_module;
const OpModule roi_align_module = {"roi_align", kOps, kClasses};

}  // namespace rill::ops
