#include "ops/nn/matmul_emit.h"

#include <algorithm>
#include <vector>

#include "emit_c/text.h"

namespace rill::ops {

using emit_c::plus;
using emit_c::StepWriter;
using kernels::MatmulF32Args;

namespace {

constexpr int64_t kWideRow = 64;   // columns of a chunk, if there is one row
constexpr int64_t kWideRows = 16;  // the same for several rows, which are computed together

/// The number of columns in a chunk, without and with padding.
struct Chunk {
  int64_t columns = 0;
  int64_t padded = 0;
};

float weight_at(const EmittedProduct& product, int64_t k, int64_t column) {
  const MatmulF32Args& args = product.args;
  const int64_t all = args.segments * args.segment_len;
  const int64_t own = kernels::matmul_f32_packed_floats(*product.kernel, 1, args.n);
  const int64_t nr = args.n <= product.kernel->nr ? own : product.kernel->nr;
  return product.weights[(column / nr * all + k) * nr + column % nr];
}

/// Write the epilogue of a sum: residual, limits and slope.
std::string finished(const EmittedProduct& product, StepWriter& to) {
  const MatmulF32Args& args = product.args;
  std::string out;
  if (product.residual != EmittedResidual::kNone) {
    out += product.residual == EmittedResidual::kResult
               ? " v = v + c[q];"
               : str_cat(" v = v + r[i * ", args.ldr, " + j];");
  }
  if (args.slope != 1.0F) {
    out +=
        str_cat(" v = ", to.math("max_or_second"), "(v * ", emit_c::c_float(args.slope), ", v);");
  }
  if (args.clip) {
    out += str_cat(" v = ", to.math("limited"), "(v, ", emit_c::c_float(args.lo), ", ",
                   emit_c::c_float(args.hi), ");");
  }
  return out;
}

/// Write the function of `rows` rows by a chunk of columns, which loops if `repeats` is above 1.
std::string chunk_function(const EmittedProduct& product, const Chunk& chunk, int64_t rows,
                           int64_t repeats, StepWriter& to) {
  const MatmulF32Args& args = product.args;
  const int64_t width = chunk.padded;
  std::string text = str_cat("static void @NAME(const float *@RESTRICT a, const float *@RESTRICT w",
                             product.bias != nullptr ? ", const float *@RESTRICT b" : "",
                             product.residual == EmittedResidual::kOther ? ", const float *r" : "",
                             ", float *@RESTRICT c) {\n");
  const bool loops = repeats > 1;
  if (loops) text += str_cat("  for (int i = 0; i < ", repeats * rows, "; i += ", rows, ") {\n");
  for (int64_t row = 0; row < rows; ++row) text += str_cat("  float s", row, "[", width, "];\n");
  text += str_cat("  for (int j = 0; j < ", width, "; ++j) {");
  for (int64_t row = 0; row < rows; ++row) {
    text += str_cat(" s", row, "[j] = ", product.bias != nullptr ? "b[j]" : "0.0f", ";");
  }
  text += " }\n";
  const int64_t segments = args.segments;
  if (segments > 1) text += str_cat("  for (int g = 0; g < ", segments, "; ++g) {\n");
  text += str_cat("  @UNROLL\n  for (int k = 0; k < ", args.segment_len, "; ++k) {\n");
  const std::string segment = segments > 1 ? str_cat(" + g * ", args.segment_stride) : "";
  for (int64_t row = 0; row < rows; ++row) {
    text += str_cat("    const float v", row, " = a[k", segment,
                    loops ? str_cat(" + i * ", args.lda) : "",
                    row == 0 ? "" : str_cat(" + ", row * args.lda), "];\n");
  }
  const std::string weight =
      str_cat("w[", segments > 1 ? str_cat("(g * ", args.segment_len, " + k)") : "k", " * ", width,
              " + j]");
  text += str_cat("    for (int j = 0; j < ", width, "; ++j) {");
  for (int64_t row = 0; row < rows; ++row) {
    text += str_cat(" s", row, "[j] = @madd(v", row, ", ", weight, ", s", row, "[j]);");
  }
  text += str_cat(" }\n  }\n", segments > 1 ? "  }\n" : "");
  const std::string last = finished(product, to);
  for (int64_t row = 0; row < rows; ++row) {
    const std::string at = str_cat(loops ? str_cat("(i + ", row, ")") : str_cat(row));
    std::string own = last;
    const bool plain = last.empty();
    for (size_t i = own.find("r[i"); i != std::string::npos; i = own.find("r[i")) {
      own.replace(i, 3, "r[" + at);
    }
    const std::string place = str_cat("c[", at, " * ", args.ldc, " + j]");
    for (size_t i = own.find("c[q]"); i != std::string::npos; i = own.find("c[q]")) {
      own.replace(i, 4, place);
    }
    text += str_cat("  for (int j = 0; j < ", chunk.columns, "; ++j) {");
    text += plain ? str_cat(" ", place, " = s", row, "[j];")
                  : str_cat(" float v = s", row, "[j];", own, " ", place, " = v;");
    text += " }\n";
  }
  if (loops) text += "  }\n";
  return to.function(text + "}\n");
}

constexpr int64_t kMostTerms = 192;  // the maximum of an unrolled function of one row and column

/// Write the function of one row by one column. Its chain of sums is sequential; without a loop,
/// the CPU can overlap it with the surrounding steps. It is not inlined: if it were, compilers
/// would extract its terms from vectors one by one.
std::string single_function(const EmittedProduct& product, StepWriter& to) {
  const MatmulF32Args& args = product.args;
  std::string text = str_cat(
      "static @NOINLINE void @NAME(const float *@RESTRICT a, const float *@RESTRICT w",
      product.bias != nullptr ? ", const float *@RESTRICT b" : "",
      product.residual == EmittedResidual::kOther ? ", const float *r" : "",
      ", float *@RESTRICT c) {\n  float v = ", product.bias != nullptr ? "b[0]" : "0.0f", ";\n");
  for (int64_t g = 0; g < args.segments; ++g) {
    for (int64_t k = 0; k < args.segment_len; ++k) {
      text += str_cat("  v = @madd(a[", g * args.segment_stride + k, "], w[",
                      g * args.segment_len + k, "], v);\n");
    }
  }
  std::string last = finished(product, to);
  for (const char* each : {"c[q]", "r[i"}) {
    const size_t at = last.find(each);
    if (at == std::string::npos) continue;
    last.replace(at, last.find(';', at) - at, each[0] == 'c' ? "c[0]" : "r[0]");
  }
  return to.function(text + " " + last + "\n  c[0] = v;\n}\n");
}

/// Write the calls of a chunk for all rows.
void emit_chunk(const EmittedProduct& product, int64_t column, const Chunk& chunk,
                const EmittedPlaces& at, StepWriter& to) {
  const MatmulF32Args& args = product.args;
  const int64_t k = args.segments * args.segment_len;
  std::vector<float> weights(static_cast<size_t>(k * chunk.padded));
  std::vector<float> bias(static_cast<size_t>(chunk.padded));
  for (int64_t j = 0; j < chunk.columns; ++j) {
    for (int64_t i = 0; i < k; ++i) {
      weights[static_cast<size_t>(i * chunk.padded + j)] = weight_at(product, i, column + j);
    }
    if (product.bias != nullptr) bias[static_cast<size_t>(j)] = product.bias[column + j];
  }
  const int64_t most = chunk.padded <= 8 ? 8 : 4;
  const int64_t rows = std::min(args.m, most);
  for (int64_t row = 0; row < args.m;) {
    const int64_t own = std::min(rows, args.m - row);
    const int64_t repeats = own == rows ? (args.m - row) / rows : 1;
    const bool single = args.m == 1 && args.n == 1 && k <= kMostTerms;
    const std::string name =
        single ? single_function(product, to) : chunk_function(product, chunk, own, repeats, to);
    std::string call = str_cat(name, "(", plus(at.a, row * args.lda), ", ", to.constant(weights));
    if (product.bias != nullptr) call += ", " + to.constant(bias);
    if (product.residual == EmittedResidual::kOther) {
      call += ", " + plus(at.residual, row * args.ldr + column);
    }
    to.line(call + ", " + plus(at.c, row * args.ldc + column) + ");");
    row += own * repeats;
  }
}

}  // namespace

int64_t emitted_columns(int64_t n) { return n <= 2 ? n : n <= 4 ? 4 : (n + 7) / 8 * 8; }

void emit_product(const EmittedProduct& product, const EmittedPlaces& at, StepWriter& to) {
  const MatmulF32Args& args = product.args;
  const int64_t wide = args.m == 1 ? kWideRow : kWideRows;
  for (int64_t column = 0; column < args.n; column += wide) {
    const int64_t columns = std::min(wide, args.n - column);
    emit_chunk(product, column, {columns, emitted_columns(columns)}, at, to);
  }
}

}  // namespace rill::ops
