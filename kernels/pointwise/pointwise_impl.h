#pragma once

// The interpreter of pointwise programs, generic in the vector type V. An instruction runs over a
// tile, rows x n positions, before the next one does; intermediate values stay in scratch that fits
// the first cache level.

#include "kernels/math/functions.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/pointwise/pointwise_ops.h"

namespace rill::kernels {
namespace {

/// The values of a register in scratch for one tile: n values per row, or one per row.
inline float* vector_slot(float* scratch, int reg) {
  return scratch + reg * (kPointwiseTile + kPointwiseTileRows);
}
inline float* scalar_slot(float* scratch, int reg) {
  return vector_slot(scratch, reg) + kPointwiseTile;
}

/// Copy a tile with any inner stride into dense rows.
inline PointwiseSource gather_tile(const float* p, int64_t row, int64_t step, float* dense,
                                   PointwiseSize size) {
  for (int64_t r = 0; r < size.rows; ++r) {
    for (int64_t i = 0; i < size.n; ++i) dense[r * size.n + i] = p[r * row + i * step];
  }
  return {dense, size.n, true};
}

/// Store one value per row (step 0), or dense rows (step 1), with the strides of the output.
inline void scatter_tile(const PointwiseSource& from, float* y, int64_t row, int64_t step,
                         PointwiseSize size) {
  const int64_t from_step = from.vector ? 1 : 0;
  for (int64_t r = 0; r < size.rows; ++r) {
    const float* x = from.p + r * from.row;
    for (int64_t i = 0; i < size.n; ++i) y[r * row + i * step] = x[i * from_step];
  }
}

struct PointwiseOperands {
  PointwiseSource a, b, c;
  int count;
};

/// Resolve the operands of an instruction; `source(r)` returns the values of register r.
template <class F>
inline PointwiseOperands pointwise_operands(const PointwiseInstr& instr, F source) {
  const PointwiseSource imm{&instr.imm, 0, false};
  const bool unary = instr.op > PointwiseOp::kSelect;
  const bool ternary = instr.op == PointwiseOp::kSelect;
  PointwiseOperands o{imm, imm, imm, unary ? 1 : ternary ? 3 : 2};
  if (unary || instr.imm_at != PointwiseImm::kA) o.a = source(instr.a);
  if (!unary && instr.imm_at != PointwiseImm::kB) o.b = source(instr.b);
  if (ternary) o.c = source(instr.c);
  return o;
}

/// Return whether rows are contiguous, or all rows are one value.
inline bool flat(const PointwiseSource& s, int64_t n) { return s.row == (s.vector ? n : 0); }

template <class V>
inline void run_instr(const PointwiseInstr& instr, const PointwiseOperands& o, float* y,
                      int64_t y_row, PointwiseSize size) {
  if (size.rows > 1 && y_row == size.n && flat(o.a, size.n) && flat(o.b, size.n) &&
      flat(o.c, size.n)) {
    size = {1, size.rows * size.n};
  }
  if (o.count == 1) {
    pointwise_unary<V>(instr, o.a, y, y_row, size);
  } else if (o.count == 2) {
    pointwise_binary<V>(instr.op, o.a, o.b, y, y_row, size);
  } else {
    pointwise_select<V>(o.a, o.b, o.c, y, y_row, size);
  }
}

/// Run the code over one tile whose first position has the given input and output pointers.
template <class V>
void run_tile(const PointwiseArgs& args, const float* const* in, float* out, float* scratch,
              PointwiseSize size) {
  constexpr int kRow = kPointwiseAxes - 2, kInner = kPointwiseAxes - 1;
  PointwiseSource reg[kPointwiseRegisters];
  for (int i = 0; i < args.inputs; ++i) {
    const int64_t row = args.in[i].stride[kRow], step = args.in[i].stride[kInner];
    if (step == 0 || step == 1) {
      reg[i] = {in[i], size.rows > 1 ? row : 0, step == 1};
    } else {
      reg[i] = gather_tile(in[i], row, step, vector_slot(scratch, i), size);
    }
  }
  const int64_t out_row = args.out_stride[kRow], out_step = args.out_stride[kInner];
  for (int k = 0; k < args.code_len; ++k) {
    const PointwiseInstr& instr = args.code[k];
    const PointwiseOperands o = pointwise_operands(instr, [&](int r) { return reg[r]; });
    const bool vector = o.a.vector || o.b.vector || o.c.vector;
    const bool last = k + 1 == args.code_len;
    if (last && vector && out_step == 1) {
      run_instr<V>(instr, o, out, out_row, size);
      return;
    }
    if (vector) {
      float* y = vector_slot(scratch, instr.dst);
      run_instr<V>(instr, o, y, size.n, size);
      reg[instr.dst] = {y, size.n, true};
    } else {
      float* y = scalar_slot(scratch, instr.dst);
      const PointwiseSource a{o.a.p, o.a.row, true}, b{o.b.p, o.b.row, true};
      const PointwiseSource c{o.c.p, o.c.row, true};
      run_instr<V>(instr, {a, b, c, o.count}, y, 1, {size.rows, 1});
      reg[instr.dst] = {y, 1, false};
    }
    if (last) scatter_tile(reg[instr.dst], out, out_row, out_step, size);
  }
}

/// Run one instruction from inputs to output, without tiles; false if a stride forbids it.
template <class V>
inline bool run_direct(const PointwiseArgs& args, const float* const* in, float* out) {
  constexpr int kRow = kPointwiseAxes - 2, kInner = kPointwiseAxes - 1;
  if (args.code_len != 1 || args.out_stride[kInner] != 1) return false;
  const PointwiseSize size{args.extent[kRow], args.extent[kInner]};
  bool unit = true;
  const PointwiseOperands o = pointwise_operands(args.code[0], [&](int r) {
    const int64_t* stride = args.in[r].stride;
    unit = unit && (stride[kInner] == 0 || stride[kInner] == 1);
    return PointwiseSource{in[r], size.rows > 1 ? stride[kRow] : 0, stride[kInner] == 1};
  });
  if (!unit || !(o.a.vector || o.b.vector || o.c.vector)) return false;
  run_instr<V>(args.code[0], o, out, size.rows > 1 ? args.out_stride[kRow] : size.n, size);
  return true;
}

/// Run the code over the two inner axes, tile by tile.
template <class V>
void run_plane(const PointwiseArgs& args, const float* const* in, float* out, float* scratch) {
  if (run_direct<V>(args, in, out)) return;
  constexpr int kRow = kPointwiseAxes - 2, kInner = kPointwiseAxes - 1;
  const int64_t rows = args.extent[kRow], n = args.extent[kInner];
  const int64_t tile_n = n < kPointwiseTile ? n : kPointwiseTile;
  int64_t tile_rows = kPointwiseTile / tile_n;
  if (tile_rows > kPointwiseTileRows) tile_rows = kPointwiseTileRows;
  for (int64_t r = 0; r < rows; r += tile_rows) {
    for (int64_t i = 0; i < n; i += tile_n) {
      const float* p[kPointwiseMaxInputs];
      for (int k = 0; k < args.inputs; ++k) {
        p[k] = in[k] + r * args.in[k].stride[kRow] + i * args.in[k].stride[kInner];
      }
      const PointwiseSize size{rows - r < tile_rows ? rows - r : tile_rows,
                               n - i < tile_n ? n - i : tile_n};
      float* y = out + r * args.out_stride[kRow] + i * args.out_stride[kInner];
      run_tile<V>(args, p, y, scratch, size);
    }
  }
}

template <class V>
void pointwise(const PointwiseArgs& args, float* scratch) {
  for (int64_t extent : args.extent) {
    if (extent == 0) return;
  }
  const float* in[kPointwiseMaxInputs];
  for (int64_t i = 0; i < args.extent[0]; ++i) {
    for (int64_t j = 0; j < args.extent[1]; ++j) {
      for (int k = 0; k < args.inputs; ++k) {
        in[k] = args.in[k].ptr + i * args.in[k].stride[0] + j * args.in[k].stride[1];
      }
      run_plane<V>(args, in, args.out + i * args.out_stride[0] + j * args.out_stride[1], scratch);
    }
  }
}

}  // namespace
}  // namespace rill::kernels
