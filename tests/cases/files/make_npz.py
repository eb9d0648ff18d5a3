#!/usr/bin/env python3
"""Write arrays.npz, stored.npz and fortran.npy with NumPy, each array being arange() of its type."""
import pathlib

import numpy as np

here = pathlib.Path(__file__).parent
types = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]
arrays = {}
for name in types:
    for order in "<>":
        values = np.arange(6).reshape(2, 3).astype(np.dtype(name).newbyteorder(order))
        arrays[f"{'big' if order == '>' else 'little'}_{np.dtype(name).name}"] = values
        arrays[f"turn_0/fortran_{order == '>'}_{np.dtype(name).name}"] = np.asfortranarray(values)
arrays["scalar"] = np.float32(2.5)
arrays["empty"] = np.zeros((3, 0), np.int64)
arrays["complex"] = np.array([1 + 2j, 3 + 4j], np.complex64)
np.savez_compressed(here / "arrays.npz", **arrays)
np.savez(here / "stored.npz", x=np.arange(4, dtype=np.float32))
np.save(here / "fortran.npy", np.asfortranarray(np.arange(24, dtype=">i2").reshape(2, 3, 4)))
