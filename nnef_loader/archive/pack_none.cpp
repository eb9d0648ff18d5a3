#include "nnef_loader/archive/pack.h"
#include "nnef_loader/archive/tar_writer.h"

namespace rill::nnef {

Status pack(Container container, std::span<const Entry> entries, const std::string& path,
            AtomicFile* file) {
  if (container != Container::kTar) {
    return fail(Code::kUnsupported, "cannot write ", path, ": this build does not pack ",
                container == Container::kZip ? "zips" : "gzip data")
        .hint("Write a folder or a tar, or build the library with RILL_ARCHIVE=zlib");
  }
  const std::unique_ptr<OutStream> out = plain_out(file);
  RILL_TRY(write_tar(entries, true, out.get()));
  return out->finish();
}

}  // namespace rill::nnef
