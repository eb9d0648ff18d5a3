#include "cli/pulses.h"

#include <algorithm>

#include "cli/say_impl.h"
#include "cli/specs.h"

namespace rill::cli {
Result<std::optional<AutoPulse>> parse_auto_pulse(std::string_view text) {
  AutoPulse out;
  if (const size_t equals = text.find('='); equals < text.find(':')) {
    out.symbol = trimmed(text.substr(0, equals));
    text = text.substr(equals + 1);
  }
  RILL_ASSIGN(const auto bounds, pulse::parse_bounds(text));
  if (!bounds) return std::optional<AutoPulse>();
  out.bounds = *bounds;
  return std::optional(std::move(out));
}

std::string pulse_picture(const std::vector<pulse::Choice>& choices, double frame_ms,
                          const std::string& title) {
  constexpr double kLeft = 80;
  constexpr double kTop = 50;
  constexpr double kWidth = 520;
  constexpr double kHeight = 280;
  const double scale = frame_ms > 0 ? frame_ms : 1;
  // Per millisecond of stream if the frame length is known, else per frame.
  const double per = frame_ms > 0 ? 1 / frame_ms : 1;
  double most_x = 0;
  double most_y = 0;
  for (const pulse::Choice& choice : choices) {
    most_x = std::max(most_x, choice.latency() * scale);
    most_y = std::max(most_y, choice.us_per_frame() * per);
  }
  most_x = most_x > 0 ? most_x : 1;
  const auto x_of = [&](double value) { return kLeft + value / most_x * kWidth; };
  const auto y_of = [&](double value) { return kTop + kHeight - value / most_y * kHeight; };
  std::string out = escaped_format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"680\" height=\"400\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"680\" height=\"400\" fill=\"white\"/>\n"
      "<text x=\"{}\" y=\"24\" font-size=\"15\">{}</text>\n"
      "<path d=\"M{} {} v{} h{}\" fill=\"none\" stroke=\"#888\"/>\n",
      kLeft, markup_text(title), kLeft, kTop, kHeight, kWidth);
  out += escaped_format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">latency, {}</text>\n"
      "<text x=\"20\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {})\">{}</text>\n",
      kLeft + kWidth / 2, kTop + kHeight + 40, frame_ms > 0 ? "ms" : "frames", kTop + kHeight / 2,
      kTop + kHeight / 2, frame_ms > 0 ? "CPU, us per ms of stream" : "CPU, us per frame");
  for (int tick = 0; tick <= 4; ++tick) {
    out += escaped_format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:.4g}</text>\n"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.4g}</text>\n",
        x_of(most_x * tick / 4), kTop + kHeight + 18, most_x * tick / 4, kLeft - 8,
        y_of(most_y * tick / 4) + 4, most_y * tick / 4);
  }
  std::string line;
  const pulse::Choice& best = pulse::best(choices);
  for (const pulse::Choice& choice : choices) {
    const double x = x_of(choice.latency() * scale);
    const double y = y_of(choice.us_per_frame() * per);
    line += escaped_format("{}{:.1f} {:.1f}", line.empty() ? "M" : " L", x, y);
    out += escaped_format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        x, y, &choice == &best ? 6 : 4, &choice == &best ? "#d0402b" : "#2b6cd0", x + 8, y - 6,
        choice.pulse);
  }
  return out + escaped_format("<path d=\"{}\" fill=\"none\" stroke=\"#2b6cd0\"/>\n</svg>\n", line);
}

}  // namespace rill::cli
