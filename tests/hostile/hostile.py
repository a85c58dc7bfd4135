#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Root file systems that mean harm, the hook on each of them, and what became of the host.

    hostile.py [--share | --full | --only CASE] [--write] --build=DIR HOOK

Must be run as root; prints TAP. HOOK is the static hook, DIR has the helpers that meson builds from this directory.

corpus.py has the roles (paths that a request passes through or ends at) and the kinds (what stands there instead). A case is
ROLE/KIND/STAGE/RUNNER: runc and crun start a container with it; "direct" is a process in namespaces that are made here,
for what a runtime refuses before it calls hooks. --share takes as many cases as it takes for each two of role, kind, stage
and runner to meet, --full all. A case that a runtime refuses by itself is run directly instead, and counted there.

After each case

- all of the host is as it was: files with owner, mode, times and attributes, mount table, cgroups, a neighbour's device
  rules, processes, and the descriptors of the container's process;
- no run took longer than 10 seconds, more memory than MEMORY or more processor time than CPU;
- the exit code is one of those that are documented, and one sentence says why;
- after exit 0 the container has all that was promised (inside.c looks from within), and nothing is mounted elsewhere;
- after any other (direct) the container is as it was.

expected.txt has the exit code of each role and kind, so that a hook that refuses everything does not pass. --write writes it anew.

mutants.py proves all this: it switches rules of the hook off, one by one, and cases must fail then.
"""

import argparse
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import corpus
import host as hosts
from corpus import BUNDLE, DEVICE, GUARD, HOST, KINDS, ROLES, ROOT, WORLD, Place
from host import BIN, OUT, SPECS, Container, Host, differences, lines, read_text
from faults import run_workers, take_cgroups
from world import CGROUP_PREFIX, cgroup_base

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = f"{HERE}/expected.txt"
STAGES = ("prestart", "createRuntime", "createContainer")
RUNTIMES = ("runc", "crun")
RUNNERS = ("runc", "crun", "direct")
EXIT_CODES = range(0, 13)

PATIENCE = 10  # seconds
MEMORY = 40 * 1024  # KiB; what Python has before it becomes the hook counts too
CPU = 5  # seconds, ldconfig included
LINES_SHOWN = 8

HOOK_OPTIONS = (f"--spec-dir={SPECS}", "--allow=example.com/*", "--timeout=20")

# ---------------------------------------------------------------------------------------------
# Judging


def judge_words(code, text, warnings=0):
    """One sentence, which can be printed, for each failure; and no failure of the undo. A log does not say what is a warning."""
    wrong = []
    if code not in EXIT_CODES:
        wrong.append(f"exit code {code}")
    told = [line for line in text.splitlines() if re.match("oci-cdi-hook: (?!warning: )", line)]
    if code != 0 and not 1 <= len(told) <= 1 + warnings:
        wrong.append(f"exit code {code} with {len(told)} sentences: {text!r}")
    if not all(32 <= ord(c) < 127 or c == "\n" for c in text):
        wrong.append(f"what it says cannot be printed: {text!r}")
    if "undo:" in text:
        wrong.append(f"its undo failed: {text!r}")
    return wrong


def judge_inside(output):
    wrong = [line for line in output.splitlines() if line != "looked"]
    return wrong if output.endswith("looked\n") else [*wrong, "nobody looked from inside"]


class Result:
    def __init__(self, code, wrong, words=""):
        self.code, self.wrong, self.words = code, wrong, words


# ---------------------------------------------------------------------------------------------
# Running directly


def config(place, stage=None, promises=(), cgroups_path=None):
    mounts = []
    if place.wants_proc():
        mounts.append({"destination": "/proc", "type": "proc", "source": "proc"})
    if place.wants_dev():
        mounts.append(
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755"]}
        )
    for source, options in place.mounts:
        if source == "tmpfs":
            mounts.append({"destination": place.inner, "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]})
        else:
            source = f"{HOST}/tmpfs-file" if source == "tmpfs-file" else source
            mounts.append({"destination": place.inner, "type": "bind", "source": source, "options": ["bind", *options]})
    every = ["CAP_MKNOD", "CAP_DAC_OVERRIDE", "CAP_SYS_ADMIN", "CAP_FOWNER"]
    result = {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": False},
        "process": {
            "user": {"uid": 0, "gid": 0},
            "cwd": "/",
            "args": ["/inside", *promises],
            "env": ["PATH=/bin", "LD_PRELOAD=./evil.so"],
            "capabilities": {name: every for name in ("bounding", "effective", "permitted")},
        },
        "annotations": {"cdi.k8s.io/hostile": DEVICE},
        "mounts": mounts,
        "linux": {
            "namespaces": [{"type": name} for name in ("mount", "pid", "ipc")],
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
        },
    }
    if cgroups_path:
        result["linux"]["cgroupsPath"] = cgroups_path
    if stage:
        args = ["oci-cdi-hook", *HOOK_OPTIONS, f"--log-file={OUT}/log", stage]
        result["hooks"] = {
            stage: [
                {"path": f"{BIN}/inside", "args": ["inside", "--wait", OUT], "env": ["PATH=/bin"]},
                {"path": f"{BIN}/hook", "args": args, "env": ["PATH=/bin"], "timeout": 30},
            ]
        }
    return result


def write_config(content):
    with open(f"{BUNDLE}/config.json", "w") as file:
        json.dump(content, file)


def state(pid):
    return {
        "ociVersion": "1.0.2",
        "id": "hostile",
        "status": "creating",
        "pid": pid,
        "bundle": BUNDLE,
        "annotations": {"cdi.k8s.io/hostile": DEVICE},
    }


def run_limited(argv, text, preexec=None, meanwhile=lambda child: None):
    """(exit code or None for too long, stdout, stderr, KiB, seconds of the processor)"""
    with open(f"{OUT}/stdin", "w+") as stdin, open(f"{OUT}/stdout", "w+") as stdout, open(f"{OUT}/stderr", "w+") as stderr:
        stdin.write(text)
        stdin.seek(0)
        child = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=stderr, preexec_fn=preexec, start_new_session=True
        )
        late = False

        def too_long(*_):
            nonlocal late
            late = True
            os.killpg(child.pid, signal.SIGKILL)

        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(PATIENCE)
        meanwhile(child)
        _, status, usage = os.wait4(child.pid, 0)
        signal.alarm(0)
        child.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        code = None if late else child.returncode
        return code, stdout.read(), stderr.read(), usage.ru_maxrss, usage.ru_utime + usage.ru_stime


def judge_cost(code, memory, seconds):
    wrong = [] if code is not None else [f"took longer than {PATIENCE} seconds"]
    if memory > MEMORY:
        wrong.append(f"took {memory} KiB of memory")
    if seconds > CPU:
        wrong.append(f"took {seconds:.1f} s of the processor")
    return wrong


def run_precreate(host, place):
    """Nothing of the image is looked at, and nothing changed, in it or elsewhere."""
    before = host.listing() | {"file": hosts.list_tree(ROOT)}
    argv = [f"{BIN}/hook", *HOOK_OPTIONS, "precreate"]
    code, output, words, memory, seconds = run_limited(argv, json.dumps(config(place)))
    wrong = judge_cost(code, memory, seconds) + judge_words(code, words)
    wrong += differences(before, host.listing() | {"file": hosts.list_tree(ROOT)}, place)
    if code == 0 and corpus.NODE not in [node["path"] for node in json.loads(output)["linux"]["devices"]]:
        wrong.append("exit 0 without the node")
    return Result(code, wrong, words)


def run_direct(host, place, stage):
    write_config(config(place))
    with Container(host, place) as container:
        before, inner, descriptors = host.listing(), container.listing(), container.descriptors()
        argv, pid = [f"{BIN}/hook", *HOOK_OPTIONS, stage], container.pid
        if stage == "createContainer":
            # As a runtime does it: in the container's namespaces, cgroups and root directory, with a pid from in there.
            argv = [f"{BIN}/inside", "--run", str(pid), ROOT, ":".join(container.cgroups.values()), *argv]
            pid = 1
        code, _, words, memory, seconds = run_limited(argv, json.dumps(state(pid)))
        wrong = judge_cost(code, memory, seconds) + judge_words(code, words)
        wrong += differences(before, host.listing(), place)
        wrong += differences({"descriptor": descriptors}, {"descriptor": container.descriptors()})
        after = container.listing()
        if code == 0:
            argv = [f"{BIN}/inside", "--enter", str(container.pid), ROOT, *host.promises]
            wrong += judge_inside(run_limited(argv, "", container.join_cgroups)[1])
            came = [line.split()[4] for line in after["mount"] if line not in inner["mount"]]
            wrong += [f"mounted on {point}" for point in came if not point.startswith(f"{ROOT}/")]
        else:
            wrong += differences(inner, after)
    host.drain_log()
    return Result(code, wrong, words)


# ---------------------------------------------------------------------------------------------
# Running by a runtime


def exit_code(runtime, text):
    """Of the hook, by what the runtime says of it; 0 if it says nothing."""
    found = re.search(r"exit status (\d+)" if runtime == "runc" else r"exit code: (\d+)", text)
    return int(found[1]) if found else 0


class AtHook:
    """What the host is like just before the hook: a runtime may have been led astray before it comes to that."""

    def __init__(self, host):
        self.host = host
        self.listing = None

    def wait(self, child):
        """Until the hook in front of ours is there, or the runtime has ended without it."""
        there = os.open(f"{OUT}/there", os.O_RDONLY | os.O_NONBLOCK)
        self.go = os.open(f"{OUT}/go", os.O_RDWR)  # which waits for nobody
        poll = select.poll()
        poll.register(there, select.POLLIN)
        while not poll.poll(5):
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
        else:
            self.listing = self.host.listing()
            os.write(self.go, b"g")
        os.close(there)


def command_of(runtime):
    preload = ["env", f"LD_PRELOAD={BIN}/libmemlock.so"] if runtime == "crun" else []
    return [*preload, runtime, "--root", f"{OUT}/{runtime}"]


def clean_up(host, runtime, name):
    subprocess.run([*command_of(runtime), "delete", "-f", name], stderr=subprocess.DEVNULL, check=False)
    for path in host.base.values():
        with contextlib.suppress(OSError):
            hosts.remove_cgroup_tree(f"{path}/{name}")


def run_runtime(host, place, stage, runtime):
    """None when the runtime refused the image, before it came to the hook or behind it."""
    host.number += 1
    name = f"{runtime}-{host.number}"
    version = "v1" if "v1" in host.cgroups else "v2"
    below = os.path.relpath(host.base[version], host.cgroups[version]["mount"])
    hosts.write_line(f"{OUT}/log", "")
    write_config(config(place, stage, host.promises, f"/{below}/{name}"))
    if place.overlay:
        hosts.mount_overlay(place)
    before, at_hook = host.listing(), AtHook(host)
    argv = [*command_of(runtime), "run", "--bundle", BUNDLE, name]
    code, output, words, _, _ = run_limited(argv, "", meanwhile=at_hook.wait)
    os.close(at_hook.go)
    clean_up(host, runtime, name)
    after = host.listing()
    hosts.umount_overlay(place)
    host.drain_log()
    told = exit_code(runtime, words)
    if not at_hook.listing:
        return None
    wrong = differences(before | {"host file": at_hook.listing["host file"]}, after, place)
    if code is None:
        wrong.append(f"took longer than {PATIENCE} seconds")
    elif code != 0 and told == 0 and not wrong:
        return None
    elif told == 0:
        wrong += judge_inside(output)
    else:
        # With time, pid and container in place of the name alone.
        log = re.sub(r"(?m)^\S+ oci-cdi-hook\[\d+\]: (container \S+: )?", "oci-cdi-hook: ", read_text(f"{OUT}/log"))
        wrong += judge_words(told, log, warnings=8)
    return Result(told, wrong, words)


def run_case(host, case):
    """(result, runner that did it)"""
    role, kind, stage, runner = case
    place = Place(role)
    # Both ways to a library cache: without one in the image, ldconfig makes it.
    number = list(ROLES).index(role) + list(KINDS).index(kind) + (STAGES + ("precreate",)).index(stage)
    hosts.make_root(with_cache=number % 2 == 0 or role == "cache")
    KINDS[kind](place)
    if stage == "precreate":
        return run_precreate(host, place), "direct"
    if runner in RUNTIMES:
        result = run_runtime(host, place, stage, runner)
        if result:
            return result, runner
        hosts.make_root(with_cache=number % 2 == 0 or role == "cache")
        place = Place(role)
        KINDS[kind](place)
    return run_direct(host, place, stage), "direct"


# ---------------------------------------------------------------------------------------------
# Which cases


def all_cases():
    every = [(role, kind, stage, runner) for role in ROLES for kind in KINDS for stage in STAGES for runner in RUNNERS]
    return every + [(role, kind, "precreate", "direct") for role in ROLES for kind in KINDS]


def share_of_cases():
    cases = corpus.pairwise(STAGES, RUNNERS)
    missing = corpus.uncovered(cases, STAGES, RUNNERS)
    if missing:
        raise RuntimeError(f"pairs that no case has: {missing}")
    # A tenth of precreate, where nothing of the image is looked at.
    every = [(role, kind) for role in ROLES for kind in KINDS]
    return cases + [(role, kind, "precreate", "direct") for role, kind in every[::10]]


def read_expected():
    found = {}
    if os.path.exists(EXPECTED):
        rows = [line.split() for line in read_text(EXPECTED).splitlines() if line and not line.startswith("#")]
        for row in rows[1:]:
            found |= {(role, row[0]): code for role, code in zip(rows[0][1:], row[1:])}
    return found


# ---------------------------------------------------------------------------------------------
# Workers


def run_all(build, hook, cases, cgroups, base):
    """Yields (case, runner, code, what is wrong, words)."""
    processors = max(1, len(os.sched_getaffinity(0)))
    settings = ["machine", "v2"] if "v1" in cgroups else ["machine"]
    names = [(settings[i % len(settings)], i) for i in range(max(processors, len(settings)))]

    def fits(case, index):
        """crun runs on no machine that has controllers in both versions of cgroups."""
        wanted = {"runc": "machine", "crun": settings[-1]}.get(case[3])
        choices = [i for i, (setting, _) in enumerate(names) if wanted in (None, setting)]
        return choices[cases.index(case) % len(choices)] == index

    def work_of(setting, index):
        mine = [case for case in cases if fits(case, index)]

        def work():
            host = Host(build, hook, cgroups, base, f"{setting}{index}", setting)
            try:
                for case in mine:
                    result, runner = run_case(host, case)
                    yield [case, runner, result.code, result.wrong, result.words[-400:]]
            finally:
                host.close()

        return work

    with contextlib.closing(run_workers([work_of(*name) for name in names])) as results:
        for _, result in results:
            yield tuple(result[0]), *result[1:]


def print_test(number, name, problems):
    print(f"{'not ' if problems else ''}ok {number} - {name}")
    for line in problems:
        print(f"# {line}")
    sys.stdout.flush()


def explain(case, code, wrong, words):
    shown = [f"--only={'/'.join(case)}: exit code {code}: {words.strip()!r}"] + [f"    {line}" for line in wrong[:LINES_SHOWN]]
    return shown + ([f"    and {len(wrong) - LINES_SHOWN} lines more"] if len(wrong) > LINES_SHOWN else [])


def run_corpus(arguments, cases, cgroups, base):
    """One test a role and one a runner; the counts at the end."""
    expected = read_expected()
    problems = {role: [] for role in ROLES}
    counts, codes, seen, host_changes, late = {}, {}, {}, 0, 0
    started = time.monotonic()
    for case, runner, code, wrong, words in run_all(arguments.build, arguments.hook, cases, cgroups, base):
        role, kind, stage, _ = case
        if sum(counts.values()) % 1000 == 999:
            print(f"# {sum(counts.values()) + 1} cases", flush=True)
        counts[runner] = counts.get(runner, 0) + 1
        codes[code] = codes.get(code, 0) + 1
        host_changes += any(re.match("host |cgroup |process ", line) for line in wrong)
        late += any("longer than" in line for line in wrong)
        # Without a procfs, which that role leaves out, runc starts nothing.
        if kind == "nothing" and role != "proc" and runner != case[3] and stage != "precreate":
            wrong.append(f"a harmless image does not come as far as the hook under {case[3]}")
        if stage != "precreate":
            seen.setdefault((role, kind), {}).setdefault(str(code), []).append("/".join(case))
            due = expected.get((role, kind))
            if not arguments.write and str(code) not in (due or "").split("|"):
                wrong.append(f"expected.txt has {due}")
        if arguments.only:
            print(f"# {'/'.join(case)} by {runner}: {code} {words.strip()!r}")
        if wrong:
            problems[role] += explain(case, code, wrong, words)
    used = {role for role, *_ in cases}
    for number, role in enumerate(sorted(used), 1):
        print_test(number, f"{role}: {ROLES[role][0]}", problems[role])
    print(f"1..{len(used)}")
    runs = ", ".join(f"{counts.get(runner, 0)} {runner}" for runner in RUNNERS)
    exits = ", ".join(f"{code}: {codes[code]}" for code in sorted(codes, key=str))
    print(f"# table: hostile: {sum(counts.values())} cases ({runs}) in {time.monotonic() - started:.0f} s: "
          f"{host_changes} host changes, {late} over {PATIENCE} s; by exit code {exits}")
    if arguments.write:
        write_expected(seen)
    return any(problems.values())


def write_expected(seen):
    with open(EXPECTED, "w") as file:
        print("# SPDX-License-Identifier: Apache-2.0", file=file)
        print("# Written by hostile.py --full --write: exit codes by kind (rows) and role. Several: it depends on stage and runner.", file=file)
        table = [["kind", *ROLES]]
        table += [[kind, *("|".join(sorted(seen.get((role, kind), "-"), key=str)) for role in ROLES)] for kind in KINDS]
        widths = [max(map(len, column)) for column in zip(*table)]
        for row in table:
            print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip(), file=file)
    for (role, kind), by_code in seen.items():
        if len(by_code) > 1:
            print(f"# {role}/{kind}: " + "; ".join(f"{code}: {' '.join(cases[:4])}" for code, cases in by_code.items()))


def remove_of_runtimes(cgroups, base):
    """A runtime on cgroup v1 makes the parents of its cgroup in all hierarchies, and leaves them."""
    for line in read_text("/proc/self/mountinfo").splitlines():
        point, fstype = line.split()[4], line.split(" - ")[1].split()[0]
        if fstype == "cgroup" and "v1" in cgroups and point != cgroups["v1"]["mount"]:
            below = os.path.relpath(cgroups["v1"]["dir"], cgroups["v1"]["mount"])
            hosts.remove_cgroup_tree(os.path.normpath(f"{point}/{below}/{base}"), patience=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--share", action="store_true", help="each two of role, kind, stage and runner meet (default)")
    mode.add_argument("--full", action="store_true", help="all cases")
    mode.add_argument("--only", metavar="CASE", help="one case, as a failed test names it; shell patterns")
    parser.add_argument("--write", action="store_true", help="write expected.txt anew")
    parser.add_argument("--build", metavar="DIR", required=True, help="where the helpers are")
    parser.add_argument("hook", metavar="HOOK", help="the hook's binary")
    arguments = parser.parse_args()
    cgroups = take_cgroups()
    cases = all_cases() if arguments.full or arguments.only else share_of_cases()
    if arguments.only:
        import fnmatch

        cases = [case for case in cases if fnmatch.fnmatch("/".join(case), arguments.only)]
    with cgroup_base(cgroups) as base:
        try:
            failed = run_corpus(arguments, cases, cgroups, base)
        finally:
            remove_of_runtimes(cgroups, base)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
