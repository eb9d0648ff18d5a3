#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace rill::cli {

/// Values by name, in file order, each with one tensor per input set ("turn"): `x` or `turn_0/x`,
/// `turn_1/x`.
class Bundle {
 public:
  struct Item {
    std::string name;
    std::vector<Tensor> turns;
  };

  /// Read and merge npz files; a name in a later file wins. Errors: those of `read_npz`.
  static Result<Bundle> read(std::span<const std::string> paths);

  /// Add the `.dat` files of a folder, and of its folders `turn_T`. Errors: those of `read_tensor`.
  Status add_folder(const std::string& path);

  const std::vector<Item>& items() const { return items_; }
  bool empty() const { return items_.empty(); }
  const Item* find(std::string_view name) const;
  void put(std::string_view name, size_t turn, Tensor value);
  /// List the names with their shapes, for messages.
  std::string contents() const;

 private:
  std::vector<Item> items_;
};

/// Write turns of named tensors: one turn under plain names, several as `turn_T/NAME`. Half floats
/// become f32 if `halves_as_f32` is set, as in tract's files.
Status write_turns(const std::string& path, std::span<const std::string> names,
                   std::span<const std::vector<Tensor>> turns, bool halves_as_f32);

/// Write turns of named tensors as `.dat` files: one turn as NAME.dat, several as turn_T/NAME.dat.
/// Errors: kArg for names that lead outside the folder; kIo.
Status write_turn_files(const std::string& folder, std::span<const std::string> names,
                        std::span<const std::vector<Tensor>> turns);

/// Return shape, type and values as tract prints them: ",String text" for a single value.
std::string value_text(const Tensor& tensor, int64_t limit = 12);
/// Return shape and type as text: "2,3,F32".
std::string shape_text(const Tensor& tensor);

/// Join turns along an axis. Errors: kShape if they differ along other axes.
Result<Tensor> joined(std::span<const Tensor> parts, int axis);

/// Cut frames [first, first + count) along an axis.
Result<Tensor> frames_of(const Tensor& tensor, int axis, int64_t first, int64_t count);

}  // namespace rill::cli
