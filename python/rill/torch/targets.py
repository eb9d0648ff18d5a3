"""An inference target of torch_to_nnef that runs in this process."""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any, Dict, Mapping, Optional

import numpy as np
from torch_to_nnef import TractNNEF
from torch_to_nnef.exceptions import T2NErrorIOPytorchTractNotISO

from .._errors import Error
from ..model import load


class Target(TractNNEF):
    """Exports in the newest dialect, and checks with rill in this process."""

    def __init__(self, **options: Any) -> None:
        version = self.latest_version()
        # The base class asks a program for its version, and downloads one unless it is named.
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "version"
            program.write_text(f"#!/bin/sh\necho rill {version.to_str()}\n", encoding="ascii")
            program.chmod(0o700)
            super().__init__(version, specific_tract_binary_path=program, **options)

    def post_export(self, model_info: Any, nnef_graph: Any, exported_filepath: Any,
                    debug_bundle_path: Any = None) -> None:
        """With ``check_io``, compare rill's outputs for the example to PyTorch's.

        Errors: T2NErrorIOPytorchTractNotISO for any difference.
        """
        if not self.check_io:
            return
        with tempfile.TemporaryDirectory() as folder:
            arrays: Dict[str, np.ndarray] = {}
            for name, write in (("inputs", model_info.write_input_npz),
                                ("outputs", model_info.write_output_npz)):
                file = pathlib.Path(folder) / f"{name}.npz"
                write(file, tract_compat=True)
                with np.load(file) as bundle:
                    arrays.update({key: bundle[key] for key in bundle.files})
        try:
            load(exported_filepath).check(arrays)
        except Error as error:
            raise T2NErrorIOPytorchTractNotISO(str(error)) from error


def target(dynamic: Optional[Mapping[str, Mapping[int, str]]] = None, *, check_io: bool = True,
           **options: Any) -> Target:
    """Make an inference target for ``torch_to_nnef.export_model_to_nnef``.

    ``dynamic`` names the open axes of inputs, {"x": {1: "S"}}; ``check_io`` makes the exporter
    compare rill's whole run to PyTorch's outputs; ``options`` are those of
    ``torch_to_nnef.TractNNEF``. Machine and user are not written to the file unless
    ``dump_identity_properties=True``.
    """
    options.setdefault("dump_identity_properties", False)
    axes = {name: dict(of) for name, of in (dynamic or {}).items()}
    return Target(dynamic_axes=axes, check_io=check_io, **options)
