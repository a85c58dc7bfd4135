#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is each test that tests/SECURITY-TESTS.md names there? Prints TAP, one test a row."""

import os
import re
import sys

sys.dont_write_bytecode = True

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LIST = "tests/SECURITY-TESTS.md"
ROW = re.compile(r"^\| (?!attack \|)(.+?) \| (.+) \|$")
NAMED = re.compile(r"`(tests/[\w./-]+): ([^`]+)`")

sys.path.insert(0, f"{TOP}/tests/hostile")
from corpus import KINDS, ROLES  # noqa: E402


def is_there(file, case):
    if file == "tests/hostile":
        role, _, kind = case.partition("/")
        return role in ROLES and kind in KINDS
    path = f"{TOP}/{file}"
    if not os.path.isfile(path):
        return False
    with open(path) as source:
        text = source.read()
    if file.endswith(".bats"):
        return f'@test "{case}" {{' in text
    # The function of a test that is in the table of tests too, or a case by its words.
    return f'{{"{case}", ' in text or (f"static void {case}(" in text and len(re.findall(rf"\b{re.escape(case)}\b", text)) > 1)


def problems(tests):
    if tests.startswith("not ours: "):
        return []
    named = NAMED.findall(tests)
    if not named:
        return ["it names no test"]
    return [f"{file} has no case {case}" for file, case in named if not is_there(file, case)]


def main():
    with open(f"{TOP}/{LIST}") as text:
        rows = [match.groups() for match in map(ROW.match, text.read().splitlines()) if match]
    rows = [row for row in rows if not row[0].startswith("---")]
    failed = 0
    for number, (attack, tests) in enumerate(rows, 1):
        wrong = problems(tests)
        failed += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {number} - {attack.partition(':')[0]}")
        for line in wrong:
            print(f"# {line}")
    print(f"1..{len(rows)}")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
