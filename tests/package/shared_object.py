#!/usr/bin/env python3
"""Check an ELF shared object: it runs on systems with pages of 16 KiB, and exports only the given symbols.

    shared_object.py FILE [SYMBOL ...]

Without symbols, only the pages are checked. The script parses the file itself, so the file may be for any
architecture.
"""

import pathlib
import struct
import sys

PAGE = 16384
PT_LOAD = 1
SHT_DYNSYM = 11


class Elf:
    def __init__(self, data):
        if data[:4] != b"\x7fELF" or data[5] != 1:
            sys.exit("not an ELF file of a little-endian machine")
        self.data = data
        self.wide = data[4] == 2

    def loads(self):
        """Yield (offset, address, alignment) of every loaded segment."""
        at, = struct.unpack_from("<Q" if self.wide else "<I", self.data, 32 if self.wide else 28)
        size, count = struct.unpack_from("<HH", self.data, 54 if self.wide else 42)
        for i in range(count):
            entry = at + i * size
            if self.wide:
                kind, _, offset, address, _, _, _, align = struct.unpack_from(
                    "<IIQQQQQQ", self.data, entry)
            else:
                kind, offset, address, _, _, _, _, align = struct.unpack_from(
                    "<IIIIIIII", self.data, entry)
            if kind == PT_LOAD:
                yield offset, address, align

    def sections(self):
        """Yield (type, offset, bytes, link, bytes of an entry)."""
        at, = struct.unpack_from("<Q" if self.wide else "<I", self.data, 40 if self.wide else 32)
        size, count = struct.unpack_from("<HH", self.data, 58 if self.wide else 46)
        for i in range(count):
            entry = at + i * size
            if self.wide:
                _, kind, _, _, offset, length, link, _, _, each = struct.unpack_from(
                    "<IIQQQQIIQQ", self.data, entry)
            else:
                _, kind, _, _, offset, length, link, _, _, each = struct.unpack_from(
                    "<IIIIIIIIII", self.data, entry)
            yield kind, offset, length, link, each

    def exported(self):
        """Return the exported symbols: those that are defined and not local."""
        sections = list(self.sections())
        names = set()
        for kind, offset, length, link, each in sections:
            if kind != SHT_DYNSYM:
                continue
            text = sections[link][1]
            for at in range(offset, offset + length, each):
                if self.wide:
                    name, info, _, section = struct.unpack_from("<IBBH", self.data, at)
                else:
                    name, _, _, info, _, section = struct.unpack_from("<IIIBBH", self.data, at)
                if section == 0 or info >> 4 == 0:
                    continue
                end = self.data.index(b"\0", text + name)
                names.add(self.data[text + name:end].decode())
        return names


def main():
    elf = Elf(pathlib.Path(sys.argv[1]).read_bytes())
    wanted = set(sys.argv[2:])
    loads = list(elf.loads())
    if not loads:
        sys.exit("nothing is loaded")
    for offset, address, align in loads:
        if align % PAGE or (address - offset) % PAGE:
            sys.exit(f"a segment is aligned to {align} bytes: pages of {PAGE} need more")
    found = elf.exported()
    if wanted and found != wanted:
        sys.exit(f"expected the symbols {sorted(wanted)} alone, found {sorted(found)}")


main()
