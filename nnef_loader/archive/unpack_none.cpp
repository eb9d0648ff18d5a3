#include "nnef_loader/archive/stream.h"
#include "nnef_loader/archive/tar_reader.h"
#include "nnef_loader/archive/unpack.h"

namespace rill::nnef {
namespace {

Status left_out(const Source& source, std::string_view what) {
  return fail(Code::kUnsupported, "this build does not unpack ", what)
      .at(source.name(), 0)
      .hint("Unpack it into a folder or a tar, or build the library with RILL_ARCHIVE=zlib");
}

}  // namespace

Result<std::vector<Entry>> unpack_tar(const Source& source, Budget* budget) {
  return read_tar(plain_in(source).get(), "file", source.name(), budget);
}

Result<std::vector<Entry>> unpack_tgz(const Source& source, Budget* /*budget*/) {
  return left_out(source, "gzip data");
}

Result<std::vector<Entry>> unpack_zip(const Source& source, Budget* /*budget*/, NameRule /*rule*/) {
  return left_out(source, "zips");
}

}  // namespace rill::nnef
