#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proof that the hook leaves nothing half done, whatever goes wrong and whenever.

    faults.py [--quick | --full | --self-test | --only JOB] [--setting=NAME] --build=DIR HOOK

HOOK is the real, static hook; DIR has the helpers that meson builds from this directory. It must
be run as root and prints TAP. --quick is for CI: each call fails with one error, taken in turn;
--full fails it with all of them, and really waits for the deadline everywhere. --self-test puts a
hook that leaves something behind in the place of the real one and requires that this is noticed.

How a run goes. container.c makes a container as a runtime leaves it when createRuntime hooks run.
Everything in it and around it is listed. The hook is run on it under injector.c, which makes one
thing go wrong. Everything is listed again. Then the container is thrown away.

    error    one system call fails                     done whole, or refused and nothing left
    signal   SIGTERM, SIGINT, SIGHUP at every call     the same
    alarm    the deadline at every call                the same, and the exit code is 12
    delay    the deadline, by a call that takes long   the same
    input    stdin or a file that never ends           the same
    kill     kill -9 at every call                     the host is as before, no process is left
    child    kill -9 of a child at every of its calls  as for error; for one that changes the container as for
                                                       kill, and the hook says that it failed

"Done whole" is what a run in which nothing goes wrong does. Only the library cache, which no hook of
the spec asks for here, may be as it was before, if a warning says so. "Nothing left" is the listing
from before: names, types, modes, owners, numbers, sizes and contents below the container's root, its
mount table, its device list (v1) and device programs (v2, the very same ids); and on the host all
of /run, /dev and /tmp, the mount table and the processes.

Which calls there are is learnt from a run. What a single fault cannot reach is a fault in the undo,
since that needs a fault before it.

The host, too, is one of our own (world.py). There are two settings, so that both ways to allow devices and to bring the library
cache in are seen: "writable" has the cgroups as this machine has them, and a root file system whose
files can be replaced; "read-only" has cgroup v2 alone on /sys/fs/cgroup, and covers the files. The first merges the library
cache, the second has ldconfig make it.

A failed test prints the line with which the one run can be had again (--only), and what was left. In
the hook itself (process 0), "error 0 CALL N ERROR" is strace -e inject=CALL:error=ERROR:when=N.
"""

import argparse
import contextlib
import errno
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
import traceback

# The source tree stays as it is.
sys.dont_write_bytecode = True

from world import (
    BUNDLE,
    CLONE_NEWIPC,
    CLONE_NEWNS,
    CLONE_NEWPID,
    DEVICE,
    HELPERS,
    HOST,
    LDCONFIG,
    READ_ONLY,
    ROOT,
    SETTINGS,
    SPECS,
    TEMPLATE,
    Container,
    World,
    cgroup_base,
    die_with_parent,
    differences,
    effect,
    find_cgroups,
    list_host,
    remove_stale_cgroups,
    unshare,
)

ERRORS = ("EIO", "ENOMEM", "EPERM", "ENOSYS", "EINTR", "EAGAIN")
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
# Uses of one call that are failed in --quick; --full fails all.
QUICK_USES = 6
QUICK_DELAYS = 6

# These cannot fail: the kernel has no error to give. After a failed exit_group there is no program
# that could do anything about it.
CANNOT_FAIL = ("exit", "exit_group", "rt_sigreturn")

# A call that is not implemented, when it is first tried, is an older kernel, which lacks the thing itself.
OLDER_KERNELS = {("bpf", "1", "ENOSYS"): "device program"}

EXIT_DEADLINE = 12
DELAY_MS = 1300  # longer than --timeout=1
LINES_SHOWN = 12
LAST_CALLS = 40

# What must be in the container after a run in which nothing goes wrong.
MUST_HAVE = (
    "dev/faults0",
    "dev/faults/1",
    "usr/lib/vendor/libfaults.so.1",
    "opt/vendor/share/data",
    "opt/vendor/scratch",
)

# Comfort: a run may do without, but says so. All of them, or the one that is for a later ldconfig.
CACHE_FILES = ("etc/ld.so.cache", "etc/ld.so.conf.d/00-oci-cdi-hook.conf")
CACHE_WARNING = r"oci-cdi-hook: warning: .*(find the mounted libraries by name|will find it by name)"
CONF_WARNING = r"oci-cdi-hook: warning: .*ldconfig run in the container will forget the mounted libraries"

# ---------------------------------------------------------------------------------------------
# A run

# What goes wrong is written as words, which --only takes:
#   error PROCESS CALL N ERROR, signal PROCESS I SIGNAL, alarm PROCESS I, delay PROCESS I, kill PROCESS I,
#   child PROCESS I, input WHAT, nothing; I counts the calls of PROCESS, of whatever kind
# Processes are counted from the hook, which is 0, on.


class Run:
    """How the hook ended, and what the injector saw."""

    def __init__(self, log, stderr):
        self.calls = []  # (process, name)
        self.numbers = {}  # of system calls
        self.rights = []  # (process, Inh, Prm, Eff, Bnd, Amb, NoNewPrivs), if it was told to look
        self.hit = self.hung = False
        self.left = []
        self.code = self.killed = None
        self.stderr = stderr
        for line in log.splitlines():
            word, *rest = line.split()
            if word == "call":
                self.calls.append((int(rest[0]), rest[2]))
                self.numbers[rest[2]] = int(rest[1])
            elif word == "rights":
                self.rights.append((int(rest[0]), *(int(number, 16) for number in rest[1:])))
            elif word == "hit":
                self.hit = True
            elif word == "hung":
                self.hung = True
            elif word == "left":
                self.left.append(rest[0])
            elif word == "exit":
                self.code = int(rest[0])
            elif word == "killed":
                self.killed = signal.Signals(int(rest[0])).name

    def how(self):
        if self.hung:
            return "hung"
        words = f"killed by {self.killed}" if self.killed else f"exit {self.code}"
        return f"{words}, stderr: {self.stderr.strip() or 'nothing'}"


def read_memfd(fd):
    size = os.fstat(fd).st_size
    text = os.pread(fd, size, 0).decode(errors="backslashreplace")
    os.close(fd)
    return text


def inject(command, action, stdin_text, endless=False):
    """Runs the command under the injector. With `endless`, stdin doesn't come to its end."""
    log_fd, stderr_fd = os.memfd_create("log"), os.memfd_create("stderr")
    os.set_inheritable(log_fd, True)
    read_fd, write_fd = os.pipe()
    os.write(write_fd, stdin_text.encode())
    if not endless:
        os.close(write_fd)
    injector = subprocess.Popen(
        [f"{HELPERS}/injector", str(log_fd), *action, "--", *command],
        stdin=read_fd,
        stdout=subprocess.DEVNULL,
        stderr=stderr_fd,
        pass_fds=(log_fd,),
        cwd=BUNDLE,
    )
    os.close(read_fd)
    injector.wait()
    if endless:
        os.close(write_fd)
    stderr = read_memfd(stderr_fd)
    log = read_memfd(log_fd)
    if injector.returncode != 0:
        raise RuntimeError(f"injector: exit {injector.returncode}: {stderr}")
    return Run(log, stderr)


@contextlib.contextmanager
def fifo_as(path):
    os.rename(path, f"{path}.away")
    os.mkfifo(path)
    try:
        yield
    finally:
        os.unlink(path)
        os.rename(f"{path}.away", path)


def with_cache_of(before, whole, names=CACHE_FILES):
    """The listing of a whole run, with these files of the library cache as they were before."""

    def is_cache(line):
        return line.split()[0] in names

    def mixed(subject):
        others = [line for line in whole[subject] if not is_cache(line)]
        return sorted(others + [line for line in before[subject] if is_cache(line)])

    return dict(
        whole,
        **{
            "file": mixed("file"),
            "file below the container's mounts": mixed("file below the container's mounts"),
            "mount": [line for line in whole["mount"] if not any(f"{ROOT}/{name} " in line for name in names)],
        },
    )


class Harness:
    def __init__(self, world, stand_in=None):
        self.world = world
        self.stand_in = stand_in
        self.learn()

    def command(self, container, job):
        hook = [
            f"{HELPERS}/hook",
            f"--spec-dir={SPECS}",
            f"--allow={DEVICE}",
            "--timeout=1" if job[0] in ("delay", "input") else "--timeout=20",
            # A merge, which is what the hook does by itself here, in one setting, and the sandbox in the other.
            *([f"--ldconfig={LDCONFIG}"] if self.world.setting == READ_ONLY and LDCONFIG else []),
            "createRuntime",
        ]
        if not self.stand_in:
            return hook
        groups = [container.cgroups.get(version, "-") for version in ("v1", "v2")]
        return [f"{HELPERS}/stand-in", self.stand_in, ROOT, str(container.pid), HOST, *groups, *hook]

    def action(self, job):
        """The injector's words for a job."""
        kind, *words = job
        if kind in ("nothing", "input"):
            return []
        process, *words = words
        if kind == "error":
            name, n, error = words
            return ["error", process, str(self.numbers[name]), n, str(getattr(errno, error))]
        if kind == "delay":
            return ["delay", process, words[0], str(DELAY_MS)]
        target, number = {
            "signal": lambda: ("0", getattr(signal, words[1])),
            "alarm": lambda: ("0", signal.SIGALRM),
            "kill": lambda: ("1" if self.stand_in else "0", signal.SIGKILL),
            "child": lambda: (process, signal.SIGKILL),
        }[kind]()
        return ["signal", process, words[0], target, str(int(number))]

    def execute(self, job):
        """Returns the run, and the listings of container and host before and after it."""
        with contextlib.ExitStack() as stack:
            if job == ["input", "config"]:
                stack.enter_context(fifo_as(f"{BUNDLE}/config.json"))
            if job == ["input", "spec"]:
                stack.enter_context(fifo_as(f"{SPECS}/faults.json"))
            container = stack.enter_context(Container(self.world))
            state = json.dumps(container.state())
            endless = job == ["input", "stdin"]
            before = container.listing(), list_host()
            run = inject(
                self.command(container, job),
                self.action(job),
                state[: len(state) // 2] if endless else state,
                endless,
            )
            self.world.drain_log()
            after = container.listing(), list_host()
        return run, before, after

    def learn(self):
        run, before, after = self.execute(["nothing"])
        if run.code != 0:
            raise RuntimeError(f"the hook fails when nothing goes wrong: {run.how()}")
        self.calls, self.numbers = run.calls, run.numbers
        self.effect = effect(after[0])
        names = [line.split()[0] for line in self.effect["file"]]
        missing = [name for name in MUST_HAVE if name not in names]
        if os.path.exists(f"{TEMPLATE}/{CACHE_FILES[0]}") and effect(before[0])["file"].count(self.cache_line()):
            missing.append("the new library cache")
        cgroups = [v for v in ("device rule", "device program") if before[0][v] != after[0][v]]
        if missing or len(cgroups) != len(self.world.bases):
            raise RuntimeError(f"the hook did not do its work: {missing} missing, {cgroups} changed")
        # The C library's own start, before main() is reached: what fails there ends the program without a word.
        hook = [name for process, name in self.calls if process == 0]
        self.start = hook.index("rt_sigaction") if "rt_sigaction" in hook else 0
        # From this call on, signals and the deadline are heeded; before, they end the program as they end any.
        self.heeds = hook.index("setitimer") + 1 if "setitimer" in hook else 0

        # Processes that change the container: nobody is left to undo what they did when they are killed.
        self.changers = {process for process, name in self.calls if name == "setns"}

    def cache_line(self):
        return next((line for line in self.effect["file"] if line.split()[0] == CACHE_FILES[0]), None)

    # What a job ended with

    def judge(self, job, run, before, after):
        """A list of what is wrong."""
        kind = job[0]
        wrong = []
        if run.hung:
            wrong.append("it hung and had to be killed")
        wrong += [f"process {pid} outlived it" for pid in run.left]
        wrong += differences(before[1], after[1])
        if kind == "kill":
            if run.killed != "SIGKILL" and not self.stand_in:
                wrong.append("it was not killed")
            return wrong
        if kind != "input" and not run.hit and kind != "nothing":
            wrong += [] if run.code == 0 else ["it went another way than in the run before, and failed"]
        if run.code == 0:
            whole = self.effect
            if re.search(CACHE_WARNING, run.stderr):
                whole = with_cache_of(effect(before[0]), whole)
            elif re.search(CONF_WARNING, run.stderr):
                whole = with_cache_of(effect(before[0]), whole, CACHE_FILES[1:])
            if kind == "error" and tuple(job[2:]) in OLDER_KERNELS:
                subject = OLDER_KERNELS[tuple(job[2:])]
                whole = dict(whole, **{subject: effect(before[0])[subject]})
            return wrong + [f"exit 0, but {line}" for line in differences(whole, effect(after[0]))]
        if not (kind == "child" and int(job[1]) in self.changers):
            wrong += differences(before[0], after[0])
        return wrong + self.judge_words(job, run)

    def judge_words(self, job, run):
        """A failure has to say what is wrong, in words; there are excuses for the time before it can."""
        kind = job[0]
        wrong = []
        if kind in ("signal", "alarm") and job[1] == "0" and int(job[2]) <= self.heeds:
            return wrong
        if kind == "error" and job[1] == "0" and self.is_at_start(job[2], int(job[3])):
            return wrong
        if run.killed:
            wrong.append(f"it died of {run.killed}")
        elif not re.match(r"oci-cdi-hook: \S", run.stderr):
            wrong.append("it failed without a sentence")
        if "undo:" in run.stderr:
            wrong.append("its undo failed")
        if kind in ("alarm", "delay") or job == ["input", "stdin"]:
            if run.code != EXIT_DEADLINE:
                wrong.append(f"exit code {run.code} instead of {EXIT_DEADLINE}")
        return wrong

    def is_at_start(self, name, n):
        indices = [i for i, (_, other) in enumerate(c for c in self.calls if c[0] == 0) if other == name]
        return n <= len(indices) and indices[n - 1] < self.start

    def do(self, job):
        run, before, after = self.execute(job)
        return run, self.judge(job, run, before, after)

    # Which jobs there are

    def processes(self):
        return sorted({process for process, _ in self.calls})

    def uses(self):
        """(process, name, n) for every call of the run that can fail."""
        counts = {}
        for process, name in self.calls:
            if name not in CANNOT_FAIL:
                counts[process, name] = counts.get((process, name), 0) + 1
        return [(process, name, n + 1) for (process, name), count in counts.items() for n in range(count)]

    def positions(self, process):
        return range(1, 1 + sum(1 for other, _ in self.calls if other == process))

    def jobs(self, full):
        jobs = []
        for process, name, n in self.uses():
            if full or n <= QUICK_USES:
                errors = ERRORS if full else (ERRORS[len(jobs) % len(ERRORS)],)
                jobs += [["error", str(process), name, str(n), error] for error in errors]
        for process in self.processes():
            for i in self.positions(process):
                signals = SIGNALS if full else (SIGNALS[i % len(SIGNALS)],)
                jobs += [["signal", str(process), str(i), name] for name in signals]
                jobs.append(["alarm", str(process), str(i)])
                jobs.append(["kill", str(process), str(i)])
                if process > 0:
                    jobs.append(["child", str(process), str(i)])
            late = [i for i in self.positions(process) if process > 0 or i > self.heeds]
            step = 1 if full else max(1, len(late) // QUICK_DELAYS)
            jobs += [["delay", str(process), str(i)] for i in late[::step]]
        jobs += [["input", what] for what in ("stdin", "config", "spec")]
        return jobs


# ---------------------------------------------------------------------------------------------
# Workers


def be_init(write_fd, work):
    """The worker, which is the init of its pid namespace. Its results are lines of JSON."""
    with os.fdopen(write_fd, "w") as results:
        try:
            for result in work():
                results.write(json.dumps(result) + "\n")
                results.flush()
            results.write(json.dumps({"end": True}) + "\n")
        except BaseException:
            results.write(json.dumps({"bail": traceback.format_exc()}) + "\n")


def start_worker(work):
    """Returns (pid, file of results). Two processes: the namespace of a pid is for children alone."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            die_with_parent()
            os.close(read_fd)
            unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC)
            inner = os.fork()
            if inner == 0:
                die_with_parent()
                os.umask(0o022)
                be_init(write_fd, work)
                os._exit(0)
            os.close(write_fd)
            code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write_fd)
    return pid, os.fdopen(read_fd)


def run_workers(works):
    """Runs them at the same time; yields (index of worker, result). All of them are gone when it is closed."""
    workers = [start_worker(work) for work in works]
    selector = selectors.DefaultSelector()
    try:
        for index, (_, results) in enumerate(workers):
            selector.register(results, selectors.EVENT_READ, index)
        while selector.get_map():
            for key, _ in selector.select():
                line = key.fileobj.readline()
                result = json.loads(line) if line else {"bail": "a worker died"}
                if "bail" in result:
                    raise RuntimeError(result["bail"])
                if "end" in result:
                    selector.unregister(key.fileobj)
                else:
                    yield key.data, result
    finally:
        for pid, results in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            results.close()


# ---------------------------------------------------------------------------------------------
# What is printed


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def test_name(job):
    if job[0] == "error":
        return f"{job[2]} fails" if job[1] == "0" else f"{job[2]} fails in a child"
    return {
        "signal": f"{job[-1]} at every call",
        "alarm": "the deadline at every call",
        "delay": "the deadline by a call that takes long",
        "input": "input that never ends",
        "kill": "kill -9 at every call",
        "child": "kill -9 of a child at every call",
    }[job[0]]


def print_test(number, name, problems):
    print(f"{'not ' if problems else ''}ok {number} - {name}")
    for line in problems:
        print(f"# {line}")
    sys.stdout.flush()


def explain(setting, job, how, wrong):
    lines = [f"--setting={setting} --only='{' '.join(job)}': {how}"]
    lines += [f"    {line}" for line in wrong[:LINES_SHOWN]]
    if len(wrong) > LINES_SHOWN:
        lines.append(f"    and {len(wrong) - LINES_SHOWN} lines more")
    return lines


def run_all(arguments, settings, cgroups):
    per_setting = max(1, len(os.sched_getaffinity(0)) // len(settings))
    names = [(setting, part) for setting in settings for part in range(per_setting)]

    with cgroup_base(cgroups) as base:

        def work_of(setting, part):
            def work():
                harness = Harness(World(arguments, setting, cgroups, base, f"{setting}{part}"))
                jobs = harness.jobs(arguments.full)
                if part == 0:
                    yield {"learnt": len(harness.calls), "kinds": sorted(set(name for _, name in harness.calls))}
                for job in jobs[part::per_setting]:
                    run, wrong = harness.do(job)
                    yield {"job": job, "wrong": wrong, "how": run.how() if wrong else "", "hit": run.hit}

            return work

        started = time.monotonic()
        tests, runs, missed, failed, kinds = {}, 0, 0, 0, set()
        with contextlib.closing(run_workers([work_of(*name) for name in names])) as results:
            for index, result in results:
                setting = names[index][0]
                if "learnt" in result:
                    kinds |= set(result["kinds"])
                    print(f"# setting {setting}: {result['learnt']} system calls")
                    continue
                runs += 1
                job, wrong = result["job"], result["wrong"]
                missed += not result["hit"] and job[0] != "input"
                failed += bool(wrong)
                problems = tests.setdefault(test_name(job), [])
                if wrong:
                    problems += explain(setting, job, result["how"], wrong)
        seconds = time.monotonic() - started

    for number, (name, problems) in enumerate(sorted(tests.items()), 1):
        print_test(number, name, problems)
    print(f"1..{len(tests)}")
    uses = "all uses" if arguments.full else f"the first {QUICK_USES} uses"
    print(f"# {len(kinds)} kinds of system calls, {uses} of each; {runs} runs in {seconds:.0f} s")
    print(f"# {missed} runs did not come to the call that was to go wrong")
    print(f"# {failed} runs left something behind or did not say why they failed")
    return 1 if failed else 0


def run_one(arguments, settings, cgroups):
    job = arguments.only.split()
    with cgroup_base(cgroups) as base:

        def work():
            harness = Harness(World(arguments, settings[0], cgroups, base, "only"))
            run, wrong = harness.do(job)
            yield {"how": run.how(), "hit": run.hit, "wrong": wrong, "calls": run.calls[-LAST_CALLS:]}

        result = [result for _, result in run_workers([work])][0]
    print(f"# {result['how']}" + ("" if result["hit"] else " (it did not come to that call)"))
    print("# last calls: " + " ".join(f"{process}:{name}" for process, name in result["calls"]))
    print_test(1, arguments.only, result["wrong"])
    print("1..1")
    return 1 if result["wrong"] else 0


# For each stand-in: what goes wrong for the hook in it, and what the harness has to say.
STAND_INS = (
    ("nothing", "error", None),
    ("file", "error", "file came: etc/left "),
    ("content", "error", "file came: etc/passwd "),
    ("mode", "error", "file came: etc/passwd 100666 "),
    ("owner", "error", "file went: etc/passwd 100644 0:0 "),
    ("directory", "error", "file came: opt/left 40755 "),
    ("node", "error", "file came: dev/left 20600 0:0 1:3"),
    ("link", "error", "file came: etc/left 120777 0:0 -> passwd"),
    ("mount", "error", "mount came: "),
    ("rule", "error", "device rule came: c 10:229 rw"),
    ("program", "error", "device program came: "),
    ("host-file", "error", "host file came: /run/faults/host/left "),
    ("host-mount", "error", "host mount came: "),
    ("process", "error", "outlived it"),
    ("hang", "error", "it hung and had to be killed"),
    ("silence", "error", "it failed without a sentence"),
    ("crash", "error", "it died of SIGSEGV"),
    ("lie", "error", "exit 0, but device program went: "),
    ("nothing", "kill", None),
    ("host-file", "kill", "host file came: /run/faults/host/left "),
    ("process", "kill", "outlived it"),
)


def self_test(arguments, settings, cgroups):
    tests = [(what, kind, words) for what, kind, words in STAND_INS if what != "rule" or "v1" in cgroups]
    failed = 0
    print(f"1..{len(tests)}")
    with cgroup_base(cgroups) as base:
        for number, (what, kind, words) in enumerate(tests, 1):

            def work():
                # The hook is the stand-in's child. At the last mount, much has been done already.
                harness = Harness(World(arguments, settings[0], cgroups, base, f"self-test-{number}"), what)
                changer = min(harness.changers)
                calls = [name for process, name in harness.calls if process == changer]
                last = len(calls) - calls[::-1].index("move_mount")
                job = ["error", str(changer), "move_mount", str(calls.count("move_mount")), "EIO"]
                run, wrong = harness.do(job if kind == "error" else ["kill", str(changer), str(last)])
                yield {"hit": run.hit, "how": run.how(), "wrong": wrong}

            # Each in a world of its own: what a stand-in leaves on the host stays there.
            result = [result for _, result in run_workers([work])][0]
            seen = result["wrong"]
            good = result["hit"] and (any(words in line for line in seen) if words else not seen)
            failed += not good
            name = f"seen: {what} left after {kind}" if words else f"nothing is seen where nothing is left after {kind}"
            print_test(number, name, [] if good else [result["how"], f"expected: {words}", *seen[:LINES_SHOWN]])
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="each call fails with one error (default)")
    mode.add_argument("--full", action="store_true", help="every use of every call, every error, every signal")
    mode.add_argument("--self-test", action="store_true", help="does the harness see what it is there for?")
    mode.add_argument("--only", metavar="JOB", help="one run, as a failed test names it")
    parser.add_argument("--setting", choices=SETTINGS, help="of cgroups and root file system (default: both)")
    parser.add_argument("--build", metavar="DIR", required=True, help="where the helpers are")
    parser.add_argument("hook", metavar="HOOK", help="the hook's binary")
    arguments = parser.parse_args()

    if os.geteuid() != 0:
        skip("needs root")
    cgroups = find_cgroups()
    if not cgroups:
        skip("this machine has no cgroups that limit devices")
    for cgroup in cgroups.values():
        if not os.access(cgroup["dir"], os.W_OK):
            skip(f"{cgroup['dir']} cannot be written")
    remove_stale_cgroups(cgroups)
    settings = [arguments.setting] if arguments.setting else SETTINGS

    # So that everything is cleaned up when meson's patience is at its end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.self_test:
        sys.exit(self_test(arguments, settings, cgroups))
    if arguments.only:
        sys.exit(run_one(arguments, settings, cgroups))
    sys.exit(run_all(arguments, settings, cgroups))


if __name__ == "__main__":
    main()
