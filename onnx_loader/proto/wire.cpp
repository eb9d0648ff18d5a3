#include "onnx_loader/proto/wire.h"

#include <cstring>

#include "core/base/utf8.h"

namespace rill::onnx {
namespace {

constexpr int kMaxVarintBytes = 10;

std::string_view type_text(uint8_t type) {
  switch (type) {
    case 0:
      return "an integer";
    case 1:
      return "8 bytes";
    case 2:
      return "bytes with a length";
    default:
      return "4 bytes";
  }
}

}  // namespace

void Wire::damaged(std::string_view what) {
  if (!status_.ok()) return;
  status_ = fail(Code::kParse, "damaged or cut short: ", what, " at byte ", at_, " of ",
                 bytes_.size(), " of a ", message_);
}

void Wire::refuse(std::string_view what) {
  if (!status_.ok()) return;
  status_ = fail(Code::kParse, message_, ", field ", field_, ": ", what);
}

bool Wire::varint(uint64_t* value) {
  *value = 0;
  for (int i = 0; i < kMaxVarintBytes && at_ < bytes_.size(); ++i) {
    const auto byte = static_cast<uint64_t>(bytes_[at_++]);
    *value |= (byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) == 0) return true;
  }
  damaged("an integer without end");
  return false;
}

bool Wire::next() {
  if (!status_.ok() || at_ >= bytes_.size()) return false;
  uint64_t tag = 0;
  if (!varint(&tag)) return false;
  const uint64_t number = tag >> 3U;
  const auto type = static_cast<uint8_t>(tag & 7U);
  constexpr uint64_t kMostFields = (uint64_t{1} << 29U) - 1;
  if (number == 0 || number > kMostFields || (type > 2 && type != 5)) {
    damaged("no field");
    return false;
  }
  field_ = static_cast<int>(number);
  type_ = static_cast<Type>(type);
  content_ = {};
  if (type_ == Type::kVarint) return varint(&value_);
  uint64_t length = type_ == Type::kFixed64 ? 8 : 4;
  if (type_ == Type::kLength && !varint(&length)) return false;
  if (length > bytes_.size() - at_) {
    damaged("a field beyond the end");
    return false;
  }
  content_ = bytes_.subspan(at_, static_cast<size_t>(length));
  at_ += static_cast<size_t>(length);
  return true;
}

bool Wire::expect(Type type, std::string_view what) {
  if (!status_.ok()) return false;
  if (type_ == type) return true;
  refuse(str_cat("expected ", what, ", found ", type_text(static_cast<uint8_t>(type_))));
  return false;
}

int64_t Wire::integer() {
  return expect(Type::kVarint, "an integer") ? static_cast<int64_t>(value_) : 0;
}

float Wire::number() {
  if (!expect(Type::kFixed32, "a float")) return 0.0F;
  float value = 0.0F;
  std::memcpy(&value, content_.data(), sizeof value);
  return value;
}

Bytes Wire::bytes() { return expect(Type::kLength, "bytes with a length") ? content_ : Bytes(); }

std::string_view Wire::text() {
  const Bytes content = bytes();
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (find_bad_utf8(text) == text.npos) return text;
  refuse("the text is not UTF-8");
  return {};
}

void Wire::integers(std::vector<int64_t>* out) {
  if (type_ == Type::kVarint) return out->push_back(static_cast<int64_t>(value_));
  Wire packed(bytes(), message_);
  uint64_t value = 0;
  while (packed.at_ < packed.bytes_.size() && packed.varint(&value)) {
    out->push_back(static_cast<int64_t>(value));
  }
  if (status_.ok()) status_ = packed.take_status();
}

void Wire::numbers(std::vector<float>* out) {
  if (type_ == Type::kFixed32) return out->push_back(number());
  const Bytes content = bytes();
  if (content.size() % sizeof(float) != 0) return refuse("floats of less than 4 bytes");
  const size_t before = out->size();
  out->resize(before + content.size() / sizeof(float));
  if (!content.empty()) std::memcpy(out->data() + before, content.data(), content.size());
}

}  // namespace rill::onnx
