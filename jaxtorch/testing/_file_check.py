"""`torch.testing.FileCheck`: what a text has to hold, in order."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class _Check(NamedTuple):
    kind: str
    text: str
    count: int = 0

    def __str__(self) -> str:
        return f"{self.kind}{f'-{self.count}' if self.kind.startswith('CHECK-COUNT') else ''}: {self.text}"


_WRITTEN = re.compile(r"#\s*CHECK([A-Z-]*?)(?:-(\d+))?: ?(.*)")
_KINDS = ("", "-NEXT", "-SAME", "-NOT", "-DAG", "-COUNT", "-COUNT-EXACTLY", "-REGEX", "-SOURCE-HIGHLIGHTED")


class FileCheck:
    """Checks that are run on a text, each after the place where the one before was found.

    `FileCheck().check("a").check_not("b").check("c").run(text)`: an `a`, later a `c`, and no `b` between them. RuntimeError tells
    the first check that does not hold.
    """

    __module__ = "jaxtorch"

    def __init__(self) -> None:
        self._checks: list[_Check] = []
        self._has_run = False

    def __del__(self) -> None:
        if not self._has_run:
            print("You have not run this instance of FileCheck!\nFileCheck checks:")
            for check in self._checks:
                print(f"\t{check}")

    def _add(self, kind: str, text: Any, count: int = 0) -> FileCheck:
        if not isinstance(text, str):
            raise TypeError(f"FileCheck: a check has to be a str, not {type(text).__name__}")
        self._checks.append(_Check(f"CHECK{kind}", text, count))
        return self

    def check(self, test: str) -> FileCheck:
        """The text comes."""
        return self._add("", test)

    def check_not(self, test: str) -> FileCheck:
        """The text does not come before what is checked next, or the end."""
        return self._add("-NOT", test)

    def check_same(self, test: str) -> FileCheck:
        """The text comes on the same line."""
        return self._add("-SAME", test)

    def check_next(self, test: str) -> FileCheck:
        """The text comes on the next line."""
        return self._add("-NEXT", test)

    def check_count(self, test: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes `count` times; where that is to be exact, not once more after them."""
        if count == 0 and not exactly:
            raise RuntimeError("FileCheck.check_count: a count of 0 has to be exact")
        self._add("-COUNT-EXACTLY" if exactly else "-COUNT", test, count)
        return self._add("-NOT", test) if exactly else self

    def check_dag(self, test: str) -> FileCheck:
        """The text comes; neighbouring checks of this kind hold in any order."""
        return self._add("-DAG", test)

    def check_source_highlighted(self, test: str) -> FileCheck:
        """The text comes, and is underlined with `~` on the next line."""
        return self._add("-SOURCE-HIGHLIGHTED", test)

    def check_regex(self, test: str) -> FileCheck:
        """Something comes that the regular expression matches."""
        return self._add("-REGEX", test)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """`run(text)`, or `run(checks, text)` with checks in a text as comments, `# CHECK-NEXT: b`."""
        given = [*args, *kwargs.values()]
        if not 1 <= len(given) <= 2 or not all(isinstance(x, str) for x in given):
            raise TypeError("FileCheck.run(): takes a text, or a text with checks and a text")
        self._has_run = True
        if len(given) == 2:
            self._read(given[0])
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance ofFilecheck! Check for bad input.")
        _Run(given[-1]).all(self._checks)

    def _read(self, text: str) -> None:
        for line in text.splitlines():
            found = _WRITTEN.search(line)
            if found is None:
                continue
            kind, count, test = found.groups()
            if kind not in _KINDS or (kind.startswith("-COUNT") and count is None):
                raise RuntimeError(f"Could not parse check at:\n{line}\n")
            if kind.startswith("-COUNT"):
                self.check_count(test, int(count), exactly=kind == "-COUNT-EXACTLY")
            else:
                self._add(kind, test)


class _Run:
    """Checks being run on a text: `end` is where the last one was found to end."""

    def __init__(self, text: str) -> None:
        self.text, self.end = text, 0

    def all(self, checks: list[_Check]) -> None:
        forbidden: list[_Check] = []
        at = 0
        while at < len(checks):
            check = checks[at]
            at += 1
            if check.kind == "CHECK-NOT":
                forbidden.append(check)
                continue
            group = [check]
            while check.kind == "CHECK-DAG" and at < len(checks) and checks[at].kind == "CHECK-DAG":
                group.append(checks[at])
                at += 1
            before = self.end
            places = [self.place(one, before) for one in group]
            self.forbid(forbidden, before, min(start for start, _ in places))
            self.end = max(end for _, end in places)
            forbidden = []
        self.forbid(forbidden, self.end, len(self.text))

    def forbid(self, checks: list[_Check], start: int, end: int) -> None:
        for check in checks:
            self.absent(check.text, start, end, check)

    def absent(self, wanted: str, start: int, end: int, check: _Check) -> None:
        found = self.text.find(wanted, start, end)
        if found >= 0:
            shown = wanted.replace("\n", "\\n")
            head = f'Expected to not find "{shown}" but found it\n'
            raise RuntimeError(head + self.around(found, found + len(wanted)) + f"From {check}\n")

    def place(self, check: _Check, start: int) -> tuple[int, int]:
        """Where the check holds, from `start` on."""
        kind, wanted = check.kind, check.text
        if kind == "CHECK-REGEX":
            try:
                match = re.compile(wanted).search(self.text, start)
            except re.error as error:
                raise RuntimeError(f"{error} in regular expression {wanted!r}") from None
            if match is None:
                raise self.missing("regex ", wanted, start, check)
            return match.span()
        if kind.startswith("CHECK-COUNT"):
            first, end = None, start
            for _ in range(check.count):
                found = self.find(wanted, end, check)
                first, end = found if first is None else first, found + len(wanted)
            return (start if first is None else first), end
        begin = self.find("\n", start, check) + 1 if kind == "CHECK-NEXT" else start
        found = self.find(wanted, begin, check)
        end = found + len(wanted)
        if kind in ("CHECK-NEXT", "CHECK-SAME"):
            self.absent("\n", begin, found, check)
        if kind == "CHECK-SOURCE-HIGHLIGHTED" and not self.underlined(found, end):
            head = f'Expected to find "{wanted}"highlighted but it is not.\n'
            raise RuntimeError(head + self.around(found, end))
        return found, end

    def find(self, wanted: str, start: int, check: _Check) -> int:
        found = self.text.find(wanted, start)
        if found < 0:
            raise self.missing("", wanted, start, check)
        return found

    def missing(self, what: str, wanted: str, start: int, check: _Check) -> RuntimeError:
        shown = wanted.replace("\n", "\\n")
        head = f'Expected to find {what}"{shown}" but did not find it\nSearched string:\n'
        return RuntimeError(head + self.around(start, start + len(wanted)) + f"From {check}\n")

    def underlined(self, start: int, end: int) -> bool:
        line = self.text.rfind("\n", 0, start) + 1
        below = self.text.find("\n", end)
        column = below + 1 + start - line
        return below >= 0 and self.text[column : column + end - start] == "~" * (end - start)

    def around(self, start: int, end: int) -> str:
        """The line of a place and those near it, with the place underlined."""
        lines = self.text.split("\n")
        at = self.text.count("\n", 0, start)
        column = start - (self.text.rfind("\n", 0, start) + 1)
        width = min(end - start, len(lines[at]) - column)
        shown = lines[max(at - 3, 0) : at + 3]
        if width > 0:
            shown.insert(min(at, 3) + 1, f"{' ' * column}{'~' * width} <--- HERE")
        return "\n".join(shown) + "\n"
