#include "tests/operators/case.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/tensor_file/tensor_file.h"
#include "ops/op_table.h"
#include "tests/property/generate.h"

namespace rill::test {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string rest_of(const std::string& line, size_t first_words) {
  size_t at = 0;
  for (size_t i = 0; i < first_words; ++i) {
    at = line.find_first_not_of(' ', at);
    at = line.find(' ', at);
    if (at == std::string::npos) return {};
  }
  return line.substr(line.find_first_not_of(' ', at));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<int64_t> numbers_of(const std::vector<std::string>& words) {
  std::vector<int64_t> out;
  for (size_t i = 1; i < words.size(); ++i) out.push_back(std::stoll(words[i]));
  return out;
}

/// "f32 [1, S] -1 1"
Operand operand_of(const std::string& line) {
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  const std::vector<std::string> head = words_of(line.substr(0, open));
  Operand out;
  out.name = head.at(1);
  out.dtype = dtype_from_name(head.at(2)).value_or(DType::kString);
  std::istringstream extents(line.substr(open + 1, close - open - 1));
  for (std::string extent; std::getline(extents, extent, ',');) {
    out.shape.push_back(replaced(extent, " ", ""));
  }
  const std::vector<std::string> range = words_of(line.substr(close + 1));
  if (range.size() == 2) {
    out.low = std::stod(range[0]);
    out.high = std::stod(range[1]);
  }
  return out;
}

void read_line(const std::string& line, Case* into) {
  const std::vector<std::string> words = words_of(line);
  const std::string& key = words.front();
  if (key == "in") {
    into->inputs.push_back(operand_of(line));
  } else if (key == "added") {
    into->added.push_back(operand_of(line));
  } else if (key == "weight") {
    into->weights.push_back(operand_of(line));
  } else if (key == "out") {
    into->outputs = rest_of(line, 1);
  } else if (key == "fragment") {
    into->fragments += line + "\n";
  } else if (key == "quant") {
    into->quant += rest_of(line, 1) + "\n";
  } else if (key == "assert") {
    into->assertions += "extension tract_assert " + rest_of(line, 1) + ";\n";
  } else if (key == "S") {
    into->lengths = numbers_of(words);
  } else if (key == "pulses") {
    into->pulses = numbers_of(words);
  } else if (key == "refused") {
    into->refusal = rest_of(line, 1);
  } else if (key == "pulsed") {
    into->pulsed = true;
  } else if (key == "kept") {
    into->kept = true;
  } else {
    into->statements += "  " + line + "\n";
  }
}

/// One case per word after "for".
void expand(const Case& pattern, const std::vector<std::string>& head, std::vector<Case>* out) {
  if (head.size() < 3 || head[2] != "for") {
    out->push_back(pattern);
    return;
  }
  for (size_t i = 3; i < head.size(); ++i) {
    Case one = pattern;
    one.name += "_" + head[i];
    one.statements = replaced(one.statements, "$", head[i]);
    out->push_back(std::move(one));
  }
}

void read_file(const std::filesystem::path& path, std::vector<Case>* out) {
  std::ifstream in(path);
  Case current;
  std::vector<std::string> head;
  int number = 0;
  const auto finish = [&] {
    if (!head.empty()) expand(current, head, out);
    head.clear();
  };
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || words[0][0] == '#') continue;
    if (words[0] == "case") {
      finish();
      head = words;
      current = Case();
      current.name = path.stem().string() + "_" + words.at(1);
      current.file = path.filename().string();
      current.line = number;
    } else {
      read_line(line, &current);
    }
  }
  finish();
}

template <class T>
void fill_as(const Operand& operand, Random* random, Tensor* tensor) {
  T* data = tensor->mutable_data<T>();
  for (int64_t i = 0; i < tensor->volume(); ++i) {
    const double unit = static_cast<double>(random->next() >> 11U) * 0x1p-53;
    const double value = operand.low + unit * (operand.high - operand.low);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      data[i] = static_cast<T>(static_cast<int64_t>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      data[i] = unit < 0.5;
    } else {
      data[i] = static_cast<T>(static_cast<float>(value));
    }
  }
}

Result<Tensor> filled(const Operand& operand, std::vector<int64_t> shape, Random* random) {
  RILL_ASSIGN(Tensor out, Tensor::zeros(operand.dtype, std::move(shape)));
  switch (operand.dtype) {
    case DType::kBool:
      fill_as<bool>(operand, random, &out);
      break;
    case DType::kU8:
      fill_as<uint8_t>(operand, random, &out);
      break;
    case DType::kU16:
      fill_as<uint16_t>(operand, random, &out);
      break;
    case DType::kU32:
      fill_as<uint32_t>(operand, random, &out);
      break;
    case DType::kU64:
      fill_as<uint64_t>(operand, random, &out);
      break;
    case DType::kI8:
      fill_as<int8_t>(operand, random, &out);
      break;
    case DType::kI16:
      fill_as<int16_t>(operand, random, &out);
      break;
    case DType::kI32:
      fill_as<int32_t>(operand, random, &out);
      break;
    case DType::kI64:
      fill_as<int64_t>(operand, random, &out);
      break;
    case DType::kF16:
      fill_as<Half>(operand, random, &out);
      break;
    case DType::kBF16:
      fill_as<BFloat16>(operand, random, &out);
      break;
    case DType::kF32:
      fill_as<float>(operand, random, &out);
      break;
    case DType::kF64:
      fill_as<double>(operand, random, &out);
      break;
    default:
      return fail(Code::kDType, "no noise of type ", dtype_name(operand.dtype));
  }
  return out;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

std::string Case::text() const {
  std::string out =
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_registry tract_extra;\n"
      "extension tract_registry tract_pulse;\nextension tract_registry tract_onnx;\n"
      "extension tract_registry tract_transformers;\nextension tract_registry tract_resource;\n"
      "extension tract_registry rill_pulse;\nextension tract_registry rill_onnx;\n"
      "extension tract_symbol S;\n" +
      assertions + fragments + "graph network(";
  for (size_t i = 0; i < inputs.size(); ++i) out += (i == 0 ? "" : ", ") + inputs[i].name;
  out += ") -> (" + outputs + ")\n{\n";
  for (const Operand& input : inputs) {
    out += str_cat("  ", input.name, " = tract_core_external(shape = [", join(input.shape, ", "),
                   "], datum_type = '", dtype_lower_name(input.dtype), "');\n");
  }
  for (const Operand& weight : weights) {
    out += str_cat("  ", weight.name, " = variable<scalar>(label = '", weight.name, "', shape = [",
                   join(weight.shape, ", "), "]);\n");
  }
  return out + statements + "}\n";
}

std::vector<Case> all_cases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(RILL_SOURCE_DIR "/tests/operators/cases")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> out;
  for (const auto& file : files) read_file(file, &out);
  return out;
}

Result<Graph> load_case(const Case& a_case) {
  std::vector<nnef::Entry> entries = {{"graph.nnef", bytes_of(a_case.text())}};
  if (!a_case.quant.empty()) entries.push_back({"graph.quant", bytes_of(a_case.quant)});
  Random random(1);
  for (const Operand& weight : a_case.weights) {
    std::vector<int64_t> shape;
    for (const std::string& extent : weight.shape) shape.push_back(std::stoll(extent));
    RILL_ASSIGN(const Tensor tensor, filled(weight, shape, &random));
    RILL_ASSIGN(std::vector<std::byte> bytes, nnef::write_tensor(tensor));
    entries.push_back({weight.name + ".dat", std::move(bytes)});
  }
  return nnef::load_entries(std::move(entries), ops::op_table());
}

Result<std::vector<Tensor>> case_inputs(const Case& a_case, const Graph& graph,
                                        const Bindings& bindings, uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    std::vector<int64_t> shape;
    for (const Dim& dim : graph.fact(graph.inputs[i]).shape) {
      const std::optional<int64_t> extent = dim.eval(bindings);
      if (!extent) return fail(Code::kSymbol, "no value for ", dim);
      shape.push_back(*extent);
    }
    const size_t own = a_case.inputs.size();
    if (i >= own + a_case.added.size()) {
      return fail(Code::kArg, "input \"", graph.input_name(i), "\" is not in the case");
    }
    const Operand& operand = i < own ? a_case.inputs[i] : a_case.added[i - own];
    RILL_ASSIGN(Tensor tensor, filled(operand, shape, &random));
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace rill::test
