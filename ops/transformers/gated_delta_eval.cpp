// The loops of linear attention, compiled for speed.

#include <algorithm>
#include <cmath>

#include "core/base/kept_count.h"
#include "ops/transformers/gated_delta.h"

namespace rill::ops {
namespace {

float read(const View& view, int64_t at) {
  return view.dtype == DType::kF16 ? static_cast<float>(view.as<const Half>()[at])
                                   : view.as<const float>()[at];
}
void write(const View& view, int64_t at, float value) {
  if (view.dtype == DType::kF16) {
    view.as<Half>()[at] = Half(value);
  } else {
    view.as<float>()[at] = value;
  }
}

/// Return the offset of a head's frame in a view of three or four axes.
int64_t place(const View& view, int64_t b, int64_t t, int64_t h) {
  return b * view.step(0) + t * view.step(1) + h * view.step(2);
}

/// Return 1 / the length of a vector of `width` elements.
float inverse_length(const View& view, int64_t at, int64_t width) {
  float sum = 0.0F;
  for (int64_t i = 0; i < width; ++i) {
    const float x = read(view, at + i * view.step(3));
    sum += x * x;
  }
  return 1.0F / std::sqrt(sum + 1e-6F);
}

/// The state of one head, with any strides.
struct Matrix {
  float* first = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_step = 0;
  int64_t column_step = 0;

  float& at(int64_t row, int64_t col) const { return first[row * row_step + col * column_step]; }
  void copy(const Matrix& from) const {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t col = 0; col < columns; ++col) at(row, col) = from.at(row, col);
    }
  }
};

Matrix head_of(const View& states, int64_t b, int64_t h) {
  return {states.as<float>() + b * states.step(0) + h * states.step(1), states.extent(2),
          states.extent(3), states.step(2), states.step(3)};
}

/// One frame of one head: the state's value for the key moves towards the new value, and the query
/// reads the state.
struct HeadFrame {
  const View& q;
  const View& k;
  const View& v;
  const View& y;
  int64_t at_q = 0;
  int64_t at_k = 0;
  int64_t at_v = 0;
  int64_t at_y = 0;
  float q_scale = 1.0F;
  float k_scale = 1.0F;

  float query(int64_t row) const { return read(q, at_q + row * q.step(3)) * q_scale; }
  float key(int64_t row) const { return read(k, at_k + row * k.step(3)) * k_scale; }
  void skip(int64_t width) const {
    for (int64_t col = 0; col < width; ++col) write(y, at_y + col * y.step(3), 0.0F);
  }
  void run(const Matrix& s, float decay, const float* beta) const {
    for (int64_t col = 0; col < s.columns; ++col) {
      float delta = read(v, at_v + col * v.step(3));
      if (beta) {
        float known = 0.0F;
        for (int64_t row = 0; row < s.rows; ++row) known += key(row) * s.at(row, col) * decay;
        delta = (delta - known) * *beta;
      }
      float sum = 0.0F;
      for (int64_t row = 0; row < s.rows; ++row) {
        const float next = s.at(row, col) * decay + key(row) * delta;
        s.at(row, col) = next;
        sum += query(row) * next;
      }
      write(y, at_y + col * y.step(3), sum);
    }
  }
  /// Only read the state, for another query.
  void read_only(const Matrix& s) const {
    for (int64_t col = 0; col < s.columns; ++col) {
      float sum = 0.0F;
      for (int64_t row = 0; row < s.rows; ++row) sum += query(row) * s.at(row, col);
      write(y, at_y + col * y.step(3), sum);
    }
  }
};

/// Runs the heads of one evaluation.
struct Heads {
  const LinearAttention& op;
  EvalCtx& ctx;

  const View& in(size_t i) const { return ctx.in[i]; }
  /// Return the decay of all rows of the state. If every row has a separate decay, multiply the
  /// rows by these, and return 1.
  float decay(const Matrix& s, int64_t b, int64_t t, int64_t h) const {
    if (!op.decays) return 1.0F;
    const View& g = in(3);
    const int64_t at = place(g, b, t, h);
    if (g.rank == 3) return std::exp(read(g, at));
    for (int64_t row = 0; row < s.rows; ++row) {
      const float factor = std::exp(read(g, at + row * g.step(3)));
      for (int64_t col = 0; col < s.columns; ++col) s.at(row, col) *= factor;
    }
    return 1.0F;
  }
  HeadFrame frame(int64_t b, int64_t t, int64_t h, int64_t reader) const {
    const View &q = in(0), &k = in(1), &v = in(2), &y = ctx.out[0];
    const int64_t heads = v.extent(2);
    const int64_t out = y.extent(2) == heads ? h : reader;
    const int64_t query = out * q.extent(2) / y.extent(2);
    HeadFrame f{q, k, v, y, place(q, b, t, query), place(k, b, t, h * k.extent(2) / heads),
                place(v, b, t, h), place(y, b, t, out)};
    const int64_t width = q.extent(3);
    f.q_scale = op.scale != 0.0F ? op.scale : 1.0F / std::sqrt(static_cast<float>(width));
    if (op.normalise) {
      f.q_scale = inverse_length(q, f.at_q, width) * f.q_scale;
      f.k_scale = inverse_length(k, f.at_k, width);
    }
    return f;
  }
  void run(const Matrix& s, int64_t b, int64_t t, int64_t h, bool skipped) const {
    const int64_t readers = std::max<int64_t>(ctx.out[0].extent(2) / in(2).extent(2), 1);
    for (int64_t i = 0; i < readers; ++i) {
      const HeadFrame f = frame(b, t, h, h * readers + i);
      if (skipped) {
        f.skip(s.columns);
      } else if (i > 0) {
        f.read_only(s);
      } else {
        const View& betas = in(op.beta_input());
        const float beta = op.corrects ? read(betas, place(betas, b, t, h)) : 1.0F;
        f.run(s, decay(s, b, t, h), op.corrects ? &beta : nullptr);
      }
    }
  }
};

}  // namespace

Status LinearAttention::eval(EvalCtx& ctx) const {
  const View& v = ctx.in[2];
  const View& first = ctx.in[state_input()];
  const View& last = ctx.out[1];
  const int64_t heads = v.extent(2);
  if (ctx.in[0].extent(2) == 0 || ctx.in[1].extent(2) == 0) return {};
  const Heads all{*this, ctx};
  const int64_t rows = first.extent(2);
  const int64_t columns = first.extent(3);
  auto* seen = static_cast<int64_t*>(ctx.state);
  const int64_t begin = seen ? kept_count(*seen) : 0;
  for (int64_t at = 0; at < v.extent(0) * heads; ++at) {
    const int64_t b = at / heads;
    const int64_t h = at % heads;
    const Matrix result = head_of(last, b, h);
    Matrix s = result;
    if (seen) {
      auto* kept = reinterpret_cast<float*>(seen + 1);
      s = {kept + at * rows * columns, rows, columns, columns, 1};
    }
    if (begin == 0) s.copy(head_of(first, b, h));
    for (int64_t t = 0; t < v.extent(1); ++t) all.run(s, b, t, h, begin + t < skip);
    if (seen) result.copy(s);
  }
  if (seen) *seen = begin + v.extent(1);
  return {};
}

}  // namespace rill::ops
