#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "api/src/change.h"
#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/hints.h"
#include "api/src/log.h"
#include "api/src/lookup.h"
#include "api/src/model_handle.h"
#include "api/src/progress.h"
#include "api/src/pulsed.h"
#include "core/base/search.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "nnef_loader/properties.h"
#include "ops/op_table.h"
#include "pulse/sliding.h"
#ifdef RILL_WITH_ONNX
#include "pulse/feedback.h"
#endif

using rill::Code;
using rill::Dim;
using rill::Graph;
using rill::Result;
using rill::Status;
using rill::api::alive;
using rill::api::change;
using rill::api::guarded;
using rill::api::guarded_with_progress;
using rill::api::kNotAModel;
using rill::api::refuse;
using rill::api::report;
using rill::api::simplified;

namespace {

std::string stream_symbol_of(const Graph& graph) {
  return graph.streaming ? graph.streaming->symbol() : std::string();
}

void count_operators(const Graph& graph, std::map<std::string, int64_t, std::less<>>* counts) {
  for (const rill::Node& node : graph.nodes) {
    ++(*counts)[std::string(node.op->name())];
    if (const Graph* body = node.op->nested()) count_operators(*body, counts);
  }
}

}  // namespace

rill_model::rill_model(Graph of) : graph(std::move(of)), stream_symbol(stream_symbol_of(graph)) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const rill::Fact& fact = graph.fact(graph.inputs[i]);
    io[RILL_INPUT].push_back(std::make_unique<const rill::api::IoText>(graph.input_name(i), fact));
    for (const Dim& dim : fact.shape) dim.collect_symbols(&symbols);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    io[RILL_OUTPUT].push_back(std::make_unique<const rill::api::IoText>(
        graph.output_names[i], graph.fact(graph.outputs[i])));
  }
  properties =
      rill::api::properties_of(rill::nnef::property_list(rill::nnef::properties_of(graph)));
  for (const std::string& symbol : graph.scope.symbols()) {
    if (!rill::contains(symbols, symbol)) {
      symbols.push_back(symbol);
    }
  }
  std::erase(symbols, stream_symbol);
  count_operators(graph, &operators);
}

void rill_model::take(rill_model&& other) noexcept {
  graph = std::move(other.graph);
  for (const rill_dir dir : {RILL_INPUT, RILL_OUTPUT}) io[dir] = std::move(other.io[dir]);
  properties = std::move(other.properties);
  symbols = std::move(other.symbols);
  operators = std::move(other.operators);
  stream_symbol = std::move(other.stream_symbol);
}

namespace rill::api {

rill_status change(rill_model* model, Result<Graph> graph) {
  if (!graph.ok()) return report(graph.status());
  model->take(rill_model(std::move(graph).value()));
  return RILL_OK;
}

Result<Graph> simplified(Result<Graph> graph) {
  if (!graph.ok()) return graph;
  return rill::declutter(*graph);
}

}  // namespace rill::api

namespace {

/// The share of the progress that loading or pulsing gets; simplifying the graph gets the rest.
constexpr double kMostWork = 0.9;

/// Load a model and simplify it.
template <class Source>
Result<Graph> loaded(const Source& source, const rill::nnef::LoadOptions& options,
                     const char* constants) {
  const rill::ProgressStage stage(rill::Stage::kLoad);
  const auto load = [&] {
    const rill::ProgressPart part(0, kMostWork);
    return rill::api::load_any(source, options, constants);
  };
  RILL_ASSIGN(Graph graph, simplified(load()));
  RILL_TRY(rill::progress(1));
  return graph;
}

rill_status hand_out(Result<Graph> graph, rill_model** model) {
  if (!graph.ok()) return report(graph.status());
  *model = new rill_model(std::move(graph).value());
  return RILL_OK;
}

void forward_warning(void*, std::string_view message) { rill::api::log(RILL_LOG_WARN, message); }

rill_status load_options(const rill_load_opts* opts, rill::nnef::LoadOptions* options) {
  rill::api::translate_hints(rill::api::hint_in_calls);
  options->warn = forward_warning;
  options->left_out = rill::ops::ops_left_out();
  if (!opts) return RILL_OK;
  // Older callers have a shorter struct without `constants`.
  constexpr size_t kShorter = offsetof(rill_load_opts, constants);
  if (opts->size != kShorter) {
    const rill_status known = rill::api::check_size(opts, "rill_load_opts");
    if (known != RILL_OK) return known;
  }
  options->map_files = opts->size == kShorter || opts->read_file == 0;
  rill::nnef::LoadLimits& limits = options->limits;
  const struct {
    const char* name;
    int64_t given;
    int64_t* limit;
  } settings[] = {
      {"max_expanded_bytes", opts->max_expanded_bytes, &limits.max_expanded_bytes},
      {"max_ratio", opts->max_ratio, &limits.max_ratio},
      {"max_entries", opts->max_entries, &limits.max_entries},
      {"max_text_bytes", opts->max_text_bytes, &limits.max_text_bytes},
      {"max_nodes", opts->max_nodes, &limits.max_nodes},
      {"max_symbols", opts->max_symbols, &limits.max_symbols},
      {"max_folded_bytes", opts->max_folded_bytes, &limits.max_folded_bytes},
  };
  for (const auto& setting : settings) {
    if (setting.given < 0) {
      return refuse(RILL_E_ARG, "%s is %lld: expected 0 or more", setting.name,
                    static_cast<long long>(setting.given));
    }
    if (setting.given > 0) *setting.limit = setting.given;
  }
  return RILL_OK;
}

const char* constants_of(const rill_load_opts* opts) {
  return opts && opts->size >= sizeof(*opts) ? opts->constants : nullptr;
}

Status check_symbols(const rill_model& model, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (rill::contains(model.symbols, name)) continue;
    if (model.symbols.empty()) {
      return rill::fail(Code::kSymbol, "no symbol ", name, ": the model has no free symbols");
    }
    return rill::fail(Code::kSymbol, "no symbol ", name, ": the model's free symbols are ",
                      rill::join(model.symbols, ", "));
  }
  return {};
}

/// Refuse a value that violates an assertion: the assertion would otherwise be dropped silently.
Status check_assertions(const Graph& graph, const std::string& symbol, const Dim& by) {
  for (const auto& assertion : graph.scope.assertions()) {
    for (const Dim& fact : assertion.non_negative) {
      const auto value = fact.substitute(symbol, by).to_int();
      if (!value || *value >= 0) continue;
      return rill::fail(Code::kSymbol, symbol, " = ", by, ": the model asserts ", assertion.text);
    }
  }
  return {};
}

Result<Graph> bound(const rill_model& model, const std::string& symbol, std::string_view text) {
  RILL_ASSIGN(const Dim by, rill::parse_dim(text));
  std::vector<std::string> names = {symbol};
  by.collect_symbols(&names);
  RILL_TRY(check_symbols(model, names));
  if (by.mentions(symbol) && by.as_symbol() != symbol) {
    return rill::fail(Code::kSymbol, symbol, " = ", by, ": a symbol in terms of itself");
  }
  if (by.to_int().value_or(0) < 0) {
    return rill::fail(Code::kSymbol, symbol, " = ", by, ": an extent is 0 or more");
  }
  RILL_TRY(check_assertions(model.graph, symbol, by));
  RILL_ASSIGN(Graph graph, model.graph.with_symbol(symbol, by));
#ifdef RILL_WITH_ONNX
  rill::pulse::describe_steps(&graph);
#endif
  return simplified(std::move(graph));
}

/// Solve the symbols in the extents of one input. Return true if it finds a new value.
bool solve_extents(const rill::Fact& fact, const rill_view& view, rill::Bindings* bindings) {
  bool found = false;
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (fact.dim(axis).eval(*bindings)) continue;
    auto solved = rill::solve(fact.dim(axis), view.shape[axis], *bindings);
    if (!solved || solved->second < 0) continue;
    bindings->push_back(std::move(*solved));
    found = true;
  }
  return found;
}

Status check_extents(const Graph& graph, size_t input, const rill_view& view,
                     const rill::Bindings& bindings) {
  const rill::Fact& fact = graph.fact(graph.inputs[input]);
  for (int axis = 0; axis < fact.rank(); ++axis) {
    const Dim& dim = fact.dim(axis);
    const auto extent = dim.eval(bindings);
    if (extent && *extent == view.shape[axis]) continue;
    const std::string value = extent && !dim.is_const() ? rill::str_cat(" = ", *extent) : "";
    return rill::fail(Code::kShape, "\"", graph.input_name(input), "\": axis ", axis, " is ",
                      view.shape[axis], ", expected ", dim, value);
  }
  return {};
}

}  // namespace

Result<rill::Bindings> rill::api::bindings_of(const Graph& graph,
                                              std::span<const rill_view> inputs) {
  rill::Bindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const rill::Fact& fact = graph.fact(graph.inputs[i]);
    if (!inputs[i].shape || inputs[i].rank == static_cast<uint32_t>(fact.rank())) continue;
    return rill::fail(Code::kShape, "\"", graph.input_name(i), "\" has ",
                      counted(inputs[i].rank, "axis", "axes"), ", expected ", fact.rank(), ": ",
                      fact);
  }
  for (bool found = true; found;) {
    found = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].shape) continue;
      found |= solve_extents(graph.fact(graph.inputs[i]), inputs[i], &bindings);
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape) RILL_TRY(check_extents(graph, i, inputs[i], bindings));
  }
  return bindings;
}

namespace {

Result<Graph> shaped(const rill_model& model, std::span<const rill_view> inputs) {
  RILL_ASSIGN(const rill::Bindings bindings, rill::api::bindings_of(model.graph, inputs));
  Graph graph = model.graph;
  for (const auto& [symbol, value] : bindings) {
    RILL_TRY(check_assertions(graph, symbol, Dim(value)));
    RILL_ASSIGN(graph, graph.with_symbol(symbol, Dim(value)));
  }
#ifdef RILL_WITH_ONNX
  rill::pulse::describe_steps(&graph);
#endif
  return simplified(std::move(graph));
}

}  // namespace

Result<rill::api::PulsedModel> rill::api::pulse_model(const rill_model& model,
                                                      const std::string& symbol,
                                                      std::string_view pulse) {
  const ProgressStage stage(rill::Stage::kPulse);
  PulsedModel out;
  out.options.symbol = symbol;
  RILL_TRY(check_symbols(model, {symbol}));
  RILL_ASSIGN(const auto bounds, rill::pulse::parse_bounds(pulse));
  const double chosen = bounds ? kMostWork : 0;
  if (bounds) {
    const ProgressPart part(0, chosen);
    RILL_ASSIGN(out.choices, rill::pulse::choices(model.graph, out.options, *bounds));
    out.options.pulse = Dim(rill::pulse::best(out.choices).pulse);
  } else {
    RILL_ASSIGN(out.options.pulse, rill::parse_dim(pulse));
  }
  const auto pulse_it = [&] {
    const ProgressPart part(chosen, 1);
    return rill::pulse::pulsify(model.graph, out.options, &out.report);
  };
  RILL_ASSIGN(out.graph, simplified(pulse_it()));
  RILL_TRY(progress(1));
  return out;
}

namespace {

Result<Graph> pulsed(const rill_model& model, const std::string& symbol, std::string_view pulse) {
  RILL_ASSIGN(rill::api::PulsedModel out, rill::api::pulse_model(model, symbol, pulse));
  for (const std::string& what : out.report.approximations) rill::api::log(RILL_LOG_WARN, what);
  return std::move(out.graph);
}

[[maybe_unused]] rill::nnef::Container container_of(std::string_view path) {
  using rill::nnef::Container;
  if (path.ends_with(".tgz") || path.ends_with(".tar.gz")) return Container::kTgz;
  if (path.ends_with(".tar")) return Container::kTar;
  if (path.ends_with(".zip")) return Container::kZip;
  return Container::kFolder;
}

}  // namespace

extern "C" {

rill_status rill_load(const char* path, const rill_load_opts* opts, rill_model** model) {
  if (!model) return refuse(RILL_E_ARG, "rill_load: null pointer for the model");
  *model = nullptr;
  if (!path || !*path) return refuse(RILL_E_ARG, "rill_load: no path");
  rill::nnef::LoadOptions options;
  const rill_status known = load_options(opts, &options);
  if (known != RILL_OK) return known;
  return guarded_with_progress("rill_load", [&] {
    const Status loads = rill::api::no_plan_file(path);
    if (!loads.ok()) return report(loads);
    return hand_out(loaded(path, options, constants_of(opts)), model);
  });
}

rill_status rill_load_memory(const void* bytes, size_t size, const rill_load_opts* opts,
                             rill_model** model) {
  if (!model) return refuse(RILL_E_ARG, "rill_load_memory: null pointer for the model");
  *model = nullptr;
  if (!bytes) return refuse(RILL_E_ARG, "rill_load_memory: no bytes");
  rill::nnef::LoadOptions options;
  const rill_status known = load_options(opts, &options);
  if (known != RILL_OK) return known;
  const std::span<const std::byte> span(static_cast<const std::byte*>(bytes), size);
  return guarded_with_progress("rill_load_memory", [&] {
    const Status loads = rill::api::no_plan_file(span);
    if (!loads.ok()) return report(loads);
    return hand_out(loaded(span, options, constants_of(opts)), model);
  });
}

rill_status rill_save(const rill_model* model, const char* path) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_save: %s", kNotAModel);
  if (!path || !*path) return refuse(RILL_E_ARG, "rill_save: no path");
#ifdef RILL_WITHOUT_SAVE
  return refuse(RILL_E_UNSUPPORTED,
                "rill_save: this build cannot write models; build rill with RILL_SAVE=ON");
#else
  return guarded("rill_save", [&] {
    rill::nnef::SaveOptions options;
    options.read_back = rill::ops::op_table();
    return report(rill::nnef::save(model->graph, path, container_of(path), options));
  });
#endif
}

rill_status rill_model_clone(const rill_model* model, rill_model** copy) {
  if (!copy) return refuse(RILL_E_ARG, "rill_model_clone: null pointer for the copy");
  *copy = nullptr;
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_clone: %s", kNotAModel);
  return guarded("rill_model_clone", [&] {
    const rill_status made = hand_out(Graph(model->graph), copy);
    if (made == RILL_OK) (*copy)->weights = model->weights;
    return made;
  });
}

void rill_model_free(rill_model* model) {
  if (!alive(model)) return;
  model->magic = rill::api::kDeadMagic;
  delete model;
}

size_t rill_model_count(const rill_model* model, rill_dir dir) {
  return alive(model) && rill::api::is_dir(dir) ? model->io[dir].size() : 0;
}

rill_status rill_model_io(const rill_model* model, rill_dir dir, size_t index, rill_io_info* info) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_io: %s", kNotAModel);
  return rill::api::io_info("rill_model_io", model->io, dir, index, info);
}

rill_status rill_model_find(const rill_model* model, rill_dir dir, const char* name,
                            size_t* index) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_find: %s", kNotAModel);
  return rill::api::io_find("rill_model_find", model->io, dir, name, index);
}

rill_status rill_model_symbol(const rill_model* model, size_t index, const char** name) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_symbol: %s", kNotAModel);
  if (!name) return refuse(RILL_E_ARG, "rill_model_symbol: null pointer for the name");
  *name = index < model->symbols.size() ? model->symbols[index].c_str() : nullptr;
  return RILL_OK;
}

rill_status rill_model_set_symbol(rill_model* model, const char* symbol, const char* expression) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_set_symbol: %s", kNotAModel);
  if (!symbol || !*symbol) return refuse(RILL_E_ARG, "rill_model_set_symbol: no symbol");
  if (!expression) return refuse(RILL_E_ARG, "rill_model_set_symbol: no value for %s", symbol);
  if (model->stream_symbol == symbol) {
    return refuse(RILL_E_STATE,
                  "%s is the stream symbol of a pulsed model: its value is the length "
                  "of the stream, known at its end",
                  symbol);
  }
  return guarded("rill_model_set_symbol",
                 [&] { return change(model, bound(*model, symbol, expression)); });
}

rill_status rill_model_set_shapes(rill_model* model, const rill_view* inputs, size_t count) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_set_shapes: %s", kNotAModel);
  const size_t expected = model->io[RILL_INPUT].size();
  if (count != expected || (!inputs && count > 0)) {
    return refuse(RILL_E_ARG, "rill_model_set_shapes: %zu views, expected %zu: one per input",
                  inputs ? count : 0, expected);
  }
  for (size_t i = 0; i < count; ++i) {
    const rill_status known = rill::api::check_size(&inputs[i], "rill_view");
    if (known != RILL_OK) return known;
  }
  if (!model->stream_symbol.empty()) {
    return refuse(RILL_E_STATE,
                  "rill_model_set_shapes: the model is pulsed: bind its symbols with "
                  "rill_model_set_symbol");
  }
  return guarded("rill_model_set_shapes",
                 [&] { return change(model, shaped(*model, {inputs, count})); });
}

rill_status rill_model_pulse(rill_model* model, const char* symbol, const char* pulse) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_pulse: %s", kNotAModel);
  if (!pulse) return refuse(RILL_E_ARG, "rill_model_pulse: no pulse");
  if (!model->stream_symbol.empty()) {
    return refuse(RILL_E_STATE, "the model is pulsed already, along %s",
                  model->stream_symbol.c_str());
  }
  return guarded_with_progress("rill_model_pulse", [&] {
    const std::string named(symbol ? symbol : rill::kDefaultStreamSymbol);
    return change(model, pulsed(*model, named, pulse));
  });
}

rill_status rill_model_window(rill_model* model, const char* symbol, int64_t left, int64_t step,
                              int64_t right) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_window: %s", kNotAModel);
  if (!model->stream_symbol.empty()) {
    return refuse(RILL_E_STATE, "the model is pulsed already, along %s",
                  model->stream_symbol.c_str());
  }
  return guarded("rill_model_window", [&] {
    const std::string named(symbol ? symbol : rill::kDefaultStreamSymbol);
    const Status known = check_symbols(*model, {named});
    if (!known.ok()) return report(known);
    return change(model, simplified(rill::pulse::slide(model->graph, named, {left, step, right})));
  });
}

rill_status rill_model_operator(const rill_model* model, size_t index, const char** name,
                                int64_t* nodes) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_operator: %s", kNotAModel);
  if (!name) return refuse(RILL_E_ARG, "rill_model_operator: null pointer for the name");
  *name = nullptr;
  if (index >= model->operators.size()) return RILL_OK;
  const auto found = std::next(model->operators.begin(), static_cast<std::ptrdiff_t>(index));
  *name = found->first.c_str();
  if (nodes) *nodes = found->second;
  return RILL_OK;
}

size_t rill_model_properties(const rill_model* model) {
  return alive(model) ? model->properties.size() : 0;
}

rill_status rill_model_property(const rill_model* model, size_t index, rill_property* property) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_property: %s", kNotAModel);
  return rill::api::property_at("rill_model_property", model->properties, index, property);
}

rill_status rill_model_property_find(const rill_model* model, const char* key,
                                     rill_property* property) {
  if (!alive(model)) return refuse(RILL_E_ARG, "rill_model_property_find: %s", kNotAModel);
  return rill::api::property_find("rill_model_property_find", model->properties, key, property);
}

}  // extern "C"
