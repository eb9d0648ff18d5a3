#include "tests/fuzz/proto_fields.h"

namespace rill::test {
namespace {

bool take_varint(std::string_view* from, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (from->empty()) return false;
    const auto byte = static_cast<uint8_t>(from->front());
    from->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80U) return true;
  }
  return false;
}

void put_varint(uint64_t value, std::string* out) {
  for (; value >= 0x80U; value >>= 7U) *out += static_cast<char>(value | 0x80U);
  *out += static_cast<char>(value);
}

size_t fixed_size(int type) { return type == 1 ? 8 : 4; }

bool take_fixed(int type, std::string_view* from, uint64_t* value) {
  const size_t size = fixed_size(type);
  if (from->size() < size) return false;
  for (size_t i = 0; i < size; ++i) {
    *value |= static_cast<uint64_t>(static_cast<uint8_t>((*from)[i])) << (8 * i);
  }
  from->remove_prefix(size);
  return true;
}

bool take_content(std::string_view* from, std::string* content) {
  uint64_t size = 0;
  if (!take_varint(from, &size) || size > from->size()) return false;
  *content = from->substr(0, size);
  from->remove_prefix(size);
  return true;
}

}  // namespace

std::optional<Fields> fields_of(std::string_view message) {
  Fields out;
  while (!message.empty()) {
    uint64_t tag = 0;
    if (!take_varint(&message, &tag) || tag >> 3U == 0 || tag >> 3U > 1000) return {};
    Field field;
    field.number = static_cast<int>(tag >> 3U);
    field.type = static_cast<int>(tag & 7U);
    const bool taken = field.type == 0   ? take_varint(&message, &field.value)
                       : field.type == 2 ? take_content(&message, &field.content)
                       : field.type == 1 || field.type == 5
                           ? take_fixed(field.type, &message, &field.value)
                           : false;
    if (!taken) return {};
    out.push_back(std::move(field));
  }
  return out;
}

std::string message_of(const Fields& fields) {
  std::string out;
  for (const Field& field : fields) {
    put_varint(static_cast<uint64_t>(field.number) << 3U | static_cast<uint64_t>(field.type), &out);
    if (field.type == 0) {
      put_varint(field.value, &out);
    } else if (field.type == 2) {
      put_varint(field.content.size(), &out);
      out += field.content;
    } else {
      for (size_t i = 0; i < fixed_size(field.type); ++i) {
        out += static_cast<char>(field.value >> (8 * i));
      }
    }
  }
  return out;
}

Field integer_field(int number, int64_t value) {
  return {number, 0, static_cast<uint64_t>(value), {}};
}

Field text_field(int number, std::string_view content) {
  return {number, 2, 0, std::string(content)};
}

Field* find_field(Fields* fields, int number) {
  for (Field& field : *fields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

Field* need_field(Fields* fields, int number, int type) {
  if (Field* found = find_field(fields, number)) return found;
  fields->push_back({number, type, 0, {}});
  return &fields->back();
}

std::vector<size_t> places_of(const Fields& fields, int number) {
  std::vector<size_t> out;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].number == number) out.push_back(i);
  }
  return out;
}

std::string text_of_field(const Fields& fields, int number) {
  for (const Field& field : fields) {
    if (field.number == number) return field.content;
  }
  return {};
}

bool edit(Field* field, const std::function<void(Fields*)>& change) {
  if (!field || field->type != 2) return false;
  auto inner = fields_of(field->content);
  if (!inner) return false;
  change(&*inner);
  field->content = message_of(*inner);
  return true;
}

}  // namespace rill::test
