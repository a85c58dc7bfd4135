# SPDX-License-Identifier: Apache-2.0
"""The world in which faults.py runs the hook: a host and containers of our own, and listings of all that is in them.

A worker lives in mount and pid namespaces with a /run, a /dev and a /tmp that nobody else sees: all of them can be
listed, and all of them are gone when the worker is. Only its cgroups are the machine's; they lie below one cgroup,
which faults.py makes and removes.
"""

import contextlib
import ctypes
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

SMALL_FILE = 64 * 1024
# In a line of a listing: what follows is compared where a file is to be as it was, not where it is to be as good.
WHOLE = "whole="

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

def hook(command, *arguments):
    """A hook of NVIDIA's, which is built in."""
    args = ["nvidia-cdi-hook", command, *arguments]
    return {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": args}


def spec_of(setting, socket_name):
    if setting == PARTS:
        parts = {"netDevices": [{"hostInterfaceName": INTERFACE, "name": "net1"}], "intelRdt": {"closID": CLASS}}
        return dict(SPEC, cdiVersion="1.1.0", containerEdits=dict(SPEC["containerEdits"], **parts))
    if setting != HOOKS:
        return SPEC
    hooks = [
        hook("create-symlinks", "--link", "libfaults.so.1::/usr/lib/vendor/libfaults.so"),
        hook("chmod", "--mode", "750", "--path", "/opt"),
        hook("update-ldcache", "--folder", "/usr/lib/vendor"),
    ]
    # Programs: of the host's namespaces, and of the container's.
    for stage in ("createRuntime", "createContainer"):
        path = f"{HELPERS}/vendor"
        hooks.append({"hookName": stage, "path": path, "args": ["vendor", socket_name, stage]})
    return dict(SPEC, containerEdits=dict(SPEC["containerEdits"], hooks=hooks))


CONFIG = {
    "ociVersion": "1.0.2",
    "root": {"path": "rootfs"},
    "process": {"user": {"uid": 0, "gid": 0}},
}

WRITABLE, READ_ONLY, HOOKS, USERS, PARTS = SETTINGS = ("writable", "read-only", "hooks", "user-namespace", "host-parts")
# Who the container's root is in a user namespace of its own.
USERS_ROOT = 100000
# Parts of the host that go to a container: an interface, a cache class, and systemd's list of its devices.
INTERFACE, CLASS = "cdi0", "gold"
RESCTRL = "/sys/fs/resctrl"
UNITS = "/run/systemd/transient"
UNIT_DEVICE = "/dev/char/1:3"
LDCONFIG = next((path for path in ("/sbin/ldconfig.real", "/sbin/ldconfig") if os.path.exists(path)), None)

# ---------------------------------------------------------------------------------------------
# The kernel, by the C library

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x08000000, 0x20000000, 0x40000000
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
# Listings


def cache_names(data):
    """The libraries that a loader finds through this cache, each once: which of several directories of the image one
    comes from is ldconfig's to choose, and one that is listed under two names counts once. None for no cache."""
    head = data.find(b"glibc-ld.so.cache1.1")
    if head < 0:
        return None
    (count,) = struct.unpack_from("=I", data, head + 20)
    names = set()
    for i in range(count):
        flags, soname, path = struct.unpack_from("=III", data, head + 48 + 24 * i)
        text = [data[head + at : data.index(b"\0", head + at)].decode() for at in (soname, path)]
        names.add((flags, text[0], text[1] if "faults" in text[0] else ""))
    return sorted(names)


def content(name, data):
    """What counts of a file's content, and the whole of it, which undo must bring back."""
    digest = hashlib.sha1(data).hexdigest()[:12]
    names = cache_names(data) if name == "etc/ld.so.cache" else None
    if names is None:
        return f" {len(data)} {digest}"
    return f" {hashlib.sha1(repr(names).encode()).hexdigest()[:12]} {WHOLE}{len(data)}:{digest}"


def describe(path, name, st):
    """One line for one directory entry; times and inode numbers are not in it, since undo does not bring them back."""
    kind = stat.S_IFMT(st.st_mode)
    line = f"{name} {st.st_mode:o} {st.st_uid}:{st.st_gid}"
    if kind in (stat.S_IFCHR, stat.S_IFBLK):
        line += f" {os.major(st.st_rdev)}:{os.minor(st.st_rdev)}"
    elif kind == stat.S_IFLNK:
        line += f" -> {os.readlink(path)}"
    elif kind == stat.S_IFREG:
        if st.st_size <= SMALL_FILE:
            with open(path, "rb") as file:
                line += content(name, file.read())
        else:
            line += f" {st.st_size}"
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


def zombies():
    """Those of the dead that nobody has waited for."""
    lines = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                name, _, rest = read_text(f"/proc/{pid}/stat").rpartition(") ")
                if rest[0] == "Z":
                    lines.append(name.replace(" (", " ", 1))
    return sorted(lines)


def list_interfaces(pid):
    """Their names, and the addresses of those that are up."""
    lines = read_text(f"/proc/{pid}/net/dev").splitlines()[2:]
    names = sorted(line.partition(":")[0].strip() for line in lines)
    addresses = re.findall(r"\|-- ([\d.]+)", read_text(f"/proc/{pid}/net/fib_trie"))
    return [" ".join(names), " ".join(sorted(set(addresses)))]


def list_host():
    return {
        "host file": [f"{top}/{line}" for top in ("/run", "/dev", "/tmp") for line in list_tree(top, skip=(ROOT,))],
        "host mount": read_text("/proc/self/mountinfo").splitlines(),
        "host interface": list_interfaces("self"),
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
    if LDCONFIG:
        subprocess.run([LDCONFIG, "-X", "-r", TEMPLATE], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(f"{TEMPLATE}/var", ignore_errors=True)


def copy_image(template, root):
    """`root` becomes a copy in which only the big files are shared with the image."""
    shutil.rmtree(root, ignore_errors=True)
    os.mkdir(root)
    todo = [""]
    while todo:
        directory = todo.pop()
        for entry in os.scandir(f"{template}/{directory}"):
            name = f"{directory}/{entry.name}" if directory else entry.name
            target = f"{root}/{name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), target)
            elif entry.is_dir():
                os.mkdir(target)
                todo.append(name)
            elif entry.stat().st_size <= SMALL_FILE:
                shutil.copy2(entry.path, target)
            else:
                os.link(entry.path, target)


def give_root_to(user):
    for directory, names, files in os.walk(ROOT):
        for name in (".", *names, *files):
            # The big files are shared with the image.
            if os.lstat(f"{directory}/{name}").st_nlink == 1 or name in (".", *names):
                os.lchown(f"{directory}/{name}", user, user)


def make_device(path, major, minor):
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))


def make_world(build, hook, setting, cgroups, socket_name):
    """Runs in namespaces of the worker's own, which it stays in. /run, /dev and /tmp are then no longer the machine's."""
    names = ("container", "injector", "stand-in", "vendor", "hook-alloc")
    binaries = {name: open(f"{build}/{name}", "rb").read() for name in names}
    binaries["hook"] = open(hook, "rb").read()
    library = open(f"{build}/libfaults.so.1", "rb").read()

    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)
    mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
    if setting in (READ_ONLY, PARTS) and "v1" in cgroups and "v2" in cgroups:
        # Bound and not mounted anew: a new mount would take options of the old one away from the machine.
        os.mkdir("/run/cgroup2")
        mount(cgroups["v2"]["mount"], "/run/cgroup2", flags=MS_BIND)
        umount("/sys/fs/cgroup")
        mount("/run/cgroup2", "/sys/fs/cgroup", flags=MS_MOVE)
        os.rmdir("/run/cgroup2")
        below = os.path.relpath(cgroups["v2"]["dir"], cgroups["v2"]["mount"])
        cgroups = {"v2": {"dir": os.path.normpath(f"/sys/fs/cgroup/{below}")}}
    if setting == PARTS:
        unshare(CLONE_NEWNET)
        # A directory plays the kernel's resctrl file system: few machines have one.
        os.mkdir("/run/cgroups")
        mount("/sys/fs/cgroup", "/run/cgroups", flags=MS_BIND | MS_REC)
        mount("tmpfs", "/sys/fs", "tmpfs", 0, "mode=755")
        os.mkdir("/sys/fs/cgroup")
        mount("/run/cgroups", "/sys/fs/cgroup", flags=MS_MOVE)
        os.rmdir("/run/cgroups")
        os.makedirs(f"{RESCTRL}/{CLASS}")
    mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777")
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755")

    for name, minor in (("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)):
        make_device(f"/dev/{name}", 1, minor)
    # Real drivers or not does not matter: nobody opens them.
    make_device("/dev/faults0", 10, 229)
    make_device("/dev/faults1", 10, 237)
    if setting == USERS:
        # The host's permissions decide there.
        os.chmod("/dev/faults0", 0o666)
        os.chmod("/dev/faults1", 0o666)

    config = dict(CONFIG, root={"path": "rootfs", "readonly": setting == READ_ONLY})
    for path in (HELPERS, SPECS, f"{HOST}/share", BUNDLE):
        os.makedirs(path)
    for name, data in binaries.items():
        with open(f"{HELPERS}/{name}", "wb") as file:
            file.write(data)
        os.chmod(f"{HELPERS}/{name}", 0o755)
    for path, data in (
        (f"{HOST}/libfaults.so.1", library),
        (f"{HOST}/share/data", b"data\n"),
        (f"{SPECS}/faults.json", json.dumps(spec_of(setting, socket_name)).encode()),
        (f"{BUNDLE}/config.json", json.dumps(config).encode()),
    ):
        with open(path, "wb") as file:
            file.write(data)
    make_image()
    return cgroups


class Systemd:
    """Who listens where systemd would: for each unit it keeps the list of devices that it was told."""

    def __init__(self):
        self.units = {}
        os.makedirs(UNITS)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind("/run/systemd/private")
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            # A hook that dies meanwhile hangs up.
            with connection, contextlib.suppress(OSError):
                self.talk(connection)

    @staticmethod
    def reply(serial):
        return struct.pack("<BBBBIIIBBBBI", ord("l"), 2, 1, 1, 0, 9, 8, 5, 1, ord("u"), 0, serial)

    def talk(self, connection):
        heard = b""
        while b"Ping" not in heard:
            data = connection.recv(8192)
            if not data:
                return
            heard += data
        unit = re.search(rb"[\w.-]+\.scope", heard).group().decode()
        devices = re.findall(rb"/dev/(?:char|block)/[\d:*]+", heard)
        # The first of two lists is empty: forget what there is.
        if heard.count(b"DeviceAllow") == 2:
            self.units[unit] = set()
        self.units[unit] |= {device.decode() for device in devices}
        connection.sendall(b"OK 0123456789abcdef\r\n" + self.reply(1) + self.reply(2))


class World:
    """One worker's host, its log socket, and the containers on it, one after the other."""

    def __init__(self, arguments, setting, cgroups, base, name):
        # In the abstract namespace, where no mount hides it.
        socket_name = f"{base}.{name}"
        cgroups = make_world(arguments.build, arguments.hook, setting, cgroups, socket_name)
        self.bases = {version: f"{cgroup['dir']}/{base}" for version, cgroup in cgroups.items()}
        self.name = name
        self.setting = setting
        self.number = 0
        self.log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.log.bind("/dev/log")
        self.systemd = Systemd() if setting == PARTS else None
        self.vendor = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.vendor.bind(f"\0{socket_name}")

    def drain_log(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.log.recv(65536)

    def told(self):
        """Which of the vendor's programs have said that they ran, since this was asked last."""
        words = []
        with contextlib.suppress(BlockingIOError):
            while True:
                words.append(self.vendor.recv(64).decode())
        return words


class Container:
    """A context: the container lives in it, and nothing of it is left behind."""

    def __init__(self, world):
        self.world = world

    def __enter__(self):
        world = self.world
        world.number += 1
        self.unit = f"{world.name}-{world.number}" + (".scope" if world.systemd else "")
        self.cgroups = {version: f"{base}/{self.unit}" for version, base in world.bases.items()}
        copy_image(TEMPLATE, ROOT)
        if world.setting == USERS:
            give_root_to(USERS_ROOT)
        for path in self.cgroups.values():
            os.mkdir(path)
        if world.systemd:
            self.give_parts()
        self.helper = subprocess.Popen(
            [
                f"{HELPERS}/container",
                ROOT,
                self.cgroups.get("v1", "-"),
                self.cgroups.get("v2", "-"),
                str(USERS_ROOT) if world.setting == USERS else "0",
                "own" if world.systemd else "host",
            ],
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

    def give_parts(self):
        """What the host has for this container alone."""
        ip = f"link add {INTERFACE} type veth peer name peer0\n"
        ip += f"addr add 192.0.2.7/24 dev {INTERFACE}\nlink set {INTERFACE} up\nlink set peer0 up\n"
        # The interface of the container before went with it, in the kernel's own time.
        for _ in range(1000):
            if not os.path.exists(f"/proc/self/net/dev_snmp6/{INTERFACE}") and not os.path.exists("/proc/self/net/dev_snmp6/peer0"):
                break
            time.sleep(0.01)
        subprocess.run(["ip", "-batch", "-"], input=ip.encode(), check=True)
        with open(f"{RESCTRL}/{CLASS}/tasks", "w"):
            pass
        # All that counts stands in a drop-in.
        os.mkdir(f"{UNITS}/{self.unit}.d")
        for name, text in (
            (self.unit, ""),
            (f"{self.unit}.d/50.conf", f"DevicePolicy=strict\nDeviceAllow={UNIT_DEVICE} rwm\n"),
        ):
            with open(f"{UNITS}/{name}", "w") as file:
                file.write(f"[Scope]\n{text}")
        self.world.systemd.units[self.unit] = {UNIT_DEVICE}

    def take_parts(self):
        for name in (INTERFACE, "peer0"):
            subprocess.run(["ip", "link", "del", name], stderr=subprocess.DEVNULL, check=False)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{UNITS}/{self.unit}")
        shutil.rmtree(f"{UNITS}/{self.unit}.d", ignore_errors=True)

    def list_parts(self):
        with open(f"{RESCTRL}/{CLASS}/tasks") as file:
            tasks = ["the container's" if line.strip() == str(self.pid) else line for line in file]
        return {
            "interface": list_interfaces(self.pid),
            "cache class": tasks,
            "systemd's device": sorted(self.world.systemd.units[self.unit]),
        }

    def __exit__(self, *_):
        self.helper.stdin.close()
        # A program in the container's pid namespace whose parent was killed is our child now, and that namespace ends when it
        # has been waited for.
        try:
            self.helper.wait(timeout=5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ChildProcessError):
                while self.helper.poll() is None:
                    os.waitpid(-1, 0)
        self.helper.stdout.close()
        if self.world.systemd:
            self.take_parts()
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
        self.world.told()

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
            **(self.list_parts() if self.world.systemd else {}),
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

    def as_good(line):
        return line.partition(f" {WHOLE}")[0]

    def mount_words(line):
        left, right = line.split(" - ")
        words = left.split()
        return " ".join(words[3:6] + [word.partition(":")[0] for word in words[6:]] + right.split())

    return dict(
        listing,
        **{
            "file": [as_good(line) for line in listing["file"]],
            "file below the container's mounts": [as_good(line) for line in listing["file below the container's mounts"]],
            "mount": [mount_words(line) for line in listing["mount"] if f" {ROOT}" in line],
            "device program": [word.partition(":")[2] or word for word in listing["device program"]],
        },
    )
