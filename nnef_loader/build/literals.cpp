#include "nnef_loader/build/literals.h"

#include <cmath>

#include "core/base/search.h"
#include "core/graph/nnef.h"
#include "nnef_loader/syntax/printer.h"

namespace rill::nnef {
namespace {

using Text = std::optional<std::string>;

Text call_text(std::string_view callee, const std::vector<Dim>& args,
               const BroadcastText& broadcasts) {
  Text out = dim_expression(args[0], broadcasts);
  for (size_t i = 1; out && i < args.size(); ++i) {
    const Text by = dim_expression(args[i], broadcasts);
    if (!by) return std::nullopt;
    out = str_cat(callee, "(", *out, ", ", *by, ")");
  }
  return out;
}

Dim atom_dim(const std::shared_ptr<const DimAtom>& atom) {
  return Dim::from_sum({0, {{1, {atom}, atom->text}}});
}

Text atom_text(const std::shared_ptr<const DimAtom>& atom, const BroadcastText& broadcasts) {
  const std::vector<Dim>& args = atom->args;
  switch (atom->kind) {
    case DimAtom::Kind::kSymbol:
      return print_identifier(atom->text);
    case DimAtom::Kind::kDiv: {
      const Text numerator = dim_expression(args[0], broadcasts);
      if (!numerator) return std::nullopt;
      return str_cat("(", *numerator, " / ", atom->divisor, ")");
    }
    case DimAtom::Kind::kMin:
      return call_text("min", args, broadcasts);
    case DimAtom::Kind::kMax:
      return call_text("max", args, broadcasts);
    case DimAtom::Kind::kBroadcast:
      return broadcasts ? broadcasts(atom_dim(atom)) : std::nullopt;
    case DimAtom::Kind::kGe:
    case DimAtom::Kind::kEq:
    case DimAtom::Kind::kInvalid:
      break;
  }
  return std::nullopt;
}

/// Format a sign and a magnitude: INT64_MIN has no positive counterpart.
std::string signed_text(int64_t number, bool leads) {
  if (number == INT64_MIN) return str_cat(leads ? "" : " + ", number);
  if (number < 0) return str_cat(leads ? "0 - " : " - ", -number);
  return str_cat(leads ? "" : " + ", number);
}

Text term_text(const DimTerm& term, bool leads, const BroadcastText& broadcasts) {
  std::string out = signed_text(term.coefficient, leads);
  const bool unit = term.coefficient == 1 || term.coefficient == -1;
  if (unit) out.pop_back();
  for (size_t i = 0; i < term.factors.size(); ++i) {
    if (i > 0 || !unit) out += " * ";
    const Text factor = atom_text(term.factors[i], broadcasts);
    if (!factor) return std::nullopt;
    out += *factor;
  }
  return out;
}

/// Writes nested lists, one element at a time.
std::string nested_text(const Tensor& tensor, const std::function<std::string(int64_t)>& element) {
  int64_t at = 0;
  const std::function<std::string(int)> level = [&](int axis) {
    if (axis == tensor.rank()) return element(at++);
    std::string out = "[";
    for (int64_t i = 0; i < tensor.extent(axis); ++i) {
      if (i > 0) out += ", ";
      out += level(axis + 1);
    }
    return out + "]";
  };
  return level(0);
}

}  // namespace

std::string cast_text(std::string_view text, DType to) {
  return str_cat("tract_core_cast(", text, ", to = \"", dtype_lower_name(to), "\")");
}

namespace {

std::optional<std::string> float_text(const Tensor& tensor) {
  bool exact = true;
  std::string text = nested_text(tensor, [&](int64_t i) -> std::string {
    const double value = element_as_double(tensor, i).ok() ? *element_as_double(tensor, i) : NAN;
    const auto narrow = static_cast<float>(value);
    exact &= static_cast<double>(narrow) == value;
    return nnef_text(narrow);
  });
  if (!exact) return std::nullopt;
  return tensor.dtype() == DType::kF32 ? text : cast_text(text, tensor.dtype());
}

std::optional<std::string> integer_text(const Tensor& tensor) {
  bool fits = true;
  const std::string text = nested_text(tensor, [&](int64_t i) {
    const auto value = element_as_int(tensor, i);
    const bool readable =
        value.ok() && (tensor.rank() == 0 || (*value >= INT32_MIN && *value <= INT32_MAX));
    // Above the range of i64, where the value appears negative.
    fits &= readable && !(tensor.dtype() == DType::kU64 && *value < 0);
    return readable ? str_cat(*value) : std::string();
  });
  if (!fits) return std::nullopt;
  return cast_text(text, tensor.dtype());
}

/// Without the cast, a list of numbers would be read as integers, and a list of strings as strings.
std::string dims_tensor_text(const Tensor& tensor) {
  const auto dims = tensor.values<Dim>();
  const bool as_strings =
      any_of(dims, [](const Dim& dim) { return !dim_expression(dim).has_value(); });
  const bool symbolic = any_of(dims, [](const Dim& dim) { return !dim.is_const(); });
  std::string text = nested_text(tensor, [&](int64_t i) {
    return as_strings ? print_string(dims[static_cast<size_t>(i)].to_string())
                      : dim_text(dims[static_cast<size_t>(i)]);
  });
  const bool plain = !as_strings && (symbolic || tensor.rank() == 0);
  return plain ? text : cast_text(text, DType::kDim);
}

}  // namespace

Text dim_expression(const Dim& dim, const BroadcastText& broadcast_text) {
  if (dim.is_const()) return dim.to_string();
  const DimSum& sum = *dim.sum();
  std::string out;
  for (const DimTerm& term : sum.terms) {
    const Text text = term_text(term, out.empty(), broadcast_text);
    if (!text) return std::nullopt;
    out += *text;
  }
  const bool single = sum.constant == 0 && sum.terms.size() == 1 && sum.terms[0].coefficient == 1 &&
                      sum.terms[0].factors.size() == 1;
  if (single) return out;
  if (sum.constant != 0) out += signed_text(sum.constant, false);
  return str_cat("(", out, ")");
}

std::string dim_text(const Dim& dim) {
  return dim_expression(dim).value_or(print_string(dim.to_string()));
}

std::string dims_text(std::span<const Dim> dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += dim_text(dims[i]);
  }
  return out + "]";
}

std::optional<std::string> literal_text(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (tensor.block_format() != BlockFormat::kNone || is_quantised(dtype)) return std::nullopt;
  if (tensor.empty() && tensor.rank() != 1) return std::nullopt;
  if (is_float(dtype)) return float_text(tensor);
  if (is_int(dtype)) return integer_text(tensor);
  if (dtype == DType::kDim) return dims_tensor_text(tensor);
  if (tensor.empty()) return std::nullopt;
  if (dtype == DType::kBool) {
    return nested_text(tensor, [&](int64_t i) { return nnef_text(tensor.data<bool>()[i]); });
  }
  if (dtype == DType::kString) {
    return nested_text(tensor, [&](int64_t i) {
      return nnef_text(std::string_view(tensor.data<std::string>()[i]));
    });
  }
  return std::nullopt;
}

bool is_bare_literal(const Tensor& tensor) {
  if (tensor.rank() != 0 || tensor.block_format() != BlockFormat::kNone) return false;
  if (tensor.dtype() == DType::kF32) return !std::isnan(tensor.data<float>()[0]);
  return tensor.dtype() == DType::kDim || tensor.dtype() == DType::kBool ||
         tensor.dtype() == DType::kString;
}

}  // namespace rill::nnef
