#include "api/src/npz.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "api/src/npy.h"
#include "nnef_loader/archive/archive.h"

namespace rill {
namespace {

using Bytes = std::vector<std::byte>;

std::string case_path(const std::string& name) {
  return std::string(RILL_SOURCE_DIR) + "/tests/cases/files/" + name;
}

Bytes bytes_of(std::string_view text) {
  Bytes out(text.size());
  if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
  return out;
}

/// Return a version 1 file: the given header, then `payload` bytes counting up from 1.
Bytes npy(const std::string& header, size_t payload, char version = 1) {
  std::string text = std::string("\x93NUMPY") + version + '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  if (version != 1) text += std::string(2, '\0');
  text += header;
  for (size_t i = 0; i < payload; ++i) text += static_cast<char>(i + 1);
  return bytes_of(text);
}

std::string header(const std::string& descr, const std::string& shape,
                   const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

Code code_of(const Bytes& bytes) {
  const auto tensor = read_npy(bytes, "x.npy");
  if (!tensor.ok()) {
    EXPECT_EQ(tensor.error().file, "x.npy");
  }
  return tensor.status().code();
}

const Tensor& find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  static const Tensor kNone;
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  ADD_FAILURE() << "no array " << name;
  return kNone;
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("rill_npz_" + std::to_string(getpid()) + name))
      .string();
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Npz, ReadsAllTypesOrdersAndByteOrdersThatNumPyWrites) {
  const auto tensors = read_npz(case_path("arrays.npz"));
  ASSERT_TRUE(tensors.ok()) << tensors.error().to_string();
  const std::vector<std::pair<std::string, DType>> types = {
      {"bool", DType::kBool},   {"uint8", DType::kU8},    {"uint16", DType::kU16},
      {"uint32", DType::kU32},  {"uint64", DType::kU64},  {"int8", DType::kI8},
      {"int16", DType::kI16},   {"int32", DType::kI32},   {"int64", DType::kI64},
      {"float16", DType::kF16}, {"float32", DType::kF32}, {"float64", DType::kF64}};
  for (const auto& [name, dtype] : types) {
    for (const std::string prefix :
         {"little_", "big_", "turn_0/fortran_False_", "turn_0/fortran_True_"}) {
      const Tensor& tensor = find(*tensors, prefix + name);
      EXPECT_EQ(tensor.dtype(), dtype) << name;
      EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{2, 3}));
      for (int64_t i = 0; i < tensor.volume(); ++i) {
        const double expected =
            dtype == DType::kBool ? static_cast<double>(i != 0) : static_cast<double>(i);
        EXPECT_EQ(*element_as_double(tensor, i), expected) << prefix << name;
      }
    }
  }
  EXPECT_EQ(find(*tensors, "scalar").rank(), 0);
  EXPECT_EQ(*find(*tensors, "scalar").data<float>(), 2.5F);
  EXPECT_EQ(find(*tensors, "empty").shape(), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(find(*tensors, "complex").shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(find(*tensors, "complex").data<float>()[3], 4.0F);
}

TEST(Npz, APlainFileGivesOneArrayNamedAfterIt) {
  const auto tensors = read_npz(case_path("fortran.npy"));
  ASSERT_TRUE(tensors.ok()) << tensors.error().to_string();
  ASSERT_EQ(tensors->size(), 1U);
  EXPECT_EQ(tensors->at(0).first, "fortran");
  const Tensor& tensor = tensors->at(0).second;
  EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{2, 3, 4}));
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.data<int16_t>()[i], i);
}

TEST(Npz, OtherMembersAreLeftOut) {
  const std::string path = temporary("other");
  const std::vector<nnef::Entry> entries = {{"readme.txt", bytes_of("hi")},
                                            {"x.npy", npy(header("|u1", "(2,)"), 2)}};
  ASSERT_TRUE(nnef::write_keyed_zip(path, entries).ok());
  const auto tensors = read_npz(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(tensors.ok());
  ASSERT_EQ(tensors->size(), 1U);
  EXPECT_EQ(tensors->at(0).first, "x");
}

TEST(Npz, WrittenArraysReadBackBitForBitInOrder) {
  const std::vector<float> floats = {1.5F, -0.0F, NAN};
  const std::vector<uint16_t> halves = {0x3C00, 0x7C00, 0xFFFF};
  std::vector<NamedTensor> tensors = {
      {"z", *Tensor::of<float>(DType::kF32, {3}, floats)},
      {"/layer.0/out", *Tensor::of<uint16_t>(DType::kF16, {3, 1}, halves)},
      {"turn_1/a", Tensor::scalar(int64_t{-7})},
      {"b", Tensor::scalar(true)},
      {"empty", *Tensor::zeros(DType::kI32, {0, 4})},
      {"\xC3\xA9", *Tensor::zeros(DType::kF64, {2, 1, 1, 1, 1, 1, 1, 2})}};
  const std::string path = temporary("round");
  const Status status = write_npz(path, tensors);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  const auto again = read_npz(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  ASSERT_EQ(again->size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(again->at(i).first, tensors[i].first);
    EXPECT_TRUE(again->at(i).second.same_bits(tensors[i].second)) << tensors[i].first;
  }
}

TEST(Npz, TypesThatNumPyLacksAreWrittenAsTheNearest) {
  const std::vector<uint16_t> bf16 = {0x3FC0};  // 1.5
  const std::vector<uint8_t> u8 = {200};
  const std::vector<Dim> dims = {Dim(3), Dim(-4)};
  const auto quantised =
      Tensor::of<uint8_t>(DType::kU8, {1}, u8)->reinterpreted(DType::kQU8, {3, 0.5F});
  const auto read_back = [](const Tensor& tensor) {
    const auto bytes = write_npy(tensor);
    EXPECT_TRUE(bytes.ok()) << bytes.error().to_string();
    return *read_npy(*bytes, "x");
  };
  const Tensor f32 = read_back(*Tensor::of<uint16_t>(DType::kBF16, {1}, bf16));
  EXPECT_EQ(f32.dtype(), DType::kF32);
  EXPECT_EQ(*f32.data<float>(), 1.5F);
  const Tensor i64 = read_back(Tensor::dims(dims));
  EXPECT_EQ(i64.dtype(), DType::kI64);
  EXPECT_EQ(i64.data<int64_t>()[1], -4);
  EXPECT_EQ(*read_back(quantised).data<uint8_t>(), 200);
  const Bytes block(18);
  EXPECT_EQ(read_back(*Tensor::blocks(BlockFormat::kQ4_0, {1, 32}, block)).dtype(), DType::kF32);
}

TEST(Npz, ErrorsOfWritingNameTheArray) {
  const std::string path = temporary("refused");
  const Status symbol =
      write_npz(path, std::vector<NamedTensor>{{"len", Tensor::scalar(Dim::symbol("S"))}});
  EXPECT_EQ(symbol.code(), Code::kSymbol);
  const Status text =
      write_npz(path, std::vector<NamedTensor>{{"text", Tensor::scalar(std::string("a"))}});
  EXPECT_EQ(text.code(), Code::kUnsupported);
  EXPECT_NE(text.error().message.find("\"text\""), std::string::npos);
  const NamedTensor one = {"a", Tensor::scalar(1.0F)};
  EXPECT_EQ(write_npz(path, std::vector<NamedTensor>{one, one}).code(), Code::kArg);
  EXPECT_EQ(write_npz(path, std::vector<NamedTensor>{{"", one.second}}).code(), Code::kArg);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Npz, EqualTensorsGiveEqualBytesAndAreDeflated) {
  const std::vector<NamedTensor> tensors = {{"a", *Tensor::zeros(DType::kF32, {10000})}};
  const std::string a = temporary("a");
  const std::string b = temporary("b");
  ASSERT_TRUE(write_npz(a, tensors).ok());
  ASSERT_TRUE(write_npz(b, tensors).ok());
  EXPECT_EQ(contents(a), contents(b));
  EXPECT_LT(contents(a).size(), 1000U);
  std::filesystem::remove(a);
  std::filesystem::remove(b);
}

TEST(Npz, HeadersArePaddedToSixtyFourBytes) {
  for (int64_t extent = 1; extent < 1'000'000'000'000; extent *= 10) {
    const auto bytes = write_npy(*Tensor::zeros(DType::kU8, {0, extent}));
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(bytes->size() % 64, 0U);
    EXPECT_EQ(bytes->back(), std::byte{'\n'});
  }
}

TEST(Npz, ReadsHeadersOfAllVersionsAndSpellings) {
  EXPECT_EQ(code_of(npy(header("<f4", "(2,)"), 8, 2)), Code::kOk);
  EXPECT_EQ(code_of(npy(header("<f4", "(2,)"), 8, 3)), Code::kOk);
  EXPECT_EQ(code_of(npy("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"=f4\"}", 8)),
            Code::kOk);
  EXPECT_EQ(code_of(npy(header("<f4", "()"), 4)), Code::kOk);
  EXPECT_EQ(code_of(npy(header("|b1", "(2, 3)", "True"), 6)), Code::kOk);
  EXPECT_EQ(code_of(npy(header("<f4", "(1,)"), 9)), Code::kOk) << "bytes too many are ignored";
}

TEST(Npz, RefusesBadHeaders) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{}"), std::string("{'descr': '<f4'}"),
        header("<f4", "(2"), header("<f4", "2"), header("<f4", "(2 3)"), header("<f4", "(-1,)"),
        header("<f4", "(,)"), header("<f4", "(99999999999999999999,)"),
        header("<f4", "(4294967296, 4294967296)"), header("<f4", "(9223372036854775807, 2)"),
        header("<f4", "(1000000,)"), header("<f4", "(2,)", "Maybe"),
        std::string("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
        std::string("{'descr': '<f4', 'other': 1, 'fortran_order': False, 'shape': ()}")}) {
    EXPECT_EQ(code_of(npy(text, 8)), Code::kParse) << text;
  }
  EXPECT_EQ(code_of(npy(header("<f4", "(2,)"), 8, 4)), Code::kParse);
  EXPECT_EQ(code_of(npy(header("<f4", "(2,)"), 8, 0)), Code::kParse);
}

TEST(Npz, NonNumericTypesAreUnsupported) {
  for (const char* descr : {"|S5", "<U5", "|O", "<M8[ns]", "<f16", "", "<", "f", "<c4", "<x4"}) {
    EXPECT_EQ(code_of(npy(header(descr, "(1,)"), 16)), Code::kUnsupported) << descr;
  }
  EXPECT_EQ(code_of(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 16)),
            Code::kUnsupported);
  EXPECT_EQ(code_of(npy(header("<f4", "(1,1,1,1,1,1,1,1,1)"), 4)), Code::kUnsupported);
}

TEST(Npz, FilesCutShortAnywhereAreErrors) {
  const Bytes whole = npy(header("<f4", "(2,)"), 8);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(code_of(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))),
              Code::kParse);
  }
  for (const char* name : {"stored.npz", "arrays.npz"}) {
    const auto bytes = nnef::read_file(case_path(name), 1 << 20);
    ASSERT_TRUE(bytes.ok());
    for (size_t size = 0; size < bytes->size(); size += name[0] == 's' ? 1 : 37) {
      EXPECT_FALSE(read_npz_memory(std::span(*bytes).first(size), name).ok()) << size;
    }
  }
}

TEST(Npz, AnyByteChangedGivesAnErrorOrTensors) {
  const auto bytes = nnef::read_file(case_path("stored.npz"), 1 << 20);
  ASSERT_TRUE(bytes.ok());
  for (size_t at = 0; at < bytes->size(); ++at) {
    for (const int value : {0x00, 0x01, 0x39, 0x80, 0xFF}) {
      Bytes changed = *bytes;
      changed[at] = static_cast<std::byte>(value);
      const auto tensors = read_npz_memory(changed, "x");
      if (!tensors.ok()) {
        EXPECT_FALSE(tensors.error().message.empty());
      }
    }
  }
}

TEST(Npz, OtherFilesAreRefusedWithTheExpectedKind) {
  EXPECT_EQ(read_npz("/nonexistent.npz").error().code, Code::kIo);
  EXPECT_EQ(read_npz_memory(bytes_of("hello"), "x").error().message,
            "expected an npz bundle or a npy file");
  EXPECT_FALSE(read_npz(case_path("plain.tgz")).ok());
}

}  // namespace
}  // namespace rill
