#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays observed results of the vendor's hook with the built-in ones.

    replay.py --hook=PROGRAM ROWS.md...  [--only=ID]...

A row says which files a root file system had, which arguments a hook got, and what was different afterwards; rows.md
beside this file shows the form. The built-in hook gets the same, at stage createContainer in a mount namespace of the
row's own. A row holds when both succeed or both fail, the same names changed in the same way, and the host's directory
was not touched. What is different on purpose has a name and a reason in differences.py; a named difference that is none
any more is a failure too.

Messages are not compared. A cache is compared by what a loader finds in it. Prints TAP, a line for each section and each
row that fails, and figures as comments. Needs root; skips with status 77 without it.
"""

import argparse
import collections
import ctypes
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

from differences import DIFFERENCES

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x20000
P1 = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n"
P0 = P1.replace("Files: 1", "Files: 0")
COMMANDS = {
    "L": "create-symlinks", "U": "update-ldcache", "C": "chmod", "K": "enable-cuda-compat",
    "P": "disable-device-node-modification", "A": "update-application-profile", "M": "apply-cuda-memory-limits",
    "S": "", "X": "",
}
# What the rows call by a short name, as shell functions.
PRELUDE = r"""
set -e
LIBS() { mkdir -p opt/ex/lib opt/ex2; cp $X/libex1.so.1.2.3 opt/ex/lib; cp $X/libex2.so.1.2.3 opt/ex2; }
CDIR() { mkdir -p usr/local/cuda-12.8/compat; ln -s cuda-12.8 usr/local/cuda; cd usr/local/cuda-12.8/compat; }
PLAIN() { CDIR; cp $X/plain libcuda.so.570.86.10; ln -s libcuda.so.570.86.10 libcuda.so.1; }
NOTE() { CDIR; cp $X/note libcuda.so.570.86.10; ln -s libcuda.so.570.86.10 libcuda.so.1; }
CPARAMS() { mkdir -p proc/driver/nvidia; printf "$P1" >proc/driver/nvidia/params; chmod 444 proc/driver/nvidia/params; }
HPARAMS() {
	mount -t tmpfs t /proc/driver; mkdir /proc/driver/nvidia
	if [ "$1" = with ]; then printf "$2"; else printf "$P1"; fi >/proc/driver/nvidia/params
}
"""


class Row:
    def __init__(self, cells, section, observed):
        self.id, self.state, self.args, self.result = cells
        self.section = section
        self.observed = observed


def cells_of(line):
    """The cells of a table's line; a | inside backticks does not end one."""
    cells, cell, quoted = [], "", False
    for c in line.strip().strip("|"):
        quoted ^= c == "`"
        if c == "|" and not quoted:
            cells.append(cell.strip())
            cell = ""
        else:
            cell += c
    return cells + [cell.strip()]


def rows_of(path):
    section = None
    observed = pathlib.Path(path).name != "rows.md"  # at the vendor's program; the other file says what ours does
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("## "):
            section = line[3:].split(" (")[0]
        elif re.match(r"\| [A-Z]\d\d \|", line):
            cells = cells_of(line)
            if len(cells) == 4:
                yield Row(cells, section, observed)
            else:
                yield Row([cells[0], "", "", cells[-1]], section, observed)


def parts_of(text):
    """What is separated by ; outside of backticks and quotes."""
    return [p.strip() for p in re.findall(r"""(?:`[^`]*`|"(?:[^"\\]|\\.)*"|\([^()]*\)|[^;`"])+""", text) if p.strip()]


class State:
    """The cell about the initial state, taken apart."""

    def __init__(self, text):
        self.shell, self.then, self.umask, self.runs, self.env = [], [], 0o022, 1, []
        self.stdin = self.config = self.why = None
        self.mount_point = True
        for part in parts_of(text):
            code = re.search(r"`(.*)`", part)
            code = code[1] if code else ""
            if part == "base":
                continue
            if part.startswith("`<R>` not a mount point"):
                self.mount_point = False
            elif part.startswith("`"):
                self.shell.append(code)
            elif part.startswith("then"):
                self.then.append(code)
            elif part.startswith("umask"):
                self.umask = int(part.split()[1], 8)
            elif part == "run twice":
                self.runs = 2
            elif part.startswith("stdin:"):
                self.stdin = code
            elif part.startswith("config.json:"):
                self.config = code if code else "absent"
            elif part.startswith("process.env"):
                self.env = json.loads(part.split(" ", 1)[1])
            elif part.startswith(("env ", "cwd ")):
                pass  # neither reaches what is built in
            else:
                self.why = "not understood: " + part


def shell(code):
    code = re.sub(r'HPARAMS with (P0|"[^"]*")', lambda m: "HPARAMS with " + ("\"$P0\"" if m[1] == "P0" else m[1]), code)
    return code


class World:
    """Files that all rows share."""

    def __init__(self, top):
        self.top = pathlib.Path(top)
        self.base = self.top / "base"
        self.files = self.top / "files"
        self.host = self.top / "host"
        for directory in (self.base, self.files, self.host):
            directory.mkdir()
        self.make_base()
        self.make_files()

    def make_base(self):
        for name in ("usr/bin usr/sbin usr/lib/x86_64-linux-gnu usr/lib64 etc/ld.so.conf.d proc sys dev run tmp var "
                     "root").split():
            (self.base / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.base / name).symlink_to("usr/" + name)
        (self.base / "var/run").symlink_to("../run")
        self.copy("/bin/busybox", "usr/bin/busybox")
        for name in ("libc.so.6", "libm.so.6", "libdl.so.2"):
            self.copy("/lib/x86_64-linux-gnu/" + name, "usr/lib/x86_64-linux-gnu/" + name)
        self.copy("/lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2")
        self.copy("/sbin/ldconfig", "usr/sbin/ldconfig")
        etc = self.base / "etc"
        (etc / "debian_version").write_text("12.0\n")
        (etc / "ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
        (etc / "ld.so.conf.d/libc.conf").write_text("/usr/local/lib\n")
        (etc / "ld.so.conf.d/x86_64-linux-gnu.conf").write_text(
            "/usr/local/lib/x86_64-linux-gnu\n/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n")

    def copy(self, source, name):
        shutil.copy(source, self.base / name)

    def compile(self, name, *options, text="int x;\n"):
        subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", *options, "-o", str(self.files / name), "-x", "c", "-"],
                       input=text.encode(), check=True)

    def make_files(self):
        for n in ("1", "2"):
            self.compile("libex%s.so.1.2.3" % n, "-Wl,-soname,libex%s.so.1" % n)
        self.compile("plain", "-Wl,-soname,libcuda.so.1")
        good = '{"Format":1,"CUDA Version":"12.8","Driver":[535,550],"Device":[1,2]}'
        for name, vendor, text in (
                ("note", "NVIDIA Corporation", good), ("badjson", "NVIDIA Corporation", '{"Format":1,'),
                ("othername", "ACME", good), ("nodrv", "NVIDIA Corporation", '{"Format":1,"CUDA Version":"12.8"}'),
                ("badcuda", "NVIDIA Corporation", '{"Format":1,"CUDA Version":"x","Driver":[535]}')):
            quoted = text.replace("\\", "\\\\").replace('"', '\\\\\\"')
            self.compile(name, "-Wl,-soname,libcuda.so.1", text=(
                'int x;\n__asm__(".section .note.cuda.fwd_compatibility,\\"\\",@note\\n.align 4\\n.long %d, %d, 1\\n'
                '.asciz \\"%s\\"\\n.align 4\\n.asciz \\"%s\\"\\n.align 4\\n.text\\n");\n'
                % (len(vendor) + 1, len(text) + 1, vendor, quoted)))


# ---------------------------------------------------------------------------------------------
# What a tree is, and what changed in it

def snapshot(root):
    tree = {}
    for directory, names, files in os.walk(root):
        for name in list(names) + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            mode = "%04o" % stat.S_IMODE(st.st_mode)
            if stat.S_ISLNK(st.st_mode):
                what = "link -> " + os.readlink(path)
            elif stat.S_ISDIR(st.st_mode):
                what = "dir " + mode
            elif stat.S_ISREG(st.st_mode):
                data = pathlib.Path(path).read_bytes() if st.st_size < 4096 else b"large"
                what = "file %s %s" % (mode, json.dumps(data.decode("latin-1")))
            else:
                what = "other %o" % st.st_mode
            tree[path[len(str(root)):]] = what
        # Neither links nor a procfs, which changes by itself, nor a sysfs.
        names[:] = [n for n in names if not os.path.islink(os.path.join(directory, n)) and
                    not os.path.exists(os.path.join(directory, n, "kernel" if n == "sys" else "self"))]
    return tree


def changes(before, after):
    found = set()
    for path in before.keys() | after.keys():
        if before.get(path) == after.get(path):
            continue
        if path not in after:
            found.add("- %s" % path)
        else:
            found.add("%s %s %s" % ("~" if path in before else "+", path, after[path]))
    return found


def cache_of(path):
    """What the first entry for each libex is."""
    text = subprocess.run(["/sbin/ldconfig", "-p", "-C", str(path)], capture_output=True, text=True, check=False).stdout
    found = {}
    for name, target in re.findall(r"^\t(libex\S+) \([^)]*\) => (\S+)$", text, re.M):
        found.setdefault(name, target)
    return found


# ---------------------------------------------------------------------------------------------
# What a row expects

PROFILE = ('{"profiles":[{"name":"_container_","settings":["EGLVisibleDGPUDevices",%s]}],'
           '"rules":[{"pattern":[],"profile":"_container_"}]}')
RC_DIR = "/etc/nvidia/nvidia-application-profiles-rc.d"


class Expected:
    def __init__(self, text, environment):
        text = re.sub(r"\$(H)\b", lambda m: environment[m[1]], text)
        self.ok, self.changes, self.cache, self.compat, self.masked = None, set(), {}, None, False
        for part in parts_of(text.replace("run 1: ", "").replace("run 2: ", "; ")):
            self.add(part)

    def add(self, part):
        if part.startswith("rc ") or part == "hangs":
            self.ok = part == "rc 0"
        elif re.match(r"[+~-] `", part) and "00-compat-" in part:
            self.compat = json.loads(re.search(r'"(?:[^"\\]|\\.)*"', part)[0]).strip()
        elif re.match(r"[+~-] `", part):
            self.change(part)
        elif part == "COMPAT":
            self.compat = "/usr/local/cuda-12.8/compat"
        elif part == "MASKED":
            self.masked = True
        elif part.startswith("NEWPROFILE"):
            self.changes |= {"+ /etc/nvidia dir 0555", "+ %s dir 0555" % RC_DIR,
                             "+ %s/10-container.conf file 0444 %s" % (RC_DIR, json.dumps(PROFILE % part[11:-1]))}
        elif part.startswith(("STD(", "HASEX1")):
            self.cache["libex1.so.1"] = "/opt/ex/lib/libex1.so.1"
        for name, target in re.findall(r"(libex\d\.so(?:\.1)?) => (/\S+?)(?:,|$)", part):
            self.cache.setdefault(name, target)

    def change(self, part):
        sign, path, what = re.match(r"([+~-]) `([^`]*)` ?(.*)", part).groups()
        path = re.sub(r"\{(\d+)\}", "", path) if "{" not in path else re.sub(
            r"(.)\{(\d+)\}", lambda m: m[1] * int(m[2]), path)
        what = re.sub(r" \(was .*\)$", "", what)
        profile = re.search(r'"PROFILE\((\w+)\)"', what)
        if profile:
            what = what.replace(profile[0], json.dumps(PROFILE % profile[1]))
        if what.endswith((" P0", " P1")):
            what = what[:-2] + json.dumps(P0 if what.endswith("0") else P1)
        self.changes.add("%s %s %s" % (sign, path, what) if sign != "-" else "- " + path)


# ---------------------------------------------------------------------------------------------
# One row

def unshare():
    if LIBC.unshare(CLONE_NEWNS) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def arguments(row):
    text = "" if row.args in ("–", "-") else re.sub(r"^`|`$", "", row.args)
    text = re.sub(r"(\w)\{(\d+)\}", lambda m: m[1] * int(m[2]), text)
    words = shlex.split(text)
    command = COMMANDS[row.id[0]]
    return ["nvidia-cdi-hook"] + ([command] if command else []) + words


def spec_of(row, environment):
    args = [re.sub(r"\$(\w+)", lambda m: environment.get(m[1], m[0]), word) for word in arguments(row)]
    hooks = [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": args}]
    if row.id[0] == "K":
        # Ours only tells the library cache.
        hooks.append({"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook",
                      "args": ["nvidia-cdi-hook", "update-ldcache"]})
    return {"cdiVersion": "0.6.0", "kind": "vendor.example/d",
            "devices": [{"name": "d", "containerEdits": {"hooks": hooks}}]}


class Run:
    """In a process of its own, which is in the row's namespace."""

    def __init__(self, world, row, hook):
        self.world, self.row, self.hook = world, row, hook
        self.bundle = world.top / "rows" / row.id
        self.root = self.bundle / "rootfs"
        self.state = State(row.state)
        root, host = str(self.root), str(world.host)
        self.environment = {"R": root, "B": str(self.bundle), "H": host, "X": str(world.files), "P1": P1, "P0": P0,
                            "Hrel": os.path.relpath(host, os.path.normpath(root + "/../../..")),
                            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    def shell(self, code):
        subprocess.run(["bash", "-c", PRELUDE + shell(code)], cwd=self.root, env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)

    def prepare(self):
        self.bundle.mkdir(parents=True)
        subprocess.run(["cp", "-a", str(self.world.base), str(self.root)], check=True)
        if self.state.mount_point:
            subprocess.run(["mount", "--bind", str(self.root), str(self.root)], check=True)
        # An image has a cache: none is made for the first time where no library was mounted.
        if self.row.id[0] in "UKX" and "etc/ld.so.cache" not in self.row.state:
            subprocess.run(["/sbin/ldconfig", "-X", "-r", str(self.root), "-C", "/etc/ld.so.cache"], check=True)
        for code in self.state.shell:
            self.shell(code)
        config = {"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {"env": self.state.env},
                  "linux": {"namespaces": [{"type": "mount"}]}}
        text = json.dumps(config) if self.state.config is None else self.fill(self.state.config)
        if text != "absent":
            (self.bundle / "config.json").write_text(text)
        (self.bundle / "cdi").mkdir()
        (self.bundle / "cdi/d.json").write_text(json.dumps(spec_of(self.row, self.environment)))
        for code in self.state.then:
            self.shell(code)

    def fill(self, text):
        return re.sub(r"\$(\w)", lambda m: self.environment[m[1]], text).replace("../st32/", "../%s/" % self.row.id)

    def run_hook(self):
        annotations = {"cdi.k8s.io/d": "vendor.example/d=d"}
        state = {"ociVersion": "1.0.2", "id": "x", "status": "creating", "pid": 1, "bundle": str(self.bundle),
                 "annotations": annotations}
        text = json.dumps(state)
        if self.state.stdin is not None:
            # With what every runtime sends, so that the row is about what it says.
            text = self.fill(self.state.stdin)
            more = {k: v for k, v in state.items() if k != "bundle" and '"%s"' % k not in text}
            text = re.sub(r"^\{(?=\S)", lambda m: json.dumps(more)[:-1] + ("," if text != "{}" else ""), text)
        command = [self.hook, "--spec-dir=%s/cdi" % self.bundle, "--allow=vendor.example/*", "--no-cgroup",
                   "--timeout=10", "createContainer"]
        try:
            return subprocess.run(command, input=text.encode(), cwd=self.root, umask=self.state.umask, timeout=20,
                                  capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, b"", b"it hangs")

    def play(self):
        host_before = snapshot(self.world.host)
        self.prepare()
        host = snapshot(self.world.host)
        before = snapshot(self.root)
        self.before_cache = cache_of(self.root / "etc/ld.so.cache")
        for _ in range(self.state.runs):
            result = self.run_hook()
        outcome = {"ok": result.returncode == 0, "status": result.returncode,
                   "said": result.stderr.decode("utf-8", "replace")[-600:],
                   "changes": sorted(changes(before, snapshot(self.root))),
                   "cache": cache_of(self.root / "etc/ld.so.cache"),
                   "host": sorted(changes(host, snapshot(self.world.host)))}
        del host_before
        return outcome


def play(world, row, hook):
    """The outcome, from a child that lives in a namespace of its own."""
    for entry in os.scandir(world.host):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            unshare()
            answer = Run(world, row, hook).play()
        except Exception as error:  # pylint: disable=broad-except
            answer = {"failed": repr(error)}
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        answer = json.load(stream)
    os.waitpid(pid, 0)
    if not world.host.is_dir():
        if world.host.exists():
            world.host.unlink()
        world.host.mkdir()
    shutil.rmtree(world.top / "rows" / row.id, ignore_errors=True)
    return answer


OWN_CONF = "/etc/ld.so.conf.d/00-oci-cdi-hook.conf"


def compare(row, expected, answer):
    """What is different, in words; an empty list when the row holds."""
    wrong = []
    ours = set(answer["changes"])
    if answer["host"]:
        wrong.append("the host changed: %s" % answer["host"])
    if expected.ok != answer["ok"]:
        wrong.append("%s, expected %s" % ("succeeds" if answer["ok"] else "fails", "success" if expected.ok else "failure"))
    if row.id[0] == "U" or "update-ldcache" in row.args:
        for name, path in expected.cache.items():
            theirs, own = os.path.basename(path), answer["cache"].get(name)
            if own is None or os.path.dirname(own) != os.path.dirname(path):
                wrong.append("%s is %s, expected %s (%s)" % (name, own, path, theirs))
        return wrong
    if row.id[0] == "K":
        used = [re.sub(r'^.*\.\\n|^[^/]*file \d+ "#[^/]*\\n', "", c) for c in ours if OWN_CONF in c]
        used = [line for c in used for line in c.replace('"', "").split("\\n") if line.startswith("/")]
        if (expected.compat or "") != (used[0] if used else ""):
            wrong.append("in front: %s, expected %s" % (used, expected.compat))
        return wrong
    if expected.masked:
        expected.changes.add("~ /proc/driver/nvidia/params file 0444 %s" % json.dumps(P0))
    # Directories made for a profile are as all others are.
    ours = {c.rstrip() for c in ours}
    theirs = {re.sub(r"( /etc/nvidia\S*|-rc\.d) dir 0555$", r"\1 dir 0755", c) for c in expected.changes}
    for change in sorted(theirs - ours):
        wrong.append("not: " + change)
    for change in sorted(ours - theirs):
        wrong.append("also: " + change)
    return wrong


def difference_of(row):
    for difference in DIFFERENCES:
        if row.id in difference["rows"].split():
            return difference
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hook", required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return 77
    if os.uname().machine != "x86_64":
        print("1..0 # SKIP the rows are of x86_64")
        return 77
    top = tempfile.mkdtemp(prefix="oci-cdi-hook-rows-", dir="/run")
    os.chmod(top, 0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755,dev", "rows", top], check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        return play_all(World(top), os.path.abspath(options.hook), options)
    finally:
        subprocess.run(["umount", "-l", top], check=True)
        os.rmdir(top)


def judge(world, row, hook):
    """holds, differs (with the name) or fails, and why."""
    difference = difference_of(row) if row.observed else None
    if difference and difference.get("told"):
        return "differs", difference["name"], []
    state = State(row.state)
    if state.why:
        return "fails", "", [state.why]
    answer = play(world, row, hook)
    if "failed" in answer:
        return "fails", "", ["the row cannot be played: " + answer["failed"]]
    wrong = compare(row, Expected(row.result, {"H": str(world.host)}), answer)
    if not wrong:
        if difference:
            return "fails", "", ["it holds, and is named as a difference: " + difference["name"]]
        return "holds", "", []
    if answer["host"] or not difference:
        return "fails", "", wrong + [answer["said"]]
    return "differs", difference["name"], wrong


def play_all(world, hook, options):
    rows = [row for path in options.files for row in rows_of(path)]
    rows = [row for row in rows if not options.only or row.id in options.only]
    counts, named, sections = collections.Counter(), collections.Counter(), collections.OrderedDict()
    for row in rows:
        result, name, wrong = judge(world, row, hook)
        counts[result] += 1
        named[name] += result == "differs"
        sections.setdefault(row.section, collections.Counter())[result] += 1
        if result == "fails" or options.only:
            print("# %s %s: %s" % (row.id, result, "\n#   ".join(wrong)), flush=True)
    print("1..%d" % len(sections))
    for number, (section, results) in enumerate(sections.items(), 1):
        print("%s %d - %s: %d rows hold, %d are named differences" % (
            "not ok" if results["fails"] else "ok", number, section, results["holds"], results["differs"]))
    print("# %d rows: %d hold, %d are named differences, %d fail" % (
        len(rows), counts["holds"], counts["differs"], counts["fails"]))
    for difference in DIFFERENCES:
        if named[difference["name"]]:
            print("# %4d: %s" % (named[difference["name"]], difference["name"]))
    return 1 if counts["fails"] else 0


sys.exit(main())
