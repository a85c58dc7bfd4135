#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the reference library beside this project's own code and compares what they make of the same cases.

    reference.py --build=DIR [--cases=2000] [--seed=N] [--specs=DIR] [--only=N]

--build   a build directory of meson, which has this project's side (tests/reference/reference-peer)
--cases   how many random ones
--seed    of the random cases; printed, so that a run can be repeated
--specs   a directory of spec files (also $REFERENCE_SPECS): each goes through both, and damaged copies
          of each do. May be given several times.
--only    nothing but this random case, with both answers

The other side is a Go program, reference.go, which is built here. Without Go, or where its modules
cannot be had, everything is skipped with exit status 77. Needs root: host nodes are made with mknod,
and both sides run in a chroot below a scratch directory.

Prints TAP: changes that the comparison has to see; the named differences (differences.py), each with
the case that shows that it is still needed; the spec files of tests/data and the given ones; the
random cases in groups; and the figures as comments.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import select
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import generate
from compare import Judge, Unexplained
from differences import DIFFERENCES

HERE = pathlib.Path(__file__).resolve().parent
GROUP = 500  # random cases for one line of TAP
RICH = """
cdiVersion: 1.1.0
kind: v/c
annotations: {x: "1"}
devices:
- name: d
  containerEdits:
    env: [FOO=1]
    deviceNodes: [{path: /dev/c0}, {path: /dev/b0}]
    mounts: [{hostPath: /opt, containerPath: /a, options: [ro, bind]}, {hostPath: /x, containerPath: /b, options: [bind]}]
    hooks: [{hookName: prestart, path: /a, env: [A=1]}, {hookName: prestart, path: /b}]
    additionalGids: [5]
    netDevices: [{hostInterfaceName: eth0, name: net0}]
    intelRdt: {closID: c1}
- {name: e, containerEdits: {env: [BAR=1]}}
"""
SHOWN = 20  # unexplained cases that are shown in full
ANSWER_SECONDS = 60
SPEC_DIRS = ["/etc/cdi", "/run/cdi", "/opt/cdi"]


class Skip(Exception):
    pass


def go_build(into):
    """The reference's side."""
    if not shutil.which("go"):
        raise Skip("Go is not installed")
    environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=mod")
    caches = pathlib.Path(os.environ.get("REFERENCE_GO_CACHE", "/var/cache/oci-cdi-hook-tests/go"))
    environment.setdefault("GOCACHE", str(caches / "build"))
    environment.setdefault("GOMODCACHE", str(caches / "mod"))
    # A copy: Go may write to go.mod and go.sum, and never to the tree.
    source = into / "go"
    source.mkdir()
    for name in ("go.mod", "go.sum", "reference.go"):
        shutil.copy(HERE / name, source)
    command = ["go", "build", "-o", str(into / "reference"), "."]
    result = subprocess.run(command, cwd=source, env=environment, stderr=subprocess.PIPE, text=True)
    if result.returncode == 0:
        return str(into / "reference")
    words = result.stderr.strip().splitlines() or ["go build failed"]
    if any(word in result.stderr for word in ("dial tcp", "proxyconnect", "no such host", "module lookup disabled",
                                              "404 Not Found", "502 Bad Gateway", "toolchain not available")):
        raise Skip("the reference library cannot be had: " + words[-1])
    raise SystemExit("go build: " + result.stderr)


class Peer:
    """One of the two: a line in, a line out."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.process = None

    def send(self, line):
        if not self.process:
            self.process = subprocess.Popen([self.program, self.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() tells

    def receive(self):
        ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_SECONDS)
        line = self.process.stdout.readline() if ready else b""
        if line.endswith(b"\n"):
            return json.loads(line.decode("utf-8", "replace"))
        status = self.stop()
        raise Unexplained("%s: %s" % (self.program, "ended with status %s" % status if ready else "no answer"))

    def stop(self):
        if not self.process:
            return None
        process, self.process = self.process, None
        process.stdin.close()
        process.stdout.close()
        try:
            return process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


class World:
    """The scratch directory, which is "/" to both peers, and the peers."""

    def __init__(self, root, reference, ours):
        self.root = str(root)
        self.peers = [Peer(reference, self.root), Peer(ours, self.root)]
        self.asked = 0
        for directory in SPEC_DIRS + ["/dev/sub", "/usr/lib", "/opt"]:
            os.makedirs(self.root + directory, exist_ok=True)
        try:
            for node in generate.HOST_NODES:
                self.make_node(*node)
        except PermissionError as error:
            raise Skip("device nodes cannot be made here: %s" % error) from error
        for path, target in generate.HOST_LINKS:
            os.symlink(target, self.root + path)
        for path in generate.HOST_FILES:
            pathlib.Path(self.root + path).touch()
        os.symlink("/run/cdi", self.root + "/link")

    def make_node(self, path, kind, major, minor, mode):
        file_type = {"c": stat.S_IFCHR, "b": stat.S_IFBLK, "p": stat.S_IFIFO}[kind]
        os.mknod(self.root + path, mode | file_type, os.makedev(major, minor))
        os.chmod(self.root + path, mode)

    def real_path(self, path):
        """What a directory is when links are followed, or None."""
        path = os.path.normpath(path)
        path = "/run/cdi" if path == "/link" else path
        return path if os.path.isdir(self.root + path) else None

    def key(self, path):
        """As the case has the path of a file that was answered about."""
        return path.replace("/link/", "/run/cdi/", 1) if path.startswith("/link/") else path

    def drop(self, files, path):
        """Takes a file out of a case's."""
        del files[self.key(path)]

    def content(self, files, path):
        """What a file holds; nothing for a link."""
        content = files[self.key(path)]
        return content if isinstance(content, bytes) else b""

    def ask(self, case):
        """Both answers to a case: files are either bytes or "LINK:target"."""
        for path, content in case["files"].items():
            if isinstance(content, str) and content.startswith("LINK:"):
                os.symlink(content[5:], self.root + path)
            elif content == "DIRECTORY":
                os.mkdir(self.root + path)
            else:
                with open(self.root + path, "wb") as file:
                    file.write(content)
        line = json.dumps({key: case[key] for key in ("dirs", "annotation", "config")}).encode() + b"\n"
        try:
            for peer in self.peers:
                peer.send(line)
            answers = [peer.receive() for peer in self.peers]
            if "edited" in answers[1]:
                # As the reference's structures have it: those leave out what is empty.
                self.peers[0].send(json.dumps({"normalise": answers[1]["edited"]}).encode() + b"\n")
                answers[1]["edited"] = self.peers[0].receive()["config"]
        except Unexplained:
            self.close()  # an answer may still be on its way
            raise
        finally:
            for path, content in case["files"].items():
                if content == "DIRECTORY":
                    os.rmdir(self.root + path)
                else:
                    os.unlink(self.root + path)
        self.asked += 1
        return answers

    def close(self):
        for peer in self.peers:
            peer.stop()


def is_unexplained(judge, case):
    try:
        judge.judge(case)
    except Unexplained as problem:
        return str(problem)
    return None


def shrink(judge, case, problem):
    """The case with less in it, as long as the same sort of thing is unexplained."""
    kind = re.split(r" (?:on|of) ", problem)[0].split("\n")[0]

    def smaller_ones():
        for path in case["files"]:
            yield dict(case, files={p: content for p, content in case["files"].items() if p != path})
        for name in case["annotation"].split(","):
            rest = [other for other in case["annotation"].split(",") if other != name]
            if rest:
                yield dict(case, annotation=",".join(rest))
        for key in set(case["config"]) - {"root"}:
            yield dict(case, config={k: value for k, value in case["config"].items() if k != key})
        for path, content in case["files"].items():
            if not isinstance(content, bytes):
                continue
            lines = content.split(b"\n")
            for size in (8, 3, 1):
                for at in range(0, len(lines), size):
                    rest = b"\n".join(lines[:at] + lines[at + size:])
                    if rest != content:
                        yield dict(case, files=dict(case["files"], **{path: rest}))

    deadline = time.monotonic() + 5
    progress = True
    while progress and time.monotonic() < deadline:
        progress = False
        for smaller in smaller_ones():
            if (is_unexplained(judge, smaller) or "").startswith(kind):
                case = smaller
                progress = True
                break
    return case


def show_case(case):
    lines = ["dirs %s" % " ".join(case["dirs"]), "annotation %r" % case["annotation"],
             "config %s" % json.dumps(case["config"])]
    for path, content in case["files"].items():
        lines.append("--- %s" % path)
        lines += [repr(content)] if isinstance(content, str) or b"\r" in content or b"\0" in content \
            else content.decode("utf-8", "backslashreplace").split("\n")
    return lines


class Report:
    """TAP."""

    def __init__(self):
        self.count, self.failed, self.shown = 0, 0, 0

    def result(self, good, name):
        self.count += 1
        self.failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.count, name), flush=True)

    def comment(self, *lines):
        for line in lines:
            print("# " + line.replace("\n", "\n# "))

    def unexplained(self, name, judge, case, problem):
        self.shown += 1
        self.comment("%s: %s" % (name, problem))
        if self.shown > SHOWN:
            return
        small = shrink(judge, case, problem)
        self.comment(*(is_unexplained(judge, small) or problem).split("\n"))
        self.comment(*show_case(small))


def run_named(report, judge):
    """Each shape of each named difference is still needed: its case shows it, and nothing else."""
    for difference in DIFFERENCES.values():
        for number, shape in enumerate(difference.shapes, 1):
            name = difference.name if len(difference.shapes) == 1 else "%s, shape %d" % (difference.name, number)
            try:
                names = judge.judge(shape.case)
            except Unexplained as problem:
                report.unexplained(name, judge, shape.case, str(problem))
                names = None
            if names is not None and names != {difference.name}:
                report.comment("%s: its case shows %s" % (name, sorted(names) or "no difference"))
            report.result(names == {difference.name}, "still needed: " + name)


class Replay:
    """A world whose answers are known."""

    def __init__(self, world, answers):
        self.answers, self.real_path, self.content = answers, world.real_path, world.content

    def ask(self, _):
        return self.answers


# What would go unseen if a comparison were lost: an expression that changes our answer, in which
# `files`, `plan` and so on are its members.
CHANGES = [
    'files.clear()',
    'files["/etc/cdi/a.yaml"] = {"error": "made up"}',
    'files["/etc/cdi/b.yaml"] = {"value": files["/etc/cdi/a.yaml"]["value"]}',
    'files["/etc/cdi/a.yaml"]["value"]["annotations"].update(x="2")',
    'files["/etc/cdi/a.yaml"]["value"]["devices"][0]["containerEdits"]["intelRdt"].update(memBwSchema="x")',
    'devices.update({"v/c=d": "/run/cdi/c.yaml"})',
    'devices.update({"v/c=new": "/etc/cdi/a.yaml"})',
    'devices.pop("v/c=d")',
    'requests.reverse()',
    'unresolved.append("v/c=d")',
    'answer.update(error="made up")',
    'plan["nodes"][0].update(fileMode=0o600)',
    'plan["nodes"][0].update(uid=1)',
    'plan["nodes"][0].update(minor=7)',
    'plan["nodes"][0].update(type="b")',
    'plan["nodes"].reverse()',
    'plan["rules"].pop()',
    'plan["rules"][0].update(access="r--")',
    'plan["rules"].append(dict(plan["rules"][0], minor=9))',
    'plan["mounts"].reverse()',
    'plan["mounts"][0].update(source="/x")',
    'plan["mounts"][0].update(options=["rw"])',
    'plan["hooks"].reverse()',
    'plan["hooks"][0].update(timeout=1)',
    'plan["hooks"][0].update(env=["A=2"])',
    'plan["edits"].remove("env FOO=1")',
    'plan["edits"].append("env NEW=1")',
    'plan["edits"].remove("additionalGids 5")',
    'plan["edits"].remove("netDevices eth0:net0")',
    'plan["edits"].remove("intelRdt c1")',
    'edited.update(hostname="x")',
    'edited["process"]["env"].reverse()',
    'edited["linux"]["devices"].reverse()',
    'edited["linux"]["resources"]["devices"].pop()',
    'edited["mounts"][0].update(type="x")',
    'edited["hooks"]["prestart"].reverse()',
    'edited["linux"]["intelRdt"].update(memBwSchema="x")',
]


def run_self_test(report, world):
    """The judge sees each of the changes."""
    case = {"dirs": ["/etc/cdi", "/run/cdi"], "annotation": "v/c=d,v/c=e", "config": {"root": {"path": "rootfs"}},
            "files": {"/etc/cdi/a.yaml": RICH.encode(), "/etc/cdi/b.yaml": b"x: y\n"}}
    names = Judge(world).judge(case)
    if names:
        raise SystemExit("the self-test's case shows %s" % names)
    for change in CHANGES:
        reference, ours = world.ask(case)
        exec(change, {}, dict(ours, answer=ours))  # pylint: disable=exec-used
        seen = is_unexplained(Judge(Replay(world, (reference, ours))), case)
        report.result(seen, "self-test: " + change)


def missing_nodes(world, value):
    """Host nodes that a real spec names and this machine lacks."""
    edits = [value.get("containerEdits", {})] + [device["containerEdits"] for device in value["devices"]]
    for node in [node for edit in edits for node in edit.get("deviceNodes", [])]:
        path = os.path.normpath("/" + node.get("hostPath", node["path"]))
        numbers = node.get("major") or 250, node.get("minor", 0)
        if os.path.lexists(world.root + path) or numbers[0] > 0xfff or numbers[1] > 0xfffff:
            continue
        os.makedirs(os.path.dirname(world.root + path), exist_ok=True)
        kind = node.get("type", "c").replace("u", "c")
        world.make_node(path, kind, *numbers, 0o666)
        yield path


def spec_case(world, path):
    """A case of one file, in which all of its devices are asked for."""
    name = path.name if path.suffix in (".json", ".yaml") else path.name + ".json"
    case = {"dirs": ["/etc/cdi"], "annotation": "v/c=d", "config": {"root": {"path": "rootfs"}},
            "files": {"/etc/cdi/" + name: path.read_bytes()}}
    reference, ours = world.ask(case)
    devices = list(dict.fromkeys(list(reference["devices"]) + list(ours["devices"])))
    if devices:
        case["annotation"] = ",".join(devices[:256])
    value = next(iter(reference["files"].values())).get("value")
    return case, list(missing_nodes(world, value)) if value else []


def run_specs(report, judge, files, seed, damaged):
    """Spec files as they are, and `damaged` times with a few bytes changed."""
    figures = collections.Counter()
    for label, path in files:
        case, made = spec_case(judge.world, path)
        (key, content), failed, names = next(iter(case["files"].items())), 0, set()
        try:
            names = judge.judge(case)
        except Unexplained as problem:
            failed += 1
            report.unexplained(label, judge, case, str(problem))
        figures.update(names)
        figures["accepted by both" if judge.accepted else "accepted by one" if names else "refused by both"] += 1
        figures["edits alike"] += "config" in judge.reference and "plan" in judge.ours
        for number in range(damaged):
            generator = generate.Generator("%s/%s/%d" % (seed, label, number))
            other = dict(case, files={key: generator.damage(content)})
            problem = is_unexplained(judge, other)
            if problem:
                failed += 1
                report.unexplained("%s damaged, %d" % (label, number), judge, other, problem)
        report.result(not failed, "%s%s, and damaged in %d ways" % (
            label, " (%s)" % ", ".join(sorted(names)) if names else "", damaged))
        for node in made:
            os.unlink(judge.world.root + node)
    report.comment("%d spec files: %s" % (len(files), figure_text(figures)))


def own_specs():
    """Those of the golden cases."""
    data = HERE.parent / "data"
    paths = [path for path in data.rglob("*") if path.suffix in (".json", ".yaml") and path.parent.name == "cdi"]
    return [(str(path.relative_to(data)), path) for path in sorted(paths) if path.is_file()]


def figure_text(figures):
    return ", ".join("%s %d" % (name, count) for name, count in figures.most_common())


def run_random(report, judge, seed, cases):
    figures, unexplained = collections.Counter(), 0
    started, asked = time.monotonic(), judge.world.asked
    for first in range(0, cases, GROUP):
        last, failed = min(first + GROUP, cases), 0
        for number in range(first, last):
            case = generate.Generator("%s/%d" % (seed, number)).case()
            figures["files"] += len(case["files"])
            try:
                names = judge.judge(case)
            except Unexplained as problem:
                failed += 1
                report.unexplained("seed %s case %d" % (seed, number), judge, case, str(problem))
                continue
            figures.update(names)
            figures["(cases with a named difference)"] += bool(names)
            figures["(files that both accept)"] += len(judge.accepted)
            alike = "config" in judge.reference and "edited" in judge.ours
            figures["(cases with edits alike)"] += alike
            figures["(configs compared in all)"] += alike and judge.is_whole()
        unexplained += failed
        report.result(not failed, "random cases %d to %d of seed %s" % (first, last - 1, seed))
    report.comment("%d random cases of seed %s, %d unexplained, %d files, %d comparisons in %.1f s" %
                   (cases, seed, unexplained, figures.pop("files"), judge.world.asked - asked,
                    time.monotonic() - started),
                   figure_text(figures))


def show_only(judge, seed, number):
    case = generate.Generator("%s/%d" % (seed, number)).case()
    print("\n".join(show_case(case)))
    for answer in judge.world.ask(case):
        print(json.dumps(answer, indent=1))
    print(is_unexplained(judge, case) or sorted(judge.names))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--specs", type=pathlib.Path, action="append",
                        default=[pathlib.Path(p) for p in [os.environ.get("REFERENCE_SPECS")] if p])
    parser.add_argument("--only", type=int)
    return parser.parse_args()


def main():
    options = arguments()
    report = Report()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="reference-", dir=memory) as scratch:
        scratch = pathlib.Path(scratch)
        root = scratch / "root"
        root.mkdir(mode=0o755)
        try:
            if os.geteuid() != 0:
                raise Skip("needs root")
            peer = options.build.resolve() / "tests/reference/reference-peer"
            world = World(root, go_build(scratch), str(peer))
        except Skip as reason:
            print("1..0 # SKIP %s" % reason)
            return 77
        judge = Judge(world)
        if options.only is not None:
            show_only(judge, options.seed, options.only)
            return 0
        run_self_test(report, world)
        run_named(report, judge)
        run_specs(report, judge, own_specs(), options.seed, 5)
        for directory in options.specs:
            paths = sorted(path for path in directory.iterdir() if path.is_file())
            run_specs(report, judge, [(path.name, path) for path in paths], options.seed, 20)
        run_random(report, judge, options.seed, options.cases)
        world.close()
    print("1..%d" % report.count)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
