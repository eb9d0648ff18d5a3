#include "tests/property/typed.h"

#include <cstring>

#include "audit/draw.h"
#include "core/base/text.h"
#include "nnef_loader/build/load_entries.h"
#include "ops/op_table.h"
#include "tests/property/texts.h"

namespace rill::test {
namespace {

/// The storage type of a wire.
struct Type {
  std::string name;  ///< "f32", "i64" or another; "q" of quantised bytes
  int64_t zero = 0;
  std::string scale = "1.0";
  bool is_signed = false;

  bool quantised() const { return name == "q"; }
  bool is_float() const { return name[0] == 'f'; }
};

struct TypedWire {
  std::string name;
  int64_t channels = 1;
  Type type;
};

class TypedWriter {
 public:
  explicit TypedWriter(uint64_t seed) : draw_(seed) {}

  TypedGraph write();

 private:
  std::string put(const Statement& statement) {
    const std::string name = str_cat("v", count_++);
    statements_ += str_cat("  ", name, " = ", statement.text, ";\n");
    return name;
  }
  /// Return the same type for another wire.
  TypedWire named(const std::string& name, int64_t channels, const Type& type) {
    if (type.quantised()) {
      quant_ += str_cat("\"", name, "\": zero_point_linear_quantize(zero_point = ", type.zero,
                        ", scale = ", type.scale,
                        ", bits = 8, signed = ", type.is_signed ? "true" : "false",
                        ", symmetric = false);\n");
    }
    return {name, channels, type};
  }
  TypedWire same(const TypedWire& x, const Statement& statement) {
    return named(put(statement), x.channels, x.type);
  }

  Type bytes();
  std::string number() { return thousandths(draw_.in(-999, 999)); }
  std::string whole(int64_t limit) { return str_cat(draw_.in(-limit, limit)); }
  /// Format a random number as an operand of a wire.
  std::string operand(const Type& type) {
    if (type.is_float()) return number();
    return str_cat("tract_core_cast(", whole(9), ", to = '", type.name, "')");
  }

  TypedWire link(const TypedWire& x);
  TypedWire cast(const TypedWire& x);
  TypedWire to_floats(const TypedWire& x);
  TypedWire conv(const TypedWire& x);
  TypedWire pool(const TypedWire& x);
  TypedWire padded(const TypedWire& x);
  TypedWire trimmed(const TypedWire& x);
  TypedWire arithmetic(const TypedWire& x);
  TypedWire shifted(const TypedWire& x);
  TypedWire joined(const TypedWire& x);
  TypedWire running(const TypedWire& x);
  TypedWire selected(const TypedWire& x);

  audit::Draw draw_;
  std::string statements_;
  std::string quant_;
  int count_ = 0;
};

Type TypedWriter::bytes() {
  Type out;
  out.name = "q";
  out.is_signed = draw_.chance(50);
  out.zero = out.is_signed ? draw_.in(-128, 127) : draw_.in(0, 255);
  const char* const scales[] = {"0.02", "0.0078125", "0.3", "0.001"};
  out.scale = scales[draw_.in(0, 3)];
  return out;
}

TypedWire TypedWriter::to_floats(const TypedWire& x) {
  if (x.type.name == "f32") return x;
  return {put({"tract_core_cast(", x.name, ", to = 'f32')"}), x.channels, {"f32"}};
}

TypedWire TypedWriter::cast(const TypedWire& x) {
  const char* const others[] = {"f16", "i8", "u8", "i16", "i32", "i64", "f64"};
  const int64_t to = draw_.in(0, 12);
  // The conversion of a float beyond the integer's range is undefined.
  const std::string bounded = put({"clamp(", to_floats(x).name, " * 3.0, -100.0, 100.0)"});
  if (to >= 7) return named(put({"tract_core_cast(", bounded, ")"}), x.channels, bytes());
  const bool positive = std::string(others[to]) == "u8";
  const std::string from = positive ? put({"abs(", bounded, ")"}) : bounded;
  return {put({"tract_core_cast(", from, ", to = '", others[to], "')"}), x.channels, {others[to]}};
}

TypedWire TypedWriter::conv(const TypedWire& x) {
  if (!x.type.quantised() && !x.type.is_float()) return trimmed(x);
  const bool depthwise = draw_.chance(25);
  const int64_t outputs = depthwise ? x.channels : draw_.in(1, 4);
  const int64_t kernel = draw_.in(1, 5);
  const std::vector<int64_t> shape = {outputs, depthwise ? 1 : x.channels, kernel};
  const std::string window = Statement{"padding = [(",
                                       draw_.in(0, 4),
                                       ", ",
                                       draw_.in(0, 4),
                                       ")], stride = [",
                                       draw_.chance(70) ? 1 : draw_.in(2, 3),
                                       "], dilation = [",
                                       draw_.in(1, 3),
                                       "], groups = ",
                                       depthwise ? x.channels : 1,
                                       ", border = 'constant'"}
                                 .text;
  const std::string filter = nested_list(shape, [&] { return number(); });
  if (x.type.is_float()) {
    const std::string weights =
        x.type.name == "f32" ? filter
                             : put({"tract_core_cast(", filter, ", to = '", x.type.name, "')"});
    return {put({"conv(", x.name, ", ", weights, ", 0.0, ", window, ")"}), outputs, x.type};
  }
  const std::string weights = named(put({"tract_core_cast(", filter, ")"}), 0, bytes()).name;
  const std::string bias =
      put({"tract_core_cast(", nested_list({outputs}, [&] { return whole(999) + ".0"; }),
           ", to = 'i32')"});
  const std::string out = put({"conv(", x.name, ", ", weights, ", ", bias, ", ", window, ")"});
  return named(out, outputs, bytes());
}

TypedWire TypedWriter::pool(const TypedWire& x) {
  if (!x.type.quantised() && !x.type.is_float()) return padded(x);
  const int64_t size = draw_.in(1, 4);
  return same(x, {"max_pool(", x.name, ", size = [1, 1, ", size, "], padding = [(0, 0), (0, 0), (",
                  draw_.in(0, size - 1), ", ", draw_.in(0, size - 1), ")], stride = [1, 1, ",
                  draw_.chance(70) ? 1 : 2, "], dilation = [1, 1, 1], border = 'ignore')"});
}

TypedWire TypedWriter::padded(const TypedWire& x) {
  const std::string padding =
      Statement{"padding = [(0, 0), (0, 0), (", draw_.in(0, 4), ", ", draw_.in(0, 4), ")]"}.text;
  if (draw_.chance(40)) {
    return same(x, {"pad(", x.name, ", ", padding, ", border = '",
                    draw_.chance(50) ? "replicated" : "reflect", "')"});
  }
  if (x.type.quantised()) return same(x, {"pad(", x.name, ", ", padding, ", border = 'constant')"});
  return same(x, {"pad(", x.name, ", ", padding, ", border = 'constant', value = ",
                  x.type.is_float() ? number() : operand(x.type), ")"});
}

TypedWire TypedWriter::trimmed(const TypedWire& x) {
  const int64_t end = draw_.in(0, 3);
  return same(x, {"slice(", x.name, ", axes = [2], begin = [", draw_.in(0, 3), "], end = [",
                  end == 0 ? "0" : str_cat("-", end), "])"});
}

TypedWire TypedWriter::arithmetic(const TypedWire& x) {
  if (x.type.quantised()) {
    switch (draw_.in(0, 3)) {
      case 0:
        return named(put({"add(", x.name, ", ", x.name, ")"}), x.channels, bytes());
      case 1:
        return named(put({"mul(", x.name, ", ", x.name, ")"}), x.channels, bytes());
      case 2:
        return same(x, {"relu(", x.name, ")"});
      default:
        return named(put({"sigmoid(", x.name, ")"}), x.channels, bytes());
    }
  }
  const char* const ops[] = {" + ", " - ", " * "};
  if (draw_.chance(70)) return same(x, {x.name, ops[draw_.in(0, 2)], operand(x.type)});
  return same(x, {draw_.chance(50) ? "max(" : "min(", x.name, ", ", operand(x.type), ")"});
}

/// Combine the stream with itself, shifted by a few frames.
TypedWire TypedWriter::shifted(const TypedWire& x) {
  const int64_t by = draw_.in(1, 3);
  const bool later = draw_.chance(50);
  const TypedWire cut = same(x, {"slice(", x.name, ", axes = [2], begin = [", later ? 0 : by,
                                 "], end = [", later ? str_cat("-", by) : "0", "])"});
  const TypedWire back =
      same(x, {"pad(", cut.name, ", padding = [(0, 0), (0, 0), (", later ? by : 0, ", ",
               later ? 0 : by, ")], border = 'constant')"});
  if (x.type.quantised()) {
    return named(put({"add(", x.name, ", ", back.name, ")"}), x.channels, bytes());
  }
  return same(x, {x.name, draw_.chance(50) ? " + " : " - ", back.name});
}

TypedWire TypedWriter::joined(const TypedWire& x) {
  const TypedWire other = arithmetic(x);
  if (x.type.quantised()) return other;
  return {put({"concat([", x.name, ", ", other.name, "], axis = 1)"}), 2 * x.channels, x.type};
}

TypedWire TypedWriter::running(const TypedWire& x) {
  if (x.type.quantised()) return padded(x);
  return same(x, {"tract_core_cumsum(", x.name, ", axis = 2, exclusive = ",
                  draw_.chance(50) ? "true" : "false", ", reverse = false)"});
}

TypedWire TypedWriter::selected(const TypedWire& x) {
  if (x.type.quantised()) return arithmetic(x);
  return same(x, {"select(", to_floats(x).name, " > ", number(), ", ", x.name, ", ", x.name, " * ",
                  operand(x.type), ")"});
}

TypedWire TypedWriter::link(const TypedWire& x) {
  using Link = TypedWire (TypedWriter::*)(const TypedWire&);
  constexpr Link kLinks[] = {&TypedWriter::cast,    &TypedWriter::cast,       &TypedWriter::conv,
                             &TypedWriter::conv,    &TypedWriter::pool,       &TypedWriter::padded,
                             &TypedWriter::padded,  &TypedWriter::trimmed,    &TypedWriter::shifted,
                             &TypedWriter::shifted, &TypedWriter::arithmetic, &TypedWriter::joined,
                             &TypedWriter::running, &TypedWriter::selected};
  return (this->*kLinks[draw_.in(0, std::size(kLinks) - 1)])(x);
}

TypedGraph TypedWriter::write() {
  const char* const inputs[] = {"f32", "f32", "f32", "f16", "f64", "i32", "i64", "u8", "i8"};
  TypedWire wire{"x", draw_.in(1, 3), {inputs[draw_.in(0, 8)]}};
  const std::string shape = str_cat("1, ", wire.channels, ", S");
  const std::string type = wire.type.name;
  const int64_t links = draw_.in(1, 6);
  for (int64_t i = 0; i < links; ++i) wire = link(wire);
  statements_ += str_cat("  y = copy(", wire.name, ");\n");
  if (wire.type.quantised()) named("y", wire.channels, wire.type);
  return {str_cat("version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
                  "graph network(x) -> (y)\n{\n  x = tract_core_external(shape = [",
                  shape, "], datum_type = '", type, "');\n", statements_, "}\n"),
          quant_};
}

}  // namespace

TypedGraph typed_graph(uint64_t seed) { return TypedWriter(seed * 6007 + 11).write(); }

Result<Graph> load_typed(const TypedGraph& graph) {
  const auto entry = [](const char* name, const std::string& text) {
    nnef::Entry out;
    out.name = name;
    out.bytes.resize(text.size());
    std::memcpy(out.bytes.data(), text.data(), text.size());
    return out;
  };
  std::vector<nnef::Entry> entries = {entry("graph.nnef", graph.text)};
  if (!graph.quant.empty()) entries.push_back(entry("graph.quant", graph.quant));
  return nnef::load_entries(std::move(entries), ops::op_table());
}

}  // namespace rill::test
