#include "nnef_loader/archive/pack.h"

#include "nnef_loader/archive/deflate.h"
#include "nnef_loader/archive/tar_writer.h"
#include "nnef_loader/archive/zip_writer.h"

namespace rill::nnef {

Status pack(Container container, std::span<const Entry> entries, const std::string& /*path*/,
            AtomicFile* file) {
  const std::unique_ptr<OutStream> plain = plain_out(file);
  const std::unique_ptr<OutStream> folding =
      container == Container::kTgz ? gzip_out(plain.get()) : nullptr;
  OutStream* const out = folding ? folding.get() : plain.get();
  // Only plain tar files are padded to whole tape blocks.
  RILL_TRY(container == Container::kZip
               ? write_zip(entries, out)
               : write_tar(entries, container == Container::kTar, out));
  return out->finish();
}

}  // namespace rill::nnef
