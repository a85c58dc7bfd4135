# SPDX-License-Identifier: Apache-2.0
"""Where this project differs from the reference library on purpose.

Each difference has a name, what it is known by, the reason, and a case that shows it: when that case
no longer shows it, the difference is not needed any more and must go.
"""

DIFFERENCES = {}


class Difference:
    def __init__(self, name, reason, case, where=None, ours=None, reference=None, note=None, text=None):
        """`where` is "file", "panic" or "plan" for a difference in what is refused: then `ours` and
        `reference` are patterns for the sentence of the one that refuses, `note` for a warning of ours
        and `text` for the file. "text" is for files on which the two may differ in any way. Those
        without `where` are known by code in compare.py."""
        self.name, self.reason, self.case = name, " ".join(reason.split()), case
        self.where, self.ours, self.reference, self.note, self.text = where, ours, reference, note, text
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


GOOD = "cdiVersion: 1.1.0\nkind: v/c\ndevices: [{name: d, containerEdits: {env: [FOO=%s]}}]\n"
NODE = "deviceNodes: [{path: /dev/c0%s}]"
MOUNT = "mounts: [{hostPath: %s, containerPath: %s}]"

# ---- Files that the reference accepts ----

Difference(
    "relative-path", """A path in a container that does not begin with / names nothing, and SPEC.md asks for
    absolute ones. The reference hands it on, and the runtime fails later with a sentence of its own.""",
    edits("hooks: [{hookName: prestart, path: bin/x}]"), "file",
    ours="is not an absolute path|begins with a typographic quote")
Difference(
    "long-path", "The kernel takes no path of 4096 bytes.",
    edits("mounts: [{hostPath: /x, containerPath: /%s}]" % ("x" * 4095)), "file", ours="is too long for a path")
Difference(
    "env-line-break", "A line break in a variable ends up as a second one in logs and shells.",
    edits('env: ["FOO=a\\nb"]'), "file", ours="has a line break in it")
Difference(
    "mode-bits", "A node has the 12 bits of 07777. The reference lets any number through to the runtime.",
    edits(NODE % ", fileMode: 0o10000"), "file", ours="is more than 07777")
Difference(
    "inexact-number", """uid: 0.5 is root to the reference from 1.1.1 on, which cuts the fraction off and rounds what is
    just too large; before, it refused.""",
    edits(NODE % ", uid: 0.5"), "file",
    ours=r'is not a whole number|not "-\.(inf|Inf|INF)"|-9223372036854775\d+ is out of range')
Difference(
    "nul-byte", "No path, variable or name of Linux can have a NUL byte; in C the text would end there.",
    edits('env: ["FOO=a\\0b"]'), "file", ours="text with a NUL byte in it")
Difference(
    "bounds", "Files are bounded in nesting, in values and in the length of one text (bounds.h).",
    edits("env: [FOO=%s]" % ("x" * 65536)), "file",
    ours=r"nested deeper than|more than \d+ values|text of more than \d+ bytes|lines begin with %")

# ---- Files that the reference refuses ----

Difference(
    "letter-case", """Keys in another case were right up to 1.1.0, and files that rely on it are in use: accepted
    with a warning.""",
    edits("ENV: [A=1]"), "file", reference=r"field \S+ not found", note="should be spelt")
Difference(
    "retired-rdt", """enableCMT and enableMBM were right from cdiVersion 0.7.0 to 1.0.0; the reference dropped them
    for every version.""",
    edits("intelRdt: {enableCMT: true}", version="1.0.0"), "file", reference="field enable(CMT|MBM) not found")
Difference(
    "json-escapes", r"""\/ and pairs of \u surrogates are right in JSON, and json-c and PHP write the first; the
    reference's YAML reader takes neither.""",
    files(a=r'{"cdiVersion": "1.1.0", "kind": "v/c", "devices": [{"name": "d",'
          r'"containerEdits": {"env": ["FOO=\/x", "BAR=\ud83d\ude00"]}}]}'), "file",
    reference="found unknown escape character|found invalid Unicode character escape code")

Difference(
    "wrong-tag", """A tag says what a word is where that matters: where text is wanted, text is what stands there,
    and yes is a truth with and without !!bool.""",
    edits("env: [!!int A=1]"), "file", reference=r"cannot decode !!\w+ .* as a !!\w+")
Difference(
    "yaml-corners", """Both readers come from one parser of YAML. In corners that no file has it is libyaml's word that
    counts here: a colon before a comma, a lone ! before quotes.""",
    edits("env: [A=x:, B=1]"), "file", text=rb":[,\[\]{}]|! *['\"]",
    ours=r"found unexpected ':' while scanning a plain scalar|remove the quotes around")
Difference(
    "tag-before-comma", """To the reference's parser a comma or bracket behind a tag belongs to the tag, and what
    follows means something else.""",
    edits("env: [A=1], mounts: [{hostPath: /opt, containerPath: /a, type: !!str, options: [ro]}]"), "text",
    text=rb"![^\s,\[\]{}'\"]*[,\[\]{}]")
Difference(
    "question-mark", "A ? inside a word between [] or {} is part of it; the reference's parser ends the word there.",
    edits("env: [A=x?, B=1]"), "file", reference="did not find expected (',' or|node content)", text=rb"\S\?")
Difference(
    "yaml-1.2", "A file that says that it is YAML 1.2 is read as any other: that is what people write today.",
    files(a="%YAML 1.2\n---\n" + GOOD % 1), "file", reference="found incompatible YAML document")

# ---- Files on which the reference crashes ----

Difference(
    "crash", "null in deviceNodes or mounts ends the reference's process; here it is a fault like others.",
    edits("mounts: [~]", version="0.3.0"), "panic", ours=".", reference="nil pointer")

# ---- Directories and devices ----

Difference(
    "directory-twice", "A directory that is named twice, also by a link, is read once, at its later place.",
    dict(files(a=GOOD % 1), dirs=["/etc/cdi", "/run/cdi", "/etc/cdi"]))
Difference(
    "directory-unusable", """What is no directory is set aside and the rest is read; the reference stops there in
    silence, and all directories of higher priority are lost.""",
    dict(files(a=GOOD % 1), dirs=["/dev/file", "/etc/cdi"]))
Difference(
    "low-conflict", """A name that two files of one directory define is unusable from there only: a definition in a
    later directory is used, which the reference throws away too.""",
    {"dirs": ["/etc/cdi", "/run/cdi"], "annotation": "v/c=d", "config": CONFIG, "files": {
        path: (GOOD % path).encode() for path in ("/etc/cdi/a.yaml", "/etc/cdi/b.yaml", "/run/cdi/c.yaml")}})
Difference(
    "asked-twice", """A device that is asked for twice is given once: the reference would run its hooks twice and
    fails on its net devices. Engines drop the second as well.""",
    dict(files(a=GOOD % 1), annotation="v/c=d,v/c=d"))

# ---- Requests that the reference serves ----

Difference(
    "other-node", """Complete numbers that differ from those of the host's node at the same path: a stale file would
    open another device. --lenient only warns.""",
    edits(NODE % ", type: c, major: 240, minor: 7"), "plan", ours=r"the spec says . \d+:\d+, but")
Difference(
    "device-number", "Linux has 12 bits of major and 20 of minor number.",
    edits("deviceNodes: [{path: /dev/new, type: c, major: 4096}]"), "plan", ours="is beyond 4095:1048575")
Difference(
    "container-root", "A mount over a container's / hides all of it.",
    edits(MOUNT % ("/opt", "/")), "plan", ours="is the container's whole root")
Difference(
    "container-proc", """In the container's /proc only entries of drivers may be covered; processes and sysctls are the
    kernel's and the runtime's.""",
    edits(MOUNT % ("/opt", "/proc/sys/x")), "plan", ours="lies in the container's /proc")
Difference(
    "container-sys", "Nothing is ever put into the container's /sys.",
    edits(MOUNT % ("/opt", "/sys/x")), "plan", ours="lies in the container's /sys")
Difference(
    "dot-dot", "A path with .. means different things before and after a link.",
    edits(MOUNT % ("/opt", "/a/../b")), "plan", ours=r"contains \.\.")
Difference(
    "relative-source", "A relative source of a bind mount: relative to what?",
    edits(MOUNT % ("opt", "/a")), "plan", ours="hostPath .* is not absolute")
Difference(
    "mount-option", "An unknown option is refused by name; the reference leaves it to the runtime.",
    edits("mounts: [{hostPath: /opt, containerPath: /a, options: [bogus]}]"), "plan",
    ours='mount option ".*" is unknown')
Difference(
    "mount-type", "A hook at a runtime stage attaches bind mounts and makes tmpfs, nothing else.",
    edits("mounts: [{hostPath: /opt, containerPath: /a, type: overlay}]"), "plan",
    ours="a hook makes bind and tmpfs mounts only")
Difference(
    "source-missing", """The source of a mount is looked up before anything is done; with the reference the runtime
    fails in the middle.""",
    edits(MOUNT % ("/absent/x", "/a")), "plan", ours="mount source .* No such file")

Difference(
    "interface-name", "The kernel's interfaces have names of up to 15 bytes without / and blanks.",
    edits("netDevices: [{hostInterfaceName: eth0, name: a/b}]"), "plan",
    ours=r'netDevices (hostInterfaceName|name) ".*" (may not|is longer|cannot)')
Difference(
    "two-classes", "Two devices that want different closIDs cannot both be served; the reference takes the last.",
    dict(edits("intelRdt: {closID: a}}}, {name: e, containerEdits: {intelRdt: {closID: b}"),
         annotation="v/c=d,v/c=e"), "plan", ours="a container has one class")

# ---- Requests that the reference refuses ----

Difference(
    "same-interface", "Two devices may ask for the same interface by the same name.",
    dict(edits("netDevices: &n [{hostInterfaceName: a, name: b}]}}, {name: e, containerEdits: {netDevices: *n "),
         annotation="v/c=d,v/c=e"), "plan",
    reference=r'duplicate HostInterfaceName "(.*)" with names "(.*)" and "\2"')

Difference(
    "host-link", "The names that udev makes (by-id, by-path) are links: followed on the host.",
    edits("deviceNodes: [{path: /dev/new, hostPath: /dev/link}]"), "plan",
    reference='"/dev/link": not a device node')

# ---- Edits that look otherwise ----

Difference(
    "paths-cleaned", "//, /./ and a / at the end go: two spellings of one path are one place.",
    edits(MOUNT % ("/opt", "/a//b/")))
Difference(
    "unbuffered", "Type u is c to Linux: made as such, looked up as such, and allowed as such.",
    edits("deviceNodes: [{path: /dev/new, type: u, major: 5}]"), "plan", reference=r"host type mismatch \(u, c\)")
Difference(
    "rules-summed", "Several rules of the device cgroup for one device are one, which allows what they allow.",
    edits("deviceNodes: [{path: /dev/new, hostPath: /dev/c0}, {path: /dev/c0}]"))
Difference(
    "rule-of-replaced", "A node that a later one replaces leaves no rule.",
    edits("deviceNodes: [{path: /dev/new, hostPath: /dev/c0}, {path: /dev/new, hostPath: /dev/c1}]"))
Difference(
    "rule-without-access", "permissions: none gives no rule; the reference's has no access, which trips crun.",
    edits(NODE % ", permissions: none"))
Difference(
    "id-mapped", """A bind mount into a container with a user namespace gets idmap or ridmap from the reference.
    Containers with a user namespace are refused here until they are built.""",
    dict(edits("mounts: [{hostPath: /opt, containerPath: /a, type: bind}]"), config=dict(CONFIG, linux={
        "namespaces": [{"type": "user"}],
        "uidMappings": [{"containerID": 0, "hostID": 1000, "size": 1}],
        "gidMappings": [{"containerID": 0, "hostID": 1000, "size": 1}]})))
Difference(
    "built-in-hook", "Hooks of the NVIDIA family that ask for the library cache are done in this process.",
    edits("hooks: [{hookName: createContainer, path: /usr/bin/nvidia-cdi-hook, "
          "args: [nvidia-cdi-hook, update-ldcache]}]"))
