"""Exports of recipes: as ONNX by both exporters of PyTorch, as NNEF by torch_to_nnef."""

import contextlib
import importlib.util
import io
import logging
import warnings

import torch


def exporters():
    """Return the installed exporters."""
    needs = {"nnef": "torch_to_nnef", "dynamo": "onnxscript"}
    return ("onnx", *(exporter for exporter, package in needs.items() if importlib.util.find_spec(package)))


def export(recipe, module, exporter, folder):
    """Write the model with an open axis S, and return its path."""
    example = (recipe.input(recipe.lengths[-1]), *recipe.first_states())
    if recipe.states is not None:
        example = (recipe.input(recipe.pulse), *recipe.first_states())
    with torch.no_grad():
        count = len(outputs) if isinstance(outputs := module(*example), tuple) else 1
    inputs = ["x"] + [f"s{i}" for i in range(len(example) - 1)]
    outputs = [f"y{i}" for i in range(count)]
    quiet = contextlib.ExitStack()
    quiet.enter_context(contextlib.redirect_stdout(io.StringIO()))
    quiet.enter_context(contextlib.redirect_stderr(io.StringIO()))
    quiet.enter_context(warnings.catch_warnings())
    with quiet, torch.no_grad():
        warnings.simplefilter("ignore")
        write = {"onnx": write_onnx, "nnef": write_nnef, "dynamo": write_dynamo}[exporter]
        return write(recipe, module, example, inputs, outputs, folder)


def write_onnx(recipe, module, example, inputs, outputs, folder):
    path = folder / "model.onnx"
    open_axes = {} if recipe.states is not None else {"x": {recipe.axis: "S"}}
    torch.onnx.export(module, example, path, input_names=inputs, output_names=outputs,
                      dynamic_axes=open_axes, opset_version=17, dynamo=False)
    return path


def write_dynamo(recipe, module, example, inputs, outputs, folder):
    path = folder / "model.onnx"
    shapes = None
    if recipe.states is None:
        shapes = ({recipe.axis: torch.export.Dim("S", min=recipe.lengths[0], max=4000)},)
    torch.onnx.export(module, example, path, input_names=inputs, output_names=outputs, dynamic_shapes=shapes,
                      opset_version=18, dynamo=True, verbose=False)
    return path


def write_nnef(recipe, module, example, inputs, outputs, folder):
    from torch_to_nnef import TractNNEF, export_model_to_nnef
    version = TractNNEF.latest_version()
    # The exporter asks a program for its version, and would download one if none is named.
    program = folder / "version"
    program.write_text(f"#!/bin/sh\necho rill {version.to_str()}\n")
    program.chmod(0o700)
    open_axes = {} if recipe.states is not None else {"x": {recipe.axis: "S"}}
    target = TractNNEF(version, check_io=False, specific_tract_binary_path=program, dynamic_axes=open_axes)
    path = folder / "model.nnef.tgz"
    more = {"custom_extensions": ["tract_symbol S", f"tract_assert S >= {recipe.lengths[0]}"]} if open_axes else {}
    export_model_to_nnef(module, example, path, target, input_names=inputs, output_names=outputs,
                         log_level=logging.CRITICAL, **more)
    return path
