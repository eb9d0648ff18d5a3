"""The page of the documentation that lists the recipes."""

import re

from recipe import RECIPES

BEGIN = """# Which models run

`tests/field/gallery/gallery.py` writes this page, and checks it. Each model is small, with random weights and the
layers of public models of its name. PyTorch exports it as ONNX, with its newer exporter (dynamo) if the older one
fails, and torch_to_nnef as NNEF. At three lengths the whole run is compared with PyTorch, and streams with the
whole run, bit for bit (within 1e-5 downstream of attention). Models with states as inputs are compared with a PyTorch
loop over steps.

- **Pulse**: frames of the input per step. A step model takes this number.
- **Delay**: frames of the output. It is derived by hand, and PyTorch shows that no stream has less: an output frame
  that changes with a later input frame has to wait for it.
- **State**: bytes that a stream keeps between steps.
- **rill, onnxruntime**: microseconds of a step, the median, with one thread. onnxruntime has no streams: it runs over
  a window as long as the shortest stream of the three, which a host would repeat for each step, or over the window
  that the last column names. A step model takes one step in both. The machine also did other work.

"""
HEAD = "| Model | Pattern | Exports | Pulse | Delay | State | rill | onnxruntime | Stream |\n" \
       "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
EXPORTERS = {"onnx": "ONNX", "nnef": "NNEF", "dynamo": "ONNX by dynamo"}


def outcome(row):
    if row.get("window"):
        return f"refused: {row['reason']}; windows of {row['window']}"
    if row.get("reason") == "an output known at the end":
        return "known at the end"
    if "reason" in row:
        return f"refused: {row['reason']}"
    return "a step, its states fed back" if row.get("step") else "exact"


def cells(recipe, rows):
    """Return the cells of a recipe from its rows by exporter; None for an exporter that did not run."""
    first = rows[0]
    exports = ", ".join(EXPORTERS[row["exporter"]] for row in rows)
    if recipe.left_out:
        exports += f" ({recipe.left_out})"
    rill, other = first.get("times") or (None, None)
    states = [row["state"] for row in rows if "state" in row]
    state = " or ".join(f"{n:,}" for n in sorted(set(states)))
    return [recipe.name, recipe.pattern, exports, str(recipe.pulse), str(first.get("delay", "")), state,
            f"{rill:.1f}" if rill else "", f"{other:.1f}" if other else "", outcome(first)]


def by_recipe(rows):
    for recipe in RECIPES:
        own = [row for row in rows if row["name"] == recipe.name]
        if own:
            yield recipe, own


def listed_in(path):
    """Return the cells of the page by model name."""
    listed = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(row) == 9 and not re.match("-|Model$", row[0]):
            listed[row[0]] = row
    return listed


def write_page(path, rows):
    """Write the page. Models that did not run keep their rows."""
    listed = listed_in(path)
    listed.update({recipe.name: cells(recipe, own) for recipe, own in by_recipe(rows)})
    lines = ["| " + " | ".join(listed[recipe.name]) + " |" for recipe in RECIPES if recipe.name in listed]
    path.write_text(BEGIN + HEAD + "\n".join(lines) + "\n")


def check_page(path, rows):
    """Compare the models and all cells except times with the page. Return the findings."""
    listed = listed_in(path)
    findings = 0
    for name in sorted({recipe.name for recipe in RECIPES} ^ set(listed)):
        findings += 1
        print(f"{path}: {name} is listed or a recipe, not both")
    for recipe, own in by_recipe(rows):
        want, have = cells(recipe, own), listed.get(recipe.name)
        # Exporters that are not installed have no states either.
        compared = (0, 1, 3, 4, 8, *((2, 5) if len(own) == len(recipe.exporters) else ()))
        if have and any(want[i] != have[i] for i in compared):
            findings += 1
            print(f"{path}: {recipe.name}: expected {want}, found {have}")
    return findings
