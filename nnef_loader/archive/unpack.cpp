#include "nnef_loader/archive/unpack.h"

#include "nnef_loader/archive/deflate.h"
#include "nnef_loader/archive/tar_reader.h"
#include "nnef_loader/archive/zip_reader.h"

namespace rill::nnef {

Result<std::vector<Entry>> unpack_tar(const Source& source, Budget* budget) {
  return read_tar(plain_in(source).get(), "file", source.name(), budget);
}

Result<std::vector<Entry>> unpack_tgz(const Source& source, Budget* budget) {
  // Allow for the tar's own bytes: headers, names, padding.
  constexpr int64_t kTarBytes = int64_t{16} << 20;
  const int64_t most = checked_add(budget->left(), kTarBytes).value_or(budget->left());
  return read_tar(gzip_in(source, most, *budget).get(), "gzip data", source.name(), budget);
}

Result<std::vector<Entry>> unpack_zip(const Source& source, Budget* budget, NameRule rule) {
  return read_zip(source, budget, rule);
}

}  // namespace rill::nnef
