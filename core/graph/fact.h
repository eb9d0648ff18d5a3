#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/given.h"
#include "core/dim/dim.h"
#include "core/tensor/tensor.h"

namespace rill {

/// The static facts of a wire: its type, its shape, and its value if it is constant.
struct Fact {
  DType dtype = DType::kF32;
  QParams q;
  std::vector<Dim> shape;
  TensorPtr konst;  ///< the value of a constant, else null

  static Fact of(DType dtype, std::vector<Dim> shape) { return {dtype, {}, std::move(shape), {}}; }
  static Fact of_tensor(const TensorPtr& tensor);

  int rank() const { return static_cast<int>(shape.size()); }
  const Dim& dim(int axis) const { return shape[static_cast<size_t>(axis)]; }
  /// Return the fact without its value.
  Fact without_value() const { return {dtype, q, shape, {}}; }
  bool same_type(const Fact& other) const {
    return dtype == other.dtype && q == other.q && shape == other.shape;
  }
  bool mentions(std::string_view symbol) const;
  /// Return the extents if all are numbers. Errors: kSymbol, naming the unbound symbols.
  Result<std::vector<int64_t>> concrete_shape() const;
  /// Print as tract does: "1,S,40,F32".
  std::string to_string() const;
};

using Facts = std::vector<Fact>;
using FactSpan = std::span<const Fact>;

/// Return the facts of an operator with one output.
Facts one_fact(Fact fact);

/// An output of a node.
struct OutletId {
  int node = -1;
  int slot = 0;
  bool operator==(const OutletId&) const = default;
  auto operator<=>(const OutletId&) const = default;
  bool valid() const { return node >= 0; }
};

using WireList = Given<OutletId>;

}  // namespace rill
