// Lists as constants.

#include <algorithm>
#include <cstring>

#include "core/base/search.h"
#include "nnef_loader/build/values.h"

namespace rill::nnef {
namespace {

// Larger stacks of constants become a `concat`, which takes memory only if it runs.
constexpr int64_t kMaxStackedElements = int64_t{1} << 22;

/// Nested lists as a flat list of leaves with a shape.
struct Leaves {
  std::vector<int64_t> shape;
  std::vector<const Value*> items;
};

Status collect(const Value& value, size_t level, Leaves* leaves) {
  const List* list = value.get<List>();
  if (!list) {
    if (level != leaves->shape.size()) {
      return fail(Code::kShape, "the lists in a list are not all of one length");
    }
    leaves->items.push_back(&value);
    return {};
  }
  if (level >= leaves->shape.size()) {
    if (!leaves->items.empty()) {
      return fail(Code::kShape, "the lists in a list are not all of one length");
    }
    if (level >= kMaxRank) return fail(Code::kShape, "a list may have at most 8 levels");
    leaves->shape.push_back(static_cast<int64_t>(list->size()));
  }
  if (leaves->shape[level] != static_cast<int64_t>(list->size())) {
    return fail(Code::kShape, "the lists in a list are not all of one length");
  }
  for (const Value& item : *list) RILL_TRY(collect(item, level + 1, leaves));
  return {};
}

/// The kinds of values of the leaves.
struct Kinds {
  bool integer = false;
  bool symbolic = false;
  bool scalar = false;
  bool truth = false;
  bool text = false;
  bool computed = false;  ///< a wire is not constant, or constants are too large to stack
  std::vector<DType> wires;
};

Kinds kinds_of(const Leaves& leaves, const Graph& graph) {
  Kinds kinds;
  int64_t elements = 0;
  for (const Value* leaf : leaves.items) {
    if (const Dim* dim = leaf->get<Dim>()) {
      (dim->is_const() ? kinds.integer : kinds.symbolic) = true;
    } else if (leaf->get<float>()) {
      kinds.scalar = true;
    } else if (leaf->get<bool>()) {
      kinds.truth = true;
    } else if (leaf->get<std::string>()) {
      kinds.text = true;
    } else if (const OutletId* wire = leaf->get<OutletId>()) {
      const TensorPtr& tensor = graph.fact(*wire).konst;
      if (!tensor || tensor->block_format() != BlockFormat::kNone) {
        kinds.computed = true;
        continue;
      }
      elements += std::min(tensor->volume(), kMaxStackedElements + 1);
      if (elements > kMaxStackedElements) kinds.computed = true;
      if (!contains(kinds.wires, tensor->dtype())) {
        kinds.wires.push_back(tensor->dtype());
      }
    }
  }
  return kinds;
}

/// Return the element type that holds all leaves without loss, or the closest one.
Result<DType> common_type(const Kinds& kinds) {
  const bool any = !kinds.wires.empty();
  const auto has = [&](DType t) { return contains(kinds.wires, t); };
  const bool number = kinds.integer || kinds.symbolic || kinds.scalar;
  const bool text = kinds.text || has(DType::kString);
  const bool truth = kinds.truth || has(DType::kBool);
  const bool wire_number =
      any_of(kinds.wires, [](DType t) { return t != DType::kString && t != DType::kBool; });
  if (int{text} + int{truth} + int{number || wire_number} > 1) {
    return fail(Code::kDType, "a list mixes numbers, truth values and strings");
  }
  if (text) return DType::kString;
  if (truth) return DType::kBool;
  const bool wire_float = any_of(kinds.wires, is_float);
  if (kinds.symbolic || has(DType::kDim)) {
    if (!kinds.scalar && !wire_float) return DType::kDim;
    return fail(Code::kDType, "No super type for F32 and TDim");
  }
  if (kinds.scalar && !wire_float) return DType::kF32;
  if (!any) return kinds.integer ? DType::kI64 : DType::kF32;
  if (kinds.wires.size() == 1) return kinds.wires[0];
  return wire_float ? DType::kF32 : DType::kI64;
}

Result<Tensor> leaf_tensor(const Value& leaf, DType dtype, const Graph& graph) {
  if (const OutletId* wire = leaf.get<OutletId>()) {
    const Tensor& tensor = *graph.fact(*wire).konst;
    return tensor.dtype() == dtype ? Result<Tensor>(tensor) : cast(tensor, dtype);
  }
  Tensor out;
  if (const Dim* dim = leaf.get<Dim>()) out = Tensor::scalar(*dim);
  if (const float* scalar = leaf.get<float>()) out = Tensor::scalar(*scalar);
  if (const bool* truth = leaf.get<bool>()) out = Tensor::scalar(*truth);
  if (const std::string* text = leaf.get<std::string>()) out = Tensor::scalar(*text);
  return out.dtype() == dtype ? Result<Tensor>(std::move(out)) : cast(out, dtype);
}

void put(const Tensor& from, int64_t at, Tensor* to) {
  if (from.dtype() == DType::kDim) {
    std::copy_n(from.data<Dim>(), from.volume(), to->mutable_data<Dim>() + at);
  } else if (from.dtype() == DType::kString) {
    std::copy_n(from.data<std::string>(), from.volume(), to->mutable_data<std::string>() + at);
  } else if (from.volume() > 0) {
    const int64_t size = dtype_size(from.dtype());
    std::memcpy(to->mutable_data<std::byte>() + at * size, from.raw(),
                static_cast<size_t>(from.volume() * size));
  }
}

Result<Tensor> stack(const Leaves& leaves, DType dtype, const Graph& graph) {
  std::vector<int64_t> shape = leaves.shape;
  Tensor out;
  QParams q;
  int64_t at = 0;
  for (size_t i = 0; i < leaves.items.size(); ++i) {
    RILL_ASSIGN(const Tensor leaf, leaf_tensor(*leaves.items[i], dtype, graph));
    if (i == 0) {
      q = leaf.qparams();
      shape.insert(shape.end(), leaf.shape().begin(), leaf.shape().end());
      RILL_ASSIGN(out, Tensor::zeros(dtype, shape, q));
    }
    const bool fits =
        std::equal(leaf.shape().begin(), leaf.shape().end(),
                   shape.begin() + static_cast<ptrdiff_t>(leaves.shape.size()), shape.end());
    if (!fits || !(leaf.qparams() == q)) {
      return fail(Code::kShape, "the constants in a list are not all of one shape");
    }
    put(leaf, at, &out);
    at += leaf.volume();
  }
  return out;
}

}  // namespace

Result<std::optional<Tensor>> constant_of(const Value& value, const Graph& graph) {
  const OutletId* wire = value.get<OutletId>();
  if (wire && graph.fact(*wire).konst) return std::optional<Tensor>(*graph.fact(*wire).konst);
  if (const Dim* dim = value.get<Dim>()) return std::optional<Tensor>(Tensor::scalar(*dim));
  if (std::holds_alternative<std::monostate>(value.v)) {
    return fail(Code::kDType, "expected a value, found nothing");
  }
  Leaves leaves;
  RILL_TRY(collect(value, 0, &leaves));
  const Kinds kinds = kinds_of(leaves, graph);
  if (kinds.computed) return std::optional<Tensor>();
  RILL_ASSIGN(const DType dtype, common_type(kinds));
  if (leaves.items.empty()) {
    RILL_ASSIGN(Tensor empty, Tensor::zeros(DType::kF32, leaves.shape));
    return std::optional<Tensor>(std::move(empty));
  }
  RILL_ASSIGN(Tensor stacked, stack(leaves, dtype, graph));
  return std::optional<Tensor>(std::move(stacked));
}

}  // namespace rill::nnef
