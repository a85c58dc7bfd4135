#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the hook may at each step, as the kernel sees it: the capabilities of /proc/PID/status and NoNewPrivs.

    privileges.py --security=SECURITY.md --build=DIR HOOK

The hook is stopped at each of its system calls (injector.c), and its rights are read. They must be, one after the
other, those of the table in SECURITY.md: in effect what the step needs, permitted what it and the steps that may
follow need, inheritable and ambient nothing, although the hook is started with both. Prints TAP, and what was seen.
"""

import argparse
import ctypes
import json
import os
import re
import struct
import sys
import traceback

sys.dont_write_bytecode = True

from faults import inject, print_test, run_workers, take_cgroups
from world import (
    BUNDLE,
    DEVICE,
    HELPERS,
    LDCONFIG,
    READ_ONLY,
    ROOT,
    SPEC,
    SPECS,
    WRITABLE,
    Container,
    World,
    cgroup_base,
    check,
    libc,
)

# By their numbers in linux/capability.h.
NAMES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE "
    "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN "
    "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE "
    "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
).split()

# The rows of the table, in its order.
STEPS = ("none", "read", "find", "cgroup", "network", "fill", "sandbox", "programs", "program", "undo")
EVERYTHING = 2**64 - 1
ANY = STEPS
CAP_VERSION = 0x20080522
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
GIVEN = (NAMES.index("CHOWN"), NAMES.index("SYS_ADMIN"))

PROGRAM_OUTPUT = f"{BUNDLE}/status"


def read_table(path):
    """{step: capabilities in effect} from SECURITY.md."""
    with open(path) as file:
        text = file.read()
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", text.partition("| step | capabilities in effect |")[2], re.M)
    table = {}
    for step, row in zip(STEPS, rows):
        words = re.findall(r"`(\w+)`", row)
        table[step] = EVERYTHING if step == "program" else sum(1 << NAMES.index(word) for word in words)
    return table


def own_rights():
    with open("/proc/self/status") as file:
        return dict(re.findall(r"^(Cap\w+|NoNewPrivs):\s*(\w+)$", file.read(), re.M))


def be_generous():
    """Our children inherit what no hook should."""
    header = struct.pack("=Ii", CAP_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    check(libc.capget(header, data), "capget")
    low_effective, low_permitted, _, high_effective, high_permitted, _ = struct.unpack("=6I", data.raw)
    data.raw = struct.pack(
        "=6I", low_effective, low_permitted, low_permitted, high_effective, high_permitted, high_permitted
    )
    check(libc.capset(header, data), "capset")
    for capability in GIVEN:
        check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0), "prctl")


def spec_with_program():
    """The same device, and a program that shows what it may."""
    spec = json.loads(json.dumps(SPEC))
    spec["containerEdits"]["hooks"] = [
        {"hookName": "createRuntime", "path": "/bin/cp", "args": ["cp", "/proc/self/status", PROGRAM_OUTPUT]}
    ]
    return spec


class Case:
    """One run, and the rights that are to be seen in it: for each process a list of (step, later steps, NoNewPrivs)."""

    def __init__(self, name, expected, setting=WRITABLE, stage="createRuntime", options=(), program=False, first=None):
        self.name, self.expected, self.setting, self.stage = name, expected, setting, stage
        self.options, self.program, self.first = options, program, first

    def run(self, container):
        with open(f"{SPECS}/faults.json", "w") as file:
            json.dump(spec_with_program() if self.program else SPEC, file)
        command = [f"{HELPERS}/hook", f"--spec-dir={SPECS}", f"--allow={DEVICE}", *self.options, self.stage]
        text = json.dumps(container.state())
        if self.stage == "precreate":
            with open(f"{BUNDLE}/config.json") as file:
                text = json.dumps(dict(json.load(file), annotations=container.state()["annotations"]))
        if self.name == "idle":
            text = json.dumps(dict(container.state(), annotations={}))
        if self.first:
            self.first(command, text)
        return inject(command, ["look"], text)


def run_before(command, text):
    inject(command, [], text)


def take_name(*_):
    """The last node cannot be made."""
    os.makedirs(f"{ROOT}/opt/vendor", exist_ok=True)
    with open(f"{ROOT}/opt/vendor/scratch", "w"):
        pass


START = ("given", ANY, 0)
WATCHER = [START, ("none", ANY, 0), ("read", ANY, 0), ("none", (), 1)]
CHANGES = ("cgroup", "fill", "sandbox")


def worker(*rows):
    return [("read", ANY, 0), ("find", ANY, 0), *rows, ("none", (), 1)]


CASES = (
    Case("idle", [[START, ("none", ANY, 0)]]),
    Case(
        "no program of a vendor",
        [WATCHER, worker(*((step, CHANGES, 1) for step in ("find", "cgroup", "fill")), ("undo", (), 1))],
    ),
    Case(
        "the devices are allowed already",
        [
            WATCHER,
            worker(
                *((step, CHANGES, 1) for step in ("find", "cgroup")),
                ("fill", ("fill", "sandbox"), 1),
                ("undo", (), 1),
            ),
        ],
        first=run_before,
    ),
    Case(
        "--no-cgroup",
        [
            WATCHER,
            worker(*((step, ("fill", "sandbox"), 1) for step in ("find", "fill")), ("undo", (), 1)),
        ],
        options=["--no-cgroup"],
    ),
    Case(
        "a step fails",
        [WATCHER, worker(*((step, CHANGES, 1) for step in ("find", "cgroup", "fill")), ("undo", (), 1))],
        first=take_name,
    ),
    Case(
        "ldconfig",
        [
            WATCHER,
            worker(*((step, CHANGES, 1) for step in ("find", "cgroup", "fill")), ("undo", (), 1)),
            [("fill", CHANGES, 1), ("sandbox", (), 1), ("sandbox", (), 1, "empty"), ("none", (), 1, "empty")],
        ],
        setting=READ_ONLY,
        options=[f"--ldconfig={LDCONFIG}"],
    ),
    Case(
        "a program of a vendor",
        [
            WATCHER,
            worker(
                *((step, ANY, 0) for step in ("find", "cgroup", "fill", "programs")),
                ("undo", (), 1),
            ),
            [("programs", ANY, 0), ("program", ANY, 0)],
        ],
        program=True,
    ),
    Case(
        "precreate",
        [[START, ("none", ANY, 0), ("read", (), 1), ("none", (), 1)], [("read", (), 1)]],
        stage="precreate",
    ),
    Case("--dry-run", [[START, ("none", ANY, 0), ("read", (), 1)]], options=["--dry-run"]),
)


def words(mask, given):
    if mask & given == given:
        return "all"
    return " ".join(name for bit, name in enumerate(NAMES) if mask >> bit & 1) or "none"


def seen_rows(run, process):
    """One row for each step: no_new_privs comes a call before the capabilities go, and the bounding set is emptied bit by bit."""
    rows = [row[1:] for row in run.rights if row[0] == process]
    bounding = rows[0][3]
    return [
        row
        for row, after in zip(rows, [*rows[1:], None])
        if row[3] in (0, bounding) and not (row[5] and after and row[:5] != after[:5] and (*row[:5], 0) in rows)
    ]


def differences(rows, expected, table, given):
    """What is wrong with the rights of one process, whose own are `given`."""
    wrong = []
    last = None
    steps = []
    have = given  # what was given up does not come back
    for step, later, nnp, *empty in expected:
        effective = have if step == "given" else table[step] & have
        permitted = effective
        for other in later:
            permitted |= table[other] & have
        have = permitted
        row = (step, effective, permitted, nnp, bool(empty))
        if last is None or row[1:] != last[1:]:
            steps.append(row)
        last = row
    for number in range(max(len(rows), len(steps))):
        if number >= len(steps):
            wrong.append(f"step {number}: seen, but not expected: {show(rows[number], given)}")
        elif number >= len(rows):
            wrong.append(f"step {number}: {steps[number][0]} was not seen")
        else:
            step, effective, permitted, nnp, empty = steps[number]
            start = step == "given"
            wanted = (given if start else 0, permitted, effective, 0 if empty else given, None, nnp)
            got = rows[number]
            for what, a, b in zip(("inheritable", "permitted", "effective", "bounding", "ambient", "NoNewPrivs"), got, wanted):
                if what == "ambient":
                    b = sum(1 << bit for bit in GIVEN) if start else 0
                if a != b:
                    wrong.append(f"step {number}, {step}: {what} {a:x} instead of {b:x} ({show(got, given)})")
    return wrong


def show(row, given):
    inheritable, permitted, effective, bounding, ambient, nnp = row
    return (
        f"Eff {effective:010x} ({words(effective, given)}), Prm {permitted:010x} ({words(permitted, given)}), "
        f"Inh {inheritable:x}, Amb {ambient:x}, Bnd {bounding:x}, NoNewPrivs {nnp}"
    )


def judge(case, run, table, given):
    wrong, lines = [], []
    should_fail = case.first is take_name
    if (run.code == 0) == should_fail:
        wrong.append(f"it ended otherwise than expected: {run.how()}")
    for process, expected in enumerate(case.expected):
        rows = seen_rows(run, process)
        lines += [f"process {process}: {show(row, given)}" for row in rows]
        wrong += [f"process {process}, {line}" for line in differences(rows, expected, table, given)]
    if case.program and run.code == 0:
        with open(PROGRAM_OUTPUT) as file:
            status = dict(re.findall(r"^(Cap\w+|NoNewPrivs):\s*(\w+)$", file.read(), re.M))
        wanted = {"CapInh": 0, "CapPrm": given, "CapEff": given, "CapBnd": given, "CapAmb": 0, "NoNewPrivs": 0}
        got = {key: int(value, 16) for key, value in status.items()}
        lines.append(f"the program itself: {status}")
        if got != wanted:
            wrong.append(f"the vendor's program has {status}")
    return wrong, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--security", required=True, help="where the table is")
    parser.add_argument("--build", metavar="DIR", required=True, help="where the helpers are")
    parser.add_argument("hook", metavar="HOOK", help="the hook's binary")
    arguments = parser.parse_args()
    cgroups = take_cgroups()
    table = read_table(arguments.security)
    if len(table) != len(STEPS):
        sys.exit(f"{arguments.security}: the table has {len(table)} steps instead of {len(STEPS)}")
    given = int(own_rights()["CapPrm"], 16)

    print(f"1..{len(CASES)}")
    failed = 0
    with cgroup_base(cgroups) as base:
        for number, case in enumerate(CASES, 1):

            def work():
                try:
                    be_generous()
                    with Container(World(arguments, case.setting, cgroups, base, f"privileges-{number}")) as container:
                        yield judge(case, case.run(container), table, given)
                except Exception:
                    yield [traceback.format_exc()], []

            if case.name == "ldconfig" and not LDCONFIG:
                print(f"ok {number} - {case.name} # SKIP no ldconfig here")
                continue
            wrong, lines = [result for _, result in run_workers([work])][0]
            failed += bool(wrong)
            print_test(number, case.name, wrong)
            for line in lines:
                print(f"# {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
