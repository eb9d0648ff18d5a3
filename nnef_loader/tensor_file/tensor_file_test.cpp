#include "nnef_loader/tensor_file/tensor_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "nnef_loader/tensor_file/format.h"

namespace rill::nnef {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kHeaderBytes = 128;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Return a file whose header states the actual size of the payload.
Bytes file(uint16_t vendor, uint16_t type, uint32_t bits, const std::vector<uint32_t>& shape,
           const Bytes& payload) {
  TensorHeader header;
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.rank = static_cast<uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), header.extents);
  header.bits_per_item = bits;
  header.item_type = type;
  header.vendor = vendor;
  Bytes head(sizeof header);
  std::memcpy(head.data(), &header, sizeof header);
  return head + payload;
}

Tensor read(const Bytes& bytes) {
  Result<Tensor> tensor = read_tensor(bytes, "w.dat");
  EXPECT_TRUE(tensor.ok()) << tensor.error().to_string();
  return tensor.ok() ? *tensor : Tensor();
}

Code code_of(const Bytes& bytes) {
  const Result<Tensor> tensor = read_tensor(bytes, "w.dat");
  if (!tensor.ok()) {
    EXPECT_EQ(tensor.error().file, "w.dat");
    EXPECT_FALSE(tensor.error().message.empty());
  }
  return tensor.status().code();
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  const auto span = tensor.values<T>();
  return {span.begin(), span.end()};
}

Bytes patched(Bytes bytes, size_t at, const std::vector<uint8_t>& patch) {
  std::memcpy(bytes.data() + at, patch.data(), patch.size());
  return bytes;
}

TEST(TensorFile, ReadsEveryPlainType) {
  struct Row {
    uint16_t type;
    uint32_t bits;
    DType dtype;
  };
  for (const Row& row :
       {Row{0, 16, DType::kF16}, Row{0, 32, DType::kF32}, Row{0, 64, DType::kF64},
        Row{1, 8, DType::kU8}, Row{1, 16, DType::kU16}, Row{1, 32, DType::kU32},
        Row{1, 64, DType::kU64}, Row{2, 8, DType::kU8}, Row{2, 64, DType::kU64},
        Row{3, 8, DType::kI8}, Row{3, 32, DType::kI32}, Row{4, 8, DType::kI8},
        Row{4, 16, DType::kI16}, Row{4, 32, DType::kI32}, Row{4, 64, DType::kI64}}) {
    Bytes payload(6 * row.bits / 8);
    for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i + 1);
    const Tensor tensor = read(file(0, row.type, row.bits, {2, 3}, payload));
    EXPECT_EQ(tensor.dtype(), row.dtype);
    EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(std::memcmp(tensor.raw(), payload.data(), payload.size()), 0);
  }
}

TEST(TensorFile, ReadsAScalarAndAnEmptyTensor) {
  EXPECT_EQ(values<float>(read(file(0, 0, 32, {}, bytes_of<float>({2.5F})))),
            std::vector<float>{2.5F});
  const Tensor empty = read(file(0, 0, 32, {4294967295U, 0, 5}, {}));
  EXPECT_EQ(empty.volume(), 0);
  EXPECT_EQ(empty.extent(0), 4294967295);
}

TEST(TensorFile, PackedBoolsRunMostSignificantBitFirstAcrossRows) {
  const Bytes payload = bytes_of<uint8_t>({0b10110000, 0b01000000});
  EXPECT_EQ(values<uint8_t>(read(file(0, 5, 1, {2, 5}, payload))),
            (std::vector<uint8_t>{1, 0, 1, 1, 0, 0, 0, 0, 0, 1}));
}

TEST(TensorFile, ByteBoolsBecomeZeroOrOne) {
  EXPECT_EQ(values<uint8_t>(read(file(0, 5, 8, {4}, bytes_of<uint8_t>({0, 1, 2, 255})))),
            (std::vector<uint8_t>{0, 1, 1, 1}));
}

TEST(TensorFile, ReadsStringsForAnyPayloadSize) {
  const Bytes payload = bytes_of<uint8_t>({3, 0, 0, 0, 'a', 0xC3, 0xA9, 0, 0, 0, 0});
  // tract writes the size of its string objects there: 24 bytes each.
  const Bytes bytes = patched(file(kTract, 0x1000, kNoBits, {2}, payload), 4, {48, 0, 0, 0});
  EXPECT_EQ(values<std::string>(read(bytes)), (std::vector<std::string>{"a\xC3\xA9", ""}));
}

TEST(TensorFile, StringLengthsOverThePayloadAreErrorsBeforeAnyAllocation) {
  const Bytes huge = bytes_of<uint8_t>({0, 0, 0, 8, 'a', 'b', 'c'});  // 128 MiB
  EXPECT_EQ(code_of(file(kTract, 0x1000, kNoBits, {1}, huge)), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x1000, kNoBits, {4000000000U}, huge)), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x1000, kNoBits, {1}, bytes_of<uint8_t>({1, 0, 0}))),
            Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x1000, kNoBits, {1}, bytes_of<uint8_t>({1, 0, 0, 0, 0xFF}))),
            Code::kParse);
}

/// One Q4_0 block: scale 1.0 in half precision, then the nibbles.
Bytes q40_block(const std::vector<uint8_t>& packed) {
  return bytes_of<uint8_t>({0x00, 0x3C}) + bytes_of(packed);
}

TEST(TensorFile, Q40InLegacyOrderIsLaidOutAsGgmlHasIt) {
  // Weight i is i mod 16. Neighbouring order: byte j holds 2j and 2j+1. GGML: j and j+16.
  std::vector<uint8_t> neighbours;
  std::vector<uint8_t> ggml;
  for (uint32_t j = 0; j < 16; ++j) {
    neighbours.push_back(static_cast<uint8_t>((2 * j % 16) | ((2 * j + 1) % 16) << 4));
    ggml.push_back(static_cast<uint8_t>((j % 16) | ((j + 16) % 16) << 4));
  }
  const Tensor legacy = read(file(kTract, 0x2040, kNoBits, {1, 32}, q40_block(neighbours)));
  const Tensor modern = read(file(kTract, 0x3040, kNoBits, {1, 32}, q40_block(ggml)));
  EXPECT_EQ(legacy.block_format(), BlockFormat::kQ4_0);
  EXPECT_TRUE(legacy.same_bits(modern));
  std::vector<float> expected;
  for (int i = 0; i < 32; ++i) expected.push_back(static_cast<float>(i % 16 - 8));
  EXPECT_EQ(values<float>(*dequantised(legacy)), expected);
}

TEST(TensorFile, Q81ReadsUnderBothTypeCodes) {
  Bytes block = bytes_of<uint8_t>({0x00, 0x38, 0, 0});  // scale 0.5, sum unused
  std::vector<float> expected;
  for (int i = 0; i < 32; ++i) {
    block.push_back(static_cast<std::byte>(i - 16));
    expected.push_back(0.5F * static_cast<float>(i - 16));
  }
  for (const uint16_t type : {0x3080, 0x3081}) {
    const Tensor tensor = read(file(kTract, type, kNoBits, {1, 4, 8}, block));
    EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{1, 4, 8}));
    EXPECT_EQ(values<float>(*dequantised(tensor)), expected);
  }
}

TEST(TensorFile, RefusesBlocksThatDoNotFit) {
  const Bytes block(18);
  EXPECT_EQ(code_of(file(kTract, 0x3040, kNoBits, {32}, block)), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x3040, kNoBits, {32, 1}, block)), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x3040, kNoBits, {2, 32}, block)), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x3080, kNoBits, {1, 32}, block)), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x2000, kNoBits, {1, 32}, block)), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0x3040, kNoBits, {1U << 31, 1U << 31, 2}, block)), Code::kParse);
}

TEST(TensorFile, ComplexNumbersGetATrailingAxisOfTwo) {
  const Tensor tensor = read(file(kTract, 0, 64, {2}, bytes_of<float>({1, 2, 3, 4})));
  EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(values<float>(tensor), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(read(file(kTract, 0, 32, {1}, Bytes(4))).dtype(), DType::kF16);
  EXPECT_EQ(read(file(kTract, 4, 128, {1}, Bytes(16))).dtype(), DType::kI64);
  EXPECT_EQ(code_of(file(kTract, 0, 16, {1}, Bytes(2))), Code::kParse);
  EXPECT_EQ(code_of(file(kTract, 0, 64, {1, 1, 1, 1, 1, 1, 1, 1}, Bytes(8))), Code::kUnsupported);
}

TEST(TensorFile, BytesAfterThePayloadAreIgnored) {
  const Bytes bytes = file(0, 1, 8, {2}, Bytes(2));
  EXPECT_EQ(code_of(bytes + Bytes(5)), Code::kOk);
  EXPECT_EQ(code_of(Bytes(bytes.begin(), bytes.end() - 1)), Code::kParse);
}

TEST(TensorFile, RefusesBadHeaders) {
  const Bytes good = file(0, 0, 32, {2, 3}, Bytes(24));
  EXPECT_EQ(code_of(good), Code::kOk);
  EXPECT_EQ(code_of(patched(good, 2, {2, 0})), Code::kOk) << "only both together count";
  for (const auto& [at, patch] : std::vector<std::pair<size_t, std::vector<uint8_t>>>{
           {0, {0x4F}},                     // magic
           {2, {2, 1}},                     // version
           {4, {0xFF, 0xFF, 0xFF, 0xFF}},   // payload size
           {4, {23}},                       //
           {8, {9}},                        // rank
           {8, {0xFF, 0xFF, 0xFF, 0xFF}},   //
           {12, {3}},                       // extents
           {12, {0xFF, 0xFF, 0xFF, 0xFF}},  //
           {44, {0}},                       // bits
           {44, {31}},                      //
           {44, {64}},                      //
           {44, {0xFF, 0xFF, 0xFF, 0xFF}},  //
           {48, {6}},                       // type
           {48, {0xFF, 0xFF}},              //
           {50, {1}},                       // vendor
           {50, {0x54, 0x52}},              // its bytes swapped
       }) {
    EXPECT_EQ(code_of(patched(good, at, patch)), Code::kParse) << at << " " << int{patch[0]};
  }
}

TEST(TensorFile, ShapesWhoseProductOverflowsAreErrors) {
  const uint32_t most = 0xFFFFFFFFU;
  EXPECT_EQ(code_of(file(0, 0, 32, {most, most, most, most, most, most, most, most}, Bytes(8))),
            Code::kParse);
  EXPECT_EQ(code_of(file(0, 0, 64, {1U << 31, 1U << 31, 2}, {})), Code::kParse);
  EXPECT_EQ(code_of(file(0, 5, 1, {1U << 31, 1U << 31}, Bytes(8))), Code::kParse);
  EXPECT_EQ(code_of(file(0, 5, 8, {most}, Bytes(8))), Code::kParse);
  // The product of the other axes must fit too, although one axis is empty.
  EXPECT_EQ(code_of(file(0, 0, 32, {most, 0, most}, {})), Code::kParse);
}

TEST(TensorFile, AnyEdgeValueInAnyHeaderFieldGivesAnErrorOrATensor) {
  const std::vector<Bytes> files = {file(0, 0, 32, {2, 3}, Bytes(24)), file(0, 5, 1, {9}, Bytes(2)),
                                    file(kTract, 0x1000, kNoBits, {2}, Bytes(8)),
                                    file(kTract, 0x3040, kNoBits, {1, 32}, Bytes(18)),
                                    file(kTract, 0, 64, {2}, Bytes(16))};
  for (const Bytes& bytes : files) {
    for (size_t at = 0; at < 56; ++at) {
      for (const int value : {0, 1, 2, 8, 0x20, 0x40, 0x7F, 0x80, 0xFF}) {
        for (size_t width = 1; width <= 4; ++width) {
          const auto patch = std::vector<uint8_t>(width, static_cast<uint8_t>(value));
          const auto tensor = read_tensor(patched(bytes, at, patch), "w.dat");
          if (tensor.ok()) {
            EXPECT_LE(tensor->size_bytes(), 1024);
          }
        }
      }
    }
  }
}

TEST(TensorFile, FilesCutShortAnywhereAreErrors) {
  for (const Bytes& bytes :
       {file(0, 0, 32, {2, 3}, Bytes(24)), file(0, 5, 1, {9}, Bytes(2)),
        file(kTract, 0x1000, kNoBits, {2}, bytes_of<uint8_t>({1, 0, 0, 0, 'a', 0, 0, 0, 0})),
        file(kTract, 0x2040, kNoBits, {1, 32}, Bytes(18))}) {
    EXPECT_EQ(code_of(bytes), Code::kOk);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(code_of(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size))),
                Code::kParse)
          << size;
    }
  }
}

struct Written {
  uint16_t vendor;
  uint16_t type;
  uint32_t bits;
};

Written written_type(const Tensor& tensor) {
  const auto bytes = write_tensor(tensor);
  EXPECT_TRUE(bytes.ok()) << bytes.error().to_string();
  TensorHeader header;
  std::memcpy(&header, bytes->data(), kHeaderBytes);
  return {header.vendor, header.item_type, header.bits_per_item};
}

TEST(TensorFile, WritesTheTypesThatBothReadersTake) {
  struct Row {
    DType dtype;
    Written expected;
  };
  for (const Row& row :
       {Row{DType::kF16, {0, 0, 16}}, Row{DType::kF32, {0, 0, 32}}, Row{DType::kF64, {0, 0, 64}},
        Row{DType::kU8, {0, 1, 8}}, Row{DType::kU64, {0, 1, 64}}, Row{DType::kI8, {0, 4, 8}},
        Row{DType::kI32, {0, 4, 32}}, Row{DType::kI64, {0, 4, 64}}, Row{DType::kBool, {0, 5, 8}},
        Row{DType::kQU8, {0, 2, 8}}, Row{DType::kQI8, {0, 3, 8}}, Row{DType::kQI32, {0, 3, 32}},
        Row{DType::kString, {kTract, 0x1000, kNoBits}}, Row{DType::kBF16, {0, 0, 32}}}) {
    const auto tensor = Tensor::zeros(row.dtype, {2, 3});
    ASSERT_TRUE(tensor.ok());
    const Written found = written_type(*tensor);
    EXPECT_EQ(found.vendor, row.expected.vendor) << dtype_name(row.dtype);
    EXPECT_EQ(found.type, row.expected.type) << dtype_name(row.dtype);
    EXPECT_EQ(found.bits, row.expected.bits) << dtype_name(row.dtype);
  }
}

TEST(TensorFile, WrittenTensorsReadBackBitForBit) {
  const std::vector<std::string> texts = {"", "a'\"\n", "\xC3\xA9"};
  const std::vector<float> floats = {1.5F, -0.0F, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<uint8_t> bools = {1, 0, 1};
  std::vector<std::byte> blocks(36);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(i * 7);
  for (const auto& tensor :
       {Tensor::of<std::string>(DType::kString, {3, 1}, texts),
        Tensor::of<float>(DType::kF32, {3}, floats),
        Tensor::of<uint8_t>(DType::kBool, {1, 3}, bools),
        Tensor::blocks(BlockFormat::kQ4_0, {2, 4, 8}, blocks),
        Tensor::blocks(BlockFormat::kQ8_1, {1, 32}, blocks), Tensor::zeros(DType::kI64, {0, 2})}) {
    ASSERT_TRUE(tensor.ok());
    const auto bytes = write_tensor(*tensor);
    ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
    EXPECT_TRUE(read(*bytes).same_bits(*tensor)) << tensor_text(*tensor);
  }
}

TEST(TensorFile, RefusesToWriteDims) {
  const auto bytes = write_tensor(Tensor::scalar(Dim(3)));
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::kUnsupported);
  EXPECT_FALSE(bytes.error().hint.empty());
}

}  // namespace
}  // namespace rill::nnef
