#!/usr/bin/env python3
"""Write known_answers.txt in the folder of each operator group: NumPy's answers.

    write.py                                        write the files
    write.py --tract                                compare the dialect's answers with tract 0.23.9
    write.py --tract build/release/bin/rill-tract   also run tract on the files that rill writes
"""

import sys

import array_math
import dialect
import tract
from cases import CASES, write

if "--tract" in sys.argv:
    for group in dialect.GROUPS:
        group()
    tract.check(CASES, dialect.DIFFERS, (sys.argv[2:] or [None])[0])
write([array_math.GROUPS, dialect.GROUPS])
