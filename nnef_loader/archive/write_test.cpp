#include <cstdlib>
#include <string>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/test_support.h"

namespace rill::nnef {
namespace {

const std::vector<Container> kPacked = {Container::kTar, Container::kTgz, Container::kZip};

std::vector<Entry> model() {
  return {entry("graph.nnef", "version 1.0;"), entry("enc/w.dat", std::string(5000, 'w')),
          entry(std::string(150, 'n') + ".dat", ""), entry("\xC3\xA9.dat", "e")};
}

using WriteArchive = InFolder;

TEST_F(WriteArchive, WrittenEntriesReadBackInOrder) {
  for (const Container container : kPacked) {
    ASSERT_TRUE(write_archive(path("m"), container, model()).ok());
    const auto entries = read_archive(path("m"));
    ASSERT_TRUE(entries.ok()) << entries.error().to_string();
    EXPECT_EQ(listing(*entries), listing(model()));
  }
  EXPECT_EQ(names(), std::vector<std::string>{"m"});
}

TEST_F(WriteArchive, AFolderReadsBackByName) {
  ASSERT_TRUE(write_archive(path("m"), Container::kFolder, model()).ok());
  EXPECT_EQ(get("m/enc/w.dat"), std::string(5000, 'w'));
  EXPECT_EQ(read_archive(path("m"))->size(), 4U);
  EXPECT_EQ(names(), std::vector<std::string>{"m"});
}

TEST_F(WriteArchive, ACheckReadsAllThatIsWrittenUnderATemporaryName) {
  for (const Container container :
       {Container::kTar, Container::kTgz, Container::kZip, Container::kFolder}) {
    const auto check = [&](const std::string& written) -> Status {
      EXPECT_NE(written, path("m"));
      const auto entries = read_archive(written);
      EXPECT_TRUE(entries.ok() && entries->size() == model().size());
      return {};
    };
    ASSERT_TRUE(write_archive(path("m"), container, model(), check).ok());
    EXPECT_EQ(names(), std::vector<std::string>{"m"});
    std::filesystem::remove_all(path("m"));
  }
}

TEST_F(WriteArchive, AFailedCheckKeepsTheOldFile) {
  const auto refuse = [](const std::string&) { return fail(Code::kInternal, "another model"); };
  EXPECT_FALSE(write_archive(path("m"), Container::kFolder, model(), refuse).ok());
  EXPECT_TRUE(names().empty());
  put("m", "old");
  for (const Container container : kPacked) {
    const Status status = write_archive(path("m"), container, model(), refuse);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "another model");
    EXPECT_EQ(get("m"), "old");
    EXPECT_EQ(names(), std::vector<std::string>{"m"});
  }
}

TEST_F(WriteArchive, EqualEntriesGiveEqualBytesInAnyTimeZone) {
  for (const Container container : kPacked) {
    set_time_zone("UTC");
    ASSERT_TRUE(write_archive(path("a"), container, model()).ok());
    set_time_zone("Pacific/Auckland");
    ASSERT_TRUE(write_archive(path("b"), container, model()).ok());
    set_time_zone(nullptr);
    EXPECT_EQ(get("a"), get("b"));
  }
}

TEST_F(WriteArchive, TarHeadersCarryNoTimeNoOwnerAndMode0644) {
  ASSERT_TRUE(write_archive(path("m"), Container::kTar, model()).ok());
  const std::string tar = get("m");
  EXPECT_EQ(tar.substr(0, 11), std::string("graph.nnef\0", 11));
  EXPECT_EQ(std::stoi(tar.substr(100, 7), nullptr, 8), 0644);
  EXPECT_EQ(std::stoi(tar.substr(108, 7), nullptr, 8), 0);
  EXPECT_EQ(std::stoi(tar.substr(116, 7), nullptr, 8), 0);
  EXPECT_EQ(std::stol(tar.substr(136, 11), nullptr, 8), 0);
  EXPECT_EQ(tar.substr(257, 5), "ustar");
  EXPECT_EQ(tar.substr(265, 64), std::string(64, '\0')) << "names of owner and group";
}

#if defined(_WIN32)
TEST_F(WriteArchive, NamesThatMeanSomethingElseToTheSystemAreNoFiles) {
  for (const char* name :
       {"..\\up.dat", "C:x.dat", "a:stream.dat", "NUL.dat", "dir/com1", "end."}) {
    const std::vector<Entry> entries = {entry("graph.nnef", "g"), entry(name, "x")};
    const Status status = write_archive(path("m"), Container::kFolder, entries);
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(status.error().code, Code::kArg) << name;
    EXPECT_TRUE(names().empty()) << name;
  }
}
#endif

TEST_F(WriteArchive, AFileIsReplacedAndAnExistingFolderIsNot) {
  put("file", "old");
  put("folder/x", "old");
  std::filesystem::create_directory(folder_ / "empty");
  ASSERT_TRUE(write_archive(path("file"), Container::kTar, model()).ok());
  EXPECT_NE(get("file"), "old");
  for (const char* name : {"folder", "empty"}) {
    for (const Container container : {Container::kFolder, Container::kTgz}) {
      const Status status = write_archive(path(name), container, model());
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.code(), Code::kArg);
      EXPECT_EQ(status.error().message, "\"" + path(name) + "\" already exists. Won't overwrite.");
    }
  }
  EXPECT_EQ(get("folder/x"), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"empty", "file", "folder"}));
}

TEST_F(WriteArchive, AFailedWriteLeavesTheOldFileAndNothingElse) {
  put("old", "old");
  // "a" cannot be a file and a folder: the second entry fails after the first is written.
  const std::vector<Entry> clash = {entry("a", "1"), entry("a/b", "2")};
  EXPECT_EQ(write_archive(path("m"), Container::kFolder, clash).code(), Code::kIo);
  const std::vector<Entry> twice = {entry("a", "1"), entry("a", "2")};
  EXPECT_EQ(write_archive(path("old"), Container::kTar, twice).code(), Code::kArg);
  EXPECT_EQ(write_archive(path("no/where"), Container::kTar, model()).code(), Code::kIo);
  EXPECT_EQ(get("old"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"old"});
}

#if !defined(_WIN32)
TEST_F(WriteArchive, AFullDiskIsAnError) {
  // /dev/full takes no byte; not a regular file, so it is written to directly.
  for (const Container container : kPacked) {
    const Status status = write_archive("/dev/full", container, model());
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.code(), Code::kIo);
  }
}

TEST_F(WriteArchive, ADeviceIsWrittenToAndStaysOne) {
  EXPECT_TRUE(write_archive("/dev/null", Container::kTgz, model()).ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}
#endif

TEST_F(WriteArchive, NamesThatReadersRefuseOrLeaveOutAreErrors) {
  for (const std::string& name : {std::string(), std::string("/a"), std::string("../a"),
                                  std::string("a/.."), std::string(".a"), std::string("b/.a"),
                                  std::string("./a"), std::string("a/"), std::string("a//b"),
                                  std::string("a\0b", 3)}) {
    EXPECT_EQ(write_archive(path("m"), Container::kTar, std::vector{entry(name, "")}).code(),
              Code::kArg)
        << name;
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(WriteArchive, KeyedZipsTakeAnyNameButNoneTwice) {
  const std::vector<Entry> keyed = {entry("/a/../b", "1"), entry(".c", "2")};
  ASSERT_TRUE(write_keyed_zip(path("k"), keyed).ok());
  EXPECT_EQ(listing(*read_keyed_zip(path("k"))), listing(keyed));
  EXPECT_EQ(write_keyed_zip(path("k"), std::vector{entry("", "")}).code(), Code::kArg);
  EXPECT_EQ(write_keyed_zip(path("k"), std::vector{entry("a", ""), entry("a", "")}).code(),
            Code::kArg);
}

}  // namespace
}  // namespace rill::nnef
