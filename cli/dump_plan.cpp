#include "cli/dump_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/say_impl.h"
#include "core/exec/extents.h"
#include "core/exec/op_fields.h"

namespace rill::cli {
namespace {

const char* name_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::kArena:
      return "arena";
    case BufferKind::kConst:
      return "constant";
    case BufferKind::kInput:
      return "input";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kState:
      return "state";
    case BufferKind::kRing:
      return "ring";
    case BufferKind::kSlot:
      return "slot";
  }
  return "";
}

/// Describe a place: "arena +640", "input mel +0", "constant 3 +64".
std::string place_text(const Plan& plan, const Ref& ref) {
  const PlanBuffer& buffer = plan.buffers[ref.buffer];
  const auto io = static_cast<size_t>(std::max(buffer.io, 0));
  switch (buffer.kind) {
    case BufferKind::kArena:
      return escaped_format("arena +{}", buffer.offset + ref.offset);
    case BufferKind::kInput:
      return escaped_format("input {} +{}", plan.inputs[io].name.view(), ref.offset);
    case BufferKind::kOutput:
      return escaped_format("output {} +{}", plan.outputs[io].name.view(), ref.offset);
    default:
      return escaped_format("{} {} +{}", name_of(buffer.kind), ref.buffer, ref.offset);
  }
}

template <class Extents>
std::string list_text(const Extents& extents, int rank) {
  std::string out;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    out += escaped_format("{}{}", i == 0 ? "" : ",", extents[i]);
  }
  return out;
}

int64_t bytes_of(const PlacedView& operand) { return operand.volume() * dtype_size(operand.dtype); }

std::string operand_text(const Plan& plan, const PlacedView& operand) {
  std::string out = place_text(plan, operand.ref);
  const std::string type(dtype_name(operand.dtype));
  if (operand.rank == 0) return out + escaped_format(": {}", type);
  out += escaped_format(": {},{}", list_text(operand.shape, operand.rank), type);
  if (!operand.contiguous()) {
    out += escaped_format(", strides {}", list_text(operand.stride, operand.rank));
  }
  return out + escaped_format("; {} bytes", bytes_of(operand));
}

/// Prints the names and values of a step's arguments; skips arguments without a value.
class Arguments final : public StepFields {
 public:
  explicit Arguments(const Plan& plan) : plan_(plan) {}

  const std::string& text() const { return text_; }
  const std::vector<std::string>& kernels() const { return kernels_; }
  const List<Step>* body() const { return body_; }

  void field(std::string_view name, int64_t& value) override { put(name, std::to_string(value)); }
  void field(std::string_view name, double& value) override {
    put(name, escaped_format("{:.9g}", value));
  }
  void field(std::string_view name, Text& value) override {
    put(name, escaped_format("\"{}\"", value.view()));
  }
  void field(std::string_view name, Dim& value) override {
    if (value.valid()) put(name, value.to_string());
  }
  void field(std::string_view name, TensorPtr& value) override {
    if (value) put(name, Fact::of_tensor(value).without_value().to_string());
  }
  void field(std::string_view name, Extent& value) override {
    if (value.valid()) put(name, dim_of(value, plan_.stream_symbol).to_string());
  }
  void field(std::string_view name, Ref& value) override {
    put(name, "[" + place_text(plan_, value) + "]");
  }
  void field(std::string_view name, PlacedView& value) override {
    put(name, "[" + operand_text(plan_, value) + "]");
  }
  void field(std::string_view name, OpPtr& value) override {
    if (!value) return;
    const std::string attributes = value->attributes();
    put(name, std::string(value->name()) + (attributes.empty() ? "" : " " + attributes));
  }
  void field(std::string_view name, List<Step>& value) override {
    put(name, escaped_format("{} steps", value.size()));
    body_ = &value;
  }
  void kernel(std::string_view, std::span<const KernelName> names, int64_t& index) override {
    if (index >= 0) kernels_.emplace_back(names[static_cast<size_t>(index)].name);
  }
  void address(std::string_view, bool) override {}
  void begin(std::string_view name) override { open(name); }
  void begin_list(std::string_view name, int64_t&) override { open(name); }
  void end() override {
    text_ += ')';
    separate_ = true;
  }

 private:
  void open(std::string_view name) {
    put(name, "");
    text_ += '(';
    separate_ = false;
  }
  void put(std::string_view name, const std::string& value) {
    if (separate_) text_ += ", ";
    separate_ = true;
    text_ += name;
    if (!name.empty() && !value.empty()) text_ += ' ';
    text_ += value;
  }

  const Plan& plan_;
  std::string text_;
  std::vector<std::string> kernels_;
  const List<Step>* body_ = nullptr;
  bool separate_ = false;
};

/// Return the text of a step with its arguments; below it the steps of its loop.
std::string step_text(const Plan& plan, const Step& step, const std::string& number,
                      const std::string& indent) {
  Arguments arguments(plan);
  // Printing changes nothing.
  step.kind->describe(const_cast<void*>(step.args), arguments);
  std::string out = escaped_format("{}{} {}", indent, number, step.kind->name);
  if (step.node >= 0) {
    const PlanNode& node = plan.nodes[static_cast<size_t>(step.node)];
    out += escaped_format(" of {} ({})", node.name.view(), node.op.view());
  }
  if (!arguments.kernels().empty()) {
    out += escaped_format(", by {}", fmt::join(arguments.kernels(), " and "));
  }
  if (step.parts.most > 1) out += escaped_format(", in up to {} parts", step.parts.most);
  out += escaped_format("\n{}    {}\n", indent, arguments.text());
  if (!arguments.body()) return out;
  for (size_t i = 0; i < arguments.body()->size(); ++i) {
    out += step_text(plan, (*arguments.body())[i], str_cat(number, ".", i), indent + "  ");
  }
  return out;
}

std::string uses_text(const Plan& plan, const char* verb, const List<PlacedView>& operands) {
  std::string out;
  for (const PlacedView& each : operands) {
    out += escaped_format("    {} {}\n", verb, operand_text(plan, each));
  }
  return out;
}

/// Return the node whose step first writes a buffer.
std::string writer_of(const Plan& plan, size_t buffer) {
  const int step = plan.buffers[buffer].first_step;
  if (step < 0 || static_cast<size_t>(step) >= plan.steps.size()) return "";
  const int node = plan.steps[static_cast<size_t>(step)].node;
  return node < 0 ? "" : std::string(plan.nodes[static_cast<size_t>(node)].name);
}

}  // namespace

std::string plan_text(const Plan& plan) {
  int64_t read = 0;
  int64_t written = 0;
  std::string steps;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    steps += step_text(plan, plan.steps[i], std::to_string(i), "");
    steps += uses_text(plan, "reads", plan.uses[i].inputs);
    steps += uses_text(plan, "writes", plan.uses[i].outputs);
    for (const PlacedView& each : plan.uses[i].inputs) read += bytes_of(each);
    for (const PlacedView& each : plan.uses[i].outputs) written += bytes_of(each);
  }
  std::string out = escaped_format(
      "{} steps, which read {} and write {} bytes; arena {} bytes, state {}, constants {}\n",
      plan.steps.size(), read, written, plan.arena_bytes, plan.state_bytes, plan.const_bytes);
  if (plan.stream_pulse > 0) {
    out += escaped_format("a step takes {} of {}\n", plan.stream_pulse, plan.stream_symbol.view());
  }
  for (const Ring& ring : plan.rings) {
    out += escaped_format("ring {}: {} frames of history, {} new ones per step, room for {}\n",
                          ring.buffer, ring.history, ring.pulse, ring.capacity);
  }
  return out + steps;
}

std::string arena_picture(const Plan& plan, const std::string& title) {
  constexpr double kLeft = 80;
  constexpr double kTop = 50;
  constexpr double kHeight = 400;
  const auto steps = static_cast<double>(std::max<size_t>(plan.steps.size(), 1));
  const double width = std::clamp(steps * 24, 400.0, 1600.0);
  const std::string heading = escaped_format("{}: {} bytes of arena", title, plan.arena_bytes);
  const double page = std::max(kLeft + width + 30, 20 + 8.5 * static_cast<double>(heading.size()));
  const auto bytes = static_cast<double>(std::max<int64_t>(plan.arena_bytes, 1));
  std::string out = escaped_format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n"
      "<text x=\"20\" y=\"24\" font-size=\"15\">{2}</text>\n"
      "<text x=\"{3:.0f}\" y=\"{4:.0f}\" text-anchor=\"middle\">step</text>\n"
      "<path d=\"M{5} {6} v{7} h{8:.0f}\" fill=\"none\" stroke=\"#888\"/>\n",
      page, kTop + kHeight + 50, markup_text(heading), kLeft + width / 2, kTop + kHeight + 40,
      kLeft, kTop, kHeight, width);
  for (int tick = 0; tick <= 4; ++tick) {
    out += escaped_format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0f}</text>\n"
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{:.0f}</text>\n",
        kLeft + width * tick / 4, kTop + kHeight + 18, steps * tick / 4, kLeft - 8,
        kTop + kHeight - kHeight * tick / 4 + 4, bytes * tick / 4);
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    if (buffer.kind != BufferKind::kArena || buffer.first_step < 0 || buffer.bytes == 0) continue;
    const double x = kLeft + buffer.first_step / steps * width;
    const double w = (buffer.last_step - buffer.first_step + 1) / steps * width;
    const double h = static_cast<double>(buffer.bytes) / bytes * kHeight;
    const double y = kTop + kHeight - static_cast<double>(buffer.offset) / bytes * kHeight - h;
    out += escaped_format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#9ec5f0\" "
        "stroke=\"#2b6cd0\"><title>{}: {} bytes at {}, steps {} to {}</title></rect>\n",
        x, y, w, h, markup_text(writer_of(plan, i)), buffer.bytes, buffer.offset, buffer.first_step,
        buffer.last_step);
  }
  return out + "</svg>\n";
}

}  // namespace rill::cli
