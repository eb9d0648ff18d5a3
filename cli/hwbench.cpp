#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/say_impl.h"
#include "kernels/reach/reach.h"

namespace rill::cli {
namespace {

using kernels::Level;
using kernels::Machine;
using kernels::Reach;
using kernels::ReachRow;
using kernels::TierPeak;

/// Return the share of its bound that a kernel reaches. Bounds are measured too, so it may slightly
/// exceed 1.
double part(const Reach& reach) { return reach.ns > 0 ? reach.bound_ns / reach.ns : 0; }

std::string size_text(int64_t bytes) {
  if (bytes >= 1 << 20) return escaped_format("{} MiB", bytes >> 20);
  return escaped_format("{} KiB", bytes >> 10);
}

void print_text(const Machine& machine, const std::vector<ReachRow>& rows) {
  say("multiply-adds, f32, one core\n");
  for (const TierPeak& peak : machine.peaks) {
    say("  {:<8} {:8.1f} Gflop/s\n", kernels::tier_name(peak.tier), peak.gflops);
  }
  say("reads, one core\n");
  for (const Level& level : machine.levels) {
    say("  {:<8} {:8.1f} GB/s over {}{}\n", level.name, level.gbytes, size_text(level.tried),
        level.bytes > 0 ? escaped_format(" of {}", size_text(level.bytes)) : "");
  }
  say("\n{:<14} {:<12} {:<26} {:>11} {:>9} {:>8} {:>8} {:>7}\n", "family", "shape", "kernel",
      "ns", "Gflop/s", "GB/s", "bound", "reached");
  for (const ReachRow& row : rows) {
    for (const Reach& reach : row.kernels) {
      say("{:<14} {:<12} {:<26} {:>11.1f} {:>9} {:>8.1f} {:>8} {:>5.0f} %{}\n", row.family,
          row.shape, reach.kernel, reach.ns,
          reach.gflops > 0 ? escaped_format("{:.1f}", reach.gflops) : "-", reach.gbytes,
          reach.bound, 100 * part(reach), reach.chosen ? " *" : "");
    }
  }
  say("\n* used by plans\n");
}

std::string json_text(const Machine& machine, const std::vector<ReachRow>& rows) {
  using nlohmann::json;
  json peaks = json::object();
  for (const TierPeak& peak : machine.peaks) {
    peaks[kernels::tier_name(peak.tier)] = {{"gflops", peak.gflops}};
  }
  json levels = json::array();
  for (const Level& level : machine.levels) {
    levels.push_back({{"level", level.name},
                      {"bytes", level.bytes},
                      {"read_bytes", level.tried},
                      {"gbytes_per_s", level.gbytes}});
  }
  json reached = json::array();
  for (const ReachRow& row : rows) {
    for (const Reach& reach : row.kernels) {
      json entry = {{"family", row.family},
                    {"shape", row.shape},
                    {"kernel", reach.kernel},
                    {"tier", kernels::tier_name(reach.tier)},
                    {"ns", reach.ns},
                    {"gbytes_per_s", reach.gbytes},
                    {"bound_ns", reach.bound_ns},
                    {"bound", reach.bound},
                    {"reached", part(reach)},
                    {"chosen", reach.chosen}};
      if (reach.gflops > 0) entry["gflops"] = reach.gflops;
      reached.push_back(std::move(entry));
    }
  }
  return json{{"peaks", peaks}, {"levels", levels}, {"kernels", reached}}.dump(2) + "\n";
}

constexpr double kLeft = 250;
constexpr double kWidth = 520;
constexpr double kBar = 9;

std::string bar(double y, const ReachRow& row, const Reach& reach) {
  const double length = kWidth * std::min(1.2, part(reach)) / 1.2;
  const std::string_view colour = reach.chosen ? "#0b7285" : "#adb5bd";
  return escaped_format(
      "<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\">"
      "<title>{} {}</title></rect>\n"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"9\">{} {:.0f} % of {}</text>\n",
      kLeft, y, std::max(1.0, length), kBar, colour, row.family, row.shape, kLeft + length + 5,
      y + kBar - 1, kernels::tier_name(reach.tier), 100 * part(reach), reach.bound);
}

std::string machine_line(const Machine& machine) {
  std::string line;
  for (const TierPeak& peak : machine.peaks) {
    line += escaped_format("{}{} {:.0f} Gflop/s", line.empty() ? "" : ", ",
                           kernels::tier_name(peak.tier), peak.gflops);
  }
  for (const Level& level : machine.levels) {
    line += escaped_format(", {} {:.0f} GB/s", level.name, level.gbytes);
  }
  return line;
}

/// Draw a bar per kernel with its share of the machine's limit. Chosen kernels are coloured.
std::string picture(const Machine& machine, const std::vector<ReachRow>& rows) {
  std::string bars;
  double y = 60;
  for (const ReachRow& row : rows) {
    const double top = y;
    for (const Reach& reach : row.kernels) {
      bars += bar(y, row, reach);
      y += kBar + 2;
    }
    bars += escaped_format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{} {}</text>\n",
                           kLeft - 8, (top + y) / 2 + 3, row.family, row.shape);
    y += 8;
  }
  const double full = kLeft + kWidth / 1.2;
  return escaped_format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1:.0f}\" fill=\"white\"/>\n"
      "<text x=\"16\" y=\"24\" font-size=\"15\">Kernels, compared with what the machine "
      "allows</text>\n"
      "<text x=\"16\" y=\"42\" font-size=\"10\">{2}</text>\n"
      "<path d=\"M{3:.1f} 52 V{4:.1f}\" stroke=\"#e8590c\" stroke-dasharray=\"3 3\"/>\n{5}</svg>\n",
      kLeft + kWidth + 120, y + 12, machine_line(machine), full, y, Escaped{bars});
}

Status write_picture(const std::string& path, const Machine& machine,
                     const std::vector<ReachRow>& rows) {
  std::ofstream file(path, std::ios::binary);
  file << picture(machine, rows);
  file.close();
  if (!file) return fail(Code::kIo, "cannot write ", path);
  return {};
}

Status check_choice(const std::vector<ReachRow>& rows) {
  const auto wrong = kernels::wrong_choices(rows);
  if (wrong.empty()) return {};
  std::string text;
  for (const kernels::WrongChoice& choice : wrong) {
    text += escaped_format("\n  {} {}: {} takes {:.2f} times as long as {}", choice.family,
                           choice.shape, choice.chosen, choice.ratio, choice.faster);
  }
  Status wrong_ones = fail(Code::kState, "plans take kernels that are not the fastest:");
  wrong_ones.error().message += text;
  return std::move(wrong_ones)
      .hint("Put the faster one first in kernels.inc, or make the choice depend on the shape");
}

class HwBenchCommand final : public Command {
 public:
  HwBenchCommand()
      : Command({"hwbench", kOnHwBench,
                 "measure the limits of this machine, and the share that kernels reach",
                 "rill hwbench --kernels softmax", false}) {}

  void add_options(std::vector<Option>* out) override {
    add(&report_, out);
    append_options(out, "Kernels",
                   {
                       {"--kernels", kOnHwBench, &kernels_,
                        "time only kernels whose family or shape contains this text"},
                       {"--check-choice", kOnHwBench, &check_choice_,
                        "fail if the kernel of plans is over 5 % slower than another"},
                   });
  }
  Status run(const CommonOptions&, const Log&) const override {
    const Machine machine = kernels::measure_machine();
    const auto rows = kernels::measure_reach(machine, kernels_);
    if (rows.empty()) {
      return fail(Code::kArg, "--kernels ", kernels_, ": no kernel has that in its name")
          .hint("Leave it out to see all of them");
    }
    if (report_.json) {
      put(stdout, {json_text(machine, rows)});
    } else {
      print_text(machine, rows);
    }
    if (!report_.svg.empty()) RILL_TRY(write_picture(report_.svg, machine, rows));
    return check_choice_ ? check_choice(rows) : Status();
  }

 private:
  ReportOptions report_;
  std::string kernels_;
  bool check_choice_ = false;
};

}  // namespace

std::unique_ptr<Command> hwbench_command() { return std::make_unique<HwBenchCommand>(); }

}  // namespace rill::cli
