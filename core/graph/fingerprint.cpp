#include "core/graph/fingerprint.h"

#include <array>
#include <charconv>
#include <cstring>

#include "core/base/bits.h"

namespace rill {
namespace {

/// The finaliser of MurmurHash3: every bit of the input reaches every bit of the result.
uint64_t mixed(uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDu;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53u;
  return x ^ (x >> 33);
}

/// Words in four chains that do not wait for each other, as weights are many.
class Lanes {
 public:
  void words(const unsigned char* at) RILL_NONBLOCKING {
    for (size_t i = 0; i < kLanes; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, at + i * sizeof word, sizeof word);
      lane_[i] = rotate_left(lane_[i] + word * 0xC2B2AE3D27D4EB4Fu, 31) * 0x9E3779B185EBCA87u;
    }
  }
  void add_to(Hasher* hash) const RILL_NONBLOCKING {
    for (const uint64_t lane : lane_) hash->number(lane);
  }
  static constexpr size_t kLanes = 4;
  static constexpr size_t kBytes = kLanes * sizeof(uint64_t);

 private:
  std::array<uint64_t, kLanes> lane_{1, 2, 3, 4};
};

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

void add_graph(const Graph& graph, Hasher* hash) {
  const auto add_outlets = [&](const std::vector<OutletId>& outlets) {
    hash->number(outlets.size());
    for (const OutletId& outlet : outlets) {
      hash->number(static_cast<uint64_t>(outlet.node));
      hash->number(static_cast<uint64_t>(outlet.slot));
    }
  };
  hash->number(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    hash->text(node.name);
    hash->text(node.op->name());
    FieldHasher fields(hash);
    node.op->clone()->fields(fields);
    add_outlets(node.inputs);
    for (const Fact& fact : node.outputs) hash->text(fact.to_string());
    if (const Graph* body = node.op->nested()) add_graph(*body, hash);
  }
  add_outlets(graph.inputs);
  add_outlets(graph.outputs);
  for (const std::string& name : graph.output_names) hash->text(name);
}

}  // namespace

void Hasher::number(uint64_t value) {
  a_ = mixed(a_ ^ value) + 0x9E3779B97F4A7C15u;
  b_ = rotate_left(b_, 29) * 0x9FB21C651E98DF25u ^ mixed(value + b_);
}

void Hasher::bytes(const void* data, size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  if (size >= Lanes::kBytes) {
    Lanes lanes;
    for (; size >= Lanes::kBytes; size -= Lanes::kBytes, at += Lanes::kBytes) lanes.words(at);
    lanes.add_to(this);
  }
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    number(word);
  }
  if (size == 0) return;
  uint64_t word = 0;
  std::memcpy(&word, at, size);
  number(word);
}

Fingerprint Hasher::value() const { return {mixed(a_), mixed(b_ ^ a_)}; }

Fingerprint fingerprint(const Graph& graph) {
  Hasher hash;
  add_graph(graph, &hash);
  return hash.value();
}

std::string to_text(const Fingerprint& fingerprint) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint64_t half : fingerprint) {
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[half >> shift & 15];
  }
  return out;
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
