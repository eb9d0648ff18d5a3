#include "cli/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "cli/exec.h"

namespace rill::cli {

CostList cost_of(const Graph& graph, const Node& node) {
  Facts in;
  for (const OutletId input : node.inputs) in.push_back(graph.fact(input));
  const Cost cost = node.op->cost(in, node.outputs);
  CostList out;
  const DType dtype = node.outputs.empty() ? DType::kF32 : node.outputs[0].dtype;
  if (!(cost.fma == Dim(0))) out.emplace_back(str_cat("FMA(", dtype_name(dtype), ")"), cost.fma);
  if (!(cost.bytes == Dim(0))) out.emplace_back("Bytes", cost.bytes);
  Dim params = 0;
  for (const Fact& fact : in) {
    if (fact.konst) params += Dim(fact.konst->volume());
  }
  if (!(params == Dim(0))) out.emplace_back(str_cat("Params(", dtype_name(dtype), ")"), params);
  return out;
}

CostList total_cost(const Notes& notes) {
  std::map<std::string, Dim> sums;
  for (const NodeNotes& node : notes.nodes) {
    for (const auto& [kind, count] : node.cost) sums[kind] += count;
  }
  return {sums.begin(), sums.end()};
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.3f} µs/i", seconds * 1e6)
                        : fmt::format("{:.3f} ms/i", seconds * 1e3);
}

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Bring the inputs of a pulsed graph to one pulse.
Result<std::vector<Tensor>> one_pulse(const Plan& plan, std::span<const Tensor> values) {
  std::vector<Tensor> out(values.begin(), values.end());
  for (size_t i = 0; i < out.size(); ++i) {
    const PlanStream& stream = plan.inputs[i].stream;
    if (stream.axis < 0) continue;
    RILL_CHECK(out[i].extent(stream.axis) >= stream.pulse, "input ", plan.inputs[i].name, " has ",
               out[i].extent(stream.axis), " frames, a pulse takes ", stream.pulse);
    RILL_ASSIGN(out[i], frames_of(out[i], stream.axis, 0, stream.pulse));
  }
  return out;
}

}  // namespace

Status profile(const Args& args, const Graph& graph, const InputValues& inputs, Notes* notes) {
  PrepareOptions options;
  options.optimize = false;
  RILL_ASSIGN(const auto plan, prepare(graph, options));
  RILL_ASSIGN(const auto session, Session::make(plan));
  RILL_ASSIGN(const std::vector<Tensor> values, one_pulse(*plan, inputs.values));
  RILL_TRY(feed(session.get(), values));
  const bool pulsed = !plan->stream_symbol.empty();

  const Clock::time_point warm = Clock::now();
  for (int64_t i = 0; i < args.warmup_loops; ++i) session->step();
  while (ms_since(warm) < static_cast<double>(args.warmup_ms)) session->step();

  const size_t count = plan->nodes.size();
  std::vector<int64_t> total(count), low(count, INT64_MAX), high(count), now(count);
  int64_t entire = 0;
  const Clock::time_point begin = Clock::now();
  do {
    if (!pulsed) session->reset();
    std::fill(now.begin(), now.end(), 0);
    const Clock::time_point start = Clock::now();
    session->step_timed([&](int node, int64_t ns) {
      if (node >= 0) now[static_cast<size_t>(node)] += ns;
    });
    entire += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
    for (size_t i = 0; i < count; ++i) {
      total[i] += now[i];
      low[i] = std::min(low[i], now[i]);
      high[i] = std::max(high[i], now[i]);
    }
    ++notes->iterations;
  } while (notes->iterations < args.max_loops &&
           ms_since(begin) < static_cast<double>(args.max_ms));

  const auto runs = static_cast<double>(notes->iterations);
  notes->profile = true;
  notes->seconds_per_run = static_cast<double>(entire) / runs * 1e-9;
  notes->nodes.resize(graph.nodes.size());
  for (size_t i = 0; i < std::min(count, graph.nodes.size()); ++i) {
    if (total[i] == 0) continue;
    notes->nodes[i].seconds = static_cast<double>(total[i]) / runs * 1e-9;
    notes->nodes[i].min_seconds = static_cast<double>(low[i]) * 1e-9;
    notes->nodes[i].max_seconds = static_cast<double>(high[i]) * 1e-9;
  }
  return {};
}

void print_cost_summary(const Notes& notes) {
  fmt::print("Cost summary\n");
  for (const auto& [kind, count] : total_cost(notes)) {
    fmt::print(" * {}: {}\n", kind, count.to_string());
  }
}

void print_profile_summary(const Graph& graph, const Notes& notes) {
  struct Sum {
    int nodes = 0;
    double seconds = 0;
  };
  std::map<std::string, Sum> by_op;
  double accounted = 0;
  for (size_t i = 0; i < notes.nodes.size(); ++i) {
    if (!notes.nodes[i].seconds) continue;
    Sum& sum = by_op[std::string(graph.nodes[i].op->name())];
    ++sum.nodes;
    sum.seconds += *notes.nodes[i].seconds;
    accounted += *notes.nodes[i].seconds;
  }
  std::vector<std::pair<std::string, Sum>> sorted(by_op.begin(), by_op.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  const double entire = notes.seconds_per_run;
  fmt::print("Most time consuming operations   CPU\n");
  for (const auto& [op, sum] : sorted) {
    fmt::print(" * {:<22} {:3} nodes: {} {:4.1f}%\n", op, sum.nodes, time_text(sum.seconds),
               entire > 0 ? sum.seconds / entire * 100 : 0.0);
  }
  fmt::print("Not accounted by ops: {}\n", time_text(std::max(0.0, entire - accounted)));
  fmt::print("Entire network performance: {}\n", time_text(entire));
}

}  // namespace rill::cli
