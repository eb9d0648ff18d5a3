#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dim/dim.h"
#include "core/run/extent.h"
#include "core/run/record.h"

namespace rill::plan_file {

/// Appends numbers and texts to a record: whole numbers in groups of 7 bits, the lowest first, with
/// the sign in the lowest bit; other numbers as their bytes in reverse, read as a whole number.
class RecordWriter {
 public:
  void natural(uint64_t value);
  void number(int64_t value) {
    natural(static_cast<uint64_t>(value) << 1U ^ static_cast<uint64_t>(value >> 63));
  }
  void real(double value);
  void text(std::string_view value);
  void dim(const Dim& value);
  void raw(uint64_t value);
  void append(const RecordWriter& other);

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads records with expressions of graphs in them.
class RecordReader : public Record {
 public:
  using Record::Record;

  Dim dim();
  /// An expression of one symbol, in the form in which plans work it out.
  Extent extent();

 private:
  int64_t terms_ = 0;  ///< that were made of the expressions so far
};

}  // namespace rill::plan_file
