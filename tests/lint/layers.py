#!/usr/bin/env python3
"""Check that the table of includes in docs/architecture.md allows every #include.

    layers.py ROOT

Tests next to the code and in tests/ may include anything of rill. Third-party headers stay in
certain folders, and out of rill's own headers.

Groups of operators have an order, too: a group may include earlier groups only, and files in ops/ itself
include none of them, so that there are no cycles.
"""

import re

import common

ARROWS = {
    "kernels": [],
    "core": [],
    "ops": ["core", "kernels"],
    "pulse": ["core", "ops/stream", "ops/array", "ops/control", "ops/built.h"],
    # Code that assembles the operators of exporters, or splits them.
    "pulse/attention": ["core", "ops", "pulse"],
    "pulse/before": ["core", "ops", "pulse"],
    "audit": ["core", "pulse"],
    # Its plans are steps and constants; it gets the tables of kinds and of operators as arguments.
    "plan_file": ["core", "kernels/target.h"],
    # The C of steps is next to the steps, and the table of steps leads to it.
    "emit_c": ["core"],
    "nnef_loader": ["core"],
    # Its nodes are calls, as those of a document are.
    "onnx_loader": ["core", "nnef_loader"],
    "transforms": ["core", "ops", "nnef_loader"],
    # The CPU limit is part of the public interface, and kept where the CPU is detected.
    "api": ["core", "ops", "pulse", "audit", "nnef_loader", "onnx_loader", "plan_file",
            "kernels/cpu.h", "kernels/target.h"],
    # The loader gets the table of operators as an argument; the programs do not read it.
    "cli": ["api", "audit", "core", "pulse", "nnef_loader", "onnx_loader", "transforms",
            "plan_file", "emit_c", "ops/op_table.h", "ops/onnx_table.h", "ops/step_table.h",
            "ops/emit_table.h", "kernels/cpu.h",
            "kernels/target.h",
            "kernels/reach"],
    "bench": ["api", "core", "ops", "kernels", "rill", "tests/support/heap_calls.h"],
    "examples": ["rill", "api/src/npz.h"],
    # Without a heap there is no C interface, so it uses the run layer directly.
    "examples/mcu": ["core/run"],
    "python": ["rill"],
    "web": ["rill"],
}

THIRD_PARTY = {
    r"xsimd/": ["kernels"],
    r"Eigen/": ["kernels"],
    r"(oneapi/)?dnnl": ["kernels"],
    r"archive(_entry)?\.h": ["nnef_loader", "bench"],
    r"zlib\.h": ["nnef_loader"],
    r"nlohmann/": ["api", "cli"],
    r"CLI/": ["cli"],
    r"fmt/": ["cli"],
    r"toml\+\+/": ["cli"],
    r"benchmark/": ["bench"],
    r"(nanobind|numpy)/": ["python"],
    r"emscripten": ["web"],
    r"lv2/": ["examples"],
    r"portaudio\.h": ["examples"],
    r"g(test|mock)/": [],
}
# Only *_impl.h include it, and several families share it. The module for Python is one library, and
# no other code includes its headers.
IMPL_HEADERS = {"kernels/simd/lanes.h"}

GROUPS = ["stream", "array", "math", "nn", "vision", "transformers", "signal", "quant", "control",
          "rnn"]
# The run layer, which a device without graphs, operators and a heap has as well: it includes only
# itself and kernels.
RUNS = re.compile(
    r"^core/(run/\w+|base/(bits|checked|code|kept_count|limits|list|nonblocking|printf_like|refusal|search)|dim/quotient|"
    r"tensor/(blocks|convert_element|dtype|frames|plain_cast|row_major|strided_copy|view|visit_number))\.(h|cpp)$|"
    r"^ops/(array/(gather_walk|index_at|walk)|kernel_fields|"
    r"math/(binary_groups|extreme|float_binary|float_unary|integers|kinds|nest)|nn/product_parts|\w+/\w+_step)\.(h|cpp)$")

# The C of steps, only for the programs.
EMITS = re.compile(r"^ops/(emit_table|\w+/\w+_emit)\.(h|cpp)$")

# The other files of librill_run, for programs that have a heap.
RUNS_WITH_HEAP = re.compile(
    r"^core/(base/(aligned|big_number|hasher|mapped_file|number_text|printable|raise_limit|status|text)|"
    r"exec/(feed|property|saved|saved_bytes|session|workers))\.(h|cpp)$|"
    r"^plan_file/(check|checksum|limits|map|place|properties)\.(h|cpp)$|"
    r"^api/src/(errors|guard|handles|io_text|library|log|lookup|session_state|open_opts|opened_plan|plan|plan_open|properties|run_alone|session|stream|"
    r"threads|step_together|views)\.(h|cpp)$|^api/include/rill/rill\.h$|^kernels/(cpu|nonblocking|target|tiers)\.h$")

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
TEST_FILE = re.compile(r"(_test|_bench|/test_\w+)\.(c|cpp|h)$")
TIER_FILE = re.compile(r"^kernels/\w+/(sse42|avx2|avxvnni|avx512|avx512vnni|neon|dotprod)\.cpp$")


def starts_with(path, folder):
    return path == folder or path.startswith(folder + "/")


def own_include(path, target):
    folder = path.split("/")[0]
    if TIER_FILE.match(path) and not target.endswith("_impl.h"):
        return "a tier file may include its family's _impl.h only"
    if folder == "tests" or TEST_FILE.search(path) or "/" not in target:
        return None
    if RUNS.match(path) and not RUNS.match(target):
        if not (folder == "ops" and starts_with(target, "kernels")):
            return "code that runs plans must include no graph and no operator"
    if RUNS_WITH_HEAP.match(path) and not (RUNS.match(target) or RUNS_WITH_HEAP.match(target)):
        return "files of librill_run must include no graph and no operator"
    if starts_with(target, folder):
        return None
    if EMITS.match(path) and starts_with(target, "emit_c"):
        return None
    if folder == "api" and starts_with(target, "rill"):
        return None
    subfolder = "/".join(path.split("/")[:2])
    arrows = ARROWS[subfolder if subfolder in ARROWS else folder]
    if any(starts_with(target, allowed) for allowed in arrows):
        return None
    return f"{folder} may include {', '.join(arrows) or 'nothing else of rill'}"


def third_party_include(path, target):
    folder = path.split("/")[0]
    if target.startswith(("sys/", "linux/")) or target.startswith("rill/"):
        return None
    for pattern, folders in THIRD_PARTY.items():
        if not re.match(pattern, target):
            continue
        if TEST_FILE.search(path) or folder == "tests":
            return None
        if folder not in folders:
            return f"<{target}> belongs in {', '.join(folders) or 'tests'} only"
        open_to_all = path.startswith("python/") or path in IMPL_HEADERS
        if path.endswith(".h") and not path.endswith("_impl.h") and not open_to_all:
            return f"<{target}> in a header other than *_impl.h"
        return None
    return f"<{target}> is no third party that rill knows" if "/" in target else None


def rising_include(path, target):
    """Return why an include violates the order of groups; None if it does not."""
    of, to = (end.split("/") for end in (path, target))
    if TEST_FILE.search(path) or of[0] != "ops" or to[0] != "ops" or len(to) < 3:
        return None
    if len(of) < 3:
        return "files that all groups of operators share must include none of the groups"
    if of[1] == to[1]:
        return None
    if of[1] not in GROUPS or to[1] not in GROUPS:
        return "a group of operators that has no place in the order of groups"
    if GROUPS.index(to[1]) < GROUPS.index(of[1]):
        return None
    return f"ops/{of[1]} comes before ops/{to[1]}, which may include it: groups form a circle"


def check(root):
    findings = []
    for path, text in common.sources(root):
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            own, other = match.groups()
            problem = own_include(path, own) if own else third_party_include(path, other)
            problem = problem or (own and rising_include(path, own))
            if problem:
                findings.append(f"{path}:{number}: {line.strip()}: {problem}")
    return findings


BROKEN = {
    "core/run/up.cpp": '#include "core/graph/graph.h"\n',
    "core/run/side.cpp": '#include "kernels/cpu.h"\n',
    "api/src/session.cpp": '#include "core/graph/graph.h"\n',
    "plan_file/place.cpp": '#include "plan_file/step_reader.h"\n',
    "ops/nn/up_step.cpp": '#include "core/exec/lowering.h"\n',
    "ops/nn/side_step.h": '#include "ops/nn/conv.h"\n',
    "core/graph/up.cpp": '#include "ops/nn/conv.h"\n',
    "kernels/conv/side.cpp": '#include "core/tensor/tensor.h"\n',
    "pulse/side.cpp": '#include "ops/nn/conv.h"\n',
    "ops/nn/up.h": '  #  include "pulse/pulse.h"\n',
    "nnef_loader/side.cpp": '#include "ops/op_table.h"\n',
    "cli/deep.cpp": '#include "kernels/matmul/matmul.h"\n',
    "core/base/vector.cpp": "#include <Eigen/Core>\n",
    "kernels/conv/conv.h": "#include <xsimd/xsimd.hpp>\n",
    "kernels/conv/avx2.cpp": '#include "kernels/conv/conv.h"\n',
    "api/src/unknown.cpp": "#include <boost/any.hpp>\n",
    "ops/nn/testing.cpp": "#include <gtest/gtest.h>\n",
    "ops/array/rising.cpp": '#include "ops/nn/conv.h"\n',
    "ops/math/new_group.cpp": '#include "ops/physics/fall.h"\n',
    "ops/shared.h": '#include "ops/math/binary.h"\n',
}
SOUND = {
    "ops/nn/conv.cpp": '#include <vector>\n#include "core/graph/op.h"\n#include "kernels/cpu.h"\n',
    "ops/nn/conv_step.cpp": '#include "core/run/share.h"\n#include "kernels/cpu.h"\n',
    "ops/nn/falling.cpp": '#include "ops/math/binary.h"\n',
    "ops/nn/conv_test.cpp": '#include <gtest/gtest.h>\n#include "pulse/pulse.h"\n',
    "pulse/pulse.cpp": '#include "ops/stream/delay.h"\n',
    "pulse/before/merge.cpp": '#include "ops/nn/conv.h"\n',
    "kernels/conv/conv_impl.h": "#include <xsimd/xsimd.hpp>\n",
    "kernels/conv/avx2.cpp": '#include "kernels/conv/conv_impl.h"\n',
    "examples/app.c": '#include <stdio.h>\n#include "rill/rill.h"\n',
}

if __name__ == "__main__":
    common.run(check, BROKEN, SOUND)
