#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random configs through `cdictl inject`: every byte outside the edits must be as it was.

    config-bytes.py --cdictl=PROGRAM [--cases=1000] [--seed=1] [--only=N]

A config has unknown members, numbers of 30 digits, keys in any order, escapes, tabs and blanks at any
place, and no line break at its end. It is read here by a small reader of its own, which keeps the bytes
of each value and of all that stands between. Then it is told which members and items the edits may add,
replace and move; whatever else is in the edited config must be the same bytes, in the same order. The
values of the edits are checked too, by Python's json. A second run must give the first one's output.

Prints TAP.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

SPEC = """
cdiVersion: 1.1.0
kind: v.com/d
containerEdits:
  env: [SPEC=1]
devices:
- name: a
  containerEdits:
    env: ["DEVICE=a b", PATH=/opt/bin]
    deviceNodes:
    - {path: /dev/n0, type: c, major: 240, minor: 0, fileMode: 0o660}
    - {path: /dev/n1, type: b, major: 8, minor: 1, permissions: r, uid: 5, gid: 6}
    mounts:
    - {hostPath: /usr, containerPath: /m/usr, options: [ro, rbind]}
    - {hostPath: tmp, containerPath: /m, type: tmpfs}
    hooks:
    - {hookName: createContainer, path: /bin/sh, args: [sh, "-c", "true"], timeout: 3}
    additionalGids: [44, 45]
    netDevices: [{hostInterfaceName: e0, name: n0}]
    intelRdt: {closID: gold}
"""
NODES = [{"path": "/dev/n0", "type": "c", "major": 240, "minor": 0, "fileMode": 0o660},
         {"path": "/dev/n1", "type": "b", "major": 8, "minor": 1, "uid": 5, "gid": 6}]
RULES = [{"allow": True, "type": "c", "major": 240, "minor": 0, "access": "rwm"},
         {"allow": True, "type": "b", "major": 8, "minor": 1, "access": "r"}]
MOUNTS = [{"destination": "/m/usr", "source": "/usr", "options": ["ro", "rbind"]},
          {"destination": "/m", "type": "tmpfs", "source": "tmp"}]
HOOK = {"path": "/bin/sh", "args": ["sh", "-c", "true"], "timeout": 3}
ENV = ["SPEC=1", "DEVICE=a b", "PATH=/opt/bin"]


class Wrong(Exception):
    pass


# ---- Random configs ----

class Writer:
    """Text of a JSON value, in random layout. An object is a list of pairs, so that its order is random too."""

    def __init__(self, rng):
        self.rng = rng
        # Many documents are written in one way throughout, others byte by byte.
        self.blank = rng.choice(["", " ", "\t", "\n\t", "\n    ", None])

    def blanks(self):
        if self.blank is not None:
            return self.blank
        return "".join(self.rng.choice(" \t\n\r") for _ in range(self.rng.randint(0, 3)))

    def string(self, text):
        if self.rng.random() < 0.9:
            return json.dumps(text, ensure_ascii=self.rng.random() < 0.5)
        return '"%s"' % "".join(
            "\\u%04x" % ord(c) if self.rng.random() < 0.3 and ord(c) < 0xd800 else json.dumps(c)[1:-1] for c in text)

    def write(self, value):
        if isinstance(value, Raw):
            return value.text
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, list) and not isinstance(value, Pairs):
            items = [self.blanks() + self.write(item) for item in value]
            return "[" + (self.blanks() + ",").join(items) + self.blanks() + "]"
        if isinstance(value, Pairs):
            members = [self.blanks() + self.string(key) + self.blanks() + ":" + self.blanks() + self.write(item)
                       for key, item in value]
            return "{" + (self.blanks() + ",").join(members) + self.blanks() + "}"
        return json.dumps(value)


class Raw:
    """A value as it is to stand there."""

    def __init__(self, text):
        self.text = text


class Pairs(list):
    """An object."""


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def chance(self, probability):
        return self.rng.random() < probability

    def number(self):
        digits = "".join(self.rng.choice("0123456789") for _ in range(30))
        return Raw(self.rng.choice(["1" + digits, "-9" + digits, "0." + digits, "1e-400", "-0", "1E+5", "7", "0.10"]))

    def anything(self, depth=0):
        kind = self.rng.randrange(8 if depth < 3 else 5)
        if kind == 0:
            return self.number()
        if kind == 1:
            return self.rng.choice([None, True, False])
        if kind < 5:
            return self.rng.choice(["", "x", "env", "é\u2028\U0001F600", "a\\\"b\n\t", "}],{[:", "/dev/n0"])
        if kind == 5:
            return [self.anything(depth + 1) for _ in range(self.rng.randrange(4))]
        return self.unknown(depth + 1)

    def unknown(self, depth=0):
        names = ["x", "vendor", "a b", "env ", "ENV", "é", "mount", "\"", "devicesX", ""]
        self.rng.shuffle(names)
        return Pairs([name, self.anything(depth)] for name in names[:self.rng.randrange(4)])

    def with_unknown(self, pairs):
        """An object with members of its own in between, in any order."""
        pairs = Pairs(pairs + self.unknown())
        self.rng.shuffle(pairs)
        return pairs

    def maybe(self, key, make):
        """[key, value], nothing, or null."""
        choice = self.rng.randrange(10)
        return [] if choice < 2 else [[key, None]] if choice == 2 else [[key, make()]]

    def some(self, items):
        items = [item for item in items if self.chance(0.6)]
        self.rng.shuffle(items)
        return items

    def device(self, path):
        return self.with_unknown([["path", path], ["type", "c"], ["major", self.number()]])

    def mount(self, path):
        pairs = [["destination", path]]
        if self.chance(0.7):
            pairs.append(["source", self.rng.choice(["/usr", "tmpfs", "proc"])])
        return self.with_unknown(pairs)

    def user(self):
        return self.with_unknown([["uid", 0]] + self.maybe("additionalGids", lambda: self.some([7, 44, 8])))

    def process(self):
        return self.with_unknown(
            self.maybe("env", lambda: self.some(["PATH=/bin", "TERM=é", "DEVICE=a b", "SPEC", "X==", "DEVICES=1"])) +
            self.maybe("user", self.user) + [["cwd", "/"]])

    def linux(self):
        return self.with_unknown(
            self.maybe("devices", lambda: self.some([self.device("/dev/n%d" % i) for i in range(4)])) +
            self.maybe("resources", lambda: self.with_unknown(self.maybe("devices", lambda: self.some(
                [Pairs([["allow", False], ["access", "rwm"]]),
                 Pairs([["allow", True], ["type", "c"], ["major", 1], ["minor", 3], ["access", "rwm"]])])))) +
            self.maybe("netDevices", lambda: self.with_unknown(self.some([["e0", Pairs()], ["e1", Pairs()]]))) +
            self.maybe("intelRdt", self.unknown))

    def hooks(self):
        hook = Pairs([["path", "/own"], ["timeout", 5], ["x", self.number()]])
        return self.with_unknown(self.maybe("createContainer", lambda: self.some([hook, hook])) +
                                 self.maybe("poststop", lambda: self.some([hook])))

    def config(self):
        paths = ["/proc", "/dev", "/dev/pts", "/sys/fs/cgroup/x", "/m", "/m//usr/", "/m/usr", "/run", "/a/b"]
        config = self.with_unknown(
            [["root", self.with_unknown([["path", "rootfs"]])]] + self.maybe("process", self.process) +
            self.maybe("linux", self.linux) + self.maybe("hooks", self.hooks) +
            self.maybe("mounts", lambda: [self.mount(path) for path in self.some(paths)]))
        writer = Writer(self.rng)
        return writer.blanks() + writer.write(config) + self.rng.choice(["", "", "\n", " \t"])


# ---- A reader that keeps the bytes ----

class Node:
    """A value: its bytes, and for an object or array its children, each with the bytes in front of it."""

    def __init__(self, text, start):
        self.text, self.start = text, start
        self.children = []  # (lead, key text or None, separator, Node)
        self.kind = text[start]
        at = start
        if self.kind in "{[":
            at = self.read_children(at)
        elif self.kind == '"':
            at = string_end(text, at)
        else:
            while at < len(text) and text[at] not in " \t\r\n,]}":
                at += 1
        self.end = at

    def read_children(self, at):
        text, at = self.text, at + 1
        lead = at
        while True:
            at = skip(text, at)
            if text[at] in "}]":
                self.tail = text[lead:at]
                return at + 1
            if text[at] == ",":
                at = skip(text, at + 1)
            begin, key, separator = at, None, ""
            if self.kind == "{":
                at = string_end(text, at)
                key = text[begin:at]
                value = skip(text, skip(text, at) + 1)
                separator, at = text[at:value], value
            node = Node(text, at)
            self.children.append((text[lead:begin], key, separator, node))
            lead = at = node.end

    def bytes(self):
        return self.text[self.start:self.end]

    def member(self, name):
        for _, key, _, node in self.children:
            if json.loads(key) == name:
                return node
        return None

    def value(self):
        return json.loads(self.bytes())


def skip(text, at):
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def string_end(text, at):
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def depth(path):
    parts = [part for part in path.split("/") if part]
    return max(1, len(parts))


# ---- What may differ ----

def same(what, before, after):
    if before != after:
        raise Wrong("%s: %r became %r" % (what, before, after))


def is_null(node):
    return node is None or node.bytes() == "null"


def compare_object(what, before, after, edited):
    """`edited` gives for a member's name the function that compares its two values."""
    same(what + ": its end", before.tail, after.tail)
    for i, (lead, key, separator, node) in enumerate(before.children):
        new_lead, new_key, new_separator, new_node = after.children[i]
        name = json.loads(key)
        same("%s: what stands before %s" % (what, key), (lead, key, separator), (new_lead, new_key, new_separator))
        if name in edited:
            edited[name](node, new_node)
        else:
            same("%s.%s" % (what, key), node.bytes(), new_node.bytes())
    for lead, key, _, node in after.children[len(before.children):]:
        name = json.loads(key)
        if name not in edited:
            raise Wrong("%s: new member %s" % (what, key))
        if before.member(name):
            raise Wrong("%s: %s stands there twice" % (what, key))
        edited[name](None, node)


def in_object(what, edited):
    def compare(before, after):
        if is_null(before):
            for name in (json.loads(key) for _, key, _, _ in after.children):
                if name not in edited and (what, name) not in [("user", "uid"), ("user", "gid")]:
                    raise Wrong("new %s has %s" % (what, name))
                if name in edited:
                    edited[name](None, after.member(name))
        else:
            compare_object(what, before, after, edited)
    return compare


def comma_free(lead):
    return lead.split(",", 1) if "," in lead else ["", lead]


def compare_items(what, before, after, order):
    """`order` lists what must stand in the array now: an index of the old one, or a value. Items that were there keep
    their bytes, and those that stand in front of them but for the comma."""
    if is_null(before):
        old, tail = [], ""
    else:
        old, tail = before.children, before.tail
    same(what + ": its end", tail, after.tail)
    same(what + ": how many", len(order), len(after.children))
    for place, (wanted, (lead, _, _, node)) in enumerate(zip(order, after.children)):
        if not isinstance(wanted, int):
            same("%s[%d]" % (what, place), wanted[0], node.value())
            continue
        old_lead, _, _, old_node = old[wanted]
        same("%s[%d]" % (what, place), old_node.bytes(), node.bytes())
        (old_front, old_back), (front, back) = comma_free(old_lead), comma_free(lead)
        same("%s[%d]: what stands before it" % (what, place), old_back, back)
        if place > 0:
            same("%s[%d]: what stands before its comma" % (what, place), old_front, front)


def values(node):
    return [] if is_null(node) else [child.value() for _, _, _, child in node.children]


def compare_env(before, after):
    old, order = values(before), list(range(len(values(before))))
    for entry in ENV:
        name = entry.partition("=")[0]
        places = [i for i, text in enumerate(old) if text.partition("=")[0] == name]
        if not places:
            order.append([entry])
        elif old[places[-1]] != entry:
            order[places[-1]] = [entry]
    compare_items("env", before, after, order)


def compare_gids(before, after):
    old = values(before)
    compare_items("additionalGids", before, after, list(range(len(old))) + [[g] for g in (44, 45) if g not in old])


def compare_devices(before, after):
    kept = [i for i, device in enumerate(values(before)) if device["path"] not in ("/dev/n0", "/dev/n1")]
    compare_items("devices", before, after, kept + [[node] for node in NODES])


def compare_rules(before, after):
    compare_items("rules", before, after, list(range(len(values(before)))) + [[rule] for rule in RULES])


def clean(path):
    return "/" + "/".join(part for part in path.split("/") if part)


def compare_mounts(before, after):
    old = values(before)
    order = list(range(len(old)))
    for mount in (MOUNTS[1], MOUNTS[0]):  # the plan has parents first
        for i in order:
            if isinstance(i, int) and clean(old[i]["destination"]) == mount["destination"]:
                order.remove(i)
                break
        order.append([mount])
    order.sort(key=lambda i: depth(clean((old[i] if isinstance(i, int) else i[0])["destination"])))
    compare_items("mounts", before, after, order)


def compare_hook_list(before, after):
    compare_items("createContainer", before, after, list(range(len(values(before)))) + [[HOOK]])


def must_be(what, wanted):
    return lambda before, after: same(what, wanted, after.value())


COMPARE = {
    "process": in_object("process", {
        "env": compare_env, "user": in_object("user", {"additionalGids": compare_gids})}),
    "linux": in_object("linux", {
        "devices": compare_devices, "resources": in_object("resources", {"devices": compare_rules}),
        "netDevices": in_object("netDevices", {"e0": must_be("e0", {"name": "n0"})}),
        "intelRdt": must_be("intelRdt", {"closID": "gold"})}),
    "mounts": compare_mounts,
    "hooks": in_object("hooks", {"createContainer": compare_hook_list}),
}


def compare(before, after):
    old, new = Node(before, skip(before, 0)), Node(after, skip(after, 0))
    same("what stands before the config", before[:old.start], after[:new.start])
    same("what stands behind the config", before[old.end:], after[new.end:])
    compare_object("config", old, new, COMPARE)
    json.loads(after)


# ---- Running them ----

def inject(cdictl, specs, text):
    result = subprocess.run([cdictl, "inject", "--spec-dir=" + specs, "-", "v.com/d=a"], input=text.encode(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if result.returncode != 0:
        raise Wrong(result.stderr.decode().strip())
    return result.stdout.decode()


def run_case(cdictl, specs, seed, show):
    before = Generator(seed).config()
    after = inject(cdictl, specs, before)
    try:
        compare(before, after)
        same("a second edit", after, inject(cdictl, specs, after))
    finally:
        if show:
            print("# before: %r\n# after:  %r" % (before, after))


def self_test():
    """The comparison sees a byte that changed, an item that moved, a number that was rounded."""
    before = '{"root": {"path":"r"},\t"x" : 1.10, "mounts":[{"destination":"/q"}, {"destination":"/p"}]}'
    after = ('{"root": {"path":"r"},\t"x" : 1.10, "mounts":[{"destination":"/q"}, {"destination":"/p"}, '
             '{"destination":"/m","type":"tmpfs","source":"tmp"}, '
             '{"destination":"/m/usr","source":"/usr","options":["ro","rbind"]}]}')
    compare(before, after)
    for old, new in [("1.10", "1.1"), ("\t", " "), ("{\"destination\":\"/p\"}", "{\"destination\": \"/p\"}"),
                     ("/q\"}, {\"destination\":\"/p", "/p\"}, {\"destination\":\"/q"), ("}]}", "}] }"),
                     ("\"rbind\"", "\"bind\""), ("\"r\"}", "\"r\",\"y\":1}")]:
        assert old in after, old
        try:
            compare(before, after.replace(old, new, 1))
        except Wrong:
            continue
        raise Wrong("the comparison does not see %r become %r" % (old, new))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cdictl", required=True)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this case alone, which is shown")
    arguments = parser.parse_args()
    failed = 0
    self_test()
    print("ok 1 - the comparison sees what changed")
    # Below /run: a spec directory in which everybody may write is not trusted.
    base = "/run" if os.access("/run", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="oci-cdi-hook-test.", dir=base) as directory:
        specs = pathlib.Path(directory) / "specs"
        specs.mkdir()
        (specs / "a.yaml").write_text(SPEC)
        cases = range(arguments.cases) if arguments.only is None else [arguments.only]
        for i in cases:
            try:
                run_case(arguments.cdictl, str(specs), "%d-%d" % (arguments.seed, i), arguments.only is not None)
            except Wrong as problem:
                failed += 1
                if failed <= 5:
                    print("# case %d: %.1000s" % (i, problem))
    print("%s 2 - %d random configs, seed %d, %d wrong" % ("not ok" if failed else "ok", len(cases),
                                                          arguments.seed, failed))
    print("1..2")
    sys.exit(1 if failed else 0)


main()
