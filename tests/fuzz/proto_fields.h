#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Split messages in the wire format of protocol buffers into fields, and join fields to messages.

namespace rill::test {

struct Field {
  int number = 0;
  int type = 0;  ///< the wire type: 0 varint, 1 and 5 fixed (8 and 4 bytes), 2 length-delimited
  uint64_t value = 0;   ///< the value of a field without a length
  std::string content;  ///< the bytes of a field with a length
};
using Fields = std::vector<Field>;

/// Split a message, one level deep; nothing if the bytes are not a message.
std::optional<Fields> fields_of(std::string_view message);
std::string message_of(const Fields& fields);

Field integer_field(int number, int64_t value);
Field text_field(int number, std::string_view content);

/// Return the first field with a number; null if there is none.
Field* find_field(Fields* fields, int number);
/// As above; append the field if there is none.
Field* need_field(Fields* fields, int number, int type);
std::vector<size_t> places_of(const Fields& fields, int number);
std::string text_of_field(const Fields& fields, int number);

/// Apply `change` to the message inside a field. Return false if the field has none.
bool edit(Field* field, const std::function<void(Fields*)>& change);

}  // namespace rill::test
