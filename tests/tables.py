#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables that test suites print into a document.

tests/tables.py FILE < LINES

LINES are "SUITE<tab>LINE", as tests/run.sh collects them from "# table: LINE" in what suites print. Between the
markers in FILE each suite has a block of its own, with the day on which it was written. A suite that is in
LINES gets a new block in the place of its old one, or after the last; the blocks of others stay, so that suites
may run on different machines and at different times.
"""

import collections
import datetime
import os
import re
import sys

BEGIN = "<!-- tables -->\n"
END = "<!-- end of tables -->\n"
BLOCK = re.compile(r"^`([^`]+)`, \d{4}-\d\d-\d\d:\n\n```\n.*?^```\n", re.M | re.S)


def block(suite, lines):
    return "`%s`, %s:\n\n```\n%s```\n" % (suite, datetime.date.today(), "".join(line + "\n" for line in lines))


def main():
    path = sys.argv[1]
    tables = collections.OrderedDict()
    for line in sys.stdin.read().splitlines():
        suite, _, text = line.partition("\t")
        tables.setdefault(suite, []).append(text.rstrip())

    with open(path) as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit("%s has not the lines %s and %s, once each" % (path, BEGIN.strip(), END.strip()))
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)

    blocks = collections.OrderedDict((match[1], match[0]) for match in BLOCK.finditer(old))
    left = BLOCK.sub("", old).strip()
    if left:
        raise SystemExit("%s: between the markers stands what is no table: %s" % (path, left.splitlines()[0]))
    for suite, lines in tables.items():
        blocks[suite] = block(suite, lines)

    # A file that is there whole or not at all: it is under somebody's hands.
    with open(path + ".new", "w") as file:
        file.write(before + BEGIN + "\n" + "".join(text + "\n" for text in blocks.values()) + END + after)
    os.replace(path + ".new", path)


main()
