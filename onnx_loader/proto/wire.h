#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace rill::onnx {

using Bytes = std::span<const std::byte>;

/// Reads the fields of one message in the wire format of protocol buffers, one after another. Every
/// length is checked against the message before it is used. The first failure sticks: `next` then
/// returns false, and values are empty. Handwritten, because files are untrusted: it throws and
/// copies nothing, and needs no generated code.
/// Source: protobuf.dev, "Encoding".
class Wire {
 public:
  /// `message` names the message in errors. Both must outlive the reader.
  Wire(Bytes bytes, const char* message) : bytes_(bytes), message_(message) {}

  /// Move to the next field; return false at the end, or after a failure.
  bool next();
  int field() const { return field_; }
  /// Return the first failure, if any; kParse.
  Status take_status() { return std::move(status_); }

  /// Read the value of the field that `next` found. kParse if it was written as another type.
  int64_t integer();
  float number();
  Bytes bytes();
  /// Return the content of a field with a length, or of 4 or 8 bytes.
  Bytes raw() const { return content_; }
  /// Return bytes as UTF-8 text.
  std::string_view text();
  /// Append one value, or all packed values of the field.
  void integers(std::vector<int64_t>* out);
  void numbers(std::vector<float>* out);

  /// Report invalid content of the field.
  void refuse(std::string_view what);

 private:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };
  bool varint(uint64_t* value);
  bool expect(Type type, std::string_view what);
  void damaged(std::string_view what);

  Bytes bytes_;
  const char* message_;
  size_t at_ = 0;
  int field_ = 0;
  Type type_ = Type::kVarint;
  uint64_t value_ = 0;  ///< of a varint or fixed field
  Bytes content_;       ///< of a field with a length
  Status status_;
};

}  // namespace rill::onnx
