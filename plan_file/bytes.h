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

/// Appends numbers and texts to a record. An integer is written in groups of 7 bits, the lowest
/// first, with its sign in the lowest bit. A real number is written as the integer of its reversed
/// bytes.
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
  /// Read an expression in one symbol, in its compiled form.
  Extent extent();

 private:
  int64_t terms_ = 0;  ///< of the expressions so far
};

}  // namespace rill::plan_file
