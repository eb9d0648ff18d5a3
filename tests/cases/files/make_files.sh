#!/bin/sh
# Write the small archives of this folder with GNU tar, gzip, zip and Python: bytes that other
# programs make, links and hidden files among them.
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
  # Times of access would make the bytes differ from run to run.
  extra=
  [ $format != pax ] || extra="--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"
  tar $common $extra --format=$format -C model -cf $here/$format.tar .
done
tar $common --format=gnu -C model -cf plain.tar graph.nnef enc
gzip -n9 <plain.tar >$here/plain.tgz

# Two gzip members, cut where no tar block ends.
head -c 700 plain.tar | gzip -n9 >$here/members.tgz
tail -c +701 plain.tar | gzip -n9 >>$here/members.tgz
# Zeros after the gzip data, as tapes leave them.
{ cat $here/plain.tgz; head -c 1000 /dev/zero; } >$here/padded.tgz

(cd model && zip -q -X -D -r $here/plain.zip graph.nnef enc ._graph.nnef)
(cd model && zip -q -X -D -0 -r $here/stored.zip graph.nnef enc)

python3 - "$here" <<'PY'
import gzip, io, sys, tarfile, zipfile

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

def zip_(name, members, **options):
    with zipfile.ZipFile(f"{here}/{name}", "w", **options) as out:
        for path, data in members:
            info = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            info.compress_type = options.get("compression", zipfile.ZIP_STORED)
            out.writestr(info, data)

zip_("parent.zip", [("../x.dat", b"x")])
zip_("keys.zip", [("/a/../b", b"1"), (".c", b"2"), ("é", b"3")], compression=zipfile.ZIP_DEFLATED)
zip_("empty.zip", [])

once = open(f"{here}/plain.tgz", "rb").read()
open(f"{here}/nested.tgz", "wb").write(gzip.compress(once, 9, mtime=0))
PY
