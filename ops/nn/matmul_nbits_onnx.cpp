// Reads MatMulNBits of com.microsoft as a matmul with the weights that its packed codes represent.
// Sums are f32 whatever `accuracy_level` allows.

#include <bit>
#include <cstring>

#include "ops/math/formula.h"
#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

/// Codes of a few bits side by side, the first in the low bits of a byte; each row begins at a
/// whole byte.
class Codes {
 public:
  Codes(const Tensor& tensor, int64_t bits, int64_t row_bytes)
      : bytes_(tensor.values<uint8_t>()), bits_(bits), row_bytes_(row_bytes) {}
  int at(int64_t row, int64_t index) const {
    const int64_t first = index * bits_;
    const uint8_t byte = bytes_[static_cast<size_t>(row * row_bytes_ + first / 8)];
    return (byte >> (first % 8)) & ((1 << bits_) - 1);
  }

 private:
  std::span<const uint8_t> bytes_;
  int64_t bits_;
  int64_t row_bytes_;
};

struct Packed {
  int64_t rows = 0;  ///< outputs
  int64_t length = 0;
  int64_t bits = 0;
  int64_t block = 0;
  int64_t blocks = 0;            ///< of a row
  TensorPtr codes;
  Tensor scales;                 ///< f32, one per row and block
  TensorPtr points;              ///< zero points, packed like the codes; or null
  std::optional<Tensor> floats;  ///< zero points in f32, one per row and block
  std::optional<Tensor> groups;  ///< i64: for each entry of a row, the block with its scale

  int64_t group(int64_t i) const {
    return groups ? groups->values<int64_t>()[static_cast<size_t>(i)] : i / block;
  }
  int64_t point_bytes() const { return (blocks * bits + 7) / 8; }
  bool centered() const { return !points && !floats; }
};

Status expect_count(std::string_view name, const Tensor& tensor, int64_t count) {
  if (tensor.volume() == count) return {};
  return fail(Code::kShape, "input \"", name, "\" has ", counted(tensor.volume(), "element"),
              ", expected ", count);
}

Status read_points(OnnxCtx& ctx, Packed* packed) {
  if (!ctx.given("zero_points")) return {};
  RILL_ASSIGN(const TensorPtr given, ctx.constant("zero_points"));
  if (given->dtype() == DType::kU8) {
    packed->points = given;
    return expect_count("zero_points", *given, packed->rows * packed->point_bytes());
  }
  RILL_ASSIGN(packed->floats, cast(*given, DType::kF32));
  return expect_count("zero_points", *given, packed->rows * packed->blocks);
}

Status read_groups(OnnxCtx& ctx, Packed* packed) {
  if (!ctx.given("g_idx")) return {};
  if (packed->points) {
    return fail(Code::kUnsupported, "g_idx with packed zero_points: onnxruntime ignores the "
                                    "zero points, against the operator's formula");
  }
  RILL_ASSIGN(const TensorPtr given, ctx.constant("g_idx"));
  RILL_ASSIGN(packed->groups, cast(*given, DType::kI64));
  RILL_TRY(expect_count("g_idx", *given, packed->length));
  for (const int64_t group : packed->groups->values<int64_t>()) {
    RILL_CHECK(group >= 0 && group < packed->blocks, "g_idx has ", group, ", expected one of the ",
               packed->blocks, " blocks");
  }
  return {};
}

Result<Packed> read_packed(OnnxCtx& ctx) {
  RILL_ASSIGN(const int64_t layout, ctx.integer("weight_prepacked"));
  if (layout != 0) {
    return fail(Code::kUnsupported, "attribute \"weight_prepacked\" is ", layout,
                ": weights in the order of one machine");
  }
  Packed packed;
  RILL_ASSIGN(packed.rows, ctx.integer("N"));
  RILL_ASSIGN(packed.length, ctx.integer("K"));
  RILL_ASSIGN(packed.bits, ctx.integer("bits"));
  RILL_ASSIGN(packed.block, ctx.integer("block_size"));
  RILL_CHECK(packed.bits == 2 || packed.bits == 4 || packed.bits == 8, "attribute \"bits\" is ",
             packed.bits, ": expected 2, 4 or 8");
  RILL_CHECK(packed.block >= 16 && packed.block < (int64_t{1} << 30) &&
                 std::has_single_bit(static_cast<uint64_t>(packed.block)),
             "attribute \"block_size\" is ", packed.block, ": expected a power of two >= 16");
  constexpr int64_t kMost = int64_t{1} << 31;
  RILL_CHECK(packed.rows > 0 && packed.length > 0 && packed.rows < kMost && packed.length < kMost,
             "a matrix of ", counted(packed.rows, "row"), " of ", packed.length);
  packed.blocks = (packed.length + packed.block - 1) / packed.block;
  RILL_ASSIGN(packed.codes, ctx.constant("B"));
  RILL_CHECK(packed.codes->dtype() == DType::kU8, "input \"B\" is of ",
             dtype_name(packed.codes->dtype()), ", expected bytes");
  RILL_TRY(expect_count("B", *packed.codes,
                        packed.rows * packed.blocks * (packed.block * packed.bits / 8)));
  RILL_ASSIGN(const TensorPtr scales, ctx.constant("scales"));
  RILL_ASSIGN(packed.scales, cast(*scales, DType::kF32));
  RILL_TRY(expect_count("scales", *scales, packed.rows * packed.blocks));
  RILL_TRY(read_points(ctx, &packed));
  RILL_TRY(read_groups(ctx, &packed));
  return packed;
}

Result<Tensor> written_out(const Packed& packed) {
  RILL_ASSIGN(Tensor out, Tensor::zeros(DType::kF32, {packed.rows, packed.length}));
  auto* to = out.mutable_data<float>();
  const Codes codes(*packed.codes, packed.bits, packed.blocks * packed.block * packed.bits / 8);
  const Codes points(packed.points ? *packed.points : *packed.codes, packed.bits,
                     packed.point_bytes());
  const auto* scales = packed.scales.data<float>();
  const auto middle = static_cast<float>(1 << (packed.bits - 1));
  for (int64_t row = 0; row < packed.rows; ++row) {
    for (int64_t i = 0; i < packed.length; ++i) {
      const int64_t group = packed.group(i);
      const int64_t at = row * packed.blocks + group;
      float point = middle;
      if (packed.points) point = static_cast<float>(points.at(row, group));
      if (packed.floats) point = packed.floats->data<float>()[at];
      *to++ = (static_cast<float>(codes.at(row, i)) - point) * scales[at];
    }
  }
  return out;
}

/// Return whether the 4-bit blocks of matmuls hold these weights exactly: 32 codes with the zero
/// point 8 and an f16 scale, as in f16 models.
bool blocks_hold(const Packed& packed) {
  if (packed.bits != 4 || packed.block % 32 != 0 || packed.length % 32 != 0) return false;
  if (!packed.centered() || packed.groups) return false;
  for (const float scale : packed.scales.values<float>()) {
    if (f32_from_f16(f16_from_f32(scale)) != scale) return false;
  }
  return true;
}

Result<Tensor> in_blocks(const Packed& packed) {
  constexpr size_t kBytes = 18;
  const Codes codes(*packed.codes, 4, packed.blocks * packed.block / 2);
  std::vector<std::byte> bytes(static_cast<size_t>(packed.rows * packed.length / 32) * kBytes);
  std::byte* to = bytes.data();
  for (int64_t row = 0; row < packed.rows; ++row) {
    for (int64_t begin = 0; begin < packed.length; begin += 32, to += kBytes) {
      const int64_t at = row * packed.blocks + begin / packed.block;
      const uint16_t scale = f16_from_f32(packed.scales.data<float>()[at]);
      std::memcpy(to, &scale, sizeof scale);
      for (int64_t i = 0; i < 16; ++i) {
        const int both = codes.at(row, begin + i) | codes.at(row, begin + i + 16) << 4;
        to[2 + i] = static_cast<std::byte>(both);
      }
    }
  }
  return Tensor::blocks(BlockFormat::kQ4_0, {packed.rows, packed.length}, bytes);
}

Result<Value> matmul_nbits(OnnxCtx& ctx) {
  RILL_ASSIGN(const Packed packed, read_packed(ctx));
  Formula f(ctx);
  const OutletId given = f.arg("A");
  if (!f.ok()) return f.take_status();
  const DType type = f.dtype(given);
  const int rank = f.rank(given);
  RILL_CHECK(rank >= 1 && rank <= 8, "input \"A\" is ", f.fact(given), ": expected rank 1 to 8");
  RILL_TRY(ctx.take_as_equal(f.dim(given, rank - 1), Dim(packed.length)));
  RILL_ASSIGN(Tensor weights, blocks_hold(packed) ? in_blocks(packed) : written_out(packed));
  const std::string rows = std::string("abcdefgh").substr(0, static_cast<size_t>(rank) - 1);
  OutletId out = add_einsum(f, str_cat(rows, "k,nk->", rows, "n"),
                            {f.cast(given, DType::kF32), f.konst(std::move(weights))});
  if (ctx.given("bias")) out = f.plus(out, f.cast(f.arg("bias"), DType::kF32));
  return f.value(f.cast(out, type));
}

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment MatMulNBits(A: tensor<?>, B: tensor<?>, scales: tensor<?>, "
     "zero_points: tensor<?> = false, g_idx: tensor<integer> = false, bias: tensor<?> = false, "
     "K: integer, N: integer, accuracy_level: integer = 0, bits: integer = 4, "
     "block_size: integer, weight_prepacked: integer = 0) -> (Y: tensor<?>);",
     matmul_nbits},
};

}  // namespace

extern const OnnxModule matmul_nbits_onnx;
const OnnxModule matmul_nbits_onnx = {"matmul_nbits", kOps};

}  // namespace rill::ops
