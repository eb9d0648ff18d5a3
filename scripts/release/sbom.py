"""The software bill of materials of a release (CycloneDX 1.5), and the licences of the included code.

Lists the third-party code that is compiled into files of a release. `parts` says what a file contains:
library (librill), program (rill, rill-tract), python, web, or a library that is linked statically (zlib,
libstdc++, libc++, musl).
"""

import datetime
import hashlib
import json
import pathlib
import subprocess
import uuid

# name: (Debian package that has version and licence, SPDX licence, parts)
THIRD_PARTIES = {
    "xsimd": ("libxsimd-dev", "BSD-3-Clause", ("library", "program", "python", "web")),
    "CLI11": ("libcli11-dev", "BSD-3-Clause", ("program",)),
    "fmt": ("libfmt-dev", "MIT", ("program",)),
    "nlohmann-json": ("nlohmann-json3-dev", "MIT", ("program",)),
    "toml++": ("libtomlplusplus-dev", "MIT", ("program",)),
    "zlib": ("zlib1g-dev", "Zlib", ("zlib",)),
    "libstdc++": ("libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", ("libstdc++",)),
}
# Third parties of which the bill gives no version.
OTHERS = {
    "nanobind": ("BSD-3-Clause", ("python",)),
    "libc++": ("Apache-2.0 WITH LLVM-exception", ("libc++", "web")),
    "musl": ("MIT", ("musl", "web")),
}


def version_of(package):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else ""


def copy_licences(source, folder, parts):
    """Copy rill's licences and those of the third parties of `parts` to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        (folder / name).write_bytes((source / name).read_bytes())
    for name, (package, _, where) in THIRD_PARTIES.items():
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        if set(where) & set(parts) and text.exists():
            (folder / f"{name}.txt").write_bytes(text.read_bytes())


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(path, version, epoch, files):
    """Write the bill. `files`: {path of a file: parts inside}."""
    used = {part for parts in files.values() for part in parts}
    listed = {name: (version_of(package), licence, where)
              for name, (package, licence, where) in THIRD_PARTIES.items()}
    listed.update({name: ("", licence, where) for name, (licence, where) in OTHERS.items()})
    components, contains = [], {}
    for name, (found, licence, where) in sorted(listed.items()):
        if not set(where) & used:
            continue
        component = {"type": "library", "bom-ref": name, "name": name,
                     "licenses": [{"expression": licence}]}
        if found:
            component["version"] = found
        components.append(component)
    for file in sorted(files):
        inside = [name for name, (_, _, where) in sorted(listed.items()) if set(where) & set(files[file])]
        components.append({"type": "file", "bom-ref": file.name, "name": file.name, "version": version,
                           "hashes": [{"alg": "SHA-256", "content": digest(file)}],
                           "licenses": [{"expression": "Apache-2.0 OR MIT"}]})
        contains[file.name] = inside
    root = {"type": "library", "bom-ref": "rill", "name": "rill", "version": version,
            "licenses": [{"expression": "Apache-2.0 OR MIT"}]}
    seed = f"rill {version} " + " ".join(f"{file.name}:{digest(file)}" for file in sorted(files))
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, seed)}",
            "metadata": {"timestamp": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
                         .strftime("%Y-%m-%dT%H:%M:%SZ"), "component": root},
            "components": components,
            "dependencies": [{"ref": "rill", "dependsOn": sorted(contains)}]
            + [{"ref": name, "dependsOn": inside} for name, inside in sorted(contains.items())]}
    path.write_text(json.dumps(bill, indent=2) + "\n")
