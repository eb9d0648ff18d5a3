// Files that rill's own tar and gzip reader accepts and refuses, beyond those that all readers do.

#include <cstdio>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/test_support.h"

namespace rill::nnef {
namespace {

constexpr size_t kBlock = 512;

/// Return a header as the format defines it, with a matching checksum.
std::string header(const std::string& name, const std::string& size, char type,
                   const std::string& magic = std::string("ustar\0", 6) + "00") {
  std::string block(kBlock, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size.size(), size);
  block[156] = type;
  block.replace(257, magic.size(), magic);
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  return block.replace(148, 7, text, 7);
}

std::string octal(size_t value) {
  char text[13];
  std::snprintf(text, sizeof text, "%011zo", value);
  return text;
}

std::string padded(const std::string& body) {
  return body + std::string((kBlock - body.size() % kBlock) % kBlock, '\0');
}

std::string member(const std::string& name, const std::string& body, char type = '0') {
  return header(name, octal(body.size()), type) + padded(body);
}

const std::string kEnd(2 * kBlock, '\0');

/// `LENGTH KEY=VALUE\n`, whose length counts itself.
std::string record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

/// Return the entries, or the message of the error.
std::string read(const std::string& tar) {
  const auto entries = read_archive_memory(bytes_of(tar), "x");
  return entries.ok() ? listing(*entries) : entries.error().message;
}

std::string read_case(const std::string& name) {
  const auto entries = read_archive(std::string(RILL_SOURCE_DIR) + "/tests/cases/files/" + name);
  return entries.ok() ? listing(*entries) : entries.error().message;
}

TEST(Tar, NamesAndSizesOfPaxAndGnuAreTakenAsOtherProgramsWriteThem) {
  std::string name = std::string(150, 'p') + "/";
  for (int i = 0; i < 150; ++i) name += "\xC3\xA9";
  EXPECT_EQ(read_case("pax_long.tar"), name + ".dat=long;");
  EXPECT_EQ(read_case("base256.tar"), "big.dat=256;");
}

TEST(Tar, PaxOutranksGnuAndBothTheHeaderForOneEntry) {
  const std::string gnu = member("././@LongLink", std::string("gnu\0", 4), 'L');
  const std::string pax = member("p", record("mtime", "1.5") + record("path", "pax"), 'x');
  const std::string entry = member("name", "1");
  EXPECT_EQ(read(gnu + entry + member("next", "2") + kEnd), "gnu=1;next=2;");
  EXPECT_EQ(read(pax + entry + member("next", "2") + kEnd), "pax=1;next=2;");
  EXPECT_EQ(read(gnu + pax + entry + kEnd), "pax=1;");
  EXPECT_EQ(read(pax + gnu + entry + kEnd), "pax=1;");
  // The size of a pax record replaces that of the header.
  const std::string sized = member("p", record("size", "3"), 'x');
  EXPECT_EQ(read(sized + header("name", octal(0), '0') + padded("abc") + kEnd), "name=abc;");
}

TEST(Tar, ThePrefixOfUstarIsPartOfTheName) {
  std::string block = header("name", octal(0), '0');
  block.replace(345, 3, "pre");
  const auto sum_of = [](std::string b) {
    b.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const char c : b) sum += static_cast<unsigned char>(c);
    return sum;
  };
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum_of(block));
  EXPECT_EQ(read(block.replace(148, 7, text, 7) + kEnd), "pre/name=;");
  block.replace(257, 8, "ustar  ", 8);
  std::snprintf(text, sizeof text, "%06o", sum_of(block));
  EXPECT_EQ(read(block.replace(148, 7, text, 7) + kEnd), "name=;") << "GNU has times there";
}

TEST(Tar, SparseFilesAreRefused) {
  EXPECT_EQ(read_case("sparse_gnu.tar"), "entry \"holes.dat\" is a sparse file");
  EXPECT_EQ(read_case("sparse_pax.tar"), "tar has sparse files");
}

TEST(Tar, EntriesThatReadersInterpretDifferentlyAreRefused) {
  EXPECT_EQ(read(header("l", octal(1), '1') + padded("x") + kEnd),
            "entry \"l\" is not a file, yet has 1 bytes");
  EXPECT_EQ(read(header("d/", octal(9), '5') + kEnd),
            "entry \"d/\" is not a file, yet has 9 bytes");
  EXPECT_EQ(read(member("n", "x", 'Q') + kEnd), "entry \"n\" is of the unknown type 'Q'");
  EXPECT_EQ(read(member("n", "x", 'M') + kEnd), "entry \"n\" began in another file");
  EXPECT_EQ(read(member("g", record("path", "all"), 'g') + member("n", "x") + kEnd),
            "tar gives all entries one path");
  EXPECT_EQ(read(member("g", record("comment", "c"), 'g') + member("n", "x") + kEnd), "n=x;");
}

TEST(Tar, InvalidNumbersAreErrors) {
  const std::string bad = "tar is damaged: entry \"n\" has no valid size";
  EXPECT_EQ(read(header("n", "0000000009 ", '0') + kEnd), bad);
  EXPECT_EQ(read(header("n", "-0000000001", '0') + kEnd), bad);
  EXPECT_EQ(read(header("n", std::string(12, '\xFF'), '0') + kEnd), bad) << "negative";
  EXPECT_EQ(read(header("n", "\x80" + std::string(11, '\xFF'), '0') + kEnd), bad) << "88 bits";
  // A size of 63 bits is read, and refused because it exceeds the limit.
  const std::string most = std::string("\x80\0\0\0\x7F", 5) + std::string(7, '\xFF');
  EXPECT_NE(read(header("n", most, '0') + kEnd).find("unpacks to at least"), std::string::npos);
  // A skipped entry of that size extends past the end.
  EXPECT_EQ(read(header(".n", most, '0') + kEnd), "tar is cut short");
  EXPECT_EQ(read(header("n", std::string(12, ' '), '0') + kEnd), "n=;");
}

TEST(Tar, MalformedPaxRecordsAreErrors) {
  const std::string bad = "tar is damaged: a pax record is malformed";
  for (const std::string& text :
       {std::string("x"), std::string("5"), std::string("3 =\n"), std::string("99 a=b\n"),
        std::string("7 a=bb"), std::string("6 abc\n"), std::string("-6 a=b\n"), std::string("0 "),
        std::string("18446744073709551617 a=b\n"), record("a", "b") + std::string("\0", 1)}) {
    EXPECT_EQ(read(member("p", text, 'x') + member("n", "") + kEnd), bad) << text;
  }
  for (const char* size : {"", "-1", "1x", "9223372036854775808"}) {
    EXPECT_EQ(read(member("p", record("size", size), 'x') + member("n", "") + kEnd),
              std::string("tar is damaged: a pax size is \"") + size + "\"");
  }
}

TEST(Tar, InvalidNamesAreErrors) {
  const std::string bad = "an entry has no name, or one that is not UTF-8";
  EXPECT_EQ(read(member("", "x") + kEnd), bad);
  EXPECT_EQ(read(member("\xFF", "x") + kEnd), bad);
  const std::string zero("a\0b", 3);
  EXPECT_EQ(read(member("p", record("path", zero), 'x') + member("n", "") + kEnd), bad);
  EXPECT_EQ(read(member("p", record("path", "../a"), 'x') + member("n", "") + kEnd),
            "entry \"../a\" leaves the archive by `..`");
}

TEST(Tar, NamesHaveNoEmptyPartsAndStayBelowTheArchive) {
  for (const char* name : {".//etc/x", "././/etc//x", "etc/./x", "etc//x", ".///./etc/.//x"}) {
    EXPECT_EQ(read(member(name, "1") + kEnd), "etc/x=1;") << name;
  }
  for (const char* name : {".", "./", ".//", "./.", ".//.x", "a/.//.x"}) {
    EXPECT_EQ(read(member(name, "1") + kEnd), "") << name;
  }
  EXPECT_EQ(read(member("a/b", "1") + member(".//a//b", "2") + kEnd),
            "entry \"a/b\" occurs twice");
}

TEST(Tar, HeadersOfExtensionsAreBounded) {
  EXPECT_EQ(read(header("p", octal(2 << 20), 'x') + padded(std::string(2 << 20, 'x')) + kEnd),
            "tar is damaged: a header of 2097152 bytes, at most 1048576 are read");
  EXPECT_EQ(read(header("p", octal(1000), 'x') + "x"), "tar is cut short");
  EXPECT_EQ(read(member("p", record("path", "a"), 'x') + kEnd), "tar is cut short")
      << "an extension of nothing";
  // Many in a row use no more stack than one.
  std::string many;
  for (int i = 0; i < 20000; ++i) many += member("p", record("path", std::to_string(i)), 'x');
  EXPECT_EQ(read(many + member("n", "") + kEnd), "19999=;");
}

TEST(Tar, ChecksumsOfSignedBytesFitToo) {
  std::string block = header("\xC3\xA9", octal(0), '0');
  int sum = 0;
  std::string blank = block;
  blank.replace(148, 8, 8, ' ');
  for (const char c : blank) sum += static_cast<signed char>(c);
  char text[16];
  std::snprintf(text, sizeof text, "%06o", static_cast<unsigned>(sum));
  EXPECT_EQ(read(block.replace(148, 7, text, 7) + kEnd), "\xC3\xA9=;");
  std::snprintf(text, sizeof text, "%06o", static_cast<unsigned>(sum + 1));
  EXPECT_EQ(read(block.replace(148, 7, text, 7) + kEnd), "file holds no tar");
}

TEST(Tar, AllOfATarIsReadForAnyClaimedMemory) {
  // Larger than the trusted size and than one piece: read in several.
  const std::string body(3 << 20, 'b');
  EXPECT_EQ(read(member("n", body) + member("m", "x") + kEnd), "n=" + body + ";m=x;");
}

using TarFile = InFolder;

/// Return a tgz of one entry, as `write_archive` makes it.
std::string tgz(const InFolder& /*unused*/, const std::string& path, const std::string& body) {
  EXPECT_TRUE(write_archive(path, Container::kTgz, std::vector{entry("a.dat", body)}).ok());
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(TarFile, GzipDataIsFollowedByAMemberZerosOrAnError) {
  const std::string whole = tgz(*this, path("a"), "text");
  const std::string empty = tgz(*this, path("b"), "");
  EXPECT_EQ(read(whole), "a.dat=text;");
  EXPECT_EQ(read(whole + std::string(100000, '\0')), "a.dat=text;");
  EXPECT_EQ(read(whole + empty), "a.dat=text;") << "after the end mark of the tar";
  EXPECT_EQ(read(whole + "x"), "other bytes follow the gzip data");
  EXPECT_EQ(read(whole + std::string(100000, '\0') + "x"),
            "other bytes follow the gzip data");
  EXPECT_EQ(read(whole + "\x1F"), "gzip data is cut short");
  EXPECT_NE(read(whole + "\x1F garbage").find("damaged"), std::string::npos);
}

TEST_F(TarFile, EveryMemberOfAGzipFileIsChecked) {
  const std::string whole = tgz(*this, path("a"), "text");
  const std::string second = tgz(*this, path("b"), std::string(1000, 'b'));
  for (size_t at = 0; at < second.size(); ++at) {
    EXPECT_NE(read(whole + second.substr(0, at) + (at == 0 ? "\x1F" : "")), "a.dat=text;") << at;
    // Checksum and length stand at the end.
    if (at + 8 < second.size()) continue;
    std::string changed = second;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_EQ(read(whole + changed).find("gzip data is damaged: incorrect"), 0U) << at;
  }
}

TEST_F(TarFile, PackedTarsOfGnuLongNamesReadBack) {
  for (const size_t length : {99U, 100U, 101U, 511U, 512U, 5000U}) {
    const std::vector<Entry> entries = {entry(std::string(length, 'n'), "1"), entry("m", "2")};
    for (const Container container : {Container::kTar, Container::kTgz}) {
      ASSERT_TRUE(write_archive(path("t"), container, entries).ok());
      EXPECT_EQ(listing(*read_archive(path("t"))), listing(entries));
    }
  }
}

}  // namespace
}  // namespace rill::nnef
