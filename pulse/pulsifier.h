#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pulse/builder.h"
#include "pulse/ready.h"

namespace rill::pulse {

/// Translates a graph node by node, collecting every reason to refuse.
class Pulsifier {
 public:
  /// `unread`: for every node, the number of its first output frames without a reader.
  Pulsifier(const Ready& ready, const Options& options, std::vector<int64_t> unread)
      : whole_(ready.whole),
        attention_(ready.attention),
        options_(options),
        builder_(whole_, attention_, options, &pulsed_, std::move(unread)) {
    pulsed_ = empty_like(whole_);
    pulsed_.scope.declare(options.symbol);
  }

  Result<Graph> run(Report* report);
  /// Return the unit of pulses that refusals require; 1 if none did.
  int64_t unit() const { return builder_.unit(); }
  /// Return, after a run, the number of leading frames without a reader for each node; nothing if
  /// that cannot reduce a delay.
  std::optional<std::vector<int64_t>> unread() const;

 private:
  /// The inputs of a node that are known only at the end of the stream.
  struct AtEnd {
    const KnownWire* last = nullptr;  ///< the last of these inputs
    std::optional<Dim> after;
    std::string from;  ///< the operator that makes it
  };

  Status source(int id);
  void node(int id);
  Status add_pulsed(int id);
  AtEnd known_at_end(const std::vector<OutletId>& inputs);
  void still(int id, AtEnd* known);
  Result<OutletId> still_input(const Node& node, OutletId input, AtEnd* known);
  void poison(int id);
  Status check_axes(int id) const;
  std::string remedy_for_late_value(const Node& node, const Dim& known_after) const;
  Status outputs();
  void describe(Report* report);
  std::vector<Wire> wires(std::map<OutletId, int>* places);
  Streaming streaming(const Report& report);
  void leave_out_unselected(std::vector<Read>* reads) const;

  const Graph& whole_;
  const AllAttention& attention_;
  const Options& options_;
  Graph pulsed_;
  Builder builder_;
  std::vector<Status> refusals_;
  std::vector<std::pair<size_t, size_t>> made_;  ///< pulsed nodes of each node of the whole graph
};

}  // namespace rill::pulse
