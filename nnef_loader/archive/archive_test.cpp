#include "nnef_loader/archive/archive.h"

#include <sys/stat.h>

#include <algorithm>

#include "nnef_loader/archive/test_support.h"

namespace rill::nnef {
namespace {

const std::string kGraphText =
    "version 1.0;\ngraph network(x) -> (x) { x = external<scalar>(shape = [1]); }\n";

std::string case_path(const std::string& name) {
  return std::string(RILL_SOURCE_DIR) + "/tests/cases/files/" + name;
}

Bytes case_bytes(const std::string& name) {
  Result<Bytes> bytes = read_file(case_path(name), 1 << 20);
  EXPECT_TRUE(bytes.ok()) << bytes.error().to_string();
  return bytes.ok() ? *bytes : Bytes();
}

/// Return the content of a file of tests/cases/files, the same from a path and from memory.
std::string read_case(const std::string& name) {
  auto entries = read_archive(case_path(name));
  if (!entries.ok()) return entries.error().message;
  const auto by_name = [](const Entry& a, const Entry& b) { return a.name < b.name; };
  const std::string listed = listing(*entries);
  const auto again = read_archive_memory(case_bytes(name), name);
  EXPECT_TRUE(again.ok()) << again.error().to_string();
  if (again.ok()) {
    EXPECT_EQ(listing(*again), listed);
  }
  std::sort(entries->begin(), entries->end(), by_name);
  return listing(*entries);
}

Error error_of(const Result<std::vector<Entry>>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? Error{} : result.error();
}

using Archive = InFolder;

TEST(ArchiveFiles, TarsOfEveryKindReadTheSameWithoutLinksAndHiddenFiles) {
  for (const char* name : {"v7.tar", "ustar.tar", "gnu.tar", "pax.tar", "plain.tgz", "members.tgz",
                           "padded.tgz", "plain.zip", "stored.zip"}) {
    EXPECT_EQ(read_case(name), "enc/w.dat=weights;graph.nnef=" + kGraphText + ";") << name;
  }
}

TEST(ArchiveFiles, LongAndForeignNamesAreKept) {
  const std::string name = std::string(150, 'n') + "/" + std::string(150, 'm') + ".dat";
  EXPECT_EQ(read_case("long.tar"), name + "=long;\xC3\xA9.dat=e;");
  EXPECT_EQ(read_case("unicode.tar"), "\xC3\xA9.dat=e;");
}

TEST(ArchiveFiles, DevicesAreLeftOut) { EXPECT_EQ(read_case("devices.tar"), "a.dat=1;"); }

TEST(ArchiveFiles, EmptyArchivesHaveNoEntries) {
  EXPECT_EQ(read_case("empty.tar"), "");
  EXPECT_EQ(read_case("empty.zip"), "");
}

TEST(ArchiveFiles, NamesThatLeaveTheArchiveAreErrorsThatNameThem) {
  EXPECT_EQ(read_case("parent.tar"), "entry \"a/../../x.dat\" leaves the archive by `..`");
  EXPECT_EQ(read_case("parent.zip"), "entry \"../x.dat\" leaves the archive by `..`");
  EXPECT_EQ(read_case("absolute.tar"), "entry \"/etc/x.dat\" has an absolute name");
}

TEST(ArchiveFiles, OneNameTwiceIsAnError) {
  EXPECT_EQ(read_case("twice.tar"), "entry \"a.dat\" occurs twice");
}

TEST(ArchiveFiles, GzipInGzipIsUnpackedOnlyOnce) {
  EXPECT_EQ(read_case("nested.tgz"), "gzip data holds no tar");
}

TEST(ArchiveFiles, KeyedZipsTakeAnyName) {
  const auto entries = read_keyed_zip(case_path("keys.zip"));
  ASSERT_TRUE(entries.ok()) << entries.error().to_string();
  EXPECT_EQ(listing(*entries), "/a/../b=1;.c=2;\xC3\xA9=3;");
  EXPECT_EQ(error_of(read_keyed_zip(case_path("plain.tgz"))).code, Code::kParse);
}

TEST(ArchiveFiles, CutShortAnywhereGivesAnErrorOrTheSameEntries) {
  for (const char* name : {"gnu.tar", "plain.tgz", "members.tgz", "plain.zip", "stored.zip"}) {
    const Bytes whole = case_bytes(name);
    const std::string expected = listing(*read_archive_memory(whole, name));
    for (size_t size = 0; size < whole.size(); ++size) {
      const auto entries = read_archive_memory(std::span(whole).first(size), name);
      if (entries.ok()) {
        EXPECT_EQ(listing(*entries), expected) << name << " at " << size;
      } else {
        EXPECT_EQ(entries.error().code, Code::kParse);
        EXPECT_EQ(entries.error().file, name);
      }
    }
  }
}

TEST(ArchiveFiles, AnyByteChangedInATgzGivesAnErrorOrTheSameEntries) {
  const Bytes whole = case_bytes("plain.tgz");
  const std::string expected = listing(*read_archive_memory(whole, "x"));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(flip);
      const auto entries = read_archive_memory(changed, "x");
      if (entries.ok()) {
        EXPECT_EQ(listing(*entries), expected) << at;
      }
    }
  }
}

TEST(ArchiveFiles, AnyByteChangedInATarOrZipGivesAnErrorOrEntries) {
  for (const char* name : {"gnu.tar", "pax.tar", "plain.zip", "stored.zip"}) {
    const Bytes whole = case_bytes(name);
    for (size_t at = 0; at < std::min<size_t>(whole.size(), 5120); ++at) {
      for (const int value : {0x00, 0x2F, 0x37, 0x80, 0xFF}) {
        Bytes changed = whole;
        changed[at] = static_cast<std::byte>(value);
        const auto entries = read_archive_memory(changed, name);
        if (!entries.ok()) {
          EXPECT_FALSE(entries.error().message.empty());
        }
      }
    }
  }
}

TEST(ArchiveFiles, OtherFilesAreRefusedWithTheExpectedKinds) {
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string(600, 'x'), std::string(100, '\0'),
        std::string("PK"), std::string("versions 1.0;"), std::string("\x1F")}) {
    const Error error = error_of(read_archive_memory(bytes_of(text), "x.txt"));
    EXPECT_EQ(error.message, "not an archive: expected a folder, tar, tgz or zip") << text;
    EXPECT_EQ(error.file, "x.txt");
  }
}

TEST(ArchiveFiles, AGraphAloneIsAnArchiveOfOneEntry) {
  const auto entries = read_archive_memory(bytes_of("# by hand\n" + kGraphText), "g");
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries->at(0).name, "graph.nnef");
}

TEST_F(Archive, AMissingFileSaysSo) {
  const Error error = error_of(read_archive(path("nope.nnef.tgz")));
  EXPECT_EQ(error.code, Code::kIo);
  EXPECT_EQ(error.message, "File not found " + path("nope.nnef.tgz"));
}

TEST_F(Archive, AFolderIsReadInOrderOfNamesWithoutLinksAndHiddenFiles) {
  put("m/graph.nnef", "g");
  put("m/b.dat", "b");
  put("m/enc/a.dat", "a");
  put("m/.hidden/x.dat", "x");
  put("m/._graph.nnef", "x");
#if !defined(_WIN32)
  std::filesystem::create_symlink("graph.nnef", folder_ / "m/link.nnef");
  std::filesystem::create_directory_symlink("enc", folder_ / "m/again");
  ASSERT_EQ(mkfifo(path("m/pipe").c_str(), 0600), 0);
#endif
  for (const char* name : {"m", "m/"}) {
    const auto entries = read_archive(path(name));
    ASSERT_TRUE(entries.ok()) << entries.error().to_string();
    EXPECT_EQ(listing(*entries), "b.dat=b;enc/a.dat=a;graph.nnef=g;");
  }
}

TEST_F(Archive, AFolderOfFoldersWithoutEndIsAnError) {
  put("m/graph.nnef", kGraphText);
  std::string name = "m";
  for (int i = 0; i < 40; ++i) name += "/d";
  put(name + "/x.dat", "x");
  const Error error = error_of(read_archive(path("m")));
  EXPECT_EQ(error.code, Code::kParse);
  EXPECT_NE(error.message.find("nested"), std::string::npos) << error.message;
}

TEST_F(Archive, ABareGraphLoadsTheTensorsOfItsFolder) {
  put("m/graph.nnef", kGraphText);
  put("m/w.dat", "w");
  put("m/graph.quant", "q");
  put("m/readme.txt", "no");
  put("m/sub/v.dat", "no");
  for (const char* name : {"m/graph.nnef", "m/other.txt"}) {
    put("m/other.txt", kGraphText);
    const auto entries = read_archive(path(name));
    ASSERT_TRUE(entries.ok()) << entries.error().to_string();
    EXPECT_EQ(listing(*entries), "graph.nnef=" + kGraphText + ";graph.quant=q;w.dat=w;");
  }
}

TEST_F(Archive, AGraphFileIsRecognisedByItsName) {
  put("graph.nnef", "oops");
  const auto entries = read_archive(path("graph.nnef"));
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(listing(*entries), "graph.nnef=oops;");
}

TEST_F(Archive, LimitsHoldForBytesRatioAndEntries) {
  const std::vector<Entry> zeros = {{"graph.nnef", Bytes(3 << 20)}, {"b.dat", Bytes(3 << 20)}};
  for (const Container container : {Container::kTgz, Container::kZip}) {
    ASSERT_TRUE(write_archive(path("z"), container, zeros).ok());
    EXPECT_TRUE(read_archive(path("z")).ok());
    LoadLimits bytes;
    bytes.max_expanded_bytes = 4 << 20;
    EXPECT_EQ(error_of(read_archive(path("z"), bytes)).code, Code::kParse);
    LoadLimits ratio;
    ratio.max_ratio = 10;
    ratio.ratio_slack_bytes = 1 << 20;
    const Error error = error_of(read_archive(path("z"), ratio));
    EXPECT_EQ(error.code, Code::kParse);
    EXPECT_NE(error.message.find("unpacks to at least"), std::string::npos) << error.message;
    EXPECT_EQ(error.hint, "Raise max_ratio of rill_load_opts if you trust the file");
    LoadLimits count;
    count.max_entries = 1;
    const Error many = error_of(read_archive(path("z"), count));
    EXPECT_EQ(many.message, "the archive has at least 2 files: the limit is 1");
    EXPECT_EQ(many.hint, "Raise max_entries of rill_load_opts if you trust the file");
  }
  ASSERT_TRUE(write_archive(path("folder"), Container::kFolder, zeros).ok());
  LoadLimits bytes;
  bytes.max_expanded_bytes = 4 << 20;
  EXPECT_EQ(error_of(read_archive(path("folder"), bytes)).code, Code::kParse);
}

TEST_F(Archive, ATarHeaderThatClaimsTerabytesIsAnErrorBeforeAnyAllocation) {
  ASSERT_TRUE(write_archive(path("t.tar"), Container::kTar, std::vector{entry("a.dat", "x")}).ok());
  std::string tar = get("t.tar");
  tar.replace(124, 12, "77777777777\0", 12);
  uint32_t sum = 8 * ' ';
  for (size_t i = 0; i < 512; ++i) {
    sum += i >= 148 && i < 156 ? 0 : static_cast<unsigned char>(tar[i]);
  }
  char text[8];
  snprintf(text, sizeof text, "%06o", sum);
  tar.replace(148, 7, text, 7);
  const Error error = error_of(read_archive(put("t.tar", tar)));
  EXPECT_EQ(error.code, Code::kParse);
}

TEST_F(Archive, LargeTensorsStayInFoldersAndTars) {
  std::string large(100000, 'x');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i % 251);
  const std::vector entries = {entry("graph.nnef", kGraphText + std::string(70000, ' ')),
                               entry("small.dat", "s"), entry("sub/large.dat", large)};
  ASSERT_TRUE(write_archive(path("folder"), Container::kFolder, entries).ok());
  ASSERT_TRUE(write_archive(path("t.tar"), Container::kTar, entries).ok());
  for (const char* name : {"folder", "t.tar", "folder/graph.nnef"}) {
    auto read = read_archive(path(name), {}, true);
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    size_t mapped = 0;
    for (Entry& each : *read) {
      if (!each.mapped.data) continue;
      ++mapped;
      EXPECT_EQ(each.name, "sub/large.dat") << name;
      EXPECT_TRUE(each.bytes.empty());
      const auto bytes = each.mapped.bytes();
      each.bytes.assign(bytes.begin(), bytes.end());
    }
    const std::string_view from(name);
    EXPECT_LE(mapped, kMapsFiles && from != "folder/graph.nnef" ? 1U : 0U) << name;
    if (from == "folder") {
      EXPECT_EQ(mapped, kMapsFiles ? 1U : 0U);
    }
    if (from != "folder/graph.nnef") {
      EXPECT_EQ(listing(*read), listing(entries)) << name;
    }
  }
  // A tar that ends within a tensor.
  std::filesystem::resize_file(path("t.tar"), 512 * 144 + 50000);
  EXPECT_EQ(error_of(read_archive(path("t.tar"), {}, true)).code, Code::kParse);
  LoadLimits few;
  few.max_expanded_bytes = 100000;
  EXPECT_EQ(error_of(read_archive(path("folder"), few, true)).code, Code::kParse);
}

TEST_F(Archive, ReadFileTakesNoMoreThanTheLimit) {
  put("f", std::string(1000, 'x'));
  EXPECT_EQ(read_file(path("f"), 1000)->size(), 1000U);
  EXPECT_EQ(read_file(path("f"), 999).error().code, Code::kParse);
  EXPECT_EQ(read_file(path("nope"), 999).error().code, Code::kIo);
  EXPECT_EQ(read_file(folder_.string(), 999).error().code, Code::kIo);
}

#if !defined(_WIN32)
TEST_F(Archive, AFileOfUnknownSizeIsRead) {
  EXPECT_TRUE(read_file("/proc/self/status", 1 << 20).ok());
}

TEST_F(Archive, PipesAndDevicesAreRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", folder_ / "link");
  for (const std::string& name :
       {path("pipe"), path("link"), std::string("/dev/zero"), std::string("/dev/null")}) {
    for (const Error& error : {error_of(read_archive(name)), error_of(read_keyed_zip(name)),
                               read_file(name, 1 << 20).error()}) {
      EXPECT_EQ(error.code, Code::kIo) << name;
      EXPECT_NE(error.message.find("expected a file or a folder"), std::string::npos)
          << error.message;
    }
  }
}

#endif

TEST_F(Archive, PathsAreUtf8OnEverySystem) {
  const std::string name = "m \xE4\xBD\xA0 \xC3\xA9.tgz";
  const std::string archive_path = folder_.string() + "/" + name;
  const std::vector<Entry> written = {entry("graph.nnef", "g")};
  ASSERT_TRUE(write_archive(archive_path, Container::kTar, written).ok());
  const auto entries = read_archive(archive_path);
  ASSERT_TRUE(entries.ok()) << entries.error().to_string();
  EXPECT_EQ(listing(*entries), "graph.nnef=g;");
  bool found = false;
  EXPECT_TRUE(system::list(folder_.string(), [&](std::string_view each) {
    found = found || each == name;
    return true;
  }));
  EXPECT_TRUE(found);
}

TEST_F(Archive, AFolderWithoutAGraphIsNotWalked) {
  put("m/deep/down/w.dat", "w");
  LoadLimits limits;
  limits.max_entries = 1;
  for (const std::string& name : {path("m"), std::string("/")}) {
    const Error error = error_of(read_archive(name, limits));
    EXPECT_EQ(error.code, Code::kParse);
    EXPECT_NE(error.message.find("graph.nnef was not found"), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace rill::nnef
