"""Archives whose bytes depend only on the names, modes and contents of files."""

import gzip
import io
import os
import stat
import tarfile
import time
import zipfile


def _files(folder):
    """Yield (path, name) of the files and links in a folder, in the order of names."""
    found = []
    for where, folders, files in os.walk(folder):
        links = [each for each in folders if os.path.islink(os.path.join(where, each))]
        for name in [*files, *links]:
            path = os.path.join(where, name)
            found.append((os.path.relpath(path, folder).replace(os.sep, "/"), path))
    return [(path, name) for name, path in sorted(found)]


def _mode(path):
    return 0o755 if os.stat(path).st_mode & stat.S_IXUSR else 0o644


def tar_gz(folder, out, epoch):
    """Write the files of a folder to a .tar.gz with the time `epoch`, in seconds."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, name in _files(folder):
            entry = tarfile.TarInfo(name)
            entry.mtime = epoch
            if os.path.islink(path):
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
                archive.addfile(entry)
                continue
            entry.mode, entry.size = _mode(path), os.path.getsize(path)
            with open(path, "rb") as file:
                archive.addfile(entry, file)
    with open(out, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=epoch) as packed:
        packed.write(plain.getvalue())


def zip_file(folder, out, epoch):
    """Write the files of a folder to a .zip with the time `epoch`, in seconds."""
    date = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, name in _files(folder):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = _mode(path) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            with open(path, "rb") as file:
                archive.writestr(entry, file.read())
