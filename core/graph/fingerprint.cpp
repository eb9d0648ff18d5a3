#include "core/graph/fingerprint.h"

#include <array>
#include <charconv>
#include <cstring>

#include "core/base/bits.h"

namespace rill {
namespace {

void add_tensor(const Tensor& tensor, Hasher* hash) {
  hash->number(static_cast<uint64_t>(tensor.dtype()));
  hash->number(static_cast<uint64_t>(tensor.block_format()));
  hash->number(bit_cast<uint32_t>(tensor.qparams().scale));
  hash->number(static_cast<uint64_t>(tensor.qparams().zero_point));
  for (const int64_t extent : tensor.shape()) hash->number(static_cast<uint64_t>(extent));
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.values<std::string>()) hash->text(text);
  } else if (tensor.dtype() == DType::kDim) {
    for (const Dim& dim : tensor.values<Dim>()) hash->text(dim.to_string());
  } else {
    hash->bytes(tensor.raw(), static_cast<size_t>(tensor.size_bytes()));
    tensor.drop_pages();
  }
}

class FieldHasher final : public FieldVisitor {
 public:
  explicit FieldHasher(Hasher* hash) : hash_(hash) {}
  void field(const char* name, bool& value) override { add(name, value); }
  void field(const char* name, int64_t& value) override { add(name, value); }
  void field(const char* name, float& value) override { add(name, bit_cast<int32_t>(value)); }
  void field(const char* name, std::string& value) override {
    hash_->text(name);
    hash_->text(value);
  }
  void field(const char* name, DType& value) override { add(name, static_cast<int>(value)); }
  void field(const char* name, Dim& value) override {
    hash_->text(name);
    hash_->text(value.to_string());
  }
  void field(const char* name, std::vector<int64_t>& value) override {
    add(name, static_cast<int64_t>(value.size()));
    for (const int64_t each : value) add("", each);
  }
  void field(const char* name, std::vector<Dim>& value) override {
    add(name, static_cast<int64_t>(value.size()));
    for (const Dim& each : value) hash_->text(each.to_string());
  }
  void field(const char* name, Pads& value) override {
    add(name, static_cast<int64_t>(value.size()));
    for (const auto& [before, after] : value) {
      add("", before);
      add("", after);
    }
  }
  void field(const char* name, TensorPtr& value) override {
    add(name, value != nullptr);
    if (value) add_tensor(*value, hash_);
  }

 private:
  void add(const char* name, int64_t value) {
    hash_->text(name);
    hash_->number(static_cast<uint64_t>(value));
  }
  Hasher* hash_;
};

void add_outlets(const std::vector<OutletId>& outlets, Hasher* hash) {
  hash->number(outlets.size());
  for (const OutletId& outlet : outlets) {
    hash->number(static_cast<uint64_t>(outlet.node));
    hash->number(static_cast<uint64_t>(outlet.slot));
  }
}

void add_graph(const Graph& graph, Hasher* hash) {
  hash->number(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    hash->text(node.name);
    hash->text(node.op->name());
    FieldHasher fields(hash);
    node.op->clone()->fields(fields);
    add_outlets(node.inputs, hash);
    for (const Fact& fact : node.outputs) hash->text(fact.to_string());
    if (const Graph* body = node.op->nested()) add_graph(*body, hash);
  }
  add_outlets(graph.inputs, hash);
  add_outlets(graph.outputs, hash);
  for (const std::string& name : graph.output_names) hash->text(name);
}

}  // namespace

Fingerprint fingerprint(const Graph& graph) {
  Hasher hash;
  add_graph(graph, &hash);
  return hash.value();
}

std::string identity(const Graph& graph) {
  Hasher hash;
  for (const Node& node : graph.nodes) {
    hash.text(node.op->name());
    hash.text(node.op->attributes());
    add_outlets(node.inputs, &hash);
    for (const Fact& fact : node.outputs) {
      hash.text(fact.to_string());
      hash.number(bit_cast<uint32_t>(fact.q.scale));
      hash.number(static_cast<uint64_t>(fact.q.zero_point));
    }
  }
  add_outlets(graph.inputs, &hash);
  add_outlets(graph.outputs, &hash);
  return to_text(hash.value());
}

std::optional<Fingerprint> parse_fingerprint(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Fingerprint out{};
  for (size_t i = 0; i < 2; ++i) {
    const char* begin = text.data() + 16 * i;
    const auto [end, error] = std::from_chars(begin, begin + 16, out[i], 16);
    if (error != std::errc() || end != begin + 16) return std::nullopt;
  }
  return out;
}

}  // namespace rill
