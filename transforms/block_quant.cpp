#include "transforms/block_quant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "core/graph/rewrite.h"
#include "ops/nn/einsum.h"

namespace rill::transforms {
namespace {

using ops::EinSum;

constexpr int64_t kBlock = 32;
constexpr int64_t kBlockBytes = 2 + kBlock / 2;

void quantise_block(std::span<const float, kBlock> values, std::byte* out) {
  float farthest = 0;
  for (const float v : values) farthest = std::abs(v) > std::abs(farthest) ? v : farthest;
  const float scale = farthest / -8.0F;
  const float inverse = scale == 0.0F ? 0.0F : 1.0F / scale;
  const uint16_t half = f16_from_f32(scale);
  std::memcpy(out, &half, sizeof half);
  const auto four_bits = [&](int64_t i) {
    const float level = values[static_cast<size_t>(i)] * inverse + 8.5F;
    return static_cast<uint8_t>(std::clamp(std::trunc(level), 0.0F, 15.0F));
  };
  for (int64_t i = 0; i < kBlock / 2; ++i) {
    out[2 + i] = static_cast<std::byte>(four_bits(i) | four_bits(i + kBlock / 2) << 4);
  }
}

/// Quantize a matrix with leading unit axes in blocks along its rows; `columns_first`: the rows are
/// stored as columns.
Result<Tensor> quantised(const Tensor& weights, bool columns_first) {
  RILL_ASSIGN(const Tensor plain, cast(weights, DType::kF32));
  const float* from = plain.data<float>();
  std::vector<int64_t> shape = plain.shape();
  if (columns_first) std::swap(shape.back(), shape[shape.size() - 2]);
  const int64_t length = shape.back();
  const int64_t rows = plain.volume() / length;
  std::vector<std::byte> bytes(static_cast<size_t>(rows * length / kBlock * kBlockBytes));
  std::byte* to = bytes.data();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t begin = 0; begin < length; begin += kBlock, to += kBlockBytes) {
      std::array<float, kBlock> block;
      for (int64_t i = 0; i < kBlock; ++i) {
        const int64_t at = begin + i;
        block[static_cast<size_t>(i)] = from[columns_first ? at * rows + row : row * length + at];
      }
      quantise_block(block, to);
    }
  }
  return Tensor::blocks(BlockFormat::kQ4_0, std::move(shape), bytes);
}

/// Return whether an operand is a matrix of plain floats with leading unit axes.
bool is_matrix(const TensorPtr& value) {
  if (!value || value->rank() < 2 || value->volume() == 0) return false;
  if (value->dtype() != DType::kF32 || value->block_format() != BlockFormat::kNone) return false;
  const int rank = value->rank();
  return value->extent(rank - 1) * value->extent(rank - 2) == value->volume();
}

/// Return the letter that both operands have and the result lacks; 0 unless there is exactly one.
char summed_letter(const EinSum& op) {
  char found = 0;
  for (const char letter : op.letters(0)) {
    if (op.letters(1).find(letter) == std::string_view::npos) continue;
    if (op.letters(2).find(letter) != std::string_view::npos) continue;
    if (found != 0) return 0;
    found = letter;
  }
  return found;
}

Status quantise_weights(const EinSum& op, Rewrite& rewrite) {
  const char summed = op.operands == 2 ? summed_letter(op) : 0;
  if (summed == 0 || op.has_bias || op.has_residual) return {};
  for (int slot = 0; slot < 2; ++slot) {
    const TensorPtr& weights = rewrite.in(slot).konst;
    if (!is_matrix(weights) || rewrite.in(1 - slot).konst) continue;
    std::string own(op.letters(slot));
    const bool columns_first = own[own.size() - 2] == summed;
    if (!columns_first && own.back() != summed) continue;
    if (weights->extent(weights->rank() - (columns_first ? 2 : 1)) % kBlock != 0) continue;
    RILL_ASSIGN(Tensor blocks, quantised(*weights, columns_first));
    if (columns_first) std::swap(own.back(), own[own.size() - 2]);
    const std::string other(op.letters(1 - slot));
    auto quantised_op = draft_op<EinSum>(op);
    quantised_op->expr =
        str_cat(slot == 0 ? own : other, ",", slot == 0 ? other : own, "->", op.letters(2));
    std::vector<OutletId> inputs = rewrite.mapped_inputs(rewrite.node());
    inputs[static_cast<size_t>(slot)] =
        rewrite.konst(str_cat(rewrite.producer(slot).name, ".bq"), std::move(blocks));
    return rewrite.replace_by(std::move(quantised_op), inputs);
  }
  return {};
}

}  // namespace

Result<Graph> with_block_quantised_weights(const Graph& graph) {
  bool changed = false;
  return rewrite_once(
      graph,
      [](const Op& op, Rewrite& rewrite) -> Status {
        const auto* einsum = op.as<EinSum>();
        return einsum ? quantise_weights(*einsum, rewrite) : Status();
      },
      &changed);
}

}  // namespace rill::transforms
