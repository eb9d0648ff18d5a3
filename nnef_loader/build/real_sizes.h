#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"

namespace rill::nnef {

struct Target;

/// Append the wires of a value.
void add_wires(const Value& value, std::vector<OutletId>* out);
/// Return a value with other wires.
Value moved(const Value& value, const std::map<OutletId, OutletId>& moves);

/// Record the numbers of a nested graph in the scope of the outer one.
void add_taken(const SymbolScope& nested, SymbolScope* outer);

/// A finished call of an operator.
struct SizesCall {
  std::span<const OutletId> wires;    ///< of the arguments
  std::span<const OutletId> outlets;  ///< of the results
  std::string_view node;
  std::string_view op;
  /// Repeat the call in another graph, with other wires in place of those of the arguments.
  std::function<Result<Value>(Target* beside, const std::map<OutletId, OutletId>& moves)> again;
};

/// The real sizes of a graph under construction, at every value of its symbols. For streams, the
/// graph counts the frames of `x[3:]` as S-3, and those of joined wires as a sum; but an empty
/// slice has 0 frames, not fewer. A number that the loader computes from
/// such a length has a real value next to the counted one. Where a node reads the number, the scope
/// records both, and sizes at which they differ are refused.
class RealSizes {
 public:
  /// Return the fact of a wire with real extents, or with its real value if it is a known number.
  Fact fact(Graph* graph, OutletId wire);
  /// Return whether that fact may differ from the graph's.
  bool differs(Graph* graph, OutletId wire);
  /// Set the real values of results that are numbers. For other results, record the numbers that
  /// the call reads. If `again` is null, record them for every result. Return constants that
  /// replace results whose counted values are wrong at all sizes.
  std::map<OutletId, OutletId> follow(Target* target, const SizesCall& call);
  /// Set the real value of a known wire, unless it equals the counted one.
  void set_value(const Graph& graph, OutletId wire, const TensorPtr& real);
  /// Return the real value of a known wire if it differs from the counted one; else null.
  TensorPtr value(OutletId wire) const;
  /// Note that the file computes a number in 32 bits. Dims do not wrap.
  void set_32_bits(OutletId wire) { of_32_bits_.insert(wire); }
  bool is_of_32_bits(OutletId wire) const { return of_32_bits_.contains(wire); }
  /// Use 0 for negative extents of an input of a nested graph.
  void clamp(Graph* graph, OutletId input);
  /// A node that reads numbers.
  struct Reader {
    std::string_view node;
    std::string_view op;
  };
  /// Record the numbers of a known wire, or that at `place`, as read by a node; or the extents of a
  /// wire that is not known.
  void take(Graph* graph, OutletId wire, const Reader& reader, std::optional<int64_t> place = {});

 private:
  using FactsPtr = std::unique_ptr<const Facts>;

  std::optional<Tensor> corrected(const Graph& graph, OutletId wire) const;
  /// Which extents wires have in a repeated call.
  enum class Sizes : uint8_t { kCounted, kReal };
  static Result<std::vector<OutletId>> repeat(Target* target, const SizesCall& call, Sizes sizes,
                                              Target* beside);
  bool follow_places(Target* target, const SizesCall& call);
  bool follow_ends(Target* target, const SizesCall& call);
  void follow_cuts(Target* target, const SizesCall& call);
  static Result<std::vector<TensorPtr>> real_results(Target* target, const SizesCall& call);
  void follow_up_to(Graph* graph, int node);
  FactsPtr real_facts(Graph* graph, const Node& node);
  bool clamp_to(const Node& node, Facts* facts);
  static FactsPtr as_made(const Node& node, Facts facts);
  bool counts_right(const Graph& graph, const Node& node);
  bool is_length(const Dim& dim);
  Dim at_least_0(const Dim& counted);
  Dim real_extent(const Dim& inferred, const Dim& counted);
  Dim clamped_extent(const Dim& inferred, const Dim& counted);
  Dim shorter(const Dim& real, const Dim& counted);
  void take_number(Graph* graph, const Dim& counted, const Dim& real, const Reader& reader);
  void take_extents(Graph* graph, const Reader& reader);
  bool presumes(const SymbolScope& scope);
  void refresh(const SymbolScope& scope);
  void forget();

  std::vector<FactsPtr> made_;  ///< by node; null where the graph counts right
  std::map<OutletId, TensorPtr> values_;
  std::set<OutletId> of_32_bits_;
  std::map<std::pair<std::string, std::string>, Dim> short_;  ///< by real and counted extent
  /// Results of `clamped_extent` in `scope_`, by its arguments.
  std::map<std::pair<std::string, std::string>, Dim> clamped_;
  std::map<std::string, bool> lengths_;  ///< results of `is_length` in `scope_`
  std::map<std::string, Dim> from_0_;    ///< results of `at_least_0` in `scope_`
  std::vector<Dim> presumed_;  ///< extents of the graph's scope that may be negative
  size_t extents_ = 0;         ///< of the graph's scope, of which `presumed_` holds some
  SymbolScope scope_;          ///< only assumptions that some check ensures
  size_t assertions_ = 0;      ///< of the graph's scope when `scope_` was made
  std::vector<Dim> ensured_;   ///< lengths that are at least 0 wherever the graph is used
};

}  // namespace rill::nnef
