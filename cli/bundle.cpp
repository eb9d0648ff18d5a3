#include "cli/bundle.h"

#include <charconv>

#include "api/src/npz.h"
#include "audit/values.h"
#include "core/tensor/frames.h"

namespace rill::cli {
namespace {

/// Remove `turn_T/` from a name and return T; 0 if there is none.
size_t take_turn(std::string_view* name) {
  constexpr std::string_view kPrefix = "turn_";
  if (!name->starts_with(kPrefix)) return 0;
  const size_t slash = name->find('/');
  if (slash == std::string_view::npos) return 0;
  const std::string_view digits = name->substr(kPrefix.size(), slash - kPrefix.size());
  size_t turn = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), turn);
  if (error != std::errc() || end != digits.data() + digits.size()) return 0;
  name->remove_prefix(slash + 1);
  return turn;
}

}  // namespace

Result<Bundle> Bundle::read(std::span<const std::string> paths) {
  Bundle out;
  for (const std::string& path : paths) {
    RILL_ASSIGN(std::vector<NamedTensor> arrays, read_npz(path));
    std::map<std::pair<size_t, std::string>, Tensor> later;
    for (NamedTensor& array : arrays) {
      std::string_view name = array.first;
      const size_t turn = take_turn(&name);
      if (turn >= arrays.size()) {
        return fail(Code::kParse, "array ", array.first, " is of turn ", turn, ", but only ",
                    arrays.size(), " arrays are there")
            .at(path, 0);
      }
      if (turn == 0) {
        out.put(name, 0, std::move(array.second));
      } else {
        later.emplace(std::pair(turn, std::string(name)), std::move(array.second));
      }
    }
    for (auto& [key, value] : later) out.put(key.second, key.first, std::move(value));
  }
  return out;
}

const Bundle::Item* Bundle::find(std::string_view name) const {
  for (const Item& item : items_) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

void Bundle::put(std::string_view name, size_t turn, Tensor value) {
  auto* item = const_cast<Item*>(find(name));
  if (item == nullptr) {
    items_.push_back({std::string(name), {}});
    item = &items_.back();
  }
  if (turn == 0) item->turns.clear();
  // A missing turn repeats the one before it.
  while (item->turns.size() < turn) {
    item->turns.push_back(item->turns.empty() ? value : item->turns.back());
  }
  item->turns.push_back(std::move(value));
}

std::string Bundle::contents() const {
  std::string out;
  for (const Item& item : items_) {
    out += str_cat(out.empty() ? "" : "; ", item.name, ": ", shape_text(item.turns[0]));
  }
  return out.empty() ? "nothing" : out;
}

std::string value_text(const Tensor& tensor, int64_t limit) {
  std::string text = tensor_text(tensor, limit);
  if (tensor.rank() == 0 && !text.starts_with(',')) text.insert(0, 1, ',');
  return text;
}

std::string shape_text(const Tensor& tensor) {
  std::string out;
  for (const int64_t extent : tensor.shape()) out += str_cat(extent, ",");
  return str_cat(tensor.rank() == 0 ? "," : "", out, dtype_name(tensor.dtype()));
}

namespace {

Result<Tensor> writable(const Tensor& tensor, bool halves_as_f32) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kBF16 || (dtype == DType::kF16 && halves_as_f32)) {
    return cast(tensor, DType::kF32);
  }
  if (dtype == DType::kQU8) return tensor.reinterpreted(DType::kU8, {});
  if (dtype == DType::kQI8) return tensor.reinterpreted(DType::kI8, {});
  if (dtype == DType::kQI32) return tensor.reinterpreted(DType::kI32, {});
  if (dtype == DType::kDim) return cast(tensor, DType::kI64);
  return tensor;
}

}  // namespace

Status write_turns(const std::string& path, std::span<const std::string> names,
                   std::span<const std::vector<Tensor>> turns, bool halves_as_f32) {
  std::vector<NamedTensor> arrays;
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    const std::string prefix = turns.size() > 1 ? str_cat("turn_", turn, "/") : "";
    for (size_t i = 0; i < names.size(); ++i) {
      auto value = writable(turns[turn][i], halves_as_f32);
      if (!value.ok()) {
        return value.take_status().hint(str_cat("Output ", names[i], " cannot be in an npz"));
      }
      arrays.emplace_back(prefix + names[i], std::move(value).value());
    }
  }
  return write_npz(path, arrays);
}

Result<Tensor> joined(std::span<const Tensor> parts, int axis) {
  std::vector<int64_t> shape = parts[0].shape();
  int64_t total = 0;
  for (const Tensor& part : parts) total += part.extent(axis);
  shape[static_cast<size_t>(axis)] = total;
  RILL_ASSIGN(Tensor out, Tensor::zeros(parts[0].dtype(), shape, parts[0].qparams()));
  int64_t at = 0;
  for (const Tensor& part : parts) {
    View to = out.view();
    to.shape[static_cast<size_t>(axis)] = part.extent(axis);
    to.data = static_cast<std::byte*>(to.data) + at * to.step(axis) * dtype_size(to.dtype);
    if (part.dtype() != out.dtype() || part.rank() != out.rank()) {
      return fail(Code::kShape, "the turns of one input differ: ", shape_text(parts[0]), " and ",
                  shape_text(part));
    }
    for (int i = 0; i < to.rank; ++i) {
      RILL_CHECK(to.extent(i) == part.extent(i),
                 "the turns of one input differ: ", shape_text(parts[0]), " and ",
                 shape_text(part));
    }
    copy_view(part.view(), to);
    at += part.extent(axis);
  }
  return out;
}

Result<Tensor> frames_of(const Tensor& tensor, int axis, int64_t first, int64_t count) {
  return audit::copy_of(rill::frames_of(tensor.view(), axis, first, count));
}

}  // namespace rill::cli
