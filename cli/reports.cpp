#include "cli/reports.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/say_impl.h"
#include "cli/specs.h"

namespace rill::cli {
namespace {

constexpr size_t kProfileWidth = 20;
constexpr size_t kCostWidth = 25;
constexpr size_t kRateWidth = 20;
constexpr size_t kMemoryWidth = 15;
constexpr size_t kSymbolicMemoryWidth = 30;

std::string prefixed(double value, const char* unit, double step, const char* mark) {
  for (const auto& [power, prefix] : {std::pair{3, "G"}, {2, "M"}, {1, "k"}}) {
    double size = 1;
    for (int i = 0; i < power; ++i) size *= step;
    if (value > size) return escaped_format("{:7.3f} {}{}{}", value / size, prefix, mark, unit);
  }
  return escaped_format("{:7.3f}  {}", value, unit);
}

/// Return the largest number of live bytes; nothing while symbols are free.
std::optional<int64_t> peak(const Notes& notes) {
  int64_t out = 0;
  for (const NodeNotes& node : notes.nodes) {
    if (!node.live_bytes) continue;
    const auto bytes = node.live_bytes->to_int();
    if (!bytes) return std::nullopt;
    out = std::max(out, *bytes);
  }
  return out;
}

size_t memory_width(const Notes& notes) {
  if (!notes.memory) return 0;
  return peak(notes) ? kMemoryWidth : kSymbolicMemoryWidth;
}

double accounted(const Graph& graph, const Notes& notes) {
  double sum = 0;
  for_each_note(graph, notes, [&](std::span<const int>, const Graph&, int, const NodeNotes& node) {
    sum += node.seconds.value_or(0);
  });
  return sum;
}

std::string share_text(double seconds, double entire) {
  return escaped_format("{} {:4.1f}%", time_text(seconds),
                        entire > 0 ? seconds / entire * 100 : 0.0);
}

/// Pad by characters, because some take two bytes.
std::string padded(const std::string& text, size_t width) {
  size_t length = 0;
  for (const char c : text) length += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return length < width ? text + std::string(width - length, ' ') : text;
}

}  // namespace

std::string time_text(double seconds) {
  return seconds < 1e-3 ? escaped_format("{:.3f} µs/i", seconds * 1e6)
                        : escaped_format("{:.3f} ms/i", seconds * 1e3);
}

size_t margin_width(const Notes& notes) {
  return (notes.profile ? kProfileWidth : 0) + (notes.cost ? kCostWidth : 0) +
         (notes.profile && notes.cost ? kRateWidth : 0) + memory_width(notes);
}

std::vector<std::string> margin_lines(const Notes& notes, const NodeNotes& node) {
  const size_t count = std::max<size_t>(1, node.cost.size());
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    std::string line;
    if (notes.profile) {
      std::string text;
      if (i == 0 && node.seconds) {
        const double share =
            notes.seconds_per_run > 0 ? *node.seconds / notes.seconds_per_run * 100 : 0;
        const bool micro = notes.seconds_per_run < 1e-3;
        text = escaped_format("{:7.3f} {}s/i {:4.1f}%  ", *node.seconds * (micro ? 1e6 : 1e3),
                              micro ? "µ" : "m", share);
      }
      line += padded(text, kProfileWidth);
    }
    const bool has_cost = i < node.cost.size();
    if (notes.cost) {
      std::string text;
      if (has_cost) {
        const std::string value = node.cost[i].second.to_string();
        const size_t width = value.size() + node.cost[i].first.size();
        text = node.cost[i].first + std::string(width < 24 ? 24 - width : 1, ' ') + value + " ";
      }
      line += padded(text, kCostWidth);
    }
    if (notes.profile && notes.cost) {
      std::string text;
      const auto number = has_cost ? node.cost[i].second.to_int() : std::nullopt;
      if (number && node.seconds && *node.seconds > 0 && node.cost[i].first.starts_with("FMA")) {
        const double rate = static_cast<double>(*number) / *node.seconds;
        text = escaped_format("{:>19} ", prefixed(rate, "F/s", 1000, ""));
      }
      line += padded(text, kRateWidth);
    }
    if (notes.memory) {
      std::string text;
      if (i == 0 && node.live_bytes) {
        const auto bytes = node.live_bytes->to_int();
        text = bytes ? prefixed(static_cast<double>(*bytes), "B", 1024, "i")
                     : node.live_bytes->to_string() + " B";
        text = escaped_format("{:>{}} ", text, memory_width(notes) - 1);
      }
      line += padded(text, memory_width(notes));
    }
    out.push_back(std::move(line));
  }
  return out;
}

void print_memory_summary(const Notes& notes) {
  const auto bytes = peak(notes);
  if (!bytes) return;
  say("Memory summary\n * Peak flushable memory: {}\n",
      prefixed(static_cast<double>(*bytes), "B", 1024, "i"));
}

void print_cost_summary(const Graph& graph, const Notes& notes) {
  say("Cost summary\n");
  for (const auto& [kind, count] : total_cost(graph, notes)) {
    say(" * {}: {}\n", kind, count.to_string());
  }
}

namespace {

void print_by_operator(const Graph& graph, const Notes& notes) {
  struct Sum {
    int nodes = 0;
    double seconds = 0;
  };
  std::map<std::string, Sum> by_op;
  for_each_note(graph, notes,
                [&](std::span<const int>, const Graph& inner, int id, const NodeNotes& node) {
                  if (!node.seconds) return;
                  Sum& sum = by_op[std::string(inner.node(id).op->name())];
                  ++sum.nodes;
                  sum.seconds += *node.seconds;
                });
  std::vector<std::pair<std::string, Sum>> sorted(by_op.begin(), by_op.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  say("Most time consuming operations   CPU\n");
  for (const auto& [op, sum] : sorted) {
    say(" * {:<22} {:3} nodes: {}\n", op, sum.nodes,
        share_text(sum.seconds, notes.seconds_per_run));
  }
}

/// Print totals by the name prefix up to each dot, without those under one percent.
void print_by_prefix(const Graph& graph, const Notes& notes) {
  constexpr double kLeast = 0.01;
  std::map<std::string, double> sums;
  for_each_note(
      graph, notes, [&](std::span<const int>, const Graph& inner, int id, const NodeNotes& node) {
        const std::string& name = inner.node(id).name;
        for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
          if (dot > 0) sums[name.substr(0, dot)] += node.seconds.value_or(0);
        }
      });
  std::erase_if(sums, [&](const auto& sum) { return sum.second < kLeast * notes.seconds_per_run; });
  if (sums.empty()) return;
  say("By prefix\n");
  for (const auto& [prefix, seconds] : sums) {
    const auto dots = static_cast<size_t>(std::count(prefix.begin(), prefix.end(), '.'));
    say("{}    {}{}\n", share_text(seconds, notes.seconds_per_run),
        std::string(3 * dots, ' '), prefix);
  }
}

}  // namespace

void print_profile_summary(const Graph& graph, const Notes& notes) {
  print_by_operator(graph, notes);
  print_by_prefix(graph, notes);
  const double entire = notes.seconds_per_run;
  const double rest = std::max(0.0, entire - accounted(graph, notes));
  say("Not accounted by ops: {}\n", share_text(rest, entire));
  say("Entire network performance: {}\n", time_text(entire));
}

Status check_cost(const std::string& wanted, const Graph& graph, const Notes& notes) {
  std::map<std::string, Dim> expected;
  for (const std::string& piece : split(wanted, ',')) {
    const size_t equals = piece.find('=');
    const auto count =
        parse_number(equals == std::string::npos ? "" : std::string_view(piece).substr(equals + 1));
    if (!count.ok()) {
      return fail(Code::kArg, "--assert-cost ", wanted, ": expected KIND=NUMBER, found \"", piece,
                  "\"");
    }
    expected[piece.substr(0, equals)] = Dim(static_cast<int64_t>(*count));
  }
  std::map<std::string, Dim> found;
  for (const auto& [kind, count] : total_cost(graph, notes)) {
    if (kind != "Bytes") found[kind] = count;
  }
  if (expected == found) return {};
  const auto text = [](const std::map<std::string, Dim>& costs) {
    std::string out;
    for (const auto& [kind, count] : costs) {
      out += str_cat(out.empty() ? "" : ", ", kind, ": ", count);
    }
    return out;
  };
  return fail(Code::kState, "Cost assertion not met: expected {", text(expected), "} got {",
              text(found), "}");
}

}  // namespace rill::cli
