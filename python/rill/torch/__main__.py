"""Export a module from a terminal, and check it.

The factory has no parameters, and returns (module, example) or (module, example, dynamic). The
example may be a function of the sizes.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import Any, Dict, List, Optional, Sequence

from .._errors import Error
from .exporters import EXPORTERS


def _dynamic(given: Sequence[str]) -> Dict[str, Dict[int, str]]:
    out: Dict[str, Dict[int, str]] = {}
    for each in given:
        name, _, rest = each.partition(":")
        axis, _, symbol = rest.partition("=")
        if not name or not symbol or not axis.lstrip("-").isdigit():
            raise argparse.ArgumentTypeError(f"{each!r}: expected input:axis=symbol")
        out.setdefault(name, {})[int(axis)] = symbol
    return out


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rill.torch", description=__doc__)
    parser.add_argument("factory", help="package.module:function")
    parser.add_argument("-o", "--output", help="where to write the model: .tgz, .tar, .zip, folder")
    parser.add_argument("--dynamic", action="append", default=[], metavar="INPUT:AXIS=SYMBOL",
                        help="an open axis, as x:1=S")
    parser.add_argument("--stream", metavar="SYMBOL", help="stream along this symbol")
    parser.add_argument("--pulse", action="append", default=[], help="a number or auto[:...]")
    parser.add_argument("--unproven", action="store_true",
                        help="write a model whose open axes could be compared at only one size")
    parser.add_argument("--atol", type=float, help="by default 1e-4, more in half precision")
    parser.add_argument("--rtol", type=float, help="by default 5e-4, more in half precision")
    parser.add_argument("--exporter", action="append", default=[], choices=list(EXPORTERS),
                        help="try only these, in this order")
    return parser


def _made(factory: str) -> Any:
    module, _, function = factory.partition(":")
    if not module or not function:
        raise argparse.ArgumentTypeError(f"{factory!r}: expected package.module:function")
    sys.path.insert(0, os.getcwd())
    made = importlib.import_module(module)
    for part in function.split("."):
        made = getattr(made, part)
    made = made()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise argparse.ArgumentTypeError(
            f"{factory} returned a {type(made).__name__}, expected (module, example) or "
            "(module, example, dynamic)")
    return made if len(made) == 3 else (*made, {})


def main(arguments: Optional[List[str]] = None) -> int:
    """Return the exit status. 0: ok; 1: wrong or refused; 2: invalid arguments."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        dynamic = _dynamic(options.dynamic)
        module, example, of_factory = _made(options.factory)
    except (argparse.ArgumentTypeError, ImportError, AttributeError) as error:
        parser.error(str(error))
    from .exporting import export
    pulses = [int(pulse) if pulse.isdigit() else pulse for pulse in options.pulse]
    try:
        report = export(module, example, {**of_factory, **dynamic}, options.stream, options.output,
                        pulses=pulses, atol=options.atol, rtol=options.rtol, strict=False,
                        unproven=options.unproven, exporters=options.exporter or tuple(EXPORTERS),
                        progress=lambda text: print(f"... {text}", file=sys.stderr))
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
