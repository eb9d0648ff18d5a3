#include "nnef_loader/build/values.h"

#include <charconv>
#include <cmath>

#include "core/base/number_text.h"

namespace rill::nnef {
namespace {

/// Return the constant of a wire, or null.
const Tensor* tensor_of(const Value& value, const Graph& graph) {
  const OutletId* wire = value.get<OutletId>();
  return wire ? graph.fact(*wire).konst.get() : nullptr;
}

Status mismatch(std::string_view wanted, const Value& value, const Graph& graph) {
  const OutletId* wire = value.get<OutletId>();
  if (wire && !graph.fact(*wire).konst) {
    return fail(Code::kUnsupported, "expected ", wanted,
                " that is known when the model is loaded, ", "found ", value_text(value, graph));
  }
  return fail(Code::kDType, "expected ", wanted, ", found ", value_text(value, graph));
}

/// Return the only element of a list: readers treat `[x]` as `x`.
const Value& unwrapped(const Value& value) {
  const Value* at = &value;
  while (const List* list = at->get<List>()) {
    if (list->size() != 1) break;
    at = &list->front();
  }
  return *at;
}

Result<Dim> dim_of_float(float value) {
  constexpr float kLimit = 9.2e18F;
  if (!(std::fabs(value) < kLimit)) {
    return fail(Code::kDType, "expected an integer, found ", value);
  }
  return Dim(static_cast<int64_t>(value));
}

float parse_float(std::string_view text) {
  float value = 0.0F;
  read_number(text, &value);
  return value;
}

}  // namespace

std::string value_text(const Value& value, const Graph& graph) {
  if (const OutletId* wire = value.get<OutletId>()) {
    const char* kind = graph.fact(*wire).konst ? "the constant \"" : "the computed wire \"";
    return str_cat(kind, graph.node(wire->node).name, "\" of type ", graph.fact(*wire));
  }
  if (const Dim* dim = value.get<Dim>()) return dim->to_string();
  if (const float* scalar = value.get<float>()) return nnef_text(*scalar);
  if (const bool* truth = value.get<bool>()) return nnef_text(*truth);
  if (const std::string* text = value.get<std::string>()) {
    return str_cat("the string \"", text->substr(0, 80), "\"");
  }
  if (const List* list = value.get<List>()) return str_cat("a list of ", list->size());
  return "nothing";
}

int64_t leaf_count(const Value& value) {
  const List* list = value.get<List>();
  if (!list) return 1;
  int64_t count = 1;
  for (const Value& item : *list) count += leaf_count(item);
  return count;
}

Result<Value> value_of(const NumberLiteral& literal) {
  if (literal.is_scalar) return Value(parse_float(literal.text));
  int64_t value = 0;
  const char* begin = literal.text.data();
  const char* end = begin + literal.text.size();
  if (begin != end && *begin == '+') ++begin;
  const auto [at, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || at != end) {
    return fail(Code::kParse, "the integer ", literal.text.substr(0, 40),
                " does not fit in 64 bits");
  }
  return Value(Dim(value));
}

Result<Dim> dim_of(const Value& wrapped, const Graph& graph) {
  const Value& value = unwrapped(wrapped);
  if (const Dim* dim = value.get<Dim>()) return *dim;
  if (const float* scalar = value.get<float>()) return dim_of_float(*scalar);
  if (const bool* truth = value.get<bool>()) return Dim(*truth ? 1 : 0);
  if (const std::string* text = value.get<std::string>()) {
    RILL_ASSIGN(Dim dim, parse_dim(*text));
    std::vector<std::string> names;
    dim.collect_symbols(&names);
    for (const std::string& name : names) {
      if (!graph.scope.declared(name)) return fail(Code::kSymbol, "unknown symbol \"", name, "\"");
    }
    return dim;
  }
  const Tensor* tensor = tensor_of(value, graph);
  if (!tensor || tensor->volume() != 1 || tensor->block_format() != BlockFormat::kNone) {
    return mismatch("an integer", value, graph);
  }
  if (is_float(tensor->dtype())) {
    RILL_ASSIGN(const double number, element_as_double(*tensor, 0));
    return dim_of_float(static_cast<float>(number));
  }
  return element_as_dim(*tensor, 0);
}

Result<int64_t> integer_of(const Value& value, const Graph& graph) {
  RILL_ASSIGN(const Dim dim, dim_of(value, graph));
  return dim.as_int();
}

Result<float> number_of(const Value& wrapped, const Graph& graph) {
  const Value& value = unwrapped(wrapped);
  if (const float* scalar = value.get<float>()) return *scalar;
  if (const Dim* dim = value.get<Dim>()) {
    RILL_ASSIGN(const int64_t number, dim->as_int());
    return static_cast<float>(number);
  }
  if (const bool* truth = value.get<bool>()) return *truth ? 1.0F : 0.0F;
  const Tensor* tensor = tensor_of(value, graph);
  const bool usable = tensor && tensor->volume() == 1 && tensor->dtype() != DType::kString &&
                      tensor->block_format() == BlockFormat::kNone;
  if (!usable) return mismatch("a number", value, graph);
  RILL_ASSIGN(const double number, element_as_double(*tensor, 0));
  return static_cast<float>(number);
}

Result<bool> boolean_of(const Value& wrapped, const Graph& graph) {
  const Value& value = unwrapped(wrapped);
  if (const bool* truth = value.get<bool>()) return *truth;
  if (value.get<std::string>()) return mismatch("a truth value", value, graph);
  RILL_ASSIGN(const float number, number_of(value, graph));
  return number != 0.0F;
}

Result<std::string> text_of(const Value& wrapped, const Graph& graph) {
  const Value& value = unwrapped(wrapped);
  if (const std::string* text = value.get<std::string>()) return *text;
  const Tensor* tensor = tensor_of(value, graph);
  if (!tensor || tensor->dtype() != DType::kString || tensor->volume() != 1) {
    return mismatch("a string", value, graph);
  }
  return tensor->data<std::string>()[0];
}

namespace {

/// Return one element of a constant as a separate value.
Result<Value> tensor_element(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kString) return Value(tensor.data<std::string>()[index]);
  if (tensor.dtype() == DType::kBool) return Value(tensor.data<bool>()[index]);
  if (is_float(tensor.dtype())) {
    RILL_ASSIGN(const double number, element_as_double(tensor, index));
    return Value(static_cast<float>(number));
  }
  RILL_ASSIGN(Dim dim, element_as_dim(tensor, index));
  return Value(std::move(dim));
}

bool is_plain_list(const Tensor* tensor) {
  return tensor && tensor->rank() == 1 && tensor->block_format() == BlockFormat::kNone;
}

}  // namespace

Result<List> elements_of(const Value& value, const Graph& graph) {
  if (const List* list = value.get<List>()) return *list;
  List out;
  const Tensor* tensor = tensor_of(value, graph);
  if (!is_plain_list(tensor)) {
    out.push_back(value);
    return out;
  }
  for (int64_t i = 0; i < tensor->volume(); ++i) {
    RILL_ASSIGN(Value element, tensor_element(*tensor, i));
    out.push_back(std::move(element));
  }
  return out;
}

Result<Value> element_of(const Value& value, int64_t index, const Graph& graph) {
  const List* list = value.get<List>();
  const Tensor* tensor = tensor_of(value, graph);
  if (!list && !is_plain_list(tensor)) return mismatch("a list", value, graph);
  const int64_t count = list ? static_cast<int64_t>(list->size()) : tensor->volume();
  if (index < 0 || index >= count) {
    return fail(Code::kShape, "index ", index, " is outside a list of ", count);
  }
  if (list) return (*list)[static_cast<size_t>(index)];
  return tensor_element(*tensor, index);
}

Result<NamedType> type_from_text(std::string_view text) {
  const size_t paren = text.find('(');
  const auto dtype = dtype_from_name(text.substr(0, paren));
  if (!dtype || *dtype == DType::kBlob) {
    return fail(Code::kUnsupported, "element type \"", text.substr(0, 40), "\" is not supported");
  }
  NamedType type{*dtype, {}};
  if (paren == std::string_view::npos) return type;
  const std::string body(text.substr(paren));
  const size_t zero = body.find("Z:");
  const size_t scale = body.find("S:");
  const char* end = body.data() + body.size();
  const bool found =
      is_quantised(*dtype) && zero != std::string::npos && scale != std::string::npos &&
      std::from_chars(body.data() + zero + 2, end, type.q.zero_point).ec == std::errc() &&
      read_number(std::string_view(body).substr(scale + 2), &type.q.scale) > 0;
  if (!found) return fail(Code::kParse, "expected \"QU8(Z:0 S:1.0)\", found \"", text, "\"");
  return type;
}

}  // namespace rill::nnef
