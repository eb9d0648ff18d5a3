// A build without zlib and libarchive: folders, graph files and tar files, from disk and memory.

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/test_support.h"

namespace rill::nnef {
namespace {

using None = InFolder;

const std::vector<Entry>& model() {
  static const std::vector<Entry> kModel = {entry("enc/w.dat", std::string(5000, 'w')),
                                            entry("graph.nnef", "version 1.0;")};
  return kModel;
}

TEST_F(None, FoldersGraphsAndTarsAreReadAndWritten) {
  for (const Container container : {Container::kFolder, Container::kTar}) {
    const std::string name = container == Container::kFolder ? "folder" : "tar";
    ASSERT_TRUE(write_archive(path(name), container, model()).ok());
    EXPECT_EQ(listing(*read_archive(path(name))), listing(model()));
  }
  EXPECT_EQ(listing(*read_archive_memory(bytes_of(get("tar")), "x")), listing(model()));
  EXPECT_EQ(listing(*read_archive_memory(bytes_of("version 1.0;"), "x")),
            "graph.nnef=version 1.0;;");
  EXPECT_EQ(listing(*read_archive(path("folder/graph.nnef"))), "graph.nnef=version 1.0;;");
}

TEST_F(None, PackedFilesAreRefusedWithARemedy) {
  const std::string files = std::string(RILL_SOURCE_DIR) + "/tests/cases/files/";
  for (const char* name : {"plain.tgz", "plain.zip"}) {
    const auto entries = read_archive(files + name);
    ASSERT_FALSE(entries.ok());
    EXPECT_EQ(entries.error().code, Code::kUnsupported);
    EXPECT_NE(entries.error().to_string().find("RILL_ARCHIVE=zlib"), std::string::npos);
  }
  for (const Container container : {Container::kTgz, Container::kZip}) {
    const Status status = write_archive(path("m"), container, model());
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.code(), Code::kUnsupported);
  }
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace rill::nnef
