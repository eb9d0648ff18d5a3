"""Chooses the suites that a change runs, with reasons, by rules on paths and on a record of earlier
runs."""

import dataclasses

import suites as table

# The maximum number of consecutive runs without a suite.
RUNS_BETWEEN = 2
# A change of more lines than this in a suite's sources makes it run.
LINES_IN_DEPTH = 300


@dataclasses.dataclass(frozen=True)
class Change:
    """The numbers of lines that a change adds and removes, by path; None if the change is unknown."""
    lines: dict | None

    @property
    def kind(self):
        """Return "docs", "bindings" or "code"."""
        if self.lines is None:
            return "code"
        rest = [path for path in self.lines
                if not path.startswith(table.DOCUMENTS) and not path.endswith(".md")]
        if not rest:
            return "docs"
        return "bindings" if all(path.startswith(table.BINDINGS) for path in rest) else "code"

    def below(self, sources):
        if self.lines is None:
            return 0
        return sum(count for path, count in self.lines.items() if path.startswith(tuple(sources)))


@dataclasses.dataclass(frozen=True)
class Choice:
    suite: table.Suite
    run: bool
    reason: str
    minutes: float


def runs_since(record, name):
    """Return the number of recorded runs after the last one in which the suite passed; None if it never did."""
    for age, run in enumerate(reversed(record)):
        if run["suites"].get(name, {}).get("status") == "passed":
            return age
    return None


def minutes(record, suite):
    """Return the duration of the suite's last run, or the table's estimate."""
    for run in reversed(record):
        ran = run["suites"].get(suite.name, {})
        if ran.get("status") == "passed":
            return ran["seconds"] / 60
    return suite.minutes


def must_run(suite, change, record):
    """Return why the suite runs in any case, or None."""
    if suite.when == table.DOCS:
        return "every change"
    if change.kind != "docs" and suite.when == table.SOURCES and change.below(suite.sources) > 0:
        return "its sources changed"
    if change.kind != "code":
        return None
    if suite.when == table.CODE:
        return "code changed"
    if suite.when == table.ROTATION and change.below(suite.sources) > LINES_IN_DEPTH:
        return f"its sources changed in depth, by {change.below(suite.sources)} lines"
    age = runs_since(record, suite.name)
    if age is not None and age >= RUNS_BETWEEN:
        return f"not in the last {age} runs"
    return None


def rotation_order(suites, record, start):
    """Return the suites, the longest waiting ones first.

    Without a record every third suite comes first, beginning with number `start`.
    """
    turns = RUNS_BETWEEN + 1

    def waited(pair):
        index, suite = pair
        age = runs_since(record, suite.name)
        if age is None:
            return (0, (index - start) % turns, index)
        return (1, -age, index)
    return [suite for _, suite in sorted(enumerate(suites), key=waited)]


def plan(change, record, start, budget_minutes):
    """Return a choice for every suite: those that must run, then others in rotation while the budget lasts.

    Of those that must run, the suites of rotation come last, in their order, so that the limit of a run
    does not always end the same ones.
    """
    reasons = {suite.name: must_run(suite, change, record) for suite in table.SUITES}
    must = [suite for suite in table.SUITES if reasons[suite.name]]
    first = [suite for suite in must if suite.when in (table.DOCS, table.CODE)]
    rest = rotation_order([suite for suite in must if suite not in first], record, start)
    chosen = [Choice(suite, True, reasons[suite.name], minutes(record, suite)) for suite in first + rest]
    waiting = [suite for suite in table.SUITES if not reasons[suite.name]]
    left = budget_minutes - sum(choice.minutes for choice in chosen)
    for suite in rotation_order(waiting, record, start):
        takes = minutes(record, suite)
        fits = change.kind == "code" and suite.when in (table.ROTATION, table.SOURCES) and takes <= left
        reason = "next in rotation" if fits else f"a change of {change.kind}" if change.kind != "code" else "no time"
        chosen.append(Choice(suite, fits, reason, takes))
        left -= takes if fits else 0
    return chosen
