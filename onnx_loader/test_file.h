#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rill::onnx {

/// Writes messages in the wire format of protocol buffers, for tests.
class Message {
 public:
  Message& integer(int field, int64_t value) {
    varint(static_cast<uint64_t>(field) << 3U);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& inner) { return text(field, inner.bytes_); }
  Message& number(int field, float value);
  const std::string& bytes() const { return bytes_; }
  std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes_)); }

 private:
  void varint(uint64_t value);
  std::string bytes_;
};

// The messages of a model, by the fields of onnx.proto.

/// Return the type of a wire, by default f32. An extent below 0 is symbolic: named as in `names`,
/// or unnamed.
Message value_info(std::string_view name, const std::vector<int64_t>& shape,
                   const std::vector<std::string>& names = {}, int64_t type = 1);
Message tensor_of_floats(std::string_view name, const std::vector<int64_t>& shape,
                         const std::vector<float>& values);
Message tensor_of_integers(std::string_view name, const std::vector<int64_t>& shape,
                           const std::vector<int64_t>& values);
Message integer_attribute(std::string_view name, int64_t value);
Message float_attribute(std::string_view name, float value);
Message integers_attribute(std::string_view name, const std::vector<int64_t>& values);
Message message_attribute(std::string_view name, const Message& value, int64_t type);
Message node_of(std::string_view op, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs,
                const std::vector<Message>& attributes = {});

struct GraphParts {
  std::vector<Message> nodes;
  std::vector<Message> initializers;
  std::vector<Message> inputs;
  std::vector<Message> outputs;
  std::vector<Message> value_info;
};
Message graph_of(const GraphParts& parts);
Message model_of(const GraphParts& parts, int64_t opset = 17);

}  // namespace rill::onnx
