# SPDX-License-Identifier: Apache-2.0
"""The host on which hostile.py works, and containers on it.

A worker's root is an overlay over the machine's: whoever gets out of a container writes to the overlay, where it is seen, and
not to the machine. /run, /dev and /tmp are the worker's own. What is listed of the host are these and all that the
overlay has got; its mount table; the worker's cgroups; the device rules of a neighbour; and the processes.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../faults"))

import corpus
from corpus import BUNDLE, GUARD, HOST, ROOT, SHARED, WORLD
from world import (  # of tests/faults
    CLONE_NEWIPC,
    CLONE_NEWNS,
    CLONE_NEWPID,
    LDCONFIG,
    MNT_DETACH,
    MS_BIND,
    MS_MOVE,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    SMALL_FILE,
    check,
    copy_image,
    libc,
    list_processes,
    mapped_library,
    mount,
    read_text,
    remove_cgroup_tree,
    umount,
    unshare,
)

MS_RDONLY, MS_REMOUNT, MS_SHARED = 1, 32, 1 << 20
BACKING = "/run/backing"
BIN = f"{WORLD}/bin"
OUT = f"{WORLD}/out"  # what runs print: not listed
TEMPLATE = f"{WORLD}/template"
SPECS = f"{WORLD}/cdi"
# The overlay is a layer of the container's.
NOT_LISTED = (ROOT, OUT, f"{WORLD}/overlay", f"{BACKING}/work")

# ---------------------------------------------------------------------------------------------
# Listings


def extended(path):
    with contextlib.suppress(OSError):
        return [(name, os.getxattr(path, name, follow_symlinks=False)) for name in os.listxattr(path, follow_symlinks=False)]
    return []


def content(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    if stat.S_ISREG(st.st_mode) and st.st_size <= SMALL_FILE:
        with open(path, "rb") as file:
            return hashlib.sha1(file.read()).hexdigest()
    return ""


def list_tree(top, skip=(), times=True):
    """{name: all that can be known of it}. With the time of the last change of an inode nothing goes by unseen."""
    found = {}
    todo = [top]
    while todo:
        directory = todo.pop()
        for entry in os.scandir(directory):
            if entry.path in skip:
                continue
            st = entry.stat(follow_symlinks=False)
            what = [oct(st.st_mode), st.st_uid, st.st_gid, st.st_rdev, content(entry.path, st), extended(entry.path)]
            what += [st.st_size] if not stat.S_ISDIR(st.st_mode) else []
            what += [st.st_ino, st.st_mtime_ns, st.st_nlink, st.st_ctime_ns] if times else []
            found[entry.path] = what
            if stat.S_ISDIR(st.st_mode):
                todo.append(entry.path)
    return found


def lines(text):
    return dict.fromkeys(text.splitlines(), "")


def differences(before, after, place=None):
    """Where the image has a hard link to the guard's file, that link may go: the number of its names is no matter then."""
    result = []
    for subject in before:
        old, new = before[subject], after[subject]
        if place and place.hard_link and subject == "host file":
            old, new = ({**each, place.guard: each[place.guard][:-2]} for each in (old, new))
        if old == new:
            continue
        result += [f"{subject} went: {name}" for name in old if name not in new]
        result += [f"{subject} came: {name}" for name in new if name not in old]
        result += [f"{subject} changed: {name}: {old[name]} -> {new[name]}" for name in old if name in new and old[name] != new[name]]
    return result


# ---------------------------------------------------------------------------------------------
# Device programs of cgroup v2

BPF_CALL = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
BPF_PROG_LOAD, BPF_PROG_ATTACH, BPF_PROG_QUERY = 5, 8, 16
CGROUP_DEVICE_PROGRAM, CGROUP_DEVICE, ALLOW_MULTI = 15, 6, 2


def bpf(command, attr):
    buffer = ctypes.create_string_buffer(attr, 128)
    result = libc.syscall(BPF_CALL, command, buffer, 128)
    check(result, "bpf")
    return result, buffer.raw


def instruction(code, dst=0, src=0, offset=0, number=0):
    return struct.pack("=BBhi", code, src << 4 | dst, offset, number)


def limit_v2(directory):
    """Any device may be made, those of major 1 be opened, and nothing else."""
    insns = b"".join(
        (
            instruction(0x61, 2, 1, 0),  # r2 = access << 16 | type
            instruction(0x61, 4, 1, 4),  # r4 = major
            instruction(0x74, 2, 0, 0, 16),  # r2 >>= 16
            instruction(0x15, 2, 0, 3, 1),  # mknod alone
            instruction(0x15, 4, 0, 2, 1),
            instruction(0xB7, 0, 0, 0, 0),
            instruction(0x95),
            instruction(0xB7, 0, 0, 0, 1),
            instruction(0x95),
        )
    )
    code, name = ctypes.create_string_buffer(insns), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("=IIQQ", CGROUP_DEVICE_PROGRAM, len(insns) // 8, ctypes.addressof(code), ctypes.addressof(name))
    program, _ = bpf(BPF_PROG_LOAD, attr)
    cgroup = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    bpf(BPF_PROG_ATTACH, struct.pack("=IIII", cgroup, program, CGROUP_DEVICE, ALLOW_MULTI))
    os.close(program)
    os.close(cgroup)


def programs_v2(directory):
    ids = (ctypes.c_uint32 * 64)()
    cgroup = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    attr = struct.pack("=IIIIQI", cgroup, CGROUP_DEVICE, 0, 0, ctypes.addressof(ids), 64)
    _, answer = bpf(BPF_PROG_QUERY, attr)
    os.close(cgroup)
    return [ids[i] for i in range(struct.unpack_from("=I", answer, 24)[0])]


def write_line(path, text):
    with open(path, "w") as file:
        file.write(text)


def limit_v1(directory):
    write_line(f"{directory}/devices.deny", "a")
    for rule in ("c *:* m", "b *:* m", "c 1:* rwm"):
        write_line(f"{directory}/devices.allow", rule)


# ---------------------------------------------------------------------------------------------
# The host


def new_root():
    """An overlay over the machine's root becomes ours. Its upper directory is in BACKING."""
    others = [line.split()[4] for line in read_text("/proc/self/mountinfo").splitlines()]
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
    for name in ("upper", "work", "root"):
        os.mkdir(f"/run/{name}")
    root = "/run/root"
    mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir=/run/upper,workdir=/run/work")
    for point in others:
        if point != "/" and not re.match(r"/(proc|sys|dev|run|tmp)(/|$)", point) and os.path.isdir(root + point):
            mount(point, root + point, flags=MS_BIND)
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV)
    mount("/sys", f"{root}/sys", flags=MS_BIND | MS_REC)
    for name, mode in (("run", "755"), ("tmp", "1777"), ("dev", "755")):
        mount("tmpfs", f"{root}/{name}", "tmpfs", 0, f"mode={mode}")
    for name in ("backing", "old"):
        os.mkdir(f"{root}/run/{name}")
    mount("/run", f"{root}{BACKING}", flags=MS_BIND)
    os.chdir(root)
    pivot_root = {"x86_64": 155, "aarch64": 41}[platform.machine()]
    check(libc.syscall(pivot_root, b".", b"run/old"), "pivot_root")
    os.chdir("/")
    umount("/run/old")
    os.rmdir("/run/old")


def cgroup_v2_alone(cgroups):
    """On a hybrid machine: what a machine shows that has v2 and nothing else."""
    if "v1" not in cgroups:
        return cgroups
    os.mkdir("/run/cgroup2")
    mount(cgroups["v2"]["mount"], "/run/cgroup2", flags=MS_BIND)
    umount("/sys/fs/cgroup")
    mount("/run/cgroup2", "/sys/fs/cgroup", flags=MS_MOVE)
    os.rmdir("/run/cgroup2")
    below = os.path.relpath(cgroups["v2"]["dir"], cgroups["v2"]["mount"])
    return {"v2": {"mount": "/sys/fs/cgroup", "dir": os.path.normpath(f"/sys/fs/cgroup/{below}")}}


def make_template():
    """The image as it should be: the loader and the C library of this machine, and what ldconfig knows of them."""
    for role, (path, due, _) in corpus.ROLES.items():
        if due == "dir":
            corpus.make_due(TEMPLATE + path, "dir")
    for name in ("tmp", "run", "sys", "var/cache/ldconfig"):
        os.makedirs(f"{TEMPLATE}/{name}", exist_ok=True)
    for name in ("kept", "etc/kept", "proc/kept", "dev/kept", "lib/kept"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{TEMPLATE}/{name}")
    for path in (mapped_library("ld-linux"), mapped_library("libc.so.")):
        os.makedirs(os.path.dirname(TEMPLATE + path), exist_ok=True)
        shutil.copyfile(path, TEMPLATE + path)
        os.chmod(TEMPLATE + path, 0o755)
    loader = os.path.basename(mapped_library("ld-linux"))
    place = "lib64" if platform.machine() == "x86_64" else "lib"
    os.makedirs(f"{TEMPLATE}/{place}", exist_ok=True)
    shutil.copyfile(mapped_library("ld-linux"), f"{TEMPLATE}/{place}/{loader}")
    os.chmod(f"{TEMPLATE}/{place}/{loader}", 0o755)
    write_line(f"{TEMPLATE}/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    write_line(f"{TEMPLATE}/etc/ld.so.conf.d/image.conf", "/usr/lib/links\n")
    write_line(f"{TEMPLATE}/etc/passwd", "root:x:0:0::/:/bin/sh\n")
    subprocess.run([LDCONFIG, "-r", TEMPLATE], check=True, stderr=subprocess.DEVNULL)
    os.link(f"{BIN}/inside", f"{TEMPLATE}/inside")


def make_root(with_cache):
    copy_image(TEMPLATE, ROOT)
    if not with_cache:
        os.unlink(f"{ROOT}/etc/ld.so.cache")


def make_guard(top):
    """Of each kind that is due, with owners, modes and attributes that nobody makes by chance; and a place for what is new."""
    os.mkdir(f"{top}/empty")
    for role, (_, _, shape) in corpus.ROLES.items():
        path = f"{top}/{role}"
        corpus.make_due(path, shape)
        os.chown(path, 1234, 4321)
        os.chmod(path, 0o715 if shape == "dir" else 0o614)
        with contextlib.suppress(OSError):
            os.setxattr(path, "trusted.guard", role.encode())
        os.utime(path, ns=(10**18, 10**18))


def make_host(build, hook):
    binaries = {name: open(f"{build}/{name}", "rb").read() for name in ("inside", "libmemlock.so")}
    binaries["hook"] = open(hook, "rb").read()
    library = open(f"{build}/libhostile.so.1", "rb").read()
    new_root()
    for path in (BIN, OUT, TEMPLATE, SPECS, BUNDLE, ROOT, GUARD, SHARED, f"{HOST}/share", f"{WORLD}/overlay"):
        os.makedirs(path)
    for name, data in binaries.items():
        with open(f"{BIN}/{name}", "wb") as file:
            file.write(data)
        os.chmod(f"{BIN}/{name}", 0o755)
    for name, minor in (("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)):
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(1, minor))
    os.mknod("/dev/tty", stat.S_IFCHR | 0o666, os.makedev(5, 0))
    os.mknod("/dev/hostile0", stat.S_IFCHR | 0o666, os.makedev(corpus.MAJOR, corpus.MINOR))
    with open(f"{HOST}/libhostile.so.1", "wb") as file:
        file.write(library)
    for name in ("there", "go"):
        os.mkfifo(f"{OUT}/{name}")
    write_line(f"{HOST}/share/file", "of the host\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{HOST}/socket")
    write_line(f"{HOST}/tmpfs-file", "")
    write_line(f"{HOST}/nvidia-cdi-hook", "#!/bin/false\n")
    os.chmod(f"{HOST}/nvidia-cdi-hook", 0o755)
    write_line(f"{SPECS}/hostile.json", json.dumps(corpus.SPEC))
    make_guard(GUARD)
    mount(SHARED, SHARED, flags=MS_BIND)
    make_guard(SHARED)
    make_template()


class Host:
    """One worker's host. `setting`: "machine" for the cgroups as they are here, "v2" for v2 alone."""

    def __init__(self, build, hook, cgroups, base, name, setting):
        make_host(build, hook)
        self.cgroups = cgroup_v2_alone(cgroups) if setting == "v2" else cgroups
        # As systemd has it: what leaks out of a container then shows here.
        mount(None, "/", flags=MS_REC | MS_SHARED)
        self.base = {version: f"{cgroup['dir']}/{base}/{name}" for version, cgroup in self.cgroups.items()}
        for path in self.base.values():
            os.mkdir(path)
        self.number = 0
        self.log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.log.bind("/dev/log")
        self.promises = corpus.promises({name: os.stat(f"{HOST}/{name}") for name in ("libhostile.so.1", "share", "socket")})
        self.neighbour = self.start_neighbour()

    def new_cgroups(self, name):
        made = {version: f"{base}/{name}" for version, base in self.base.items()}
        for version, path in made.items():
            os.mkdir(path)
            (limit_v1 if version == "v1" else limit_v2)(path)
        return made

    def start_neighbour(self):
        """Another container's process, whose devices are nobody's to change."""
        self.neighbour_cgroups = self.new_cgroups("neighbour")
        neighbour = subprocess.Popen(["sleep", "infinity"])
        for path in self.neighbour_cgroups.values():
            write_line(f"{path}/cgroup.procs", str(neighbour.pid))
        return neighbour

    def rules(self):
        """The device rules of the neighbour, and the names of all cgroups of this worker."""
        found = {}
        for version, path in self.neighbour_cgroups.items():
            found[path] = read_text(f"{path}/devices.list") if version == "v1" else programs_v2(path)
        for base in self.base.values():
            for directory, _, _ in os.walk(base):
                found.setdefault(directory, "")
        return found

    def listing(self):
        files = {}
        for top in ("/run", "/dev", "/tmp"):
            files |= list_tree(top, NOT_LISTED)
        return {
            "host file": files,
            "host mount": lines(read_text("/proc/self/mountinfo")),
            "cgroup": self.rules(),
            "process": dict.fromkeys(list_processes(), ""),
        }

    def drain_log(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.log.recv(65536)

    def close(self):
        self.neighbour.kill()
        self.neighbour.wait()
        for path in self.base.values():
            remove_cgroup_tree(path, patience=5)


# ---------------------------------------------------------------------------------------------
# A container without a runtime: for all images, also those that a runtime refuses


def make_private():
    """As runtimes do it; what is to be shared with the container stays so."""
    for line in read_text("/proc/self/mountinfo").splitlines():
        point = line.split()[4].encode().decode("unicode_escape")
        if point != SHARED:
            mount(None, point, flags=MS_PRIVATE)


def attach(place):
    """What the kind wants mounted."""
    for source, options in place.mounts:
        if source == "tmpfs":
            mount("tmpfs", place.path, "tmpfs", 0, "mode=755")
            continue
        mount(f"{HOST}/tmpfs-file" if source == "tmpfs-file" else source, place.path, flags=MS_BIND)
        if "ro" in options:
            mount(None, place.path, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)
    if place.overlay:
        mount_overlay(place)


def mount_overlay(place):
    """Over a directory; over a file, a file of one."""
    directory = place.path if place.shape == "dir" else f"{GUARD}/etc"
    target = place.path if place.shape == "dir" else f"{WORLD}/overlay"
    mount("tmpfs", f"{WORLD}/overlay", "tmpfs", 0, "mode=755")
    for name in ("upper", "work"):
        os.mkdir(f"{WORLD}/overlay/{name}")
    options = f"lowerdir={directory},upperdir={WORLD}/overlay/upper,workdir={WORLD}/overlay/work"
    mount("overlay", target, "overlay", 0, options)
    if place.shape != "dir":
        mount(f"{WORLD}/overlay/kept", place.path, flags=MS_BIND)


def be_container(place, go, ready):
    os.read(go, 1)  # it is in its cgroups now
    make_private()
    mount(ROOT, ROOT, flags=MS_BIND | MS_REC)
    if place.wants_proc():
        mount("proc", f"{ROOT}/proc", "proc", MS_NOSUID | MS_NODEV)
    if place.wants_dev():
        mount("tmpfs", f"{ROOT}/dev", "tmpfs", MS_NOSUID, "mode=755")
    attach(place)
    os.write(ready, b"r")
    while True:
        signal.pause()


class Container:
    """A context: a process that is where a runtime's is when hooks run."""

    def __init__(self, host, place):
        self.host, self.place = host, place

    def __enter__(self):
        self.host.number += 1
        self.cgroups = self.host.new_cgroups(f"direct-{self.host.number}")
        go, ready, number = os.pipe(), os.pipe(), os.pipe()
        between = os.fork()
        if between == 0:
            unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC)
            pid = os.fork()
            if pid == 0:
                try:
                    be_container(self.place, go[0], ready[1])
                finally:
                    os._exit(1)
            os.write(number[1], str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        self.pid = int(os.read(number[0], 16))
        for path in self.cgroups.values():
            write_line(f"{path}/cgroup.procs", str(self.pid))
        os.write(go[1], b"g")
        os.close(ready[1])
        answer = os.read(ready[0], 1)
        for fd in (*go, ready[0], *number):
            os.close(fd)
        if answer != b"r":
            self.__exit__()
            raise RuntimeError(f"no container for {self.place.role}")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for path in self.cgroups.values():
            remove_cgroup_tree(path)

    def listing(self):
        root = f"/proc/{self.pid}/root{ROOT}"
        skip = (f"{root}/proc",) if self.place.wants_proc() else ()
        return {
            "file": list_tree(root, skip, times=False),
            "mount": lines(read_text(f"/proc/{self.pid}/mountinfo")),
            "rule": {
                path: read_text(f"{path}/devices.list") if version == "v1" else programs_v2(path)
                for version, path in self.cgroups.items()
            },
        }

    def descriptors(self):
        directory = f"/proc/{self.pid}/fd"
        return {name: os.readlink(f"{directory}/{name}") for name in os.listdir(directory)}

    def join_cgroups(self):
        for path in self.cgroups.values():
            write_line(f"{path}/cgroup.procs", "0")


def umount_overlay(place):
    if place.overlay:
        if place.shape != "dir":
            umount(place.path)
        umount(place.path if place.shape == "dir" else f"{WORLD}/overlay")
        umount(f"{WORLD}/overlay")
