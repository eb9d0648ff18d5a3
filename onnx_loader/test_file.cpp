#include "onnx_loader/test_file.h"

#include <cstring>

namespace rill::onnx {

void Message::varint(uint64_t value) {
  while (value >= 0x80U) {
    bytes_ += static_cast<char>((value & 0x7FU) | 0x80U);
    value >>= 7U;
  }
  bytes_ += static_cast<char>(value);
}

Message& Message::number(int field, float value) {
  varint(static_cast<uint64_t>(field) << 3U | 5U);
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes_.append(raw, sizeof raw);
  return *this;
}

Message value_info(std::string_view name, const std::vector<int64_t>& shape,
                   const std::vector<std::string>& names, int64_t type) {
  Message dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    Message dim;
    if (i < names.size() && !names[i].empty()) {
      dim.text(2, names[i]);
    } else if (shape[i] >= 0) {
      dim.integer(1, shape[i]);
    }
    dims.message(1, dim);
  }
  const Message tensor = Message().integer(1, type).message(2, dims);
  return Message().text(1, name).message(2, Message().message(1, tensor));
}

Message tensor_of_floats(std::string_view name, const std::vector<int64_t>& shape,
                         const std::vector<float>& values) {
  Message out;
  for (const int64_t extent : shape) out.integer(1, extent);
  out.integer(2, 1).text(8, name);
  for (const float value : values) out.number(4, value);
  return out;
}

Message tensor_of_integers(std::string_view name, const std::vector<int64_t>& shape,
                           const std::vector<int64_t>& values) {
  Message out;
  for (const int64_t extent : shape) out.integer(1, extent);
  out.integer(2, 7).text(8, name);
  for (const int64_t value : values) out.integer(7, value);
  return out;
}

Message integer_attribute(std::string_view name, int64_t value) {
  return Message().text(1, name).integer(3, value).integer(20, 2);
}

Message float_attribute(std::string_view name, float value) {
  return Message().text(1, name).number(2, value).integer(20, 1);
}

Message integers_attribute(std::string_view name, const std::vector<int64_t>& values) {
  Message out;
  out.text(1, name);
  for (const int64_t value : values) out.integer(8, value);
  return out.integer(20, 7);
}

Message message_attribute(std::string_view name, const Message& value, int64_t type) {
  return Message().text(1, name).message(type == 5 ? 6 : 5, value).integer(20, type);
}

Message node_of(std::string_view op, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const std::vector<Message>& attributes) {
  Message out;
  for (const std::string& input : inputs) out.text(1, input);
  for (const std::string& output : outputs) out.text(2, output);
  out.text(4, op);
  for (const Message& attribute : attributes) out.message(5, attribute);
  return out;
}

Message graph_of(const GraphParts& parts) {
  Message out;
  for (const Message& each : parts.nodes) out.message(1, each);
  out.text(2, "test");
  for (const Message& each : parts.initializers) out.message(5, each);
  for (const Message& each : parts.inputs) out.message(11, each);
  for (const Message& each : parts.outputs) out.message(12, each);
  for (const Message& each : parts.value_info) out.message(13, each);
  return out;
}

Message model_of(const GraphParts& parts, int64_t opset) {
  return Message()
      .integer(1, 8)
      .message(8, Message().integer(2, opset))
      .message(7, graph_of(parts));
}

}  // namespace rill::onnx
