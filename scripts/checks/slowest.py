"""List the times of compilations and tests, from Ninja's logs and CTest's reports in build/."""

import xml.etree.ElementTree as xml


def compilations(log):
    """Yield (seconds, name) of the lines of a .ninja_log: begin and end in ms, time, output, hash."""
    for line in log.read_text(errors="replace").splitlines():
        cells = line.split("\t")
        if len(cells) == 5:
            yield (int(cells[1]) - int(cells[0])) / 1000, f"{log.parent.name}: {cells[3]}"


def tests(report):
    try:
        cases = xml.parse(report).iter("testcase")
    except xml.ParseError:
        return
    for case in cases:
        yield float(case.get("time") or 0), f"{report.parent.name}: test {case.get('name')}"


def steps(build):
    """Return (seconds, name) of all steps below the folder, the slowest first."""
    found = []
    for log in build.glob("*/.ninja_log"):
        found += compilations(log)
    for report in build.glob("*/tests*.xml"):
        found += tests(report)
    return sorted(found, reverse=True)
