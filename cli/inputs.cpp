#include "cli/inputs.h"

#include <algorithm>

#include "cli/caches.h"
#include "cli/edits.h"
#include "cli/settings.h"
#include "cli/symbols.h"
#include "core/base/splitmix.h"
#include "core/exec/input_indices.h"

namespace rill::cli {
namespace {

/// Random numbers that depend only on a seed and a name.
Splitmix64 random_of(uint64_t seed, std::string_view name) {
  uint64_t state = seed ^ 0xCBF29CE484222325;
  for (const char c : name) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3;  // FNV-1a
  }
  return Splitmix64(state);
}

DType run_type(const Fact& fact) { return fact.dtype == DType::kDim ? DType::kI64 : fact.dtype; }

bool bound(const Bindings& bindings, std::string_view symbol) {
  return std::any_of(bindings.begin(), bindings.end(),
                     [&](const auto& each) { return each.first == symbol; });
}

Status cannot_reconcile(const std::string& name, const Fact& fact, const Tensor& value,
                        std::string_view why) {
  return fail(Code::kShape, "For input ", name, ", can not reconcile model input fact ", fact,
              " with provided input ", shape_text(value), ": ", why);
}

/// Solve the symbols of one input. Return true if it finds a new value.
bool solve_axes(const Fact& fact, const Tensor& value, int stream_axis, Bindings* bindings) {
  bool found = false;
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (axis == stream_axis || fact.dim(axis).eval(*bindings)) continue;
    const auto solved = solve(fact.dim(axis), value.extent(axis), *bindings);
    if (!solved || bound(*bindings, solved->first)) continue;
    bindings->push_back(*solved);
    found = true;
  }
  return found;
}

Status check_shape(const std::string& name, const Fact& fact, const Tensor& value, int stream_axis,
                   const Bindings& bindings) {
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (axis == stream_axis) continue;
    const Dim& dim = fact.dim(axis);
    const auto extent = dim.eval(bindings);
    if (!extent) {
      return cannot_reconcile(
          name, fact, value,
          str_cat("no value of the symbols gives ", dim, " = ", value.extent(axis)));
    }
    if (*extent == value.extent(axis)) continue;
    return cannot_reconcile(
        name, fact, value,
        dim.is_const()
            ? str_cat("axis ", axis, " is ", value.extent(axis), ", expected ", dim)
            : str_cat("axis ", axis, " is ", value.extent(axis), ", but ", dim, " = ", *extent));
  }
  return {};
}

/// A stream that is stepped together with others fills one row of the batch, the first axis.
void bind_batch(const Graph& graph, Bindings* bindings) {
  for (const OutletId input : graph.inputs) {
    const Fact& fact = graph.fact(input);
    const auto symbol = fact.rank() > 0 ? fact.dim(0).as_symbol() : std::nullopt;
    if (symbol && !bound(*bindings, *symbol)) bindings->emplace_back(*symbol, 1);
  }
}

/// Make an initially empty cache.
void bind_empty(const Fact& fact, Bindings* bindings) {
  for (const Dim& extent : fact.shape) {
    const auto symbol = extent.as_symbol();
    if (symbol && !bound(*bindings, *symbol)) bindings->emplace_back(*symbol, 0);
  }
}

/// Evaluate `--set` from left to right, each with the earlier symbols.
Result<Bindings> settings_of(const CommonOptions& common) {
  Bindings out;
  RILL_ASSIGN(const auto all, parse_settings(common.values.run_set));
  for (const auto& setting : all) {
    const auto value = setting.second.eval(out);
    if (!value) {
      return fail(Code::kSymbol, "Undetermined symbol in expression: ", setting.second)
          .hint(str_cat("--set ", setting.first, "=", setting.second,
                        ": set its symbols first, with numbers"));
    }
    out.emplace_back(setting.first, *value);
  }
  return out;
}

Status check_assertions(const Graph& graph, const Bindings& bindings) {
  for (const auto& assertion : graph.scope.assertions()) {
    for (const Dim& dim : assertion.non_negative) {
      const auto value = dim.eval(bindings);
      if (!value || *value >= 0) continue;
      return fail(Code::kSymbol, "The model asserts ", assertion.text, ", which ",
                  bindings_text(bindings), " does not meet")
          .hint("Give inputs of a size that it allows");
    }
  }
  return {};
}

}  // namespace

std::vector<int> stream_axes(const Graph& graph) {
  std::vector<int> out(graph.inputs.size(), -1);
  for (size_t i = 0; i < out.size() && graph.streaming; ++i) {
    out[i] = graph.streaming->input_axis(i);
  }
  return out;
}

Result<InputSource> InputSource::make(const CommonOptions& common, const Log& log) {
  InputSource out;
  out.log_ = &log;
  RILL_ASSIGN(out.bundle_, Bundle::read(common.values.input_bundles));
  for (const std::string& text : common.values.random_ranges) {
    RILL_ASSIGN(RangeSpec range, parse_range_spec(text));
    out.ranges_.push_back(std::move(range));
  }
  RILL_ASSIGN(out.settings_, settings_of(common));
  for (const std::string& folder : common.values.input_folders)
    RILL_TRY(out.bundle_.add_folder(folder));
  out.common_ = &common;
  out.allow_random_ = common.values.allow_random;
  out.cast_floats_ = common.values.allow_float_casts;
  out.seed_ = static_cast<uint64_t>(common.values.seed);
  return out;
}

const Bundle::Item* InputSource::item_for(const Graph& graph, size_t index) const {
  return bundle_.find(graph.input_name(index));
}

size_t InputSource::turns(const Graph& graph) const {
  size_t out = 1;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (const Bundle::Item* item = item_for(graph, i)) out = std::max(out, item->turns.size());
  }
  return out;
}

void InputSource::feed_back(std::string_view input, Tensor value) {
  fed_back_.insert_or_assign(std::string(input), std::move(value));
}

Result<std::optional<Tensor>> InputSource::given(const Graph& graph, size_t index, size_t turn,
                                                 int stream_axis) const {
  const std::string& name = graph.input_name(index);
  const auto fed = fed_back_.find(name);
  if (fed != fed_back_.end()) return std::optional(fed->second);
  const Bundle::Item* item = item_for(graph, index);
  if (item == nullptr) {
    RILL_ASSIGN(const auto written, given_values(*common_, graph));
    for (const auto& [input, value] : written) {
      if (input == name) return std::optional(value);
    }
    return std::optional<Tensor>();
  }
  log_->info(
      str_cat("Using fixed input for input called ", name, " (", item->turns.size(), " turn(s))"));
  if (stream_axis >= 0 && item->turns.size() > 1 && stream_axis < item->turns[0].rank()) {
    RILL_ASSIGN(Tensor whole, joined(item->turns, stream_axis));
    return std::optional(std::move(whole));
  }
  return std::optional(item->turns[std::min(turn, item->turns.size() - 1)]);
}

Result<Tensor> InputSource::reconciled(const std::string& name, const Fact& fact,
                                       const Tensor& value) const {
  const DType wanted = run_type(fact);
  if (value.rank() != fact.rank()) {
    return cannot_reconcile(name, fact, value,
                            str_cat("rank ", value.rank(), ", expected ", fact.rank()));
  }
  if (value.dtype() == wanted) return value;
  if (is_float(wanted) && is_float(value.dtype())) {
    if (cast_floats_) return cast(value, wanted);
    return cannot_reconcile(name, fact, value, "the types differ")
        .hint("--allow-float-casts converts between float types");
  }
  const bool plain = is_int(value.dtype()) && dtype_size(value.dtype()) == dtype_size(wanted);
  if (is_quantised(wanted) && plain) return value.reinterpreted(wanted, fact.q);
  if (fact.dtype == DType::kDim && is_int(value.dtype())) return cast(value, wanted);
  return cannot_reconcile(name, fact, value, "the types differ")
      .hint(str_cat("Give an array of ", dtype_lower_name(wanted)));
}

Result<Tensor> InputSource::made_up(const Graph& graph, size_t index, const Bindings& bindings,
                                    int stream_axis, int64_t pulses) const {
  const Fact& fact = graph.fact(graph.inputs[index]);
  const std::string& name = graph.input_name(index);
  std::vector<int64_t> shape;
  for (int axis = 0; axis < fact.rank(); ++axis) {
    const auto extent = fact.dim(axis).eval(bindings);
    if (!extent) {
      std::vector<std::string> symbols;
      fact.dim(axis).collect_symbols(&symbols);
      std::erase_if(symbols, [&](const std::string& s) { return bound(bindings, s); });
      const std::string symbol = symbols.empty() ? fact.dim(axis).to_string() : symbols[0];
      return fail(Code::kSymbol, "Expected concrete shape, found: ", fact, ": symbol ", symbol,
                  " of input ", name, " has no value")
          .hint(str_cat("Bind it with --set ", symbol,
                        "=N, or give the input with --input-from-bundle"));
    }
    shape.push_back(*extent * (axis == stream_axis ? pulses : 1));
  }
  const DType dtype = run_type(fact);
  RangeSpec range;
  if (is_int(dtype) || is_quantised(dtype)) range.high = 4;  // small: many are indices
  if (const auto indices = input_indices(graph)[index]) {
    range.low = static_cast<double>(std::max<int64_t>(0, indices->least));
    range.high = std::min(range.low + 4, static_cast<double>(indices->most) + 1);
  }
  if (dtype == DType::kBool) range.high = 2;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].name == name || (ranges_[i].name.empty() && i == index)) range = ranges_[i];
  }
  RILL_ASSIGN(Tensor wide, Tensor::zeros(DType::kF64, std::move(shape)));
  Splitmix64 random = random_of(seed_, name);
  for (int64_t i = 0; i < wide.volume(); ++i) {
    const double value = range.low + (range.high - range.low) * random.unit();
    wide.mutable_data<double>()[i] =
        dtype == DType::kBool ? static_cast<double>(value >= 1) : value;
  }
  if (!is_quantised(dtype)) return cast(wide, dtype);
  const DType plain = dtype == DType::kQU8   ? DType::kU8
                      : dtype == DType::kQI8 ? DType::kI8
                                             : DType::kI32;
  RILL_ASSIGN(const Tensor integers, cast(wide, plain));
  return integers.reinterpreted(dtype, fact.q);
}

Status InputSource::check_settings(const Graph& graph) const {
  const std::vector<std::string> known = known_symbols(graph);
  for (const auto& [symbol, value] : settings_) {
    if (std::find(known.begin(), known.end(), symbol) != known.end()) continue;
    RILL_TRY(unknown_name(*log_, no_such_symbol(symbol, known)));
  }
  return {};
}

Result<InputValues> InputSource::resolve(const Graph& graph, size_t turn,
                                         int64_t random_pulses) const {
  RILL_TRY(check_settings(graph));
  const auto axes = stream_axes(graph);
  InputValues out;
  out.bindings = settings_;
  std::vector<std::optional<Tensor>> values;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    RILL_ASSIGN(std::optional<Tensor> value, given(graph, i, turn, axes[i]));
    if (value) {
      RILL_ASSIGN(value, reconciled(graph.input_name(i), graph.fact(graph.inputs[i]), *value));
    }
    values.push_back(std::move(value));
  }
  for (bool found = true; found;) {
    found = false;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i]) continue;
      found |= solve_axes(graph.fact(graph.inputs[i]), *values[i], axes[i], &out.bindings);
    }
  }
  if (common_->streaming.autobatch_sessions > 0) bind_batch(graph, &out.bindings);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i] && is_own_cache(graph, graph.input_name(i))) {
      bind_empty(graph.fact(graph.inputs[i]), &out.bindings);
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Fact& fact = graph.fact(graph.inputs[i]);
    const std::string& name = graph.input_name(i);
    if (values[i]) {
      RILL_TRY(check_shape(name, fact, *values[i], axes[i], out.bindings));
      out.values.push_back(*values[i]);
      continue;
    }
    const auto count = volume(fact.shape).eval(out.bindings);
    if (!allow_random_ && count != 0) {
      return fail(Code::kArg, "Unmatched tensor ", name,
                  ". Fix the input or use \"--allow-random-input\" if this was intended")
          .hint(str_cat("Expected ", fact, " from --input-from-bundle; the bundle has ",
                        bundle_.contents()));
    }
    RILL_ASSIGN(Tensor value, made_up(graph, i, out.bindings, axes[i], random_pulses));
    out.values.push_back(std::move(value));
  }
  RILL_TRY(check_assertions(graph, out.bindings));
  return out;
}

Result<InputValues> InputSource::random(const Graph& graph, Bindings bindings) const {
  RILL_TRY(check_settings(graph));
  InputValues out;
  out.bindings = std::move(bindings);
  for (const auto& setting : settings_) {
    if (!bound(out.bindings, setting.first)) out.bindings.push_back(setting);
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    RILL_ASSIGN(Tensor value, made_up(graph, i, out.bindings, -1, 1));
    out.values.push_back(std::move(value));
  }
  RILL_TRY(check_assertions(graph, out.bindings));
  return out;
}

}  // namespace rill::cli
