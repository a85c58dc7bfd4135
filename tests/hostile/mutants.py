#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does hostile.py see what it is there for?

    mutants.py [--only NAME]... BUILD

Each patch of mutants/ switches one rule of the hook off and names cases: "Caught-by: ROLE/KIND/STAGE/RUNNER". It is applied to a
copy of the sources, the hook is built there, beside a copy of what BUILD has already, and hostile.py runs those cases: each
of them has to fail, and the case GOOD to pass, or the hook would be broken and not wrong. A patch that no longer applies, or that
names no case, is a failure: that all of them apply is looked at always. Must be run as root; prints TAP.
"""

import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(f"{HERE}/../..")
TARGET = "hook/oci-cdi-hook"
GOOD = "node/nothing/prestart/direct"


def copy_tree(build, copy):
    """The sources as they are, and of the build what the hook is made of. Times are kept, so that nothing is built twice."""
    listing = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=TOP, check=True, capture_output=True).stdout
    pack = ["tar", "-c", "--null", "-T", "-", "--ignore-failed-read"]
    archive = subprocess.Popen(pack, cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-x"], cwd=copy, stdin=archive.stdout)
    archive.stdin.write(names)
    archive.stdin.close()
    if archive.wait() != 0 or unpack.wait() != 0:
        raise RuntimeError("the sources could not be copied")
    where = f"{copy}/{os.path.relpath(build, TOP)}"
    os.makedirs(where)
    for name in ("build.ninja", ".ninja_log", ".ninja_deps", "meson-private", "meson-info", "common", "hook"):
        subprocess.run(["cp", "-a", f"{build}/{name}", where], check=True)
    return where


def run(command, directory):
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def apply(patch, copy, *options):
    return run(["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", *options, "-i", patch], copy)


def stale(patches, copy):
    """Lines about those that the sources have left behind."""
    lines = []
    for patch in patches:
        code, text = apply(patch, copy, "--dry-run")
        lines += [] if code == 0 else [f"{os.path.basename(patch)} does not apply any more:", *text.splitlines()]
    return lines


def uncaught(patch, cases, copy, where, build):
    """What is wrong, as lines: none when each case failed."""
    code, text = apply(patch, copy)
    if code != 0:
        return ["it does not apply"]
    code, text = run(["ninja", TARGET], where)
    if code != 0:
        return ["it cannot be built:", *text.splitlines()[-20:]]
    wrong = []
    for case in (GOOD, *cases):
        code, text = run([f"{HERE}/hostile.py", f"--only={case}", f"--build={build}/tests/hostile", f"{where}/{TARGET}"], TOP)
        seen = code == 1 and re.search(r"^not ok ", text, re.MULTILINE)
        if code != 0 if case == GOOD else not seen:
            wrong += [f"{case} {'failed' if case == GOOD else 'did not fail'}:", *text.splitlines()[-6:]]
    return wrong


def put_back(patch, copy):
    code, text = apply(patch, copy, "-R")
    if code != 0:
        raise RuntimeError(text)


def print_test(number, name, wrong):
    """Returns whether it failed."""
    print(f"{'not ' if wrong else ''}ok {number} - {name}")
    for line in wrong:
        print(f"# {line}")
    sys.stdout.flush()
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="this one; may be repeated (default: all)")
    parser.add_argument("build", metavar="BUILD", help="where the hook was built")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return 0
    build = os.path.abspath(arguments.build)
    patches = sorted(glob.glob(f"{HERE}/mutants/*.patch"))
    names = [os.path.basename(path)[: -len(".patch")] for path in patches]
    wanted = arguments.only or names
    failed, caught = 0, len(wanted)
    # So that what is below goes away when a limit of time ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    copy = tempfile.mkdtemp(prefix="hostile-mutants.")
    try:
        where = copy_tree(build, copy)
        print(f"1..{1 + len(wanted)}")
        failed += print_test(1, "every patch applies", stale(patches, copy))
        for number, name in enumerate(wanted, 2):
            patch = f"{HERE}/mutants/{name}.patch"
            with open(patch) as file:
                cases = re.findall(r"^Caught-by: (\S+)$", file.read(), re.MULTILINE)
            wrong = uncaught(patch, cases, copy, where, build) if cases else ["it names no case"]
            if cases and not (wrong and "apply" in wrong[0]):
                put_back(patch, copy)
            caught -= print_test(number, f"{name}: caught by {', '.join(cases)}", wrong)
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    print(f"# table: hostile: {caught} of {len(wanted)} hooks with a rule switched off are caught")
    return 1 if failed or caught < len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
