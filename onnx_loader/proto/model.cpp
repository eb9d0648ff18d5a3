#include "onnx_loader/proto/model.h"

#include "core/base/raise_limit.h"

namespace rill::onnx {
namespace {

constexpr std::string_view kTraceKey = "pkg.torch.onnx.stack_trace";

using Text = std::pair<std::string_view, std::string_view>;

Result<Text> read_entry(Bytes bytes) {
  Text entry;
  Wire in(bytes, "StringStringEntryProto");
  while (in.next()) {
    if (in.field() == 1) entry.first = in.text();
    if (in.field() == 2) entry.second = in.text();
  }
  RILL_TRY(in.take_status());
  return entry;
}

Status add_entry(Bytes bytes, Texts* out) {
  RILL_ASSIGN(const Text entry, read_entry(bytes));
  out->push_back(entry);
  return {};
}

Status add_opset(Bytes bytes, Opsets* out) {
  std::string_view domain;
  int64_t version = 0;
  Wire in(bytes, "OperatorSetIdProto");
  while (in.next()) {
    if (in.field() == 1) domain = in.text();
    if (in.field() == 2) version = in.integer();
  }
  RILL_TRY(in.take_status());
  out->emplace_back(domain == "ai.onnx" ? "" : domain, version);
  return {};
}

Status read_dim(Bytes bytes, std::vector<DimProto>* out) {
  DimProto dim;
  Wire in(bytes, "Dimension");
  while (in.next()) {
    if (in.field() == 1) dim.value = in.integer();
    if (in.field() == 2) dim.param = in.text();
  }
  RILL_TRY(in.take_status());
  out->push_back(dim);
  return {};
}

Status read_tensor_type(Bytes bytes, ValueInfo* info) {
  Wire in(bytes, "TypeProto.Tensor");
  while (in.next()) {
    if (in.field() == 1) info->type = in.integer();
    if (in.field() != 2) continue;
    info->has_shape = true;
    Wire shape(in.bytes(), "TensorShapeProto");
    while (shape.next()) {
      if (shape.field() == 1) RILL_TRY(read_dim(shape.bytes(), &info->shape));
    }
    RILL_TRY(shape.take_status());
  }
  return in.take_status();
}

/// Read the type of an optional value as that of a present one.
Status read_optional(Bytes bytes, ValueInfo* info) {
  info->kind = ValueInfo::Kind::kOptional;
  Wire in(bytes, "TypeProto.Optional");
  while (in.next()) {
    if (in.field() != 1) continue;
    Wire type(in.bytes(), "TypeProto");
    while (type.next()) {
      if (type.field() != 1) continue;
      info->kind = ValueInfo::Kind::kTensor;
      RILL_TRY(read_tensor_type(type.bytes(), info));
    }
    RILL_TRY(type.take_status());
  }
  return in.take_status();
}

Status read_type(Bytes bytes, ValueInfo* info) {
  using Kind = ValueInfo::Kind;
  Wire in(bytes, "TypeProto");
  while (in.next()) {
    switch (in.field()) {
      case 1:
        info->kind = Kind::kTensor;
        RILL_TRY(read_tensor_type(in.bytes(), info));
        break;
      case 4:
        info->kind = Kind::kSequence;
        break;
      case 5:
        info->kind = Kind::kMap;
        break;
      case 7:
        info->kind = Kind::kOpaque;
        break;
      case 8:
        info->kind = Kind::kSparse;
        break;
      case 9:
        RILL_TRY(read_optional(in.bytes(), info));
        break;
      default:
        break;
    }
  }
  return in.take_status();
}

Status take_node(ProtoBudget* budget) {
  if (budget->nodes_left-- > 0) return {};
  return fail(Code::kUnsupported, "the file has more nodes than the limit of ", budget->max_nodes)
      .hint(raise_load_limit("max_nodes"));
}

/// Count a tensor, or the type of a wire.
Status take_value(ProtoBudget* budget) {
  if (budget->values_left-- > 0) return {};
  return fail(Code::kUnsupported, "the file has more tensors and types of wires than twice the ",
              "limit of ", counted(budget->max_nodes, "node"))
      .hint(raise_load_limit("max_nodes"));
}

Status read_value_info(Bytes bytes, ProtoBudget* budget, std::vector<ValueInfo>* out) {
  RILL_TRY(take_value(budget));
  ValueInfo info;
  Wire in(bytes, "ValueInfoProto");
  while (in.next()) {
    if (in.field() == 1) info.name = in.text();
    if (in.field() == 2) RILL_TRY(read_type(in.bytes(), &info));
  }
  RILL_TRY(in.take_status());
  out->push_back(std::move(info));
  return {};
}

/// Return the type that the fields imply, for files without a type, like those of IR version 1.
AttributeProto::Type type_of_field(int field) {
  using Type = AttributeProto::Type;
  switch (field) {
    case 2:
      return Type::kFloat;
    case 3:
      return Type::kInt;
    case 4:
      return Type::kString;
    case 5:
      return Type::kTensor;
    case 6:
      return Type::kGraph;
    case 7:
      return Type::kFloats;
    case 8:
      return Type::kInts;
    case 9:
      return Type::kStrings;
    case 22:
      return Type::kSparseTensor;
    default:
      return Type::kUndefined;
  }
}

Result<AttributeProto> read_attribute(Bytes bytes) {
  AttributeProto out;
  AttributeProto::Type guess = AttributeProto::Type::kUndefined;
  Wire in(bytes, "AttributeProto");
  while (in.next()) {
    const auto type = type_of_field(in.field());
    if (type != AttributeProto::Type::kUndefined) guess = type;
    switch (in.field()) {
      case 1:
        out.name = in.text();
        break;
      case 2:
        out.f = in.number();
        break;
      case 3:
        out.i = in.integer();
        break;
      case 4: {
        const Bytes text = in.bytes();
        out.s = {reinterpret_cast<const char*>(text.data()), text.size()};
        break;
      }
      case 5:
      case 6:
      case 22:
        out.message = in.bytes();
        break;
      case 7:
        in.numbers(&out.floats);
        break;
      case 8:
        in.integers(&out.ints);
        break;
      case 9: {
        const Bytes text = in.bytes();
        out.strings.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
        break;
      }
      case 20: {
        const int64_t number = in.integer();
        const bool known = number >= 0 && number <= 14;
        if (!known) in.refuse(str_cat("no type of attributes has the number ", number));
        if (known) out.type = static_cast<AttributeProto::Type>(number);
        break;
      }
      case 21:
        out.ref = in.text();
        break;
      default:
        break;
    }
  }
  RILL_TRY(in.take_status());
  if (out.type == AttributeProto::Type::kUndefined) out.type = guess;
  return out;
}

Result<NodeProto> read_node(Bytes bytes, ProtoBudget* budget) {
  RILL_TRY(take_node(budget));
  NodeProto out;
  Wire in(bytes, "NodeProto");
  while (in.next()) {
    switch (in.field()) {
      case 1:
        out.inputs.push_back(in.text());
        break;
      case 2:
        out.outputs.push_back(in.text());
        break;
      case 3:
        out.name = in.text();
        break;
      case 4:
        out.op_type = in.text();
        break;
      case 5: {
        RILL_ASSIGN(AttributeProto attribute, read_attribute(in.bytes()));
        out.attributes.push_back(std::move(attribute));
        break;
      }
      case 7:
        out.domain = in.text();
        if (out.domain == "ai.onnx") out.domain = "";
        break;
      case 8:
        out.overload = in.text();
        break;
      case 9: {
        RILL_ASSIGN(const Text entry, read_entry(in.bytes()));
        if (entry.first == kTraceKey) out.trace = entry.second;
        break;
      }
      default:
        break;
    }
  }
  RILL_TRY(in.take_status());
  return out;
}

Result<FunctionProto> read_function(Bytes bytes, ProtoBudget* budget) {
  FunctionProto out;
  Wire in(bytes, "FunctionProto");
  while (in.next()) {
    switch (in.field()) {
      case 1:
        out.name = in.text();
        break;
      case 4:
        out.inputs.push_back(in.text());
        break;
      case 5:
        out.outputs.push_back(in.text());
        break;
      case 6:
        out.attributes.push_back(in.text());
        break;
      case 7: {
        RILL_ASSIGN(NodeProto node, read_node(in.bytes(), budget));
        out.nodes.push_back(std::move(node));
        break;
      }
      case 9:
        RILL_TRY(add_opset(in.bytes(), &out.opsets));
        break;
      case 10:
        out.domain = in.text();
        break;
      case 11: {
        RILL_ASSIGN(AttributeProto attribute, read_attribute(in.bytes()));
        out.attribute_defaults.push_back(std::move(attribute));
        break;
      }
      case 13:
        out.overload = in.text();
        break;
      default:
        break;
    }
  }
  RILL_TRY(in.take_status());
  return out;
}

/// Return the wire type of a known field of a model; -1 for all other fields.
int model_field_type(uint64_t field) {
  switch (field) {
    case 1:
    case 5:
      return 0;
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 14:
    case 20:
    case 25:
    case 26:
      return 2;
    default:
      return -1;
  }
}

}  // namespace

const AttributeProto* NodeProto::attribute(std::string_view attribute_name) const {
  for (const AttributeProto& each : attributes) {
    if (each.name == attribute_name) return &each;
  }
  return nullptr;
}

bool looks_like_onnx(Bytes head, int64_t file_bytes) {
  // Files begin with the version and the producer, or with the graph.
  constexpr int kTellingFields = 8;
  uint64_t at = 0;
  const auto varint = [&](uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && at < head.size(); shift += 7) {
      const auto byte = static_cast<uint64_t>(head[at++]);
      *value |= (byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return true;
    }
    return false;
  };
  constexpr uint64_t kMostVersions = 1000;
  for (int i = 0; i < kTellingFields; ++i) {
    uint64_t tag = 0;
    uint64_t value = 0;
    if (!varint(&tag) || !varint(&value)) return false;
    if (model_field_type(tag >> 3U) != static_cast<int>(tag & 7U)) return false;
    if (tag >> 3U == 1) return value > 0 && value < kMostVersions;
    if ((tag & 7U) == 0) continue;
    if (value > static_cast<uint64_t>(file_bytes) - at) return false;
    if (tag >> 3U == 7) return true;
    at += value;
  }
  return false;
}

Result<TensorProto> read_tensor_message(Bytes bytes) {
  TensorProto out;
  out.message = bytes;
  Wire in(bytes, "TensorProto");
  while (in.next()) {
    switch (in.field()) {
      case 1:
        in.integers(&out.dims);
        break;
      case 2:
        out.type = in.integer();
        break;
      case 3:
        in.refuse("the tensor is a segment of a larger one, which no operator reads");
        break;
      case 8:
        out.name = in.text();
        break;
      case 9:
        out.raw = in.bytes();
        break;
      case 13:
        RILL_TRY(add_entry(in.bytes(), &out.location));
        break;
      case 14:
        out.external = in.integer() == 1;
        break;
      default:
        break;
    }
  }
  RILL_TRY(in.take_status());
  return out;
}

Result<SparseTensorProto> read_sparse_tensor(Bytes bytes) {
  SparseTensorProto out;
  Wire in(bytes, "SparseTensorProto");
  while (in.next()) {
    if (in.field() == 1) {
      RILL_ASSIGN(out.values, read_tensor_message(in.bytes()));
    } else if (in.field() == 2) {
      RILL_ASSIGN(out.indices, read_tensor_message(in.bytes()));
    } else if (in.field() == 3) {
      in.integers(&out.dims);
    }
  }
  RILL_TRY(in.take_status());
  return out;
}

Result<GraphProto> read_graph(Bytes bytes, ProtoBudget* budget) {
  GraphProto out;
  Wire in(bytes, "GraphProto");
  while (in.next()) {
    switch (in.field()) {
      case 1: {
        RILL_ASSIGN(NodeProto node, read_node(in.bytes(), budget));
        out.nodes.push_back(std::move(node));
        break;
      }
      case 2:
        out.name = in.text();
        break;
      case 5: {
        RILL_TRY(take_value(budget));
        RILL_ASSIGN(TensorProto tensor, read_tensor_message(in.bytes()));
        out.initializers.push_back(std::move(tensor));
        break;
      }
      case 15: {
        RILL_TRY(take_value(budget));
        RILL_ASSIGN(SparseTensorProto tensor, read_sparse_tensor(in.bytes()));
        out.sparse_initializers.push_back(std::move(tensor));
        break;
      }
      case 11:
        RILL_TRY(read_value_info(in.bytes(), budget, &out.inputs));
        break;
      case 12:
        RILL_TRY(read_value_info(in.bytes(), budget, &out.outputs));
        break;
      case 13:
        RILL_TRY(read_value_info(in.bytes(), budget, &out.value_info));
        break;
      default:
        break;
    }
  }
  RILL_TRY(in.take_status());
  return out;
}

Result<ModelProto> read_model(Bytes bytes, ProtoBudget* budget) {
  ModelProto out;
  Wire in(bytes, "ModelProto");
  while (in.next()) {
    switch (in.field()) {
      case 1:
        out.ir_version = in.integer();
        break;
      case 2:
        out.producer = in.text();
        break;
      case 3:
        out.producer_version = in.text();
        break;
      case 7:
        out.graph = in.bytes();
        break;
      case 8:
        RILL_TRY(add_opset(in.bytes(), &out.opsets));
        break;
      case 14:
        RILL_TRY(take_value(budget));
        RILL_TRY(add_entry(in.bytes(), &out.metadata));
        break;
      case 25: {
        RILL_ASSIGN(FunctionProto function, read_function(in.bytes(), budget));
        out.functions.push_back(std::move(function));
        break;
      }
      default:
        break;
    }
  }
  RILL_TRY(in.take_status());
  return out;
}

}  // namespace rill::onnx
