#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages against --help: every option and command that one of them has, the other has too. And help texts fit a
terminal.

  man-pages.py CDICTL cdictl.1.scd HOOK oci-cdi-hook.8.scd
"""
import re
import subprocess
import sys


def helped(*command):
    return subprocess.run([*command, "--help"], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()


def options_of_help(text):
    """Of the lines that list options: "  -o, --output=..." and "  --help, --version"."""
    lines = [line for line in text.splitlines() if re.match(r" +-", line)]
    found = {option for line in lines for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", re.split(r"\s{2,}\S", line.strip())[0])}
    assert found, f"no options in: {text}"
    return found


def sections(page):
    """The text below each heading, "# NAME" or "## cdictl list ..."; comments left out."""
    parts = re.split(r"^(##? .*)$", re.sub(r"^;.*\n", "", page, flags=re.M), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def options_of_page(text):
    """Of the lines that begin an entry: "*-o*, *--output*=_table_"."""
    lines = [line for line in text.splitlines() if line.startswith("*-")]
    return {option for line in lines for option in re.findall(r"\*(--?[a-z][a-z-]*)\*", line)}


class Report:
    def __init__(self):
        self.lines, self.bad = [], 0

    def same(self, name, of_help, of_page):
        only = [f"{word} is only in --help" for word in sorted(of_help - of_page)]
        only += [f"{word} is only in the page" for word in sorted(of_page - of_help)]
        self.lines += [f"# {name}: {text}" for text in only]
        self.bad += bool(only)
        self.lines.append(f"{'not ok' if only else 'ok'} {1 + sum('ok ' in line[:7] for line in self.lines)} {name}")


def main():
    cdictl, cdictl_page, hook, hook_page = sys.argv[1:]
    report = Report()

    page = sections(open(cdictl_page, encoding="utf-8").read())
    general = helped(cdictl)
    commands = set(re.findall(r"^  ([a-z]+) ", general, flags=re.M))
    described = {heading.split()[2]: text for heading, text in page.items() if heading.startswith("## cdictl ")}
    report.same("cdictl: commands", commands, set(described))
    common = options_of_page(page["# COMMON OPTIONS"])
    used = options_of_help(general)
    for command in sorted(commands & set(described)):
        own = options_of_help(helped(cdictl, command))
        used |= own
        # --help is not said again of each.
        report.same(f"cdictl {command}", own - {"-h", "--help"}, options_of_page(described[command]))
    report.same("cdictl: common options", used & common, common)
    report.same("cdictl: options without a command", options_of_help(general), options_of_help(general) & common)

    page = sections(open(hook_page, encoding="utf-8").read())
    report.same("oci-cdi-hook", options_of_help(helped(hook)), options_of_page(page["# OPTIONS"]))

    wide = {line for text in [general, helped(hook), *(helped(cdictl, command) for command in commands)]
            for line in text.splitlines() if len(line) > 80}
    report.same("help texts fit 80 columns", wide, set())

    print(f"1..{sum('ok ' in line[:7] for line in report.lines)}")
    print("\n".join(report.lines))
    return 1 if report.bad else 0


sys.exit(main())
