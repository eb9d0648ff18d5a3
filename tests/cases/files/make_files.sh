#!/bin/sh
# Write the small archives of this folder with GNU tar, gzip, zip and Python, so that other programs than rill
# make their bytes. Some contain links and hidden files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p model/enc
printf 'version 1.0;\ngraph network(x) -> (x) { x = external<scalar>(shape = [1]); }\n' \
  >model/graph.nnef
printf 'weights' >model/enc/w.dat
printf 'hidden' >model/._graph.nnef
ln -s graph.nnef model/link.nnef
ln model/enc/w.dat model/hard.dat
touch -d @0 model/enc/w.dat model/graph.nnef model/._graph.nnef

common="--sort=name --owner=0 --group=0 --numeric-owner --mtime=@0"
for format in v7 ustar gnu pax; do
  # Access times would make the bytes differ from run to run.
  extra=
  [ $format != pax ] || extra="--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"
  tar $common $extra --format=$format -C model -cf $here/$format.tar .
done
tar $common --format=gnu -C model -cf plain.tar graph.nnef enc
gzip -n9 <plain.tar >$here/plain.tgz

# Two gzip members; the first ends within a tar block.
head -c 700 plain.tar | gzip -n9 >$here/members.tgz
tail -c +701 plain.tar | gzip -n9 >>$here/members.tgz
# Zeros after the gzip data, as on tapes.
{ cat $here/plain.tgz; head -c 1000 /dev/zero; } >$here/padded.tgz

# Files with holes, in GNU tar's sparse formats.
truncate -s 100000 holes.dat
printf x >>holes.dat
touch -d @0 holes.dat
tar $common -S --format=gnu -cf $here/sparse_gnu.tar holes.dat
tar $common -S --format=pax --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime \
  -cf $here/sparse_pax.tar holes.dat

(cd model && zip -q -X -D -r $here/plain.zip graph.nnef enc ._graph.nnef)
(cd model && zip -q -X -D -0 -r $here/stored.zip graph.nnef enc)

python3 - "$here" <<'PY'
import gzip, io, struct, sys, tarfile, zipfile, zlib

here = sys.argv[1]

def tar(name, members):
    with tarfile.open(f"{here}/{name}", "w", format=tarfile.GNU_FORMAT) as out:
        for path, data, kind in members:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            info.type = kind
            out.addfile(info, io.BytesIO(data))

REG = tarfile.REGTYPE
tar("parent.tar", [("a/../../x.dat", b"x", REG)])
tar("absolute.tar", [("/etc/x.dat", b"x", REG)])
tar("twice.tar", [("./a.dat", b"1", REG), ("a.dat", b"2", REG)])
tar("devices.tar", [("a.dat", b"1", REG), ("pipe", b"", tarfile.FIFOTYPE),
                    ("null", b"", tarfile.CHRTYPE)])
tar("long.tar", [("n" * 150 + "/" + "m" * 150 + ".dat", b"long", REG), ("é.dat", b"e", REG)])
tar("empty.tar", [])
with tarfile.open(f"{here}/unicode.tar", "w", format=tarfile.PAX_FORMAT) as out:
    info = tarfile.TarInfo("é.dat")
    info.size = 1
    out.addfile(info, io.BytesIO(b"e"))

# pax names and sizes, and a base-256 number. Python's reader confirms their meaning.
with tarfile.open(f"{here}/pax_long.tar", "w", format=tarfile.PAX_FORMAT) as out:
    info = tarfile.TarInfo("p" * 150 + "/" + "é" * 150 + ".dat")
    info.size = 4
    info.pax_headers = {"size": "4", "comment": "size=9"}
    out.addfile(info, io.BytesIO(b"long"))
header = bytearray(tarfile.TarInfo("big.dat").tobuf(tarfile.GNU_FORMAT))
header[124:136] = b"\x80" + bytes(10) + b"\x03"
header[148:156] = b" " * 8
header[148:156] = b"%06o\0 " % sum(header)
with open(f"{here}/base256.tar", "wb") as out:
    out.write(header + b"256".ljust(512, b"\0") + bytes(1024))
assert tarfile.open(f"{here}/base256.tar").extractfile("big.dat").read() == b"256"

def zip_(name, members, **options):
    with zipfile.ZipFile(f"{here}/{name}", "w", **options) as out:
        for path, data in members:
            info = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            info.compress_type = options.get("compression", zipfile.ZIP_STORED)
            out.writestr(info, data)

zip_("parent.zip", [("../x.dat", b"x")])
zip_("keys.zip", [("/a/../b", b"1"), (".c", b"2"), ("é", b"3")], compression=zipfile.ZIP_DEFLATED)
zip_("empty.zip", [])

# 64-bit sizes and offsets, as in files beyond 4 GiB: the 32-bit fields of the directory have markers instead.
data = b"wide"
local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 33, zlib.crc32(data), 4, 4, 5, 0) + b"w.dat" + data
wide = struct.pack("<HHQQQ", 1, 24, 4, 4, 0)
central = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 33, zlib.crc32(data), 0xFFFFFFFF,
                      0xFFFFFFFF, 5, len(wide), 0, 0, 0, 0, 0xFFFFFFFF) + b"w.dat" + wide
end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(central), len(local))
locator = struct.pack("<IIQI", 0x07064B50, 0, len(local) + len(central), 1)
end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
open(f"{here}/zip64.zip", "wb").write(local + central + end64 + locator + end)
assert zipfile.ZipFile(f"{here}/zip64.zip").read("w.dat") == data

once = open(f"{here}/plain.tgz", "rb").read()
open(f"{here}/nested.tgz", "wb").write(gzip.compress(once, 9, mtime=0))
PY
