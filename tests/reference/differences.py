# SPDX-License-Identifier: Apache-2.0
"""Where this project differs from the reference library on purpose.

Each difference has a name, what it is known by, the reason, and a case that shows it: when that case
no longer shows it, the difference is not needed any more and must go.
"""

DIFFERENCES = {}


class Difference:
    def __init__(self, name, reason, case, where=None, ours=None, reference=None, note=None):
        """`where` is "file", "panic" or "plan" for a difference in what is refused: then `ours` and
        `reference` are patterns for the sentence of the one that refuses, and `note` for a warning.
        The others are known by code in compare.py."""
        self.name, self.reason, self.case = name, " ".join(reason.split()), case
        self.where, self.ours, self.reference, self.note = where, ours, reference, note
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
for n in "directory-twice directory-unusable low-conflict asked-twice paths-cleaned unbuffered rules-summed rule-without-access rule-of-replaced id-mapped built-in-hook".split():
    Difference(n, "", edits("env: [A=1]"))
