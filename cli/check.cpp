#include "cli/check.h"

#include "cli/caches.h"
#include "cli/load_model.h"
#include "core/base/bits.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace rill::cli {
namespace {

std::string shape_list(const Tensor& tensor) { return str_cat(tensor.shape()); }

std::string position(const Tensor& tensor, int64_t index) {
  std::vector<int64_t> at(tensor.shape().size());
  for (size_t axis = at.size(); axis-- > 0;) {
    at[axis] = index % tensor.shape()[axis];
    index /= tensor.shape()[axis];
  }
  return str_cat(at);
}

/// Map floats to integers so that neighbours differ by one.
int64_t ordered(float value) {
  const auto bits = static_cast<int64_t>(bit_cast<uint32_t>(value));
  return bits & 0x80000000 ? 0x80000000 - bits : bits;
}

bool close_enough(double expected, double got, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  return std::abs(expected - got) <= tolerance.absolute + tolerance.relative * std::abs(got);
}

/// A number as tract spells it.
template <class T>
std::string number_text(T value) {
  return value != value ? "NaN" : fmt::format("{}", value);
}

/// What differs, counted over all elements.
struct Outliers {
  int64_t count = 0;
  int64_t first = -1;
  int64_t max_ulp = 0;
  std::string first_values;

  template <class T>
  void add(int64_t index, T expected, T got) {
    ++count;
    if (first >= 0) return;
    first = index;
    first_values = number_text(expected) + " != " + number_text(got);
  }
};

Outliers float_outliers(const Tensor& expected, const Tensor& got, const Tolerance& tolerance) {
  Outliers out;
  for (int64_t i = 0; i < got.volume(); ++i) {
    const float e = expected.data<float>()[i];
    const float g = got.data<float>()[i];
    if (e == g) continue;
    if (!std::isnan(e) && !std::isnan(g)) {
      out.max_ulp = std::max(out.max_ulp, std::abs(ordered(e) - ordered(g)));
    }
    if (!close_enough(e, g, tolerance)) out.add(i, e, g);
  }
  return out;
}

Outliers double_outliers(const Tensor& expected, const Tensor& got, const Tolerance& tolerance) {
  Outliers out;
  for (int64_t i = 0; i < got.volume(); ++i) {
    const double e = expected.data<double>()[i];
    const double g = got.data<double>()[i];
    if (!close_enough(e, g, tolerance)) out.add(i, e, g);
  }
  return out;
}

Outliers integer_outliers(const Tensor& expected, const Tensor& got) {
  Outliers out;
  for (int64_t i = 0; i < got.volume(); ++i) {
    const int64_t e = expected.data<int64_t>()[i];
    const int64_t g = got.data<int64_t>()[i];
    if (e != g) out.add(i, e, g);
  }
  return out;
}

/// The dequantised values; the reference may hold plain integers of the same size.
Result<Tensor> real_values(const Tensor& tensor, const Tensor& like) {
  Tensor typed = tensor;
  if (!is_quantised(tensor.dtype()) && dtype_size(tensor.dtype()) == dtype_size(like.dtype()) &&
      !is_float(tensor.dtype())) {
    typed = tensor.reinterpreted(like.dtype(), like.qparams());
  }
  return cast(typed, DType::kF32);
}

std::string describe(const Outliers& outliers, const Tensor& got, const Tolerance& tolerance,
                     DType dtype) {
  const auto volume = static_cast<double>(got.volume());
  std::string text = fmt::format(
      "Mismatch. First outlier: {} for {}) at {} {}. Outliers: {} / {} = {:.5f} > {:.5f}.",
      tolerance.name, dtype_name(dtype), position(got, outliers.first), outliers.first_values,
      outliers.count, got.volume(), static_cast<double>(outliers.count) / volume,
      tolerance.outliers);
  if (dtype == DType::kF32) text += fmt::format(" Max ULP (F32): {}.", outliers.max_ulp);
  return text;
}

std::string wrong_type(const Tensor& expected, const Tensor& got) {
  return fmt::format("Datum type mismatch {} != {}", dtype_name(expected.dtype()),
                     dtype_name(got.dtype()));
}

}  // namespace

std::optional<std::string> mismatch(const Tensor& expected, const Tensor& got,
                                    const Tolerance& tolerance, bool cast_floats) {
  if (expected.shape() != got.shape()) {
    return fmt::format("Shape mismatch {} != {}", shape_list(expected), shape_list(got));
  }
  if (got.empty()) return std::nullopt;
  const DType have = got.dtype();
  const bool real = is_float(have) || is_quantised(have);
  // Exporters compute in floats what PyTorch gives as integers, such as sizes: values are compared.
  const bool mixed = !is_quantised(have) && is_float(have) != is_float(expected.dtype());
  if (is_float(have) && expected.dtype() != have && !mixed && !cast_floats) {
    return wrong_type(expected, got);
  }
  Tolerance level = have == DType::kF16 || have == DType::kBF16 ? for_half(tolerance) : tolerance;
  if (is_quantised(have) && tolerance.name == "Approximate") level.absolute = got.qparams().scale;

  const DType common = mixed || have == DType::kF64 ? DType::kF64
                       : real                       ? DType::kF32
                                                    : DType::kI64;
  // A half reference of f32 is rounded first: the output cannot be nearer.
  auto want =
      is_quantised(have) ? real_values(expected, got) : cast(expected, mixed ? common : have);
  if (want.ok()) want = cast(*want, common);
  const auto given = cast(got, common);
  if (!want.ok() || !given.ok()) return wrong_type(expected, got);
  const Outliers outliers = common == DType::kF64   ? double_outliers(*want, *given, level)
                            : common == DType::kF32 ? float_outliers(*want, *given, level)
                                                    : integer_outliers(*want, *given);
  const double share = static_cast<double>(outliers.count) / static_cast<double>(got.volume());
  if (outliers.count == 0 || share <= level.outliers) return std::nullopt;
  return describe(outliers, got, level, have);
}

Result<Tolerance> tolerance_of(const Args& args) {
  if (!args.approx_custom.empty()) return parse_custom_tolerance(args.approx_custom);
  return *tolerance_named(args.approx.empty() ? "close" : args.approx);
}

namespace {

/// References of ONNX models come from other programs, which add in another order: by default they
/// may differ by what the tests of the standard allow.
Result<Tolerance> reference_tolerance(const Args& args) {
  const bool asked = !args.approx.empty() || !args.approx_custom.empty();
  if (asked || !is_onnx_model(args.model)) return tolerance_of(args);
  return *tolerance_named("onnx");
}

}  // namespace

Result<Reference> Reference::read(const Args& args) {
  Reference out;
  out.asked_ = !args.output_bundles.empty() || !args.assert_outputs.empty();
  out.allow_missing_ = args.allow_missing_outputs;
  out.cast_floats_ = args.allow_float_casts;
  RILL_ASSIGN(out.tolerance_, reference_tolerance(args));
  RILL_ASSIGN(out.bundle_, Bundle::read(args.output_bundles));
  for (const std::string& text : args.assert_outputs) {
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(text));
    if (!spec.has_values) return fail(Code::kArg, "--assert-output ", text, ": no =values");
    RILL_ASSIGN(Tensor value, spec_tensor(spec));
    out.bundle_.put(spec.name, 0, std::move(value));
  }
  return out;
}

Result<const Bundle::Item*> Reference::find(const std::string& label,
                                            const std::string& node) const {
  const Bundle::Item* item = bundle_.find(label);
  if (item == nullptr) item = bundle_.find(node);
  if (item == nullptr && !allow_missing_) {
    return fail(Code::kArg, "Missing reference output in bundle for ", label, " or ", node)
        .hint(str_cat("The bundle has ", bundle_.contents(),
                      "; --allow-missing-outputs skips this output"));
  }
  return item;
}

Status Reference::check_output(size_t index, const Tensor& expected, const Tensor& got) const {
  const auto wrong = mismatch(expected, got, tolerance_, cast_floats_);
  if (!wrong) return {};
  return fail(Code::kState, "Checking output ", index, ": ", *wrong);
}

Status Reference::check(const Graph& graph, std::span<const Tensor> outputs, size_t turn,
                        const Log& log) const {
  Status first;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Node& node = graph.node(graph.outputs[i].node);
    const std::string& label = graph.output_names[i];
    constexpr std::string_view kGrown = "_concat";
    const bool inside =
        label.ends_with(kGrown) &&
        is_own_cache(graph, std::string_view(label).substr(0, label.size() - kGrown.size()));
    if (inside && bundle_.find(label) == nullptr) continue;
    RILL_ASSIGN(const Bundle::Item* item, find(label, node.name));
    if (item == nullptr) continue;
    Status status =
        check_output(i, item->turns[std::min(turn, item->turns.size() - 1)], outputs[i]);
    if (status.ok()) {
      log.info(str_cat("Checked output #", i, ", ok."));
      continue;
    }
    status = std::move(status).in_node(graph.output_names[i], node.op->name());
    if (first.ok()) {
      first = std::move(status);
    } else {
      log.error(status.error());
    }
  }
  return first;
}

namespace {

Status check_facts(const Args& args, std::span<const Fact> facts,
                   std::span<const std::string> names) {
  const auto found = static_cast<int64_t>(facts.size());
  if (args.assert_output_count >= 0 && args.assert_output_count != found) {
    return fail(Code::kState, "Wrong number of outputs, command line expected ",
                args.assert_output_count, ", found ", found);
  }
  if (args.assert_output_facts.empty()) return {};
  if (args.assert_output_facts.size() != facts.size()) {
    return fail(Code::kState, "Number of output differ: got:", found,
                ", expected:", args.assert_output_facts.size());
  }
  for (size_t i = 0; i < facts.size(); ++i) {
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(args.assert_output_facts[i]));
    const Fact& fact = facts[i];
    if (spec.dtype && *spec.dtype != fact.dtype) {
      return fail(Code::kState, "Failed to infer datum type: expected ", dtype_name(*spec.dtype),
                  ", got ", dtype_name(fact.dtype), " for output ", names[i]);
    }
    bool same = spec.shape.size() == fact.shape.size();
    for (size_t axis = 0; same && axis < spec.shape.size(); ++axis) {
      same = !spec.shape[axis] || *spec.shape[axis] == fact.shape[axis];
    }
    if (!same) {
      return fail(Code::kState, "Failed to infer shape: expected ", args.assert_output_facts[i],
                  ", got ", fact, " for output ", names[i]);
    }
  }
  return {};
}

}  // namespace

Status check_output_facts(const Args& args, const Graph& graph) {
  Facts facts;
  for (const OutletId output : graph.outputs) facts.push_back(graph.fact(output));
  return check_facts(args, facts, graph.output_names);
}

Status check_value_facts(const Args& args, std::span<const Tensor> values,
                         std::span<const std::string> names) {
  Facts facts;
  for (const Tensor& value : values) {
    facts.push_back(Fact::of_tensor(std::make_shared<const Tensor>(value)).without_value());
  }
  return check_facts(args, facts, names);
}

}  // namespace rill::cli
