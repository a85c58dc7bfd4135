#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proof that the hook leaves nothing half done, whatever goes wrong and whenever.

    faults.py [--quick | --full | --self-test | --only JOB] [--layout=NAME] --build=DIR HOOK

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
    child    kill -9 of a child at every of its calls  as for error

"Done whole" is what a run in which nothing goes wrong does. Only the library cache, which no hook of
the spec asks for here, may be as it was before, if a warning says so. "Nothing left" is the listing
from before: names, types, modes, owners, numbers, sizes and contents below the container's root, its
mount table, its device list (v1) and device programs (v2, the very same ids); and on the host all
of /run, /dev and /tmp, the mount table and the processes.

Which calls there are is learnt from a run. What a single fault cannot reach is a fault in the undo,
since that needs a fault before it.

The host, too, is one of our own: each worker lives in mount and pid namespaces with a /run, a /dev
and a /tmp that nobody else sees, so that all of them can be listed, and all of them are gone when
the worker is. Layouts are the two ways in which a host may have its cgroups: "host" is how this
machine has them, "v2" has cgroup v2 alone on /sys/fs/cgroup.

A failed test prints the line with which the one run can be had again (--only).
"""

import argparse
import contextlib
import ctypes
import errno
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import traceback

ERRORS = ("EIO", "ENOMEM", "EPERM", "ENOSYS", "EINTR", "EAGAIN")
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
# Uses of one call that are failed in --quick; --full fails all.
QUICK_USES = 6
QUICK_DELAYS = 6

# These cannot fail: the kernel has no error to give. After a failed exit_group there is no program
# that could do anything about it.
CANNOT_FAIL = ("exit", "exit_group", "rt_sigreturn")

EXIT_DEADLINE = 12
DELAY_MS = 1300  # longer than --timeout=1
SMALL_FILE = 64 * 1024
LINES_SHOWN = 12
LAST_CALLS = 40

CGROUP_PREFIX = "oci-cdi-hook-faults."

# The worker's own world. Spec files are trusted only where root alone can write, up to the top.
WORLD = "/run/faults"
HELPERS = f"{WORLD}/bin"
SPECS = f"{WORLD}/cdi"
HOST = f"{WORLD}/host"
TEMPLATE = f"{WORLD}/template"
BUNDLE = f"{WORLD}/bundle"
ROOT = f"{BUNDLE}/rootfs"
DEVICE = "example.com/faults=all"

SPEC = {
    "cdiVersion": "0.6.0",
    "kind": "example.com/faults",
    "devices": [
        {
            "name": "all",
            "containerEdits": {
                "deviceNodes": [
                    {"path": "/dev/faults0"},
                    {"path": "/dev/faults/1", "hostPath": "/dev/faults1", "fileMode": 0o640, "gid": 7},
                ]
            },
        }
    ],
    "containerEdits": {
        "mounts": [
            {
                "hostPath": f"{HOST}/libfaults.so.1",
                "containerPath": "/usr/lib/vendor/libfaults.so.1",
                "options": ["ro", "nosuid", "nodev", "bind"],
            },
            {
                "hostPath": f"{HOST}/share",
                "containerPath": "/opt/vendor/share",
                "options": ["ro", "nosuid", "nodev", "rbind"],
            },
            {
                "hostPath": "tmpfs",
                "containerPath": "/opt/vendor/scratch",
                "type": "tmpfs",
                "options": ["nosuid", "nodev", "size=64k"],
            },
        ]
    },
}

# What must be in the container after a run in which nothing goes wrong.
MUST_HAVE = ("dev/faults0", "dev/faults/1", "usr/lib/vendor/libfaults.so.1", "opt/vendor/share/data", "opt/vendor/scratch")

# Comfort: a run may do without, but says so. All of them or none.
CACHE_FILES = ("etc/ld.so.cache", "etc/ld.so.conf.d/00-oci-cdi-hook.conf")
CACHE_WARNING = r"oci-cdi-hook: warning: .*(find the mounted libraries by name|will find it by name)"

CONFIG = {"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {"user": {"uid": 0, "gid": 0}}}

# ---------------------------------------------------------------------------------------------
# The kernel, by the C library

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 2, 4, 4096, 8192, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def unshare(flags):
    check(libc.unshare(flags), "unshare")


def mount(source, target, fstype=None, flags=0, data=None):
    def text(value):
        return value.encode() if value is not None else None

    check(libc.mount(text(source), text(target), text(fstype), ctypes.c_ulong(flags), text(data)), f"mount {target}")


def umount(target):
    check(libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def die_with_parent():
    check(libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0), "prctl")


# ---------------------------------------------------------------------------------------------
# cgroups of the machine


def find_cgroups():
    """The directories of our own cgroups: {"v1": the devices hierarchy, "v2": ...}, where there are such."""
    own = {}
    with open("/proc/self/cgroup") as lines:
        for line in lines:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if controllers == "":
                own["v2"] = path
            elif "devices" in controllers.split(","):
                own["v1"] = path
    found = {}
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            left, right = line.rstrip("\n").split(" - ")
            root, point = left.split()[3:5]
            fstype, _, options = right.split()[:3]
            if fstype == "cgroup2":
                version = "v2"
            elif fstype == "cgroup" and "devices" in options.split(","):
                version = "v1"
            else:
                continue
            if version in own and version not in found:
                below = os.path.relpath(own[version], root)
                found[version] = {"mount": point, "dir": os.path.normpath(f"{point}/{below}")}
    return found


def remove_cgroup(path, patience=2.0):
    """A cgroup can be removed a moment after its last process has gone."""
    end = time.monotonic() + patience
    while True:
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.001)


def remove_cgroup_tree(path, patience=2.0):
    if os.path.isdir(path):
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                remove_cgroup_tree(entry.path, patience)
        remove_cgroup(path, patience)


def remove_stale_cgroups(cgroups):
    """Those of a harness that was killed."""
    for cgroup in cgroups.values():
        for path in glob.glob(f"{cgroup['dir']}/{CGROUP_PREFIX}*"):
            if not os.path.exists(f"/proc/{path.rpartition('.')[2]}"):
                with contextlib.suppress(OSError):
                    remove_cgroup_tree(path)


# ---------------------------------------------------------------------------------------------
# Listings


def describe(path, name, st):
    """One line for one directory entry; times and inode numbers are not in it, since undo does not bring them back."""
    kind = stat.S_IFMT(st.st_mode)
    line = f"{name} {st.st_mode:o} {st.st_uid}:{st.st_gid}"
    if kind in (stat.S_IFCHR, stat.S_IFBLK):
        line += f" {os.major(st.st_rdev)}:{os.minor(st.st_rdev)}"
    elif kind == stat.S_IFLNK:
        line += f" -> {os.readlink(path)}"
    elif kind == stat.S_IFREG:
        line += f" {st.st_size}"
        if st.st_size <= SMALL_FILE:
            with open(path, "rb") as file:
                line += f" {hashlib.sha1(file.read()).hexdigest()[:12]}"
    return line


def list_tree(top, skip=()):
    lines = []
    todo = [""]
    while todo:
        directory = todo.pop()
        for entry in os.scandir(f"{top}/{directory}" if directory else top):
            name = f"{directory}/{entry.name}" if directory else entry.name
            if f"{top}/{name}" in skip:
                continue
            st = entry.stat(follow_symlinks=False)
            lines.append(describe(entry.path, name, st))
            if stat.S_ISDIR(st.st_mode):
                todo.append(name)
    lines.sort()
    return lines


def read_text(path):
    with open(path) as file:
        return file.read()


def list_processes():
    """All of the worker's pid namespace but the dead."""
    lines = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                name, _, rest = read_text(f"/proc/{pid}/stat").rpartition(") ")
                if rest[0] != "Z":
                    lines.append(name.replace(" (", " ", 1))
    return sorted(lines)


def list_host():
    return {
        "host file": [f"{top}/{line}" for top in ("/run", "/dev", "/tmp") for line in list_tree(top, skip=(ROOT,))],
        "host mount": read_text("/proc/self/mountinfo").splitlines(),
        "process": list_processes(),
    }


def differences(before, after):
    """What came and what went, a line each, for two listings by subject."""
    result = []
    for subject in before:
        old, new = before[subject], after[subject]
        if old != new:
            result += [f"{subject} went: {line}" for line in old if line not in new]
            result += [f"{subject} came: {line}" for line in new if line not in old]
            if not result:
                result.append(f"{subject}: another order")
    return result


# ---------------------------------------------------------------------------------------------
# The worker's world


def mapped_library(prefix):
    """The file of a library that this very process has loaded."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith(prefix):
                return path
    return None


def make_image():
    """The root file system that every container gets a fresh copy of: what a loader needs and little else."""
    for name in ("dev", "proc", "sys", "etc/ld.so.conf.d", "usr/lib", "opt", "run", "tmp"):
        os.makedirs(f"{TEMPLATE}/{name}", exist_ok=True)
    os.symlink("usr/lib", f"{TEMPLATE}/lib")
    with open(f"{TEMPLATE}/etc/passwd", "w") as file:
        file.write("root:x:0:0:root:/root:/bin/sh\n")
    for loader, names in ((mapped_library("ld-linux"), ("/lib64/", "/")), (mapped_library("libc.so."), ("/",))):
        if not loader:
            continue
        real = loader if loader.startswith("/usr/") else f"/usr{loader}"
        for name in (f"/lib64/{os.path.basename(loader)}", real) if "/lib64/" in names else (real,):
            os.makedirs(os.path.dirname(TEMPLATE + name), exist_ok=True)
            shutil.copyfile(loader, TEMPLATE + name)
            os.chmod(TEMPLATE + name, 0o755)
    with open(f"{TEMPLATE}/etc/ld.so.conf", "w") as file:
        file.write("include /etc/ld.so.conf.d/*.conf\n")
    # The library cache of the image. Without an ldconfig on this machine it has none.
    for ldconfig in ("/sbin/ldconfig.real", "/sbin/ldconfig"):
        if os.path.exists(ldconfig):
            subprocess.run([ldconfig, "-X", "-r", TEMPLATE], check=False, stderr=subprocess.DEVNULL)
            break
    shutil.rmtree(f"{TEMPLATE}/var", ignore_errors=True)


def make_root():
    """A copy of the image in which only the big files are shared with it."""
    shutil.rmtree(ROOT, ignore_errors=True)
    os.mkdir(ROOT)
    todo = [""]
    while todo:
        directory = todo.pop()
        for entry in os.scandir(f"{TEMPLATE}/{directory}"):
            name = f"{directory}/{entry.name}" if directory else entry.name
            target = f"{ROOT}/{name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), target)
            elif entry.is_dir():
                os.mkdir(target)
                todo.append(name)
            elif entry.stat().st_size <= SMALL_FILE:
                shutil.copy2(entry.path, target)
            else:
                os.link(entry.path, target)


def make_device(path, major, minor):
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))


def make_world(build, hook, layout, cgroups):
    """Runs in namespaces of the worker's own, and stays in them. Nothing below /run, /dev and /tmp is the machine's then."""
    binaries = {name: open(f"{build}/{name}", "rb").read() for name in ("container", "injector", "stand-in")}
    binaries["hook"] = open(hook, "rb").read()
    library = open(f"{build}/libfaults.so.1", "rb").read()

    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)
    mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
    if layout == "v2":
        # Bound and not mounted anew: a new mount would take options of the old one away from the machine.
        os.mkdir("/run/cgroup2")
        mount(cgroups["v2"]["mount"], "/run/cgroup2", flags=MS_BIND)
        umount("/sys/fs/cgroup")
        mount("/run/cgroup2", "/sys/fs/cgroup", flags=MS_MOVE)
        os.rmdir("/run/cgroup2")
        below = os.path.relpath(cgroups["v2"]["dir"], cgroups["v2"]["mount"])
        cgroups = {"v2": {"dir": os.path.normpath(f"/sys/fs/cgroup/{below}")}}
    mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777")
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755")

    for name, minor in (("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)):
        make_device(f"/dev/{name}", 1, minor)
    # Real drivers or not does not matter: nobody opens them.
    make_device("/dev/faults0", 10, 229)
    make_device("/dev/faults1", 10, 237)

    for path in (HELPERS, SPECS, f"{HOST}/share", BUNDLE):
        os.makedirs(path)
    for name, data in binaries.items():
        with open(f"{HELPERS}/{name}", "wb") as file:
            file.write(data)
        os.chmod(f"{HELPERS}/{name}", 0o755)
    for path, data in (
        (f"{HOST}/libfaults.so.1", library),
        (f"{HOST}/share/data", b"data\n"),
        (f"{SPECS}/faults.json", json.dumps(SPEC).encode()),
        (f"{BUNDLE}/config.json", json.dumps(CONFIG).encode()),
    ):
        with open(path, "wb") as file:
            file.write(data)
    make_image()
    return cgroups


class World:
    """One worker's host, its log socket, and the containers on it, one after the other."""

    def __init__(self, arguments, layout, cgroups, base, name):
        self.hook = arguments.hook
        cgroups = make_world(arguments.build, arguments.hook, layout, cgroups)
        self.bases = {version: f"{cgroup['dir']}/{base}" for version, cgroup in cgroups.items()}
        self.name = name
        self.number = 0
        self.log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.log.bind("/dev/log")

    def drain_log(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.log.recv(65536)


class Container:
    """A context: the container lives in it, and nothing of it is left behind."""

    def __init__(self, world):
        self.world = world

    def __enter__(self):
        world = self.world
        world.number += 1
        self.cgroups = {version: f"{base}/{world.name}-{world.number}" for version, base in world.bases.items()}
        make_root()
        for path in self.cgroups.values():
            os.mkdir(path)
        self.helper = subprocess.Popen(
            [f"{HELPERS}/container", ROOT, self.cgroups.get("v1", "-"), self.cgroups.get("v2", "-")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        try:
            answer = self.helper.stdout.readline()
            if not answer.strip().isdigit():
                raise RuntimeError("the container did not start")
            self.pid = int(answer)
            self.root = f"/proc/{self.pid}/root{ROOT}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.helper.stdin.close()
        self.helper.wait()
        self.helper.stdout.close()
        # Whatever a run left: an orphan is ours, since we are the init of this pid namespace.
        for line in list_processes():
            pid = int(line.split()[0])
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, 0):
                pass
        for path in self.cgroups.values():
            remove_cgroup(path)
        self.world.drain_log()

    def programs(self):
        self.helper.stdin.write(b"\n")
        return self.helper.stdout.readline().decode().split()

    def listing(self):
        v1 = self.cgroups.get("v1")
        return {
            "file": list_tree(self.root, skip=(f"{self.root}/proc",)),
            "file below the container's mounts": list_tree(ROOT),
            "mount": read_text(f"/proc/{self.pid}/mountinfo").splitlines(),
            "device rule": read_text(f"{v1}/devices.list").splitlines() if v1 else [],
            "device program": self.programs(),
        }

    def state(self):
        return {
            "ociVersion": "1.0.2",
            "id": "faults",
            "status": "creating",
            "pid": self.pid,
            "bundle": BUNDLE,
            "annotations": {"cdi.k8s.io/faults": DEVICE},
        }


def effect(listing):
    """What a listing says about the container whatever its numbers are: to be the same in every whole run."""

    def mount_words(line):
        left, right = line.split(" - ")
        words = left.split()
        return " ".join(words[3:6] + [word.partition(":")[0] for word in words[6:]] + right.split())

    return dict(
        listing,
        **{
            "mount": [mount_words(line) for line in listing["mount"] if f" {ROOT}" in line],
            "device program": [word.partition(":")[2] or word for word in listing["device program"]],
        },
    )


def with_cache_of(before, whole):
    """The listing of a whole run, with the library cache as it was before."""

    def is_cache(line):
        return line.split()[0] in CACHE_FILES

    def mixed(subject):
        others = [line for line in whole[subject] if not is_cache(line)]
        return sorted(others + [line for line in before[subject] if is_cache(line)])

    return dict(whole, **{subject: mixed(subject) for subject in ("file", "file below the container's mounts")})


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
        self.hit = self.hung = False
        self.left = []
        self.code = self.killed = None
        self.stderr = stderr
        for line in log.splitlines():
            word, *rest = line.split()
            if word == "call":
                self.calls.append((int(rest[0]), rest[2]))
                self.numbers[rest[2]] = int(rest[1])
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
            if job[0] == "input" and job[1] != "stdin":
                stack.enter_context(fifo_as({"config": f"{BUNDLE}/config.json", "spec": f"{SPECS}/faults.json"}[job[1]]))
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
        cgroups = [v for v in ("device rule", "device program") if before[0][v] != after[0][v]]
        if missing or len(cgroups) != len(self.world.bases):
            raise RuntimeError(f"the hook did not do its work: {missing} missing, {cgroups} changed")
        # The C library's own start, before main() is reached: what fails there ends the program without a word.
        hook = [name for process, name in self.calls if process == 0]
        self.start = hook.index("rt_sigaction") if "rt_sigaction" in hook else 0
        # From this call on, signals and the deadline are heeded; before, they end the program as they end any.
        self.heeds = hook.index("setitimer") + 1 if "setitimer" in hook else 0

    # What a job may end with: a list of what is wrong.
    def judge(self, job, run, before, after):
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
                whole = with_cache_of(before[0], whole)
            return wrong + [f"exit 0, but {line}" for line in differences(whole, effect(after[0]))]
        wrong += differences(before[0], after[0])
        return wrong + self.judge_words(job, run)

    def judge_words(self, job, run):
        """A failure has to say what is wrong, in words; there are excuses for the time before it can."""
        kind = job[0]
        wrong = []
        if kind in ("signal", "alarm") and int(job[2]) <= self.heeds:
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
        late = [i for i in self.positions(0) if i > self.heeds]
        jobs += [["delay", "0", str(i)] for i in (late if full else late[:: max(1, len(late) // QUICK_DELAYS)])]
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
        finally:
            os._exit(code)
    os.close(write_fd)
    return pid, os.fdopen(read_fd)


def run_workers(works):
    """Runs them at the same time; yields (index of worker, result). All of them are gone afterwards."""
    import selectors

    workers = [start_worker(work) for work in works]
    selector = selectors.DefaultSelector()
    try:
        for index, (_, results) in enumerate(workers):
            selector.register(results, selectors.EVENT_READ, index)
        left = len(workers)
        while left:
            for key, _ in selector.select():
                line = key.fileobj.readline()
                if line:
                    result = json.loads(line)
                    if "bail" in result:
                        raise RuntimeError(result["bail"])
                    yield key.data, result
                else:
                    selector.unregister(key.fileobj)
                    left -= 1
    finally:
        for pid, results in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            results.close()


@contextlib.contextmanager
def cgroup_base(cgroups):
    """The name of the cgroup that holds all of this harness."""
    base = f"{CGROUP_PREFIX}{os.getpid()}"
    try:
        for cgroup in cgroups.values():
            os.mkdir(f"{cgroup['dir']}/{base}")
        yield base
    finally:
        for cgroup in cgroups.values():
            remove_cgroup_tree(f"{cgroup['dir']}/{base}", patience=5)


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


def explain(arguments, layout, job, how, wrong):
    lines = [f"--layout={layout} --only='{' '.join(job)}': {how}"]
    lines += [f"    {line}" for line in wrong[:LINES_SHOWN]]
    if len(wrong) > LINES_SHOWN:
        lines.append(f"    and {len(wrong) - LINES_SHOWN} lines more")
    return lines


def run_all(arguments, layouts, cgroups):
    per_layout = max(1, len(os.sched_getaffinity(0)) // len(layouts))
    names = [(layout, part) for layout in layouts for part in range(per_layout)]

    with cgroup_base(cgroups) as base:

        def work_of(layout, part):
            def work():
                harness = Harness(World(arguments, layout, cgroups, base, f"{layout}{part}"))
                jobs = harness.jobs(arguments.full)
                if part == 0:
                    yield {"learnt": len(harness.calls), "kinds": sorted(set(name for _, name in harness.calls))}
                for job in jobs[part::per_layout]:
                    run, wrong = harness.do(job)
                    yield {"job": job, "wrong": wrong, "how": run.how() if wrong else "", "hit": run.hit}

            return work

        started = time.monotonic()
        tests, runs, missed, failed, kinds = {}, 0, 0, 0, set()
        for index, result in run_workers([work_of(*name) for name in names]):
            layout = names[index][0]
            if "learnt" in result:
                kinds |= set(result["kinds"])
                print(f"# layout {layout}: {result['learnt']} system calls")
                continue
            runs += 1
            job, wrong = result["job"], result["wrong"]
            missed += not result["hit"] and job[0] != "input"
            failed += bool(wrong)
            problems = tests.setdefault(test_name(job), [])
            if wrong:
                problems += explain(arguments, layout, job, result["how"], wrong)
        seconds = time.monotonic() - started

    for number, (name, problems) in enumerate(tests.items(), 1):
        print_test(number, name, problems)
    print(f"1..{len(tests)}")
    uses = "all uses" if arguments.full else f"the first {QUICK_USES} uses"
    print(f"# {len(kinds)} kinds of system calls, {uses} of each; {runs} runs in {seconds:.0f} s")
    print(f"# {missed} runs did not come to the call that was to go wrong")
    print(f"# {failed} runs left something behind or did not say why they failed")
    return 1 if failed else 0


def run_one(arguments, layouts, cgroups):
    job = arguments.only.split()
    with cgroup_base(cgroups) as base:

        def work():
            harness = Harness(World(arguments, layouts[0], cgroups, base, "only"))
            run, wrong = harness.do(job)
            yield {"how": run.how(), "hit": run.hit, "wrong": wrong, "calls": run.calls[-LAST_CALLS:]}

        for _, result in run_workers([work]):
            print(f"# {result['how']}" + ("" if result["hit"] else " (it did not come to that call)"))
            print("# last calls: " + " ".join(f"{process}:{name}" for process, name in result["calls"]))
            print_test(1, arguments.only, result["wrong"])
            print("1..1")
            return 1 if result["wrong"] else 0
    return 1


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


def self_test(arguments, layouts, cgroups):
    tests = [(what, kind, words) for what, kind, words in STAND_INS if what != "rule" or "v1" in cgroups]
    failed = 0
    print(f"1..{len(tests)}")
    with cgroup_base(cgroups) as base:
        for number, (what, kind, words) in enumerate(tests, 1):

            def work():
                # The hook is the stand-in's child. The last mount is where most has been done already.
                harness = Harness(World(arguments, layouts[0], cgroups, base, f"self-test-{number}"), what)
                calls = [name for process, name in harness.calls if process == 1]
                last = len(calls) - calls[::-1].index("move_mount")
                job = ["error", "1", "move_mount", str(calls.count("move_mount")), "EIO"]
                run, wrong = harness.do(job if kind == "error" else ["kill", "1", str(last)])
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
    parser.add_argument("--layout", choices=("host", "v2"), help="how the host has its cgroups (default: both)")
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
    layouts = ["host", "v2"] if len(cgroups) == 2 else ["host"]
    if arguments.layout:
        layouts = [arguments.layout]

    # So that everything is cleaned up when meson's patience is at its end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.self_test:
        sys.exit(self_test(arguments, layouts, cgroups))
    if arguments.only:
        sys.exit(run_one(arguments, layouts, cgroups))
    sys.exit(run_all(arguments, layouts, cgroups))


if __name__ == "__main__":
    main()
