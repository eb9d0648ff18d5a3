"""The suites of checks: the sources, command and time of each.

`sources` are prefixes of paths. `minutes` is the time of a fresh clone on 2 cores whose compiler
cache is warm; the record of earlier runs replaces it. `when` is the kind of change that runs the
suite:

    docs      every change; these suites build little or nothing
    code      every change of code
    sources   changes of its sources, and in rotation
    rotation  changes of many lines of its sources (LINES_IN_DEPTH), and in rotation
"""

import dataclasses

DOCS, CODE, SOURCES, ROTATION = "docs", "code", "sources", "rotation"


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    when: str
    minutes: float
    command: str
    sources: tuple = ()


# Pages and other documents; every other path is code.
DOCUMENTS = ("docs/", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
# Folders that depend on the library. A change of these alone runs their suites and the lints.
BINDINGS = ("python/", "java/", "web/", "examples/", "platform/", "scripts/test_", "scripts/web",
            "scripts/wheels.sh", "scripts/packages.sh", "scripts/platforms.sh", "scripts/package_",
            "scripts/release", "packaging/", ".github/")
ENGINE = ("core/", "kernels/", "ops/", "pulse/", "audit/", "plan_file/", "emit_c/", "nnef_loader/",
          "onnx_loader/", "transforms/", "api/", "cli/")

SUITES = (
    Suite("pages", DOCS, 1.5, "scripts/checks/pages.sh"),
    Suite("release", CODE, 14, "scripts/test.sh --release -- -LE '^(onnx|peers|slow)$'"),
    Suite("small", SOURCES, 1.5, "scripts/test.sh --small", ("CMakeLists.txt", "cmake/", "tests/size/")),
    Suite("neon", SOURCES, 4, "scripts/test.sh --neon", ("kernels/", "cmake/RillKernels.cmake")),
    Suite("slow", ROTATION, 6, "scripts/test.sh --release -- -L '^slow$'", ENGINE),
    Suite("onnx", ROTATION, 5, "scripts/checks/onnx.sh", ("onnx_loader/", "ops/", "tests/onnx/", "tests/field/")),
    Suite("peers", ROTATION, 3, "scripts/checks/peers.sh", ("kernels/", "core/run/", "core/exec/", "tests/tract/",
                                                            "tests/profile/", "scripts/check_nonblocking.sh")),
    Suite("asan kernels, core", ROTATION, 8,
          "scripts/test.sh --asan -- -LE '^(lint|peers|onnx|models|slow|examples|size|operators|property)$'",
          ("core/", "kernels/", "cli/", "transforms/")),
    Suite("asan operators", ROTATION, 14, "scripts/test.sh --asan -- -L '^operators$'",
          ("ops/", "plan_file/", "emit_c/", "tests/operators/")),
    Suite("asan streams", ROTATION, 14, "scripts/test.sh --asan -- -L '^property$' -LE '^slow$'",
          ("pulse/", "audit/", "tests/property/")),
    Suite("asan models", ROTATION, 10, "scripts/test.sh --asan -- -L '^models$' -LE '^slow$'",
          ("api/", "plan_file/", "nnef_loader/", "onnx_loader/", "tests/")),
    Suite("tsan", ROTATION, 6, "scripts/test.sh --tsan", ("core/exec/", "core/run/", "api/src/")),
    Suite("fuzz", ROTATION, 8, "scripts/fuzz.sh --seed 1 60",
          ("nnef_loader/", "onnx_loader/", "plan_file/", "core/dim/", "tests/fuzz/")),
    Suite("subproject", ROTATION, 4, "cmake -P tests/package/subproject.cmake", ("CMakeLists.txt", "cmake/")),
    Suite("exporter", ROTATION, 8, "tests/exporter/run.sh build/release/bin/rill-tract",
          ("nnef_loader/", "tests/exporter/")),
    Suite("python", SOURCES, 6, "scripts/test_python.sh",
          ("python/", "api/include/", "scripts/test_python.sh")),
    Suite("java", SOURCES, 3, "scripts/test_java.sh", ("java/", "api/include/", "scripts/test_java.sh")),
    Suite("wheels", ROTATION, 8, "scripts/wheels.sh",
          ("python/CMakeLists.txt", "python/pyproject.toml", "platform/", "scripts/wheels.sh")),
    Suite("apps", SOURCES, 3, "scripts/test_apps.sh",
          ("examples/live/", "examples/lv2/", "api/include/", "scripts/test_apps.sh")),
    Suite("packages", ROTATION, 4, "scripts/packages.sh", ("cmake/", "tests/package/", "scripts/packages.sh")),
    Suite("web", SOURCES, 9, "scripts/web.sh --operators --seconds 20",
          ("web/", "cmake/wasm.cmake", "scripts/web.sh", "scripts/web_run.sh")),
    Suite("platforms", ROTATION, 8, "scripts/platforms.sh --least musl-arm",
          ("platform/", "cmake/RillKernels.cmake", "kernels/tiers.h", "scripts/platforms.sh")),
)
