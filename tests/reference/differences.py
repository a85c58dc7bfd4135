# SPDX-License-Identifier: Apache-2.0
"""Where this project differs from the reference library on purpose.

Each difference has a name, a reason, and shapes: what it is known by, and a case that shows it. When
that case no longer shows it, the shape is not needed any more and must go.
"""

import json

DIFFERENCES = {}


class Shape:
    def __init__(self, case, where=None, ours=None, reference=None, note=None, text=None):
        """`where` is "file", "panic" or "plan" for a difference in what is refused: then `ours` and
        `reference` are patterns for the sentence of the one that refuses, `note` for a warning of ours
        and `text` for the file, or a function that knows it. "text" is for files on which the two may
        differ in any way. Those without `where` are known by code in compare.py."""
        self.case, self.where, self.ours, self.reference, self.note, self.text = \
            case, where, ours, reference, note, text


class Difference:
    def __init__(self, name, reason, *shapes):
        self.name, self.reason, self.shapes = name, " ".join(reason.split()), shapes
        DIFFERENCES[name] = self


CONFIG = {"root": {"path": "rootfs"}}


def files(**texts):
    """A case of files in one directory."""
    return {"dirs": ["/etc/cdi", "/run/cdi"], "annotation": "v/c=d", "config": CONFIG,
            "files": {"/etc/cdi/%s.yaml" % name: text.encode() for name, text in texts.items()}}


def edits(text, version="1.1.0", **more):
    """A case of one device with these edits."""
    case = files(a="cdiVersion: %s\nkind: v/c\ndevices: [{name: d, containerEdits: {%s}}]\n" % (version, text))
    case.update(more)
    return case


def json_edits(text):
    return files(a='{"cdiVersion": "1.1.0", "kind": "v/c", "devices": [{"name": "d", "containerEdits": {%s}}]}' % text)


def is_json(text):
    try:
        json.loads(text.decode("utf-8-sig"))
    except ValueError:
        return False
    return True


GOOD = "cdiVersion: 1.1.0\nkind: v/c\ndevices: [{name: d, containerEdits: {env: [FOO=%s]}}]\n"
NODE = "deviceNodes: [{path: /dev/c0%s}]"
MOUNT = "mounts: [{hostPath: %s, containerPath: %s, options: [bind]}]"

# ---- What nothing could be done with ----

Difference(
    "unusable-path", """A path that is relative to nothing, that has .. in it (which means different things before and
    after a link) or is longer than the kernel takes. SPEC.md asks for absolute ones; the reference hands all of them on,
    and the runtime fails later, in words of its own, or leads somewhere else.""",
    Shape(edits(MOUNT % ("/opt", "a")), "file",
          ours="is not an absolute path|begins with a typographic quote"),
    Shape(edits("mounts: [{hostPath: /x, containerPath: /%s}]" % ("x" * 4095)), "file", ours="is too long for a path"),
    Shape(edits("hooks: [{hookName: prestart, path: bin/x}]"), "plan",
          ours=r"hook \w+ .*: (not an absolute path|Invalid argument)"),
    Shape(edits(MOUNT % ("/opt", "/a/../b")), "plan", ours=r"contains \.\."),
    Shape(edits(MOUNT % ("opt", "/a")), "plan", ours="hostPath .* is not absolute"))
Difference(
    "impossible-number", """A fraction (uid: 0.5 is root to the reference from 1.1.1 on, which cuts it off; before, it
    refused), mode bits beyond the 12 that a node has, device numbers beyond Linux's 12 and 20 bits.""",
    Shape(edits(NODE % ", uid: 0.5"), "file",
          ours=r'is not a whole number|not "-\.(inf|Inf|INF)"|-9223372036854775\d+ is out of range'),
    Shape(edits(NODE % ", fileMode: 0o10000"), "file", ours="is more than 07777"),
    Shape(edits("deviceNodes: [{path: /dev/new, type: c, major: 4096}]"), "plan", ours="is beyond 4095:1048575"))
Difference(
    "impossible-text", """What the kernel never takes: a NUL byte, where a text of C would end; an interface's name of more
    than 15 bytes, or with / or blanks in it.""",
    Shape(edits('env: ["FOO=a\\0b"]'), "file", ours="text with a NUL byte in it"),
    Shape(edits("netDevices: [{hostInterfaceName: eth0, name: a/b}]"), "plan",
          ours=r'netDevices (hostInterfaceName|name) ".*" (may not|is longer|cannot)'))
Difference(
    "bounds", """A program that runs as root at every start bounds what it reads: nesting, values with all that aliases stand
    for, directives, and one text by what the kernel takes as one variable (bounds.h).""",
    Shape(edits("env: [FOO=%s]" % ("x" * 131072)), "file",
          ours=r"nested deeper than|more than \d+ values|text of more than \d+ bytes|lines begin with %"))

# ---- What is read all the same ----

Difference(
    "older-release", """What some 1.x release of the reference takes, and the newest not: keys in another letter case (up to
    1.1.0; here with a warning), enableCMT and enableMBM in the versions that had them (1.0.x), yes as a !!bool (up to
    1.1.0). Files that rely on it are in use.""",
    Shape(edits("ENV: [A=1]"), "file", reference=r"field \S+ not found", note="should be spelt"),
    Shape(edits("intelRdt: {enableCMT: true}", version="1.0.0"), "file", reference="field enable(CMT|MBM) not found"),
    Shape(edits("intelRdt: {enableMonitoring: !!bool yes}"), "file", reference=r"cannot decode !!str .* as a !!bool"))
Difference(
    "json", r"""JSON is read to the letter. The reference reads it as YAML, which lacks \/ (json-c and PHP write it), pairs of
    \u escapes, tabs between values, long keys and a DEL, and folds what it takes for line breaks.""",
    Shape(json_edits(r'"env": ["FOO=\/x", "BAR=\ud83d\ude00"]'), "file", reference="yaml: ", text=is_json),
    Shape(json_edits('"env": ["FOO=x \u2028 y"]'), "text", text=is_json),
    Shape(edits(r'env: ["FOO=\/x"]'), "file", reference="found unknown escape character", text=rb"\\\0?/"))
Difference(
    "yaml-parser", """Both parsers of YAML go back to one, and differ in corners that no real file has. Here libyaml's word
    counts, which is nearer to YAML 1.2 in most of them: %YAML 1.2 itself, a ? inside a word between brackets, a tag that
    ends at a comma; a colon before a comma; a bad character behind the document's end.""",
    Shape(files(a="%YAML 1.2\n---\n" + GOOD % 1), "file", reference="found incompatible YAML document"),
    Shape(edits("env: [A=x?, B=1]"), "file", reference="did not find expected (',' or|node content)", text=rb"\S\?"),
    Shape(files(a="{%s}}\n\t}\n" % (GOOD % 1).strip().replace("\n", ", ")), "file",
          reference="found character that cannot start any token", note="only the first document"),
    Shape(edits("env: [A=x:, B=1]"), "file", text=rb":[,\[\]{}]",
          ours=r"found unexpected ':' while scanning a plain scalar"),
    Shape(edits("env: [A=1], mounts: [{hostPath: /opt, containerPath: /a, type: !!str, options: [bind]}]"), "text",
          text=rb"![^\s,\[\]{}'\"]*[,\[\]{}]"))
Difference(
    "crash", "null in deviceNodes or mounts ends the reference's process; here it is a fault like others.",
    Shape(edits("mounts: [~]", version="0.3.0"), "panic", ours=".", reference="nil pointer"))

# ---- Directories and devices ----

Difference(
    "faults-stay-local", """What is no directory is set aside and the rest is read: the reference stops there in silence, and
    all directories of higher priority are lost. A name that two files of one directory define is unusable from there
    only: a definition in a later directory is used, which the reference throws away too.""",
    Shape(dict(files(a=GOOD % 1), dirs=["/dev/file", "/etc/cdi"])),
    Shape({"dirs": ["/etc/cdi", "/run/cdi"], "annotation": "v/c=d", "config": CONFIG, "files": {
        path: (GOOD % path).encode() for path in ("/etc/cdi/a.yaml", "/etc/cdi/b.yaml", "/run/cdi/c.yaml")}}))
Difference(
    "twice-is-once", """A device that is asked for twice is given once, as engines have it: the reference would run its hooks
    twice and fails on its net devices. And two devices may ask for the same interface by the same name.""",
    Shape(dict(files(a=GOOD % 1), annotation="v/c=d,v/c=d")),
    Shape(dict(edits("netDevices: &n [{hostInterfaceName: a, name: b}]}}, {name: e, containerEdits: {netDevices: *n "),
               annotation="v/c=d,v/c=e"), "plan",
          reference=r'duplicate HostInterfaceName "(.*)" with names "(.*)" and "\2"'))

# ---- Requests ----

Difference(
    "other-node", """Complete numbers that differ from those of the host's node at the same path: a stale file would
    open another device. --lenient only warns.""",
    Shape(edits(NODE % ", type: c, major: 240, minor: 7"), "plan", ours=r"the spec says . \d+:\d+, but"))
Difference(
    "host-link", "The names that udev makes (by-id, by-path) are links: followed on the host.",
    Shape(edits("deviceNodes: [{path: /dev/new, hostPath: /dev/link}]"), "plan",
          reference='"/dev/link": not a device node'))
Difference(
    "unbuffered", "Type u is c to Linux: made as such, looked up as such, and allowed as such.",
    Shape(edits("deviceNodes: [{path: /dev/new, type: u, major: 5}]"), "plan",
          reference=r"host type mismatch \(u, c\)"))
Difference(
    "device-rules", """One rule for each device that is there: several for one device are summed, a node that a later one
    replaces leaves none, and permissions: none gives none (the reference's has no access, which trips crun).""",
    Shape(edits("deviceNodes: [{path: /dev/new, hostPath: /dev/c0}, {path: /dev/c0}]")),
    Shape(edits("deviceNodes: [{path: /dev/new, hostPath: /dev/c0}, {path: /dev/new, hostPath: /dev/c1}]")),
    Shape(edits(NODE % ", permissions: none")))
Difference(
    "protected-destination", """A mount over the container's / hides all of it; in its /proc only entries of drivers may be
    covered, since processes and sysctls are the kernel's and the runtime's; nothing is ever put into its /sys.""",
    Shape(edits(MOUNT % ("/opt", "/")), "plan", ours="is the container's whole root"),
    Shape(edits(MOUNT % ("/opt", "/proc/sys/x")), "plan", ours="lies in the container's /proc"),
    Shape(edits(MOUNT % ("/opt", "/sys/x")), "plan", ours="lies in the container's /sys"))
Difference(
    "mount-checked-first", """What cannot be mounted is refused by name before anything is done: an option that does not exist,
    a source that is not there. With the reference the runtime fails in the middle.""",
    Shape(edits("mounts: [{hostPath: /opt, containerPath: /a, options: [bind, bogus]}]"), "plan",
          ours='mount option ".*" is unknown'),
    Shape(edits(MOUNT % ("/absent/x", "/a")), "plan", ours="mount source .* No such file"))
Difference(
    "paths-cleaned", "//, /./ and a / at the end go: two spellings of one path are one place.",
    Shape(edits(MOUNT % ("/opt", "/a//b/"))))
Difference(
    "two-classes", "Two devices that want different closIDs cannot both be served; the reference takes the last.",
    Shape(dict(edits("intelRdt: {closID: a}}}, {name: e, containerEdits: {intelRdt: {closID: b}"),
               annotation="v/c=d,v/c=e"), "plan", ours="a container has one class"))
Difference(
    "bind-said", """A mount without a type is a bind mount, and is said to be one among its options: no runtime makes it
    otherwise, and the reference hands it on as it is.""",
    Shape(edits("mounts: [{hostPath: /opt, containerPath: /a}]")))
