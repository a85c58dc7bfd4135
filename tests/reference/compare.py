# SPDX-License-Identifier: Apache-2.0
"""Holds the two answers to a case against each other.

They must agree on every file (good or not, and what it holds), on the file from which each device
comes, on which requests are unresolved, and on the edits. Where this project differs on purpose, the
difference has a name, a reason and a case that shows it: differences.py.
"""

import copy
import posixpath
import re

import generate
from differences import DIFFERENCES


class Unexplained(Exception):
    """The two do not agree, and no named difference says why."""


def named(name):
    assert name in DIFFERENCES, name
    return name


def explain(where, ours, reference, notes, text=b""):
    """The named difference that this refusal by one of the two is, or None. `ours` and `reference`
    are the sentences of the refusals, None from the one that accepted; `text` is the file."""
    for difference in DIFFERENCES.values():
        if any(matches(shape, where, ours, reference, notes, text) for shape in difference.shapes):
            return difference.name
    return None


def matches(shape, where, ours, reference, notes, text):
    if shape.where != where or bool(ours) != bool(shape.ours) or bool(reference) != bool(shape.reference):
        return False
    if shape.ours and not re.search(shape.ours, ours) or shape.reference and not re.search(shape.reference, reference):
        return False
    if shape.note and not any(re.search(shape.note, note) for note in notes):
        return False
    if callable(shape.text):
        return shape.text(text)
    return not shape.text or bool(re.search(shape.text, text))


def differ(what, reference, ours):
    raise Unexplained("%s\nreference: %s\nours:      %s" % (what, reference, ours))


def clean(path):
    path = posixpath.normpath(path)
    return path[1:] if path.startswith("//") else path


# Names of differences, and the list of a config in which they show.
NOT_ALIKE = [
    ({"paths-cleaned", "unbuffered"}, ["linux", "devices"]),
    ({"device-rules", "unbuffered"}, ["linux", "resources", "devices"]),
    ({"paths-cleaned", "bind-said"}, ["mounts"]),
]


class Judge:
    """Asks both about a case, and again without what a named difference is about, until they agree."""

    def __init__(self, world):
        self.world = world

    def judge(self, case):
        """The names of the differences that show. Raises Unexplained."""
        self.case = copy.copy(case)
        self.names = set()
        self.ignored = set()  # devices
        self.accepted = {}  # the specs that both accept, at last
        while True:
            self.reference, self.ours = self.world.ask(self.case)
            if "devices" not in self.ours:
                differ("the case", "read", self.ours.get("error"))
            if not (self.directories_differ() or self.files_differ() or self.devices_differ()
                    or self.requests_differ()):
                break
        self.compare_edits()
        return self.names

    def again_without(self, name, **changes):
        self.names.add(named(name))
        self.case.update(changes)
        return True

    # ---- what is found ----

    def directories_differ(self):
        dirs = self.case["dirs"]
        for i, path in enumerate(dirs):
            if "error" in self.ours.get("files", {}).get(clean(path), {}):
                return self.again_without("faults-stay-local", dirs=dirs[:i] + dirs[i + 1:])
        return False

    def read_once(self, files):
        """Without those of a directory that is named again later, by this path or another: read twice or
        once, the later place is what counts."""
        dirs = [clean(path) for path in self.case["dirs"]]
        real = [self.world.real_path(path) for path in dirs]
        later = {path: [other for other, target in zip(dirs, real) if target and target == real[i]][-1:]
                 for i, path in enumerate(dirs)}
        return {path: file for path, file in files.items()
                if later.get(posixpath.dirname(path)) in ([], None, [posixpath.dirname(path)])}

    def files_differ(self):
        reference, ours = self.read_once(self.reference["files"]), self.ours.get("files", {})
        if sorted(reference) != sorted(ours):
            differ("spec files", sorted(reference), sorted(ours))
        for path in sorted(reference):
            if self.file_differs(path, reference[path], ours[path]):
                files = dict(self.case["files"])
                self.world.drop(files, path)
                self.case["files"] = files
                return True
        self.accepted = {path: file["value"] for path, file in reference.items() if "value" in file}
        return False

    def file_differs(self, path, reference, ours):
        text = self.world.content(self.case["files"], path)
        if "value" in reference and "value" in ours:
            if plain(reference["value"]) != plain(ours["value"]):
                name = explain("text", None, None, (), text)
                if name:
                    self.names.add(name)
                    return True
                differ("value of " + path, plain(reference["value"]), plain(ours["value"]))
            return False
        if "error" in reference and "error" in ours and not reference.get("panic"):
            return False
        notes = [note for note in self.ours["notes"] if note.startswith(path + ":")]
        where = "panic" if reference.get("panic") else "file"
        name = explain(where, ours.get("error"), reference.get("error"), notes, text) \
            or explain("text", None, None, (), text)
        if not name:
            differ("verdict on " + path, reference.get("error", "good"),
                   ours.get("error", "good %s" % notes))
        self.names.add(name)
        return True

    def devices_differ(self):
        reference, ours = self.reference["devices"], self.ours["devices"]
        for name in sorted(set(reference) | set(ours)):
            if reference.get(name) == ours.get(name) or name in self.ignored:
                continue
            if name in reference or not self.is_hidden_by_low_conflict(name, ours[name]):
                differ("file of " + name, reference.get(name), ours.get(name))
            self.names.add(named("faults-stay-local"))
            self.ignored.add(name)
            wanted = self.case["annotation"].split(",")
            if name in wanted:
                rest = [other for other in wanted if other != name]
                self.case["annotation"] = ",".join(rest) or "nothing.there/at=all"
                return True
        return False

    def is_hidden_by_low_conflict(self, device, ours):
        """Whether `device` is defined once in the directory of the file `ours`, and twice in one before."""
        dirs = [clean(path) for path in self.case["dirs"]]
        count = {path: 0 for path in dirs}
        for path, value in self.accepted.items():
            names = ["%s=%s" % (value["kind"], item["name"]) for item in value["devices"]]
            count[posixpath.dirname(path)] += device in names
        at = len(dirs) - 1 - dirs[::-1].index(posixpath.dirname(ours))
        return count[dirs[at]] == 1 and not any(count[path] for path in dirs[at + 1:]) \
            and any(count[path] > 1 for path in dirs[:at])

    def requests_differ(self):
        reference, ours = self.reference["requests"] or [], self.ours["requests"]
        if reference != ours:
            if list(dict.fromkeys(reference)) != ours:
                differ("requests", reference, ours)
            return self.again_without("twice-is-once", annotation=",".join(ours))
        if (self.reference["unresolved"] or []) != self.ours.get("unresolved", []):
            differ("unresolved", self.reference["unresolved"], self.ours.get("unresolved"))
        return False

    # ---- the edits ----

    def compare_edits(self):
        reference, ours = self.reference.get("error"), self.ours.get("error")
        if reference and ours:
            return
        if reference or ours:
            name = explain("plan", ours, reference, self.ours["notes"])
            if not name:
                differ("verdict on the request", reference or "good", ours or "good")
            self.names.add(name)
            return
        config, plan, base = self.reference["config"], self.ours["plan"], self.case["config"]
        self.compare_nodes(config, plan)
        self.compare_rules(config, plan)
        self.compare_mounts(config, plan)
        self.compare_hooks(config, plan)
        self.compare_process(config, plan, base)
        self.compare_rest(config, plan, base)
        self.compare_edited(config, self.ours["edited"])

    def is_whole(self):
        """Whether the two edited configs were compared in all their parts."""
        return self.names.isdisjoint(name for names, _ in NOT_ALIKE for name in names)

    def compare_edited(self, config, edited):
        """The whole config, as both have edited it, but for lists of which a named difference says that they cannot be
        alike; what these hold of the edits has been compared before."""
        config, edited = copy.deepcopy(config), copy.deepcopy(edited)
        for names, path in NOT_ALIKE:
            if self.names.isdisjoint(names):
                continue
            for value in (config, edited):
                for key in path[:-1]:
                    value = value.get(key, {})
                value.pop(path[-1], None)
        for value in (config, edited):
            if not value.get("linux", {}).get("resources", True):
                del value["linux"]["resources"]
            # The reference hands the letters on as the spec has them: "mwr", "rrw".
            for rule in value.get("linux", {}).get("resources", {}).get("devices", []):
                rule["access"] = "".join(letter for letter in "rwm" if letter in rule.get("access", ""))
            # And a FIFO's numbers, which no FIFO has.
            for device in value.get("linux", {}).get("devices", []):
                if device["type"] == "p":
                    device.update(major=0, minor=0)
        if edited != config:
            differ("the edited config", config, edited)

    def cleaned(self, path):
        """As the plan has it."""
        if clean(path) != path:
            self.names.add(named("paths-cleaned"))
        return clean(path)

    def compare_nodes(self, config, plan):
        nodes = {}
        for device in config.get("linux", {}).get("devices", []):
            if device.get("uid") == generate.BASE_UID:
                continue
            path, kind = self.cleaned(device["path"]), device["type"]
            if kind == "u":
                self.names.add(named("unbuffered"))
                kind = "c"
            nodes.pop(path, None)
            # Without a mode a runtime makes the node rw-rw-rw-.
            nodes[path] = node_text(path, kind, device.get("major", 0), device.get("minor", 0),
                                    device.get("fileMode", 0o666), device.get("uid", 0), device.get("gid", 0))
        ours = [node_text(node["path"], node["type"], node["major"], node["minor"], node["fileMode"],
                          node["uid"], node["gid"]) for node in plan["nodes"]]
        if list(nodes.values()) != ours:
            differ("deviceNodes", list(nodes.values()), ours)

    def all_nodes(self):
        """The nodes of everything that is asked for, those that later ones replace too."""
        edits, seen = [], set()
        for name in self.ours["requests"]:
            path = self.ours["devices"][name]
            value = self.accepted[path]
            if path not in seen:
                edits.append(value.get("containerEdits", {}))
            seen.add(path)
            _, _, device = name.partition("=")
            edits += [item["containerEdits"] for item in value["devices"] if item["name"] == device]
        return [node for edit in edits for node in edit.get("deviceNodes", [])]

    def compare_rules(self, config, plan):
        linux = config.get("linux", {})
        rules = [rule for rule in linux.get("resources", {}).get("devices", [])
                 if rule["allow"] and rule.get("major") != generate.BASE_MAJOR]
        nodes = [node for node in linux.get("devices", []) if node.get("uid") != generate.BASE_UID]
        summed = {}
        for rule in rules:
            key = "%s %d:%d" % (rule["type"], rule["major"], rule["minor"])
            if key in summed:
                self.names.add(named("device-rules"))
            if "access" not in rule:
                self.names.add(named("device-rules"))
            summed[key] = summed.get(key, set()) | set(rule.get("access", ""))
        summed = {key: access for key, access in summed.items() if access}
        ours = {"%s %d:%d" % (rule["type"], rule["major"], rule["minor"]): set(rule["access"]) - {"-"}
                for rule in plan["rules"]}
        if len(ours) != len(plan["rules"]):
            differ("two rules for one device", rules, plan["rules"])
        if len(self.all_nodes()) > len(plan["nodes"]) and ours != summed:
            # Nodes were replaced. What is left of the rules must be the reference's.
            self.names.add(named("device-rules"))
            summed = {key: access & ours[key] for key, access in summed.items() if key in ours}
        for node in nodes:
            key = "c %d:%d" % (node.get("major", 0), node.get("minor", 0))
            if node["type"] == "u" and key in ours:
                summed[key] = ours[key]
        if ours != summed:
            differ("device rules", summed, ours)

    def compare_mounts(self, config, plan):
        mounts = {}
        for mount in config.get("mounts", []):
            if mount["source"] == generate.BASE_SOURCE:
                continue
            destination, options = self.cleaned(mount["destination"]), self.as_bind(config, mount)
            # To any other file system the source is only a word.
            is_bind = mount.get("type", "none") in ("bind", "none") or {"bind", "rbind"} & set(options)
            source = self.cleaned(mount["source"]) if is_bind else mount["source"]
            mounts.pop(destination, None)
            mounts[destination] = mount_text(source, destination, mount.get("type", ""), options)
        ours = [mount_text(mount["source"], mount["destination"], mount.get("type", ""), mount.get("options", []))
                for mount in plan["mounts"]]
        if list(mounts.values()) != ours:
            differ("mounts", list(mounts.values()), ours)

    def as_bind(self, config, mount):
        """The options of a mount, in which a bind mount says that it is one."""
        options, linux = mount.get("options", []), config.get("linux", {})
        if mount.get("type", "none") != "none" or {"bind", "rbind"} & set(options):
            return options
        self.names.add(named("bind-said"))
        mapped = linux.get("uidMappings") and linux.get("gidMappings") \
            and any(namespace["type"] == "user" for namespace in linux.get("namespaces", []))
        return options + ["bind"] + ["idmap"] * bool(mapped and not {"idmap", "ridmap"} & set(options))

    def compare_hooks(self, config, plan):
        hooks, ours = {}, {}
        for stage in generate.HOOK_NAMES:
            for hook in config.get("hooks", {}).get(stage, []):
                if hook["path"] != generate.BASE_HOOK:
                    hooks.setdefault(stage, []).append(hook_text(hook))
        for hook in plan["hooks"]:
            ours.setdefault(hook["hookName"], []).append(hook_text(hook))
        hooks = {stage: texts for stage, texts in hooks.items() if texts}
        if hooks != ours:
            differ("hooks", hooks, ours)

    def compare_process(self, config, plan, base):
        """A runtime stage cannot change the process: the plan lists what it would be, one by one."""
        process = base.get("process", {})
        env, gids = list(process.get("env", [])), list(process.get("user", {}).get("additionalGids", []))
        for edit in plan["edits"]:
            word, _, rest = edit.partition(" ")
            if word == "env":
                places = [i for i, entry in enumerate(env) if entry.partition("=")[0] == rest.partition("=")[0]]
                if places:
                    env[places[-1]] = rest
                else:
                    env.append(rest)
            elif word == "additionalGids" and int(rest) not in gids:
                gids.append(int(rest))
        edited = config.get("process", {})
        if edited.get("env", []) != env:
            differ("env", edited.get("env"), env)
        if edited.get("user", {}).get("additionalGids", []) != gids:
            differ("additionalGids", edited["user"].get("additionalGids"), gids)

    def compare_rest(self, config, plan, base):
        linux, before = config.get("linux", {}), base.get("linux", {})
        names = {host: net["name"] for host, net in before.get("netDevices", {}).items()}
        clos_id = before.get("intelRdt", {}).get("closID", "")
        for edit in plan["edits"]:
            word, _, rest = edit.partition(" ")
            if word == "netDevices":
                host, _, name = rest.partition(":")
                names[host] = name
            elif word == "intelRdt" and rest != "enableMonitoring":
                clos_id = "" if rest == "without closID" else rest
        edited = {host: net["name"] for host, net in linux.get("netDevices", {}).items()}
        if edited != names:
            differ("netDevices", edited, names)
        if linux.get("intelRdt", {}).get("closID", "") != clos_id:
            differ("intelRdt", linux.get("intelRdt"), clos_id)


def plain(value):
    """A spec as data: the reference keeps the v of a version."""
    value = dict(value)
    value["cdiVersion"] = value["cdiVersion"].removeprefix("v")
    return value


def node_text(path, kind, major, minor, mode, uid, gid):
    numbers = "" if kind == "p" else " %d:%d" % (major, minor)
    return "%s %s%s %04o %d:%d" % (path, kind, numbers, mode, uid, gid)


def mount_text(source, destination, kind, options):
    return " ".join([source, destination, kind or "-"] + options)


def hook_text(hook):
    return "%s %r %r %s" % (hook["path"], hook.get("args", []), hook.get("env", []), hook.get("timeout"))
