#include "pulse/attention/rates.h"

#include <numeric>
#include <utility>

#include "core/dim/quotient.h"
#include "core/graph/graph_copy.h"
#include "ops/array/range.h"
#include "ops/math/binary.h"

namespace rill::pulse {
namespace {

class Clocked final : public GraphCopy {
 public:
  Clocked(const Graph& body, const std::map<int, SlowRange>& slower)
      : GraphCopy(body), slower_(slower) {}

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    const auto found = slower_.find(id);
    if (found != slower_.end()) return count(node, found->second, &mapped_[{id, 0}]);
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
    return append(id, node.op, inputs);
  }

  Status count(const Node& node, const SlowRange& range, OutletId* out) {
    auto all = draft_op<ops::Range>(Dim(0), node.outputs[0].dim(0), 1);
    RILL_ASSIGN(const auto counted, out_.add(node.name, std::move(all), {}, node.line));
    *out = counted[0];
    RILL_ASSIGN(const int64_t start, range.start.as_int());
    const std::pair<ops::BinaryKind, int64_t> steps[] = {{ops::BinaryKind::kDiv, range.places},
                                                         {ops::BinaryKind::kMul, range.step},
                                                         {ops::BinaryKind::kAdd, start}};
    for (const auto& [kind, number] : steps) {
      RILL_ASSIGN(Tensor one, Tensor::of<int64_t>(DType::kI64, {1}, std::vector{number}));
      const OutletId other =
          out_.add_const(node.name, std::make_shared<const Tensor>(std::move(one)), node.line);
      RILL_ASSIGN(const auto next,
                  out_.add(node.name, make_op<ops::Binary>(kind), {*out, other}, node.line));
      *out = next[0];
    }
    return {};
  }

  const std::map<int, SlowRange>& slower_;
};

}  // namespace

Result<OnOneClock> on_one_clock(Graph body, const std::vector<OutletId>& large, OutletId used,
                                const std::map<int, SlowRange>& slower) {
  body.outputs = large;
  body.outputs.push_back(used);
  OnOneClock out;
  RILL_ASSIGN(out.body, Clocked(body, slower).run());
  out.large = out.body.outputs;
  out.used = out.large.back();
  out.large.pop_back();
  return out;
}

Band band_by_queries(const Band& clocked, const Rates& rates) {
  Band out = clocked;
  const int64_t places = std::lcm(clocked.period, rates.key);
  out.period = places / std::gcd(places, rates.query);
  out.first.clear();
  out.last.clear();
  for (int64_t query = 0; query < out.period; ++query) {
    const int64_t place = query * rates.query;
    const auto phase = static_cast<size_t>(place % clocked.period);
    const auto relative = [&](int64_t key) {
      if (key == INT64_MIN || key == INT64_MAX) return key;
      return floored_quotient(place + key, rates.key) - place / rates.key;
    };
    out.first.push_back(relative(clocked.first[phase]));
    out.last.push_back(relative(clocked.last[phase]));
  }
  out.last_sink.clear();
  for (int64_t place = 0; place < clocked.sinks; place += rates.query) {
    const int64_t last = clocked.last_sink[static_cast<size_t>(place)];
    out.last_sink.push_back(last < 0 ? last : last / rates.key);
  }
  out.sinks = (clocked.sinks + rates.key - 1) / rates.key;
  return out;
}

}  // namespace rill::pulse
