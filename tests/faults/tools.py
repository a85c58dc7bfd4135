#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people and engines call that changes no container, when memory or a system call fails, or kill -9 comes.

    tools.py [--full] [--case=NAME] [--only JOB] --build=DIR --cdictl=CDICTL HOOK

A case is a command (cdictl's, or the hook at stage precreate) in a directory of its own. Its run in which nothing goes wrong is what
every other one is held against:

    alloc N               the Nth allocation fails      the same exit code with the same output and the same files; or another
    error CALL N ERROR    the Nth use of a call fails   code and a sentence, with all files as before, and no file beside them
    kill I                kill -9 at the Ith call       each file is the old one or the new one

When the sync of the directory fails, or the report that follows it cannot be written, the new file stays, and the sentence says
what failed. Prints TAP. CI fails every
allocation of some commands and some of the others; --full fails all.
"""

import argparse
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from faults import CANNOT_FAIL, ERRORS, HANG_SECONDS, Allocations, Run, die_with_parent, print_test, read_memfd, skip

QUICK_ALLOCATIONS = 11
QUICK_ERRORS = 5
QUICK_KILLS = 1  # of the cases that change a file, each place even in CI

SPEC_JSON = """{"cdiVersion": "0.6.0", "kind": "example.com/tool", "annotations": {"a": "b"}, "devices": [
  {"name": "one", "containerEdits": {"deviceNodes": [{"path": "/dev/zero", "permissions": "rw"}]}},
  {"name": "two", "containerEdits": {"env": ["A=b", "C=d"], "deviceNodes": [{"path": "/dev/full"}]}}]}
"""
SPEC_YAML = """cdiVersion: "0.7.0"
kind: example.com/yaml
containerEdits:
  env: ["FROM=yaml"]
  additionalGids: [44]
devices:
- name: &name all
  annotations: {of: *name}
  containerEdits:
    mounts:
    - {hostPath: /usr/bin/env, containerPath: /opt/env, options: [ro, nosuid, bind]}
    hooks:
    - {hookName: createContainer, path: /usr/bin/true, args: ["true", a]}
"""
SPEC_BROKEN = """cdiVersion: "0.6.0"
kind: example.com/broken
devices:
- name: one
  containerEdits: {enviroment: ["A=b"]}
- nam: two
"""
CONFIG = """{
  "ociVersion": "1.0.2", "hostname": "as it was",
  "annotations": {"cdi.k8s.io/tool": "example.com/tool=one,example.com/tool=two,example.com/yaml=all"},
  "process": {"user": {"uid": 0, "gid": 0}, "args": ["sh"], "env": ["PATH=/bin"]},
  "root": {"path": "rootfs"},
  "linux": {"resources": {"devices": [{"allow": false, "access": "rwm"}]}}
}
"""
ALLOW = "# kept\nexample.com/other=*\n"
DEVICES = ("example.com/tool=one", "example.com/tool=two", "example.com/yaml=all")


class Case:
    def __init__(self, name, *command, stdin="", changes=False, all_allocations=False, errors=True):
        self.name, self.command, self.stdin, self.errors = name, command, stdin, errors
        self.changes, self.all_allocations = changes, all_allocations


def cases():
    specs = "--spec-dir=specs"
    return (
        Case("validate", "cdictl", "validate", "specs"),
        Case("validate a broken file", "cdictl", "validate", "broken"),
        Case("list", "cdictl", "list", specs),
        Case("list as JSON", "cdictl", "list", specs, "-o", "json"),
        # What it cannot learn of the host it leaves out.
        Case("show", "cdictl", "show", specs, *DEVICES, errors=False),
        Case("plan", "cdictl", "plan", specs, "--bundle=bundle", *DEVICES),
        Case("inject", "cdictl", "inject", specs, "-", *DEVICES, stdin=CONFIG),
        Case("inject --in-place", "cdictl", "inject", specs, "--in-place", "bundle", *DEVICES, changes=True),
        Case("allow", "cdictl", "allow", "--allow-file=allow", "example.com/tool=*", changes=True),
        Case("allow, a new file", "cdictl", "allow", "--allow-file=new/allow", "example.com/tool=*", changes=True),
        Case("precreate", "hook", "--spec-dir=DIR/specs", "--allow=*", "precreate", stdin=CONFIG, all_allocations=True),
    )


class Bench:
    """The directory, which is as new for every run."""

    def __init__(self, arguments):
        # Below /run, where root alone can write: what lies in /tmp is not trusted.
        self.top = tempfile.mkdtemp(prefix="oci-cdi-hook-tools-", dir="/run")
        self.dir = f"{self.top}/work"
        # Of our own: somebody may build while this runs.
        helpers = [f"{arguments.build}/{name}" for name in ("injector", "hook-alloc", "cdictl-alloc")]
        for path, name in ((arguments.cdictl, "cdictl"), (arguments.hook, "hook"), *((path, os.path.basename(path)) for path in helpers)):
            shutil.copy(path, f"{self.top}/{name}")

    def reset(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        for name in ("specs", "broken", "bundle/rootfs"):
            os.makedirs(f"{self.dir}/{name}")
        for name, text in (
            ("specs/tool.json", SPEC_JSON),
            ("specs/yaml.yaml", SPEC_YAML),
            ("broken/broken.yaml", SPEC_BROKEN),
            ("bundle/config.json", CONFIG),
            ("allow", ALLOW),
        ):
            with open(f"{self.dir}/{name}", "w") as file:
                file.write(text)

    def files(self):
        found = {}
        for directory, _, names in os.walk(self.dir):
            for name in names:
                with open(f"{directory}/{name}") as file:
                    found[os.path.relpath(f"{directory}/{name}", self.dir)] = file.read()
        return found

    def program(self, case, alloc):
        name, *arguments = (word.replace("DIR", self.dir) for word in case.command)
        return [f"{self.top}/{name}-alloc" if alloc else f"{self.top}/{name}", *arguments]

    def run(self, case, job):
        self.reset()
        out_fd, err_fd, log_fd = (os.memfd_create(name) for name in ("out", "err", "log"))
        command = self.program(case, job[0] == "alloc")
        if job[0] == "alloc":
            with Allocations(int(job[1])) as allocations:
                status = self.call(case, command, out_fd, err_fd, (Allocations.FD,))
            run = Run("", read_memfd(err_fd))
            os.close(log_fd)
            run.hung = status is None
            if not run.hung and status < 0:
                run.killed = signal.Signals(-status).name
            run.code = status
            run.hit, run.count = allocations.hit, allocations.count
        else:
            traced = [f"{self.top}/injector", str(log_fd), str(HANG_SECONDS), *self.action(job), "--", *command]
            if self.call(case, traced, out_fd, err_fd, (log_fd,)) != 0:
                raise RuntimeError(f"injector: {read_memfd(err_fd)}")
            run = Run(read_memfd(log_fd), read_memfd(err_fd))
        run.out = read_memfd(out_fd)
        run.files = self.files()
        return run

    def call(self, case, command, out_fd, err_fd, fds):
        try:
            return subprocess.run(
                command,
                input=case.stdin.encode(),
                stdout=out_fd,
                stderr=err_fd,
                pass_fds=fds,
                cwd=self.dir,
                timeout=3 * HANG_SECONDS,
                preexec_fn=die_with_parent,
            ).returncode
        except subprocess.TimeoutExpired:
            return None

    def action(self, job):
        if job[0] == "error":
            return ["error", job[1], str(self.numbers[job[2]]), job[3], str(getattr(errno, job[4]))]
        if job[0] == "kill":
            return ["signal", "0", job[1], "0", str(int(signal.SIGKILL))]
        return []


def without_kernel_names(out):
    """What `show` says of a device of the host, without its subsystem or driver: libudev (252) loses the one without an error when
    it has no memory, and then /proc/devices has the other."""
    return re.sub(r"[ -]+", " ", re.sub(r", (subsystem|driver) \w+", "", out))


class Harness:
    def __init__(self, bench, case):
        self.bench, self.case = bench, case
        bench.reset()
        self.before = bench.files()
        self.whole = bench.run(case, ["nothing"])
        bench.numbers = self.whole.numbers
        if self.whole.killed or self.whole.code not in (0, 1) or case.changes == (self.whole.files == self.before):
            raise RuntimeError(f"{case.name}: {self.whole.how()}")
        names = [name for process, name in self.whole.calls if process == 0]
        # The loader's own start: what fails there ends the program in its words, or in none.
        self.start = max([i + 1 for i, name in enumerate(names) if name in ("mprotect", "prlimit64", "rseq")], default=0)

    def jobs(self, full):
        case = self.case
        count = self.bench.run(case, ["alloc", "0"]).count
        if not count:
            raise RuntimeError(f"{case.name}: no allocations are counted")
        step = 1 if full or case.all_allocations else QUICK_ALLOCATIONS
        jobs = [["alloc", str(n)] for n in range(1, count + 1, step)]
        counts, seen, errors = {}, {}, []
        for process, name in self.whole.calls:
            seen[process] = seen.get(process, 0) + 1
            n = counts[process, name] = counts.get((process, name), 0) + 1
            # The C library aborts where the kernel gives an error for a futex that is none.
            if not case.errors or name in (*CANNOT_FAIL, "futex") or (process == 0 and seen[process] <= self.start):
                continue
            errors.append(["error", str(process), name, str(n)])
        if full:
            jobs += [[*job, error] for job in errors for error in ERRORS]
        else:
            step = 1 if case.changes else QUICK_ERRORS
            jobs += [[*job, ERRORS[i % len(ERRORS)]] for i, job in enumerate(errors) if i % step == 0]
        if case.changes:
            jobs += [["kill", str(i)] for i in range(1, 1 + seen[0])]
        return jobs

    def judge(self, job, run):
        whole, wrong = self.whole, []
        if run.hung:
            return ["it hung"]
        wrong += [f"process {pid} outlived it" for pid in run.left]
        spare = [name for name in run.files if name not in self.before and name not in whole.files]
        mixed = [
            name
            for name in {**self.before, **whole.files}
            if run.files.get(name) not in (self.before.get(name), whole.files.get(name))
        ]
        wrong += [f"{name} is neither the old one nor the new one" for name in mixed]
        if job[0] == "kill":
            return wrong
        wrong += [f"{name} was left" for name in spare]
        if run.killed:
            return wrong + [f"it died of {run.killed}"]
        if run.code == whole.code and run.out == whole.out and run.files == whole.files:
            return wrong
        # What could not be read is named in its place: "FILE: Input/output error".
        told = job[0] == "error" and os.strerror(getattr(errno, job[4])) in run.out + run.stderr
        if run.code == 0 and told and not self.case.changes:
            return wrong
        if self.case.name == "show" and run.code == 0 and without_kernel_names(run.out) == without_kernel_names(whole.out):
            return wrong
        if run.code == 0:
            return wrong + [f"exit 0, but not the same: {run.out[:200]!r}"]
        if not re.search(r"^(cdictl|oci-cdi-hook): (?!warning)\S", run.stderr, re.MULTILINE):
            wrong.append("it failed without a sentence")
        if run.files != self.before and not re.search(r": (sync \S+|write to standard output): ", run.stderr):
            wrong.append("it failed, and the file is the new one")
        if self.case.name == "precreate" and run.out not in ("", whole.out):
            wrong.append("a part of the config is on stdout")
        return wrong


def run_case(number, bench, case, arguments):
    """Prints its test; returns how many runs there were, and how many were wrong."""
    harness = Harness(bench, case)
    runs, failed, missed, problems, counts = 0, 0, 0, [], {}
    for job in [arguments.only.split()] if arguments.only else harness.jobs(arguments.full):
        run = bench.run(case, job)
        wrong = harness.judge(job, run)
        runs += 1
        counts[job[0]] = counts.get(job[0], 0) + 1
        missed += not run.hit
        failed += bool(wrong)
        if wrong:
            problems += [f"--case='{case.name}' --only='{' '.join(job)}': {run.how()}", *(f"    {line}" for line in wrong)]
        elif arguments.only:
            problems += []
            print(f"# {run.how()}")
    kinds = ", ".join(f"{n} of {kind}" for kind, n in sorted(counts.items()))
    print_test(number, f"{case.name}: nothing half done", problems)
    print(f"# {case.name}: {runs} runs ({kinds}), {missed} did not come to it, {failed} wrong")
    return runs, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every allocation, every use of every call with every error")
    parser.add_argument("--case", metavar="NAME", help="this one alone")
    parser.add_argument("--only", metavar="JOB", help="one run of it, as a failed test names it")
    parser.add_argument("--build", metavar="DIR", required=True, help="where the helpers are")
    parser.add_argument("--cdictl", required=True)
    parser.add_argument("hook", metavar="HOOK", help="the hook's binary")
    arguments = parser.parse_args()
    arguments.full = arguments.full or bool(os.environ.get("LONG"))
    if os.geteuid() != 0:
        skip("needs root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = [case for case in cases() if arguments.case in (None, case.name)]
    started, runs, failed = time.monotonic(), 0, 0
    bench = Bench(arguments)
    try:
        for number, case in enumerate(wanted, 1):
            more, wrong = run_case(number, bench, case, arguments)
            runs, failed = runs + more, failed + wrong
    finally:
        shutil.rmtree(bench.top, ignore_errors=True)
    print(f"1..{len(wanted)}")
    print(f"# {runs} runs in {time.monotonic() - started:.0f} s, {failed} wrong")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
