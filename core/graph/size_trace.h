#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// A size that is computed in floats, kept as the exact ratio `number / divisor`, with a positive
/// divisor. Float evaluation agrees with it for sizes below 2^24, less some bits for factors or
/// divisors such as 3 and 5: rounding to integers is then exact, even for halves.
struct SizeRatio {
  Dim number;
  int64_t divisor = 1;

  bool is_whole() const { return divisor == 1; }
  /// Return whether floats represent it without rounding.
  bool is_binary() const { return (divisor & (divisor - 1)) == 0; }
};

/// The maximum divisor: products of divisors stay far from overflow. Models divide sizes by strides
/// and rates.
constexpr int64_t kMostDivisor = int64_t{1} << 20;

/// Make a size; nothing if the dim is out of range, or the divisor is below 1 or too large.
std::optional<SizeRatio> size_of(const Dim& number, int64_t divisor = 1);
std::optional<SizeRatio> size_of(const std::optional<Dim>& number);

/// A node on the path from a wire upstream to the dims that determine its element, as `Op::size`
/// sees it.
class SizeTrace {
 public:
  /// Trace a wire with one element upstream; nothing if it depends on more than the symbols.
  /// `divisors` collects symbolic divisors of sizes; may be null. `place`: the index of the element
  /// in a list, or a symbol for any index; null if wires have one element each.
  static std::optional<SizeRatio> follow(const Graph& graph, OutletId outlet,
                                         std::vector<Dim>* divisors, const Dim* place = nullptr);

  const SymbolScope& scope() const { return graph_.scope; }
  DType in_type(int i) const { return graph_.fact(input(i)).dtype; }
  DType out_type() const { return node_.outputs[0].dtype; }
  /// Return the index of the element in a list; null if wires have one element each.
  const Dim* place() const { return path_.place; }
  int inputs() const { return static_cast<int>(node_.inputs.size()); }
  const Fact& in_fact(int i) const { return graph_.fact(input(i)); }
  /// Trace input i, whose element has the index of the output's element, or is its only element.
  std::optional<SizeRatio> in(int i) const;
  /// Trace the element of input i at another index.
  std::optional<SizeRatio> in(int i, const Dim& place) const;
  /// Record that a size is divided by `by`.
  void divides(const Dim& by) const;

 private:
  /// The context of nodes on one path.
  struct Path {
    std::vector<Dim>* divisors;
    const Dim* place;
    int left;  ///< remaining visits of nodes, including repeated ones
  };
  SizeTrace(const Graph& graph, const Node& node, int depth, Path* path)
      : graph_(graph), node_(node), depth_(depth), path_(*path) {}
  static std::optional<SizeRatio> follow(const Graph& graph, OutletId outlet, int depth,
                                         Path* path);
  OutletId input(int i) const { return node_.inputs[static_cast<size_t>(i)]; }

  const Graph& graph_;
  const Node& node_;
  int depth_;  ///< remaining depth of the trace
  Path& path_;
};

}  // namespace rill
