#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proof that the hook leaves nothing half done, whatever goes wrong and whenever.

    faults.py [--quick | --full | --self-test | --only JOB] [--allocations] [--setting=NAME] --build=DIR HOOK

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
import mmap
import os
import re
import selectors
import signal
import struct
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
    HOOKS,
    HOST,
    LDCONFIG,
    READ_ONLY,
    ROOT,
    SETTINGS,
    SPECS,
    TEMPLATE,
    WRITABLE,
    Container,
    World,
    cgroup_base,
    die_with_parent,
    differences,
    effect,
    find_cgroups,
    list_host,
    list_processes,
    remove_stale_cgroups,
    unshare,
    zombies,
)

ERRORS = ("EIO", "ENOMEM", "EPERM", "ENOSYS", "EINTR", "EAGAIN")
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
# Uses of one call that are failed in --quick; --full fails all.
QUICK_USES = 6
QUICK_DELAYS = 6
# The same in settings that differ from the first two in a part only: the first and the last so many, and all where that part is; and
# of how many calls one is hit by a signal.
QUICK_USES_OF_PART = 2
CALLS_OF_PATHS = ("openat", "openat2")  # in CI too each use: what has just been made is opened by these
CALLS_OF_PARTS = ("getdents64", "socket", "connect", "sendto", "recvfrom", "poll", "getsockopt")
QUICK_STEP = 20
# This part of all runs may take another way and not come to the call that was to go wrong.
MISSED = 0.05

# These cannot fail: the kernel has no error to give. After a failed exit_group there is no program
# that could do anything about it.
CANNOT_FAIL = ("exit", "exit_group", "rt_sigreturn")

# A call that is not implemented, when it is first tried, is an older kernel, which lacks the thing itself.
OLDER_KERNELS = {("bpf", "1", "ENOSYS"): "device program"}

# With one of these a child becomes another program.
EXECS = ("execve", "execveat")

# What the C library (2.36) says when it ends a process whose heap the kernel has refused to extend, once in some hundred times:
# then it is as after a kill.
MALLOC_GIVES_UP = "Fatal glibc error: malloc assertion failure in sysmalloc"

EXIT_DEADLINE = 12
INTERFACES = "host interface"
# Long runs have the machine to themselves less often than CI has. The hook's own deadline is 20 s.
HANG_SECONDS = 40 if os.environ.get("LONG") else 10
DELAY_MS = 1300  # longer than --timeout=1
# Descriptors that are open when a process ends by itself. The hook has its streams; a program that it runs, these and one of its
# own at most. The process that changes the container has its streams, the pipe for its report and what was opened before it was
# started or for the whole run; each thing that it has made or changed holds one more until it is known that it stays.
HOOK_FDS, CHILD_FDS, WORKER_FDS = 3, 4, 10

LINES_SHOWN = 12
SHOWN_RUNS = 1000
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

# A file system that knows no modes stops no container (builtin-chmod.c).
MODE_WARNING = r"oci-cdi-hook: warning: mode \d+ of /(\S+): set its mode: "

# The same for systemd, which then refuses the devices after its next reload.
UNTOLD_WARNING = r"oci-cdi-hook: warning: .*the devices are allowed by the kernel only"

# ---------------------------------------------------------------------------------------------
# A run

# What goes wrong is written as words, which --only takes:
#   error PROCESS CALL N ERROR, signal PROCESS I SIGNAL, alarm PROCESS I, delay PROCESS I, kill PROCESS I,
#   child PROCESS I, input WHAT, nothing; I counts the calls of PROCESS, of whatever kind
# Processes are counted from the hook, which is 0, on.


class Run:
    """How the hook ended, and what the injector saw."""

    def __init__(self, log, stderr, told=()):
        self.told = sorted(told)  # the vendor's programs that have run
        self.calls = []  # (process, name)
        self.numbers = {}  # of system calls
        self.rights = []  # (process, Inh, Prm, Eff, Bnd, Amb, NoNewPrivs), if it was told to look
        self.fds = {}  # how many each process had open at its end
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
            elif word == "fds":
                self.fds[int(rest[0])] = int(rest[1])
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


class Allocations:
    """What fail-alloc.c reads and writes: a context, in which children that get its descriptor have it."""

    FD = 99

    def __init__(self, fail_at):
        self.fail_at = fail_at

    def __enter__(self):
        fd = os.memfd_create("allocations")
        os.ftruncate(fd, mmap.PAGESIZE)
        self.memory = mmap.mmap(fd, mmap.PAGESIZE)
        self.memory[:8] = struct.pack("Q", self.fail_at)
        os.dup2(fd, self.FD, inheritable=False)
        os.close(fd)
        return self

    def __exit__(self, *_):
        os.close(self.FD)
        self.count, hit = struct.unpack("QQ", self.memory[8:24])
        self.hit = bool(hit)
        self.memory.close()


def inject(command, action, stdin_text, endless=False):
    """Runs the command under the injector. With `endless`, stdin doesn't come to its end."""
    log_fd, stderr_fd = os.memfd_create("log"), os.memfd_create("stderr")
    os.set_inheritable(log_fd, True)
    read_fd, write_fd = os.pipe()
    os.write(write_fd, stdin_text.encode())
    if not endless:
        os.close(write_fd)
    injector = subprocess.Popen(
        [f"{HELPERS}/injector", str(log_fd), str(HANG_SECONDS), *action, "--", *command],
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


def run_untraced(command, stdin_text, fds):
    """The same without the injector, which takes most of a run's time. What outlives it is seen among the host's processes."""
    done = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            command,
            input=stdin_text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=fds,
            cwd=BUNDLE,
            timeout=HANG_SECONDS,
        )
    run = Run("", done.stderr.decode(errors="backslashreplace") if done else "")
    run.hung = not done
    if done and done.returncode < 0:
        run.killed = signal.Signals(-done.returncode).name
    elif done:
        run.code = done.returncode
    return run


@contextlib.contextmanager
def fifo_as(path):
    os.rename(path, f"{path}.away")
    os.mkfifo(path)
    try:
        yield
    finally:
        os.unlink(path)
        os.rename(f"{path}.away", path)


FILES = ("file", "file below the container's mounts")


def with_files_of(before, whole, names):
    """The listing of a whole run, with the lines of these files as they were before."""

    def mixed(subject):
        others = [line for line in whole[subject] if line.split()[0] not in names]
        return sorted(others + [line for line in before[subject] if line.split()[0] in names])

    return dict(whole, **{subject: mixed(subject) for subject in FILES})


def with_cache_of(before, whole, names=CACHE_FILES):
    """The same with these files of the library cache, which may be mounts."""
    mounts = [line for line in whole["mount"] if not any(f"{ROOT}/{name} " in line for name in names)]
    return dict(with_files_of(before, whole, names), mount=mounts)


class Harness:
    def __init__(self, world, stand_in=None):
        self.world = world
        self.stand_in = stand_in
        self.learn()

    def command(self, container, job):
        hook = [
            f"{HELPERS}/hook-alloc" if job[0] == "alloc" else f"{HELPERS}/hook",
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
        if kind in ("nothing", "input", "alloc"):
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
            allocations = Allocations(int(job[1])) if job[0] == "alloc" else None
            if allocations:
                with allocations:
                    run = run_untraced(self.command(container, job), state, (Allocations.FD,))
                run.hit, run.allocations = allocations.hit, allocations.count
            else:
                run = inject(
                    self.command(container, job),
                    self.action(job),
                    state[: len(state) // 2] if endless else state,
                    endless,
                )
            self.world.drain_log()
            run.told = sorted(self.world.told())
            # One that was born just when its parent was killed dies a moment after the injector, which did not know it.
            end = time.monotonic() + 2
            while list_processes() != before[1]["process"] and time.monotonic() < end:
                time.sleep(0.01)
            after = container.listing(), list_host()
        return run, before, after

    def learn(self):
        run, before, after = self.execute(["nothing"])
        if run.code != 0:
            raise RuntimeError(f"the hook fails when nothing goes wrong: {run.how()}")
        self.calls, self.numbers, self.told = run.calls, run.numbers, run.told
        if self.world.setting == HOOKS and self.told != ["createContainer", "createRuntime"]:
            raise RuntimeError(f"not all of the vendor's programs were run, but {self.told}")
        self.effect = effect(after[0])
        self.host_interfaces = after[1][INTERFACES]
        names = [line.split()[0] for line in self.effect["file"]]
        missing = [name for name in MUST_HAVE if name not in names]
        # Each thing that was made, or is another one than before.
        self.made = sum(line not in before[0]["file"] for line in after[0]["file"])
        if zombies():
            raise RuntimeError(f"dead processes that nobody waited for: {zombies()}")
        if os.path.exists(f"{TEMPLATE}/{CACHE_FILES[0]}") and effect(before[0])["file"].count(self.cache_line()):
            missing.append("the new library cache")
        cgroups = [v for v in ("device rule", "device program") if before[0][v] != after[0][v]]
        if missing or len(cgroups) != len(self.world.bases):
            raise RuntimeError(f"the hook did not do its work: {missing} missing, {cgroups} changed")
        # The process that changes the container: nobody is left to undo what it did when it is killed. Its children that
        # enter namespaces too leave it alive.
        self.changers = {min(process for process, name in self.calls if name == "setns")}
        # What a vendor's program does, once it is one, is not ours.
        self.ends = {}
        for process in self.processes():
            names = [name for other, name in self.calls if other == process]
            if self.world.setting == HOOKS and process > max(self.changers):
                self.ends[process] = 1 + min(names.index(name) for name in EXECS if name in names)
        leaks = self.judge_descriptors(["nothing"], run)
        if leaks:
            raise RuntimeError(f"{leaks}")
        # The C library's own start, before main() is reached: what fails there ends the program without a word.
        hook = [name for process, name in self.calls if process == 0]
        self.start = hook.index("rt_sigaction") if "rt_sigaction" in hook else 0
        # From this call on, signals and the deadline are heeded; before, they end the program as they end any.
        self.heeds = hook.index("setitimer") + 1 if "setitimer" in hook else 0

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
        host = dict(before[1])
        if run.code == 0:
            host[INTERFACES] = self.host_interfaces
        elif self.world.systemd and self.kills_changer(job):
            # An interface that had moved comes back when the runtime gives the container up: that is the kernel's to do.
            host[INTERFACES] = after[1][INTERFACES]
        wrong += differences(host, after[1])
        if kind == "kill":
            if run.hit or self.stand_in:
                return wrong + ([] if run.killed == "SIGKILL" or self.stand_in else ["it was not killed"])
            # A run may make a call less than the one before it, as where one read finds the whole report of a child.
        if kind != "input" and not run.hit and kind != "nothing":
            wrong += [] if run.code == 0 else ["it went another way than in the run before, and failed"]
        if run.code == 0:
            whole = self.effect
            if run.told != self.told:
                wrong.append(f"exit 0, but of the vendor's programs only {run.told} were run")
            if kind == "alloc":
                pass  # No comfort goes without a word, nor with one: a process without memory does not go on.
            elif re.search(CACHE_WARNING, run.stderr):
                whole = with_cache_of(effect(before[0]), whole)
            elif re.search(CONF_WARNING, run.stderr):
                whole = with_cache_of(effect(before[0]), whole, CACHE_FILES[1:])
            mode = re.search(MODE_WARNING, run.stderr)
            if kind != "alloc" and mode:
                whole = with_files_of(effect(before[0]), whole, [mode[1]])
            if kind != "alloc" and re.search(UNTOLD_WARNING, run.stderr):
                # It is told twice where there are two cgroups, and may have heard it once.
                subject = "systemd's device"
                if after[0][subject] == before[0][subject]:
                    whole = dict(whole, **{subject: before[0][subject]})
            if kind == "error" and tuple(job[2:]) in OLDER_KERNELS:
                subject = OLDER_KERNELS[tuple(job[2:])]
                whole = dict(whole, **{subject: effect(before[0])[subject]})
            return wrong + [f"exit 0, but {line}" for line in differences(whole, effect(after[0]))]
        if job[0] == "error" and job[2] == "brk" and MALLOC_GIVES_UP in run.stderr:
            return wrong
        if not self.kills_changer(job):
            wrong += differences(before[0], after[0]) + self.judge_descriptors(job, run)
        return wrong + self.judge_words(job, run)

    def judge_descriptors(self, job, run):
        """No process keeps more open than it should. A close() that fails does close nothing, here."""
        if self.stand_in or (job[0] == "error" and job[2] in ("close", "close_range")):
            return []
        wrong = []
        worker = min(self.changers)
        for process, n in run.fds.items():
            most = HOOK_FDS if process == 0 else CHILD_FDS
            if process == worker:
                most = WORKER_FDS + (self.made if run.code == 0 else 0)
            # A child that does not get as far as being a program still has all of ours: exec would have closed them.
            if n > most and (process <= worker or run.code == 0):
                wrong.append(f"process {process} ended with {n} descriptors instead of {most}")
        return wrong

    def kills_changer(self, job):
        return job[0] == "kill" or (job[0] == "child" and int(job[1]) in self.changers)

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
        counts, seen = {}, {}
        for process, name in self.calls:
            seen[process] = seen.get(process, 0) + 1
            if name not in CANNOT_FAIL and seen[process] <= self.ends.get(process, seen[process]):
                counts[process, name] = counts.get((process, name), 0) + 1
        return [(process, name, n + 1) for (process, name), count in counts.items() for n in range(count)]

    def some_uses(self, most):
        """The first and the last uses of each call, and all where the setting has its part."""
        uses = self.uses()
        last = {(process, name): n for process, name, n in uses}
        return [
            (process, name, n)
            for process, name, n in uses
            if n <= most or n > last[process, name] - most or (self.world.systemd and name in CALLS_OF_PARTS)
        ]

    def positions(self, process):
        n = sum(1 for other, _ in self.calls if other == process)
        return range(1, 1 + min(n, self.ends.get(process, n)))

    def allocation_jobs(self):
        """An allocation after the other: there are few, since most memory comes in large pieces."""
        run, _, _ = self.execute(["alloc", "0"])
        if run.code != 0 or run.allocations == 0:
            raise RuntimeError(f"{run.allocations} allocations, and {run.how()}")
        self.allocations = run.allocations
        return [["alloc", str(n)] for n in range(1, run.allocations + 1)]

    def few_jobs(self):
        """In CI, of the settings that have only a part of their own: errors, and some places for the rest."""
        jobs = []
        for process, name, n in self.some_uses(QUICK_USES_OF_PART):
            jobs.append(["error", str(process), name, str(n), ERRORS[len(jobs) % len(ERRORS)]])
        for process in self.processes():
            step = QUICK_STEP if process in (0, *self.changers) else 3
            for i in self.positions(process)[::step]:
                jobs.append(["kill", str(process), str(i)])
                jobs.append(["signal", str(process), str(i), SIGNALS[i % len(SIGNALS)]])
                if process > 0:
                    jobs.append(["child", str(process), str(i)])
        return jobs

    def part_jobs(self):
        """All of such a setting: every error in the first uses of every call, and a kill at every call."""
        jobs = []
        for process, name, n in self.some_uses(QUICK_USES):
            jobs += [["error", str(process), name, str(n), error] for error in ERRORS]
        for process in self.processes():
            for i in self.positions(process):
                jobs.append(["kill", str(process), str(i)])
                jobs.append(["signal", str(process), str(i), SIGNALS[i % len(SIGNALS)]])
                if process > 0:
                    jobs.append(["child", str(process), str(i)])
        return jobs

    def jobs(self, full):
        if self.world.setting not in (WRITABLE, READ_ONLY):
            return self.part_jobs() if full else self.few_jobs()
        jobs = []
        for process, name, n in self.uses():
            if full or n <= QUICK_USES or name in CALLS_OF_PATHS:
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


def run_workers(works, at_once=1):
    """Runs so many of them at the same time; yields (index of worker, result). All of them are gone when it is closed."""
    waiting = list(enumerate(works))
    workers = {}
    selector = selectors.DefaultSelector()

    def start():
        index, work = waiting.pop(0)
        pid, results = workers[index] = start_worker(work)
        selector.register(results, selectors.EVENT_READ, index)

    def end(index):
        pid, results = workers.pop(index)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        results.close()

    try:
        while waiting or workers:
            while waiting and len(workers) < at_once:
                start()
            for key, _ in selector.select():
                line = key.fileobj.readline()
                result = json.loads(line) if line else {"bail": "a worker died"}
                if "bail" in result:
                    raise RuntimeError(result["bail"])
                if "end" in result:
                    selector.unregister(key.fileobj)
                    end(key.data)
                else:
                    yield key.data, result
    finally:
        for index in list(workers):
            end(index)


# ---------------------------------------------------------------------------------------------
# What is printed


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def take_cgroups():
    """Those in which runs have their own, or the end of the program, with the reason. Whatever ends it later is cleaned up after."""
    if os.geteuid() != 0:
        skip("needs root")
    cgroups = find_cgroups()
    if not cgroups:
        skip("this machine has no cgroups that limit devices")
    for cgroup in cgroups.values():
        if not os.access(cgroup["dir"], os.W_OK):
            skip(f"{cgroup['dir']} cannot be written")
    remove_stale_cgroups(cgroups)
    # When meson's patience is at its end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return cgroups


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
        "alloc": "no memory",
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
    at_once = max(2, len(os.sched_getaffinity(0)))
    per_setting = max(1, at_once // len(settings))
    names = [(setting, part) for setting in settings for part in range(per_setting)]

    with cgroup_base(cgroups) as base:

        def work_of(setting, part):
            def work():
                harness = Harness(World(arguments, setting, cgroups, base, f"{setting}{part}"))
                jobs = harness.allocation_jobs() if arguments.allocations else harness.jobs(arguments.full)
                if arguments.allocations:
                    yield {"allocations": harness.allocations}
                if part == 0:
                    yield {"learnt": len(harness.calls), "kinds": sorted(set(name for _, name in harness.calls))}
                for job in jobs[part::per_setting]:
                    run, wrong = harness.do(job)
                    yield {"job": job, "wrong": wrong, "how": run.how() if wrong else "", "hit": run.hit}

            return work

        started = time.monotonic()
        tests, runs, missed, failed, kinds = {}, 0, 0, 0, set()
        with contextlib.closing(run_workers([work_of(*name) for name in names], at_once)) as results:
            for index, result in results:
                setting = names[index][0]
                if "allocations" in result:
                    print(f"# setting {setting}: {result['allocations']} allocations", flush=True)
                    continue
                if "learnt" in result:
                    kinds |= set(result["kinds"])
                    print(f"# setting {setting}: {result['learnt']} system calls")
                    continue
                runs += 1
                if runs % SHOWN_RUNS == 0:
                    print(f"# {runs} runs so far, {failed} of them wrong", flush=True)
                job, wrong = result["job"], result["wrong"]
                if wrong:
                    print("# " + "\n#".join(explain(setting, job, result["how"], wrong)[:2]), flush=True)
                missed += not result["hit"] and job[0] != "input"
                failed += bool(wrong)
                problems = tests.setdefault(test_name(job), [])
                if wrong:
                    problems += explain(setting, job, result["how"], wrong)
        seconds = time.monotonic() - started

    if missed > runs * MISSED:
        tests["runs come to what is to go wrong"] = [f"{missed} of {runs} did not"]
        failed += 1
    for number, (name, problems) in enumerate(sorted(tests.items()), 1):
        print_test(number, name, problems)
    print(f"1..{len(tests)}")
    if arguments.allocations:
        print(f"# {runs} allocations failed, one a run, in {seconds:.0f} s; {missed} runs did not come to it")
        print(f"# {failed} runs left something behind or did not say why they failed")
        return 1 if failed else 0
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
            yield {"how": run.how(), "hit": run.hit, "fds": run.fds, "wrong": wrong, "calls": run.calls[-LAST_CALLS:]}

        result = [result for _, result in run_workers([work], 1)][0]
    print(f"# {result['how']}" + ("" if result["hit"] else " (it did not come to that call)"))
    print(f"# open at the end of each process: {result['fds']}")
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
            result = [result for _, result in run_workers([work], 1)][0]
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
    parser.add_argument("--allocations", action="store_true", help="memory that runs out, instead of all else")
    mode.add_argument("--self-test", action="store_true", help="does the harness see what it is there for?")
    mode.add_argument("--only", metavar="JOB", help="one run, as a failed test names it")
    parser.add_argument("--setting", choices=SETTINGS, help="what the container and its request are (default: all)")
    parser.add_argument("--build", metavar="DIR", required=True, help="where the helpers are")
    parser.add_argument("hook", metavar="HOOK", help="the hook's binary")
    arguments = parser.parse_args()
    arguments.full = arguments.full or bool(os.environ.get("LONG"))

    cgroups = take_cgroups()
    settings = [arguments.setting] if arguments.setting else SETTINGS
    if arguments.self_test:
        sys.exit(self_test(arguments, settings, cgroups))
    if arguments.only:
        sys.exit(run_one(arguments, settings, cgroups))
    sys.exit(run_all(arguments, settings, cgroups))


if __name__ == "__main__":
    main()
