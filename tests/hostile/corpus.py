# SPDX-License-Identifier: Apache-2.0
"""The corpus: what is hostile about a root file system, at which of the paths that a request touches.

A case is a role and a kind. The role is one path of the image that the request passes through or ends at; the kind is
what stands there in place of what is due. Whatever can lead out of the root leads to GUARD/ROLE, which is there, and of
the kind that is due: a hook that follows it finds all it needs, and leaves a trace.
"""

import os
import shutil
import socket
import stat

WORLD = "/run/hostile"
HOST = f"{WORLD}/host"  # what the request mounts
GUARD = f"{WORLD}/guard"  # what must never change
SHARED = f"{WORLD}/shared"  # the same, on a mount that is shared with the container
BUNDLE = f"{WORLD}/bundle"
ROOT = f"{BUNDLE}/rootfs"

# The request. Each path has a directory of its own, so that a role spoils one of them alone.
NODE = "/srv/nodes/node0"
DEV_NODE = "/dev/hostile0"
FILE = "/opt/lib/libhostile.so.1"
DIRECTORY = "/opt/share/data"
SOCKET = "/opt/run/socket"
SCRATCH = "/opt/scratch/tmpfs"
LINK = "/usr/lib/links/libhostile.so"
LINK_TARGET = "libhostile.so.1"
MODES = "/srv/modes/directory"
COMPAT = "/usr/local/cuda/compat"
PROFILE = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf"

MAJOR, MINOR = 10, 229  # no matter whether there is a driver: nobody waits for it
NODE_MODE, DIRECTORY_MODE = 0o640, 0o751


def vendor_hook(*args):
    return {"hookName": "createContainer", "path": f"{HOST}/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", *args]}


def bind(source, path, *options):
    return {"hostPath": f"{HOST}/{source}", "containerPath": path, "options": ["bind", "nosuid", *options]}


SPEC = {
    "cdiVersion": "0.6.0",
    "kind": "example.com/hostile",
    "devices": [
        {
            "name": "all",
            "containerEdits": {
                "deviceNodes": [
                    {"path": path, "hostPath": "/dev/hostile0", "fileMode": NODE_MODE} for path in (NODE, DEV_NODE)
                ],
                "mounts": [
                    bind("libhostile.so.1", FILE, "ro"),
                    bind("share", DIRECTORY, "ro"),
                    bind("socket", SOCKET),
                    {"hostPath": "tmpfs", "containerPath": SCRATCH, "type": "tmpfs", "options": ["size=64k"]},
                ],
                "hooks": [
                    vendor_hook("create-symlinks", "--link", f"{LINK_TARGET}::{LINK}"),
                    vendor_hook("chmod", "--mode", f"{DIRECTORY_MODE:o}", "--path", MODES),
                    vendor_hook("enable-cuda-compat", "--host-driver-version=500.10.01"),
                    vendor_hook("disable-device-node-modification"),
                    vendor_hook("update-application-profile"),
                    vendor_hook("create-soname-symlinks", "--folder", os.path.dirname(FILE)),
                    vendor_hook("update-ldcache", "--folder", os.path.dirname(FILE)),
                ],
            },
        }
    ],
}
DEVICE = "example.com/hostile=all"

# role: its path, and what is due there. "nothing" is made by the hook, and may be there already as the word behind says.
ROLES = {
    "node": (NODE, "nothing", "file"),
    "node-parent": ("/srv/nodes", "dir", "dir"),
    "srv": ("/srv", "dir", "dir"),
    "dev": ("/dev", "dir", "dir"),
    "dev-node": (DEV_NODE, "nothing", "file"),
    "file": (FILE, "nothing", "file"),
    "file-parent": ("/opt/lib", "dir", "dir"),
    "directory": (DIRECTORY, "nothing", "dir"),
    "directory-parent": ("/opt/share", "nothing", "dir"),
    "socket": (SOCKET, "nothing", "file"),
    "scratch": (SCRATCH, "nothing", "dir"),
    "opt": ("/opt", "dir", "dir"),
    "link": (LINK, "nothing", "file"),
    "link-parent": ("/usr/lib/links", "dir", "dir"),
    "modes": (MODES, "dir", "dir"),
    "etc": ("/etc", "dir", "dir"),
    "conf": ("/etc/ld.so.conf", "file", "file"),
    "conf-include": ("/etc/ld.so.conf.d/image.conf", "file", "file"),
    "conf-directory": ("/etc/ld.so.conf.d", "dir", "dir"),
    "own-conf": ("/etc/ld.so.conf.d/00-oci-cdi-hook.conf", "nothing", "file"),
    "cache": ("/etc/ld.so.cache", "file", "file"),
    "aux-cache": ("/var/cache/ldconfig/aux-cache", "file", "file"),
    "lib": ("/lib", "dir", "dir"),
    "usr-lib": ("/usr/lib", "dir", "dir"),
    "proc": ("/proc", "dir", "dir"),
    "compat": (COMPAT, "dir", "dir"),
    "profile-parent": ("/etc/nvidia", "nothing", "dir"),
}

# ---------------------------------------------------------------------------------------------
# Kinds


def make_due(path, due):
    """What is due, with some content that must stay."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if due == "dir":
        os.makedirs(path, exist_ok=True)
        with open(f"{path}/kept", "w") as file:
            file.write("kept\n")
    else:
        with open(path, "w") as file:
            file.write("kept\n")


def take_away(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


class Place:
    """Where a kind goes: `path` in the image (with the root in front), and what is due there."""

    def __init__(self, role):
        self.role = role
        self.inner, self.due, self.shape = ROLES[role]
        self.path = ROOT + self.inner
        self.guard = f"{GUARD}/{role}"
        self.mounts = []  # for a runtime's config.json, or the runner's own hands: (source, options)
        self.overlay = False
        self.hard_link = False  # the guard's file has another name in the image

    def link(self, text):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        take_away(self.path)
        os.symlink(text, self.path)

    def node(self, mode, device=0):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        take_away(self.path)
        os.mknod(self.path, mode | 0o666, device)

    def wants_dev(self):
        """A tmpfs is to be on /dev. It would hide what a role has there."""
        return self.role not in ("dev", "dev-node")

    def wants_proc(self):
        return self.role != "proc"

    def there(self):
        """What is due is there, if it is not."""
        if not os.path.lexists(self.path):
            make_due(self.path, self.shape)


def up(path):
    """As a relative link from anywhere: above the root there is only the root."""
    return "../" * 24 + path.lstrip("/")


def link_abs_both(place):
    make_due(ROOT + place.guard, place.shape)
    place.link(place.guard)


def link_chain(place):
    os.symlink("/chain2", f"{ROOT}/chain1")
    os.symlink("../../chain3", f"{ROOT}/chain2")
    os.symlink(up(place.guard), f"{ROOT}/chain3")
    place.link("/chain1")


def link_loop(place):
    os.symlink(place.inner, f"{ROOT}/loop")
    place.link("/loop")


def link_deep(place):
    """".." behind a component that is a link itself."""
    os.symlink("/", f"{ROOT}/deep")
    place.link("/deep/" + up(place.guard))


def link_odd(place):
    place.link("/\x1b[31m\n%n%s /" + "x" * 255)


def unix_socket(place):
    place.there()
    take_away(place.path)
    with socket.socket(socket.AF_UNIX) as server:
        # Its name has 108 bytes at most.
        here = os.open(os.path.dirname(place.path), os.O_PATH)
        server.bind(f"/proc/self/fd/{here}/{os.path.basename(place.path)}")
        os.close(here)


def sparse(place):
    place.there()
    take_away(place.path)
    with open(place.path, "w") as file:
        file.truncate(1 << 40)


def other_type(place):
    place.there()
    take_away(place.path)
    make_due(place.path, "file" if place.shape == "dir" else "dir")


def foreign(place):
    """A file is a hard link to the guard's, a directory belongs to somebody else and all may write to it."""
    place.there()
    if place.shape == "dir":
        os.chown(place.path, 1000, 1000)
        os.chmod(place.path, 0o1777)
    else:
        take_away(place.path)
        os.link(place.guard, place.path)
        place.hard_link = True


def closed(place):
    place.there()
    os.chmod(place.path, 0)


def mount_kind(source, *options):
    def apply(place):
        place.there()
        place.mounts.append((source(place), options))

    return apply


def mount_overlay(place):
    place.there()
    place.overlay = True


KINDS = {
    "nothing": lambda place: None,
    "link-absolute": lambda place: place.link(place.guard),
    "link-absolute-both": link_abs_both,
    "link-relative": lambda place: place.link(up(place.guard)),
    "link-chain": link_chain,
    "link-loop": link_loop,
    "link-dangling": lambda place: place.link("/nowhere/at/all"),
    "link-new": lambda place: place.link(f"{GUARD}/empty/{place.role}"),
    "link-root": lambda place: place.link("/"),
    "link-dotdot": lambda place: place.link(".."),
    "link-deep": link_deep,
    "link-slash": lambda place: place.link(place.guard + "/"),
    "link-odd": link_odd,
    "link-long": lambda place: place.link("/." * 2000 + place.guard),
    "magic-root": lambda place: place.link("/proc/1/root" + place.guard),
    "magic-self-root": lambda place: place.link("/proc/self/root" + place.guard),
    "magic-cwd": lambda place: place.link("/proc/thread-self/cwd"),
    "magic-fd": lambda place: place.link("/proc/self/fd/5"),
    "fifo": lambda place: place.node(stat.S_IFIFO),
    "device": lambda place: place.node(stat.S_IFCHR, os.makedev(MAJOR, MINOR + 1)),
    "block-device": lambda place: place.node(stat.S_IFBLK, os.makedev(MAJOR, MINOR)),
    "zero-device": lambda place: place.node(stat.S_IFCHR, os.makedev(1, 5)),
    "socket": unix_socket,
    "sparse": sparse,
    "other-type": other_type,
    "foreign": foreign,
    "closed": closed,
    "mount-host": mount_kind(lambda place: place.guard, "rw"),
    "mount-read-only": mount_kind(lambda place: place.path, "ro"),
    "mount-shared": mount_kind(lambda place: f"{SHARED}/{place.role}", "rw", "rshared"),
    "mount-tmpfs": mount_kind(lambda place: "tmpfs" if place.shape == "dir" else "tmpfs-file", "rw"),
    "mount-overlay": mount_overlay,
}
MOUNT_KINDS = ("mount-host", "mount-read-only", "mount-shared", "mount-tmpfs", "mount-overlay")


def promises(host):
    """What inside.c is to find when the hook said that all is done. `host` is what stat says of the request's sources."""

    def same(path, name, flag):
        st = host[name]
        return f"same:{path}:{st.st_dev}:{st.st_ino}:{flag}"

    return [
        f"node:{NODE}:{MAJOR}:{MINOR}:{NODE_MODE:o}",
        f"node:{DEV_NODE}:{MAJOR}:{MINOR}:{NODE_MODE:o}",
        same(FILE, "libhostile.so.1", "ro"),
        same(DIRECTORY, "share", "ro"),
        same(SOCKET, "socket", "rw"),
        f"tmpfs:{SCRATCH}",
        f"link:{LINK}:{LINK_TARGET}",
        f"mode:{MODES}:{DIRECTORY_MODE:o}",
        f"cache:libhostile.so.1:{FILE}",
    ]


def pairwise(stages, runners):
    """Cases in which each two of role, kind, stage and runner meet. Each role meets each kind once, which no smaller set can do."""
    cases = []
    for r, role in enumerate(ROLES):
        for k, kind in enumerate(KINDS):
            cases.append((role, kind, stages[(r + k) % len(stages)], runners[(r + 2 * k) % len(runners)]))
    return cases


def uncovered(cases, stages, runners):
    """Pairs of values that no case has."""
    columns = [list(ROLES), list(KINDS), list(stages), list(runners)]
    missing = []
    for i in range(4):
        for j in range(i + 1, 4):
            seen = {(case[i], case[j]) for case in cases}
            missing += [(a, b) for a in columns[i] for b in columns[j] if (a, b) not in seen]
    return missing
