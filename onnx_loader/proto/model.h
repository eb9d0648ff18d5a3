#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx_loader/proto/wire.h"

namespace rill::onnx {

// The messages of an ONNX file that are needed to run it. All texts and bytes are views of the
// file, which must outlive them. Nested graphs and tensors stay bytes until they are read.
// Source: onnx.proto of ONNX 1.23.

using Texts = std::vector<std::pair<std::string_view, std::string_view>>;

/// A constant: shape, type, and the place of its elements.
struct TensorProto {
  std::string_view name;
  std::vector<int64_t> dims;
  int64_t type = 0;
  std::optional<Bytes> raw;
  Bytes message;  ///< all of it, with the elements that are not raw
  bool external = false;
  Texts location;  ///< of external data
};

struct SparseTensorProto {
  TensorProto values;
  TensorProto indices;
  std::vector<int64_t> dims;
};

/// One extent: a number, a name, or neither.
struct DimProto {
  std::optional<int64_t> value;
  std::string_view param;
};

/// The type of a wire. `kind` names it if it is not a tensor.
struct ValueInfo {
  enum class Kind : uint8_t { kUntyped, kTensor, kSequence, kMap, kOptional, kSparse, kOpaque };
  std::string_view name;
  Kind kind = Kind::kUntyped;
  int64_t type = 0;
  bool has_shape = false;
  std::vector<DimProto> shape;
};

struct GraphProto;

struct AttributeProto {
  enum class Type : uint8_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTensors = 9,
    kGraphs = 10,
    kSparseTensor = 11,
    kSparseTensors = 12,
    kTypeProto = 13,
    kTypeProtos = 14,
  };
  std::string_view name;
  std::string_view ref;  ///< the attribute of the enclosing function that gives the value
  Type type = Type::kUndefined;
  float f = 0.0F;
  int64_t i = 0;
  std::string_view s;
  Bytes message;  ///< of a tensor, a sparse tensor, or a graph
  std::shared_ptr<const GraphProto> graph;  ///< replaces the message, if present
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
};

struct NodeProto {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeProto> attributes;
  std::string_view trace;  ///< the lines of Python that the node comes from

  const AttributeProto* attribute(std::string_view attribute_name) const;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_info;
};

/// The version of each domain; "" stands for ai.onnx.
using Opsets = std::vector<std::pair<std::string_view, int64_t>>;

struct FunctionProto {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;         ///< without a default
  std::vector<AttributeProto> attribute_defaults;
  std::vector<NodeProto> nodes;
  Opsets opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  Opsets opsets;
  std::string_view producer;
  std::string_view producer_version;
  Texts metadata;
  Bytes graph;
  std::vector<FunctionProto> functions;
};

/// Limits on the content of a file, over all of its messages.
struct ProtoBudget {
  int64_t nodes_left = 0;
  int64_t values_left = 0;  ///< tensors and types of wires
  int64_t max_nodes = 0;    ///< the initial value of both
};

/// Return whether the first bytes of a file are those of an ONNX model.
bool looks_like_onnx(Bytes head, int64_t file_bytes);

/// Read a message. Errors: kParse, with the message, the field and the byte; kUnsupported over the
/// budget.
Result<ModelProto> read_model(Bytes bytes, ProtoBudget* budget);
Result<GraphProto> read_graph(Bytes bytes, ProtoBudget* budget);
Result<TensorProto> read_tensor_message(Bytes bytes);
Result<SparseTensorProto> read_sparse_tensor(Bytes bytes);

}  // namespace rill::onnx
