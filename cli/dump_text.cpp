#include "cli/dump_text.h"

#include <algorithm>
#include <map>

#include "cli/bundle.h"
#include "cli/op_counts.h"
#include "cli/reports.h"
#include "cli/say_impl.h"
#include "cli/specs.h"
#include "nnef_loader/properties.h"

namespace rill::cli {
namespace {

/// White digits for inputs, black ones for outputs.
std::string circled(size_t index, bool output) {
  static constexpr const char* kInputs[] = {"⓪", "①", "②", "③", "④", "⑤", "⑥", "⑦", "⑧", "⑨", "⑩"};
  static constexpr const char* kOutputs[] = {"⓿", "❶", "❷", "❸", "❹", "❺", "❻", "❼", "❽", "❾", "❿"};
  if (index > 10) return output ? "●" : "○";
  return output ? kOutputs[index] : kInputs[index];
}

/// The columns of wires at the left of a drawing.
class Columns {
 public:
  std::vector<OutletId> slots;  ///< invalid where free

  bool free(size_t at) const { return at >= slots.size() || !slots[at].valid(); }
  void trim() {
    while (!slots.empty() && !slots.back().valid()) slots.pop_back();
  }
  size_t find(OutletId outlet) const {
    return static_cast<size_t>(std::find(slots.begin(), slots.end(), outlet) - slots.begin());
  }
  void put(size_t at, OutletId outlet) {
    if (slots.size() <= at) slots.resize(at + 1);
    slots[at] = outlet;
  }
  /// Return the first of `width` adjacent free columns.
  size_t room(size_t width) const {
    for (size_t at = 0;; ++at) {
      size_t n = 0;
      while (n < width && free(at + n)) ++n;
      if (n == width) return at;
    }
  }
  std::vector<std::string> glyphs() const {
    std::vector<std::string> out;
    for (const OutletId slot : slots) out.emplace_back(slot.valid() ? "┃" : " ");
    return out;
  }
};

/// Return the attributes, except for graphs, which are drawn, and values that the fact shows.
std::string shown_attributes(const Op& op) {
  if (op.as<Source>() || op.as<Const>()) return "";
  std::string out;
  for (const std::string& word : split(op.attributes(), ' ')) {
    if (word.empty() || word.starts_with("body=")) continue;
    out += str_cat(out.empty() ? "" : " ", word);
  }
  return out;
}

std::string joined(const std::vector<std::string>& glyphs) {
  std::string out;
  for (const std::string& glyph : glyphs) out += glyph;
  return out;
}

/// State shared by all parts of a drawing.
struct Canvas {
  const ViewOptions& view;
  const Notes& notes;
  const AxisNames& axes;
  bool colors;
  std::string out;
  std::vector<std::string> margin;  ///< of the node that is drawn: lines not written yet

  /// Write a line, with the next line of the margin.
  void line(const std::string& text) {
    std::string left;
    if (!margin.empty()) {
      left = margin.front();
      margin.erase(margin.begin());
    }
    const size_t width = margin_width(notes);
    if (left.empty()) left.assign(width, ' ');
    out += left + text;
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
};

class Drawing {
 public:
  Drawing(const Graph& graph, std::vector<int> scope, const std::vector<NodeNotes>& notes,
          std::string prefix, Canvas* canvas)
      : graph_(graph),
        scope_(std::move(scope)),
        notes_(notes),
        view_(canvas->view),
        prefix_(std::move(prefix)),
        canvas_(*canvas) {}

  void draw();

 private:
  void node(int id);
  bool chosen(int id) const;
  size_t place(const Node& node, std::span<const OutletId> wires, size_t width);
  void route(size_t from, size_t to, bool stays);
  void node_line(int id, size_t at, size_t inputs, size_t outputs);
  void details(int id);
  void long_facts(int id, const std::string& left);
  void facts(int id);
  void body(int id);
  void line(const std::string& text) {
    if (drawn_) canvas_.line(prefix_ + text);
  }
  std::string styled(const char* code, std::string_view text) const {
    return canvas_.colors ? escaped_format("\x1b[{}m{}\x1b[0m", code, text) : printable(text);
  }
  bool shown(OutletId outlet) const {
    return view_.consts || !graph_.node(outlet.node).op->as<Const>();
  }
  int& uses(OutletId outlet) {
    return uses_[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
  }
  std::string wires() const { return view_.natural_order ? "" : joined(columns_.glyphs()); }

  const Graph& graph_;
  std::vector<int> scope_;  ///< the enclosing loops
  const std::vector<NodeNotes>& notes_;
  const ViewOptions& view_;
  std::string prefix_;
  Canvas& canvas_;
  bool drawn_ = true;  ///< whether the current node was requested
  Columns columns_;
  std::vector<std::vector<int>> uses_;
  std::map<OutletId, std::vector<size_t>> model_outputs_;
};

/// Return the path of a node: "3", or "3/0/5" in the bodies of loops.
std::string path_text(std::span<const int> scope, int id) {
  std::string out;
  for (const int loop : scope) out += str_cat(loop, "/");
  return out + std::to_string(id);
}

bool Drawing::chosen(int id) const {
  const Node& node = graph_.node(id);
  if (!view_.node_id.empty() || !view_.successors.empty()) {
    if (path_text(scope_, id) == view_.node_id) return true;
    return !view_.successors.empty() &&
           std::any_of(node.inputs.begin(), node.inputs.end(), [&](OutletId input) {
             return path_text(scope_, input.node) == view_.successors;
           });
  }
  if (!view_.node_name.empty()) return node.name.starts_with(view_.node_name);
  if (!view_.op_name.empty()) return node.op->name().starts_with(view_.op_name);
  return true;
}

void Drawing::route(size_t from, size_t to, bool stays) {
  std::vector<std::string> glyphs = columns_.glyphs();
  if (glyphs.size() <= std::max(from, to)) glyphs.resize(std::max(from, to) + 1, " ");
  for (size_t i = std::min(from, to) + 1; i < std::max(from, to); ++i) {
    glyphs[i] = columns_.free(i) ? "━" : "╋";
  }
  glyphs[from] = from < to ? (stays ? "┣" : "┗") : (stays ? "┫" : "┛");
  glyphs[to] = from < to ? "┓" : "┏";
  if (!view_.natural_order) line(joined(glyphs));
}

/// Move the inputs next to each other, and return the column of the node.
size_t Drawing::place(const Node& node, std::span<const OutletId> wires, size_t width) {
  for (const OutletId input : node.inputs) --uses(input);
  if (!wires.empty()) {
    const size_t at = columns_.find(wires[0]);
    bool in_place = true;
    for (size_t i = 0; i < width; ++i) {
      const bool input = i < wires.size();
      in_place &= input ? (!columns_.free(at + i) && columns_.slots[at + i] == wires[i] &&
                           uses(wires[i]) == 0)
                        : columns_.free(at + i);
    }
    if (in_place) return at;
  }
  const size_t at = columns_.room(width);
  // Look it up first, because a copy must not be confused with the wire.
  std::vector<size_t> origins;
  for (const OutletId wire : wires) origins.push_back(columns_.find(wire));
  for (size_t i = 0; i < wires.size(); ++i) {
    const size_t from = origins[i];
    if (from >= columns_.slots.size()) continue;
    const bool again = std::find(wires.begin() + static_cast<std::ptrdiff_t>(i) + 1, wires.end(),
                                 wires[i]) != wires.end();
    const bool stays = uses(wires[i]) > 0 || again;
    route(from, at + i, stays);
    if (!stays) columns_.slots[from] = {};
    columns_.put(at + i, wires[i]);
  }
  return at;
}

void Drawing::node_line(int id, size_t at, size_t inputs, size_t outputs) {
  const Node& node = graph_.node(id);
  std::vector<std::string> glyphs = columns_.glyphs();
  const size_t width = std::max<size_t>({inputs, outputs, 1});
  if (glyphs.size() < at + width) glyphs.resize(at + width, " ");
  for (size_t i = 0; i < width; ++i) {
    glyphs[at + i] = i == 0                      ? (inputs == 0 ? "┏" : "┣")
                     : i < inputs && i < outputs ? "╋"
                     : i < outputs               ? "┳"
                                                 : "┻";
  }
  if (outputs == 0) glyphs[at] = "╹";
  const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), OutletId{id, 0});
  if (input != graph_.inputs.end()) {
    glyphs[at] = circled(static_cast<size_t>(input - graph_.inputs.begin()), false);
  }
  const std::string wires = view_.natural_order ? "" : joined(glyphs) + " ";
  const std::string number = styled("1", std::to_string(id));
  const std::string op = styled("1;34", node.op->name());
  const std::string label = styled("3", node.name);
  line(escaped_format("{}{} {} {}", wires, Escaped{number}, Escaped{op}, Escaped{label}));
}

void Drawing::details(int id) {
  const Node& node = graph_.node(id);
  const std::string left = wires();
  if (view_.info) {
    for (const std::string& text : node.op->details()) {
      line(escaped_format("{}   * {}", left, text));
    }
    const std::string attributes = shown_attributes(*node.op);
    if (!attributes.empty()) line(escaped_format("{}   * {}", left, attributes));
  }
  if (view_.invariants) {
    const Facts in = graph_.facts_of(node.inputs);
    for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
      line(escaped_format("{}   * axis {} -> {}", left, str_cat(track.in), str_cat(track.out)));
    }
  }
  if (view_.debug_op) {
    line(escaped_format("{}   * {} {}", left, node.op->name(), node.op->attributes()));
  }
  if (view_.io_long) long_facts(id, left);
}

void Drawing::long_facts(int id, const std::string& left) {
  const Node& node = graph_.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const OutletId input = node.inputs[i];
    line(escaped_format("{}   * input fact  #{}: {}/{}> {}", left, i, input.node, input.slot,
                        fact_text(graph_.fact(input))));
  }
  for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
    const OutletId outlet{id, static_cast<int>(slot)};
    std::string text =
        escaped_format("{}   * output fact #{}: {}{}", left, slot,
                       canvas_.axes.text(scope_, outlet), fact_text(node.outputs[slot]));
    for (size_t reader = 0; reader < graph_.nodes.size(); ++reader) {
      const auto& inputs = graph_.nodes[reader].inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == outlet) text += escaped_format(" >{}/{}", reader, i);
      }
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i] == outlet) text += escaped_format(" MODEL INPUT #{}", i);
    }
    const auto outputs = model_outputs_.find(outlet);
    if (outputs != model_outputs_.end()) {
      for (const size_t index : outputs->second) {
        const std::string& label = graph_.output_names[index];
        text += escaped_format(" MODEL OUTPUT #{} {}", index, label);
        if (view_.outlet_labels) line(escaped_format("{}       {}", left, label));
      }
    }
    line(text);
  }
}

void Drawing::facts(int id) {
  const Node& node = graph_.node(id);
  for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
    const OutletId outlet{id, static_cast<int>(slot)};
    const Fact& fact = node.outputs[slot];
    std::vector<std::string> glyphs = columns_.glyphs();
    const size_t at = columns_.find(outlet);
    const auto outputs = model_outputs_.find(outlet);
    const bool same = node.outputs.size() == 1 && !node.inputs.empty() &&
                      fact_text(fact) == fact_text(graph_.fact(node.inputs[0]));
    const bool brief = !view_.io_none && !view_.io_long;
    if (outputs != model_outputs_.end()) {
      for (size_t i = 0; brief && i < outputs->second.size(); ++i) {
        const size_t index = outputs->second[i];
        if (at < glyphs.size()) glyphs[at] = circled(index, true);
        line(escaped_format("{}   ━━━ {}", view_.natural_order ? "" : joined(glyphs),
                            fact_text(fact)));
      }
    } else if (brief && !same) {
      line(escaped_format("{}   ━━━ {}", view_.natural_order ? "" : joined(glyphs),
                          fact_text(fact)));
    }
    if (at < columns_.slots.size() && uses(outlet) == 0) columns_.slots[at] = {};
  }
}

void Drawing::body(int id) {
  const Graph* body = graph_.node(id).op->nested();
  if (body == nullptr || view_.folded) return;
  std::vector<int> scope = scope_;
  scope.push_back(id);
  const bool model = graph_.node(id).op->name() == "SubmodelOp";
  const std::string left = prefix_ + wires() + (model ? " [submodel] " : " [loop] ");
  const std::vector<std::string> rest = std::move(canvas_.margin);
  canvas_.margin.clear();
  Drawing(*body, std::move(scope), Notes::of(notes_, id).body, left, &canvas_).draw();
  canvas_.margin = rest;
}

void Drawing::node(int id) {
  const Node& node = graph_.node(id);
  if (!view_.consts && node.op->as<Const>()) return;
  drawn_ = chosen(id);
  std::vector<OutletId> read;
  for (const OutletId input : node.inputs) {
    if (shown(input)) read.push_back(input);
  }
  const size_t outputs = node.outputs.size();
  const size_t width = std::max<size_t>({read.size(), outputs, 1});
  const size_t at = place(node, read, width);
  if (drawn_) canvas_.margin = margin_lines(canvas_.notes, Notes::of(notes_, id));
  node_line(id, at, read.size(), outputs);
  for (size_t i = 0; i < width; ++i) {
    columns_.put(at + i, i < outputs ? OutletId{id, static_cast<int>(i)} : OutletId{});
  }
  details(id);
  body(id);
  facts(id);
  while (!canvas_.margin.empty()) line(wires());
  columns_.trim();
}

void Drawing::draw() {
  uses_ = graph_.count_uses();
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    model_outputs_[graph_.outputs[i]].push_back(i);
    --uses(graph_.outputs[i]);
  }
  for (size_t id = 0; id < graph_.nodes.size(); ++id) node(static_cast<int>(id));
}

}  // namespace

std::string fact_text(const Fact& fact) {
  std::string out = fact.to_string();
  if (fact.konst) out += " 🟰 " + value_text(*fact.konst);
  return out;
}

std::string graph_drawing(const Graph& graph, const ViewOptions& view, const Notes& notes,
                          const AxisNames& axes, bool colors) {
  Canvas canvas{view, notes, axes, colors, {}, {}};
  Drawing(graph, {}, notes.nodes, "", &canvas).draw();
  std::string out = std::move(canvas.out);
  const auto properties = nnef::properties_of(graph);
  if (!properties.empty()) out += "# Properties\n";
  for (const auto& [key, value] : properties) {
    out += escaped_format("* {}: {}\n", key, value_text(value));
  }
  if (!graph.scope.assertions().empty()) out += "# Assertions\n";
  for (const auto& assertion : graph.scope.assertions()) {
    out += escaped_format(" * {}\n", assertion.text);
  }
  if (!graph.scope.scenarios().empty()) out += "# Scenarios\n";
  for (const auto& scenario : graph.scope.scenarios()) {
    for (const auto& assertion : scenario.assertions) {
      out += escaped_format(" * {}: {}\n", scenario.name, assertion.text);
    }
  }
  return out;
}

std::string graph_summary(const Graph& graph, const Notes& notes) {
  std::string out;
  for (const auto& [key, value] : nnef::properties_of(graph)) {
    out += escaped_format("* {}: {}\n", key, value_text(value));
  }
  out += "# Inputs\n";
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    out += escaped_format("  {} {}: {}\n", circled(i, false), graph.input_name(i),
                          fact_text(graph.fact(graph.inputs[i])));
  }
  out += "# Outputs\n";
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    out += escaped_format("  {} {}: {}\n", circled(i, true), graph.output_names[i],
                          fact_text(graph.fact(graph.outputs[i])));
  }
  out += "# Operators\n";
  const auto counts = count_ops(graph);
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [op, count] : sorted) out += escaped_format("{:6} {}\n", count, op);
  for (const auto& [kind, count] : total_cost(graph, notes)) {
    out += escaped_format(" * {}: {}\n", kind, count.to_string());
  }
  return out;
}

}  // namespace rill::cli
