// Files that rill's own zip reader accepts and refuses, beyond those that all readers do.

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/test_support.h"

namespace rill::nnef {
namespace {

std::string case_text(const std::string& name) {
  const auto bytes =
      read_file(std::string(RILL_SOURCE_DIR) + "/tests/cases/files/" + name, 1 << 20);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? text_of({name, *bytes}) : "";
}

std::string read(const std::string& zip) {
  const auto entries = read_archive_memory(bytes_of(zip), "x");
  return entries.ok() ? listing(*entries) : entries.error().message;
}

constexpr const char* kGraph =
    "version 1.0;\ngraph network(x) -> (x) { x = external<scalar>(shape = [1]); }\n";

TEST(Zip, DirectoriesOf64BitsAreRead) { EXPECT_EQ(read(case_text("zip64.zip")), "w.dat=wide;"); }

TEST(Zip, ACommentMayFollow) {
  std::string zip = case_text("plain.zip");
  const std::string expected = read(zip);
  zip.replace(zip.size() - 2, 2, std::string("\xFF\xFF"));
  EXPECT_EQ(read(zip + std::string(65535, 'c')), expected);
  EXPECT_EQ(read(zip + std::string(65534, 'c')),
            "zip is damaged or cut short: it has no directory");
}

TEST(Zip, AnyByteChangedGivesAnErrorOrTheBytesOfAnEntryAsTheyWere) {
  // Checksums cover data, but not names and attributes.
  for (const char* name : {"plain.zip", "stored.zip", "zip64.zip"}) {
    const std::string zip = case_text(name);
    for (size_t at = 0; at < zip.size(); ++at) {
      for (const int flip : {0x01, 0x04, 0x80, 0xFF}) {
        std::string changed = zip;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        const auto entries = read_archive_memory(bytes_of(changed), "x");
        if (!entries.ok()) continue;
        for (const Entry& entry : *entries) {
          const std::string text = text_of(entry);
          EXPECT_TRUE(text == "weights" || text == "wide" || text == kGraph || text == "hidden")
              << name << " at " << at << ": " << text;
        }
      }
    }
  }
}

TEST(Zip, EncryptedEntriesAndOtherMethodsAreRefusedByName) {
  std::string zip = case_text("stored.zip");
  const size_t central = zip.find("PK\x01\x02");
  std::string locked = zip;
  locked[central + 8] = 1;
  EXPECT_EQ(read(locked), "entry \"graph.nnef\" is encrypted");
  zip[central + 10] = 12;
  EXPECT_EQ(read(zip), "entry \"graph.nnef\" is packed by method 12, neither stored nor deflated");
}

using ZipFile = InFolder;

TEST_F(ZipFile, EntriesThatShareTheirDataCountEachTime) {
  // Ten thousand entries of a megabyte each, in one: the directory points at it again and again.
  ASSERT_TRUE(
      write_archive(path("z"), Container::kZip, std::vector{entry("a", std::string(1 << 20, 'a'))})
          .ok());
  const std::string one = get("z");
  const size_t central = one.find("PK\x01\x02");
  const size_t end = one.find("PK\x05\x06");
  std::string record = one.substr(central, end - central);
  std::string bomb = one.substr(0, central);
  std::string directory;
  for (int i = 0; i < 10000; ++i) {
    record[46] = static_cast<char>('a' + i % 26);
    directory += record;
  }
  std::string last = one.substr(end);
  const auto put = [&last](size_t at, size_t bytes, size_t value) {
    for (size_t i = 0; i < bytes; ++i) last[at + i] = static_cast<char>(value >> (8 * i));
  };
  put(8, 2, 10000);
  put(10, 2, 10000);
  put(12, 4, directory.size());
  LoadLimits limits;
  limits.max_expanded_bytes = 64 << 20;
  const auto entries = read_archive_memory(bytes_of(bomb + directory + last), "x", limits);
  ASSERT_FALSE(entries.ok());
  EXPECT_NE(entries.error().message.find(": the limit is 67108864"), std::string::npos);
}

}  // namespace
}  // namespace rill::nnef
