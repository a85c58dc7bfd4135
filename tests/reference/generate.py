# SPDX-License-Identifier: Apache-2.0
"""Random cases for the comparison with the reference library: spec files, a request, a config.

Nothing here knows what is right: a case only has to be near enough to a good one to reach deep into
both readers. Most are good or have one fault; YAML's many ways to write the same come by chance, as
do anchors and merge keys, which change what is meant.
"""

import json
import random

# What stands in the scratch directory's /dev, made once: path, type, numbers, mode.
HOST_NODES = [
    ("/dev/c0", "c", 240, 0, 0o666),
    ("/dev/c1", "c", 240, 1, 0o600),
    ("/dev/sub/c2", "c", 195, 255, 0o1644),
    ("/dev/b0", "b", 241, 0, 0o660),
    ("/dev/b1", "b", 241, 1, 0o640),
    ("/dev/p0", "p", 0, 0, 0o622),
]
HOST_LINKS = [("/dev/link", "c0"), ("/dev/dangling", "nowhere")]
HOST_FILES = ["/dev/file", "/usr/lib/libx.so.1"]

# What the config has of its own is marked, so that it can be told from what was added.
BASE_UID = 54321
BASE_MAJOR = 77
BASE_SOURCE = "base"
BASE_HOOK = "/base/hook"

VERSIONS = ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"]
BAD_VERSIONS = [
    "0.1.0", "0.2.0", "0.9.0", "1.1.1", "1.2.0", "2.0.0", "", "1.1", "V1.1.0", "vv1.1.0", "0.5.1",
    "1.1.0-rc1", " 1.1.0", "1.1.0 ", "v", "01.1.0", "1.01.0",
]
KINDS = ["vendor.com/gpu", "vendor.com/net", "v/c", "example.org/class.sub", "V_1.x/c-2_3"]
BAD_KINDS = [
    "", "vendor", "vendor/", "/gpu", "vendor.com-/gpu", "_v/gpu", "1v/gpu", "v/1c", "v/c/d",
    "v /c", "v/c_", "v/.c", "v/c=x", "ä/c", "v/ç", "v..com/c", "v" * 300 + "/c", "v/" + "c" * 300,
]
NAMES = ["0", "1", "gpu0", "gpu1", "all", "a:b", "a..b", "x_y-z.1", "n" * 80]
BAD_NAMES = ["", "a:", "-a", "_a", "a b", "ä", "*", "a/b", "a=b", "a,b", ":", "a@b", "a\n", " a"]
ENV_NAMES = ["FOO", "BAR", "A B", "LD_LIBRARY_PATH", "9", "FOO.x"]
BAD_ENV = ["", "=x", "FOO", "=", "FOO bar"]
CONTAINER_PATHS = [
    "/a", "/a/b", "/a/b/c", "/b", "/etc/x.conf", "/usr/lib/libx.so.1", "/run/x/y", "/z/z/z/z",
    "/proc/driver/x", "/proc/driver/x/y", "/dev/shm",
]
ODD_CONTAINER_PATHS = [
    "/", "//", "/sys/x", "/proc/sys/x", "/proc/1/x", "/proc/x", "/a/", "/a//b", "/a/./b", "/a/../b",
    "rel/x", "..", "/x/" + "p" * 300, "/" + "q" * 4100,
]
SOURCES = ["/usr/lib/libx.so.1", "/opt/x", "/dev/file", "/var/lib/y", "/dev/c0", "/opt"]
OPTIONS = ["ro", "rw", "nosuid", "nodev", "noexec", "bind", "rbind", "rprivate", "rslave", "relatime"]
HOOK_NAMES = [
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop",
]
HOOK_PATHS = ["/usr/bin/hook", "/usr/bin/other-hook", "/sbin/ldconfig"]
CLOS_IDS = ["c1", "/", "clos.1", ""]
BAD_CLOS_IDS = [".", "..", "a/b", "/a", "a\nb", "c" * 4095, "c" * 4096]
SPEC_KEYS = [
    "cdiVersion", "kind", "annotations", "devices", "name", "containerEdits", "env", "deviceNodes",
    "netDevices", "hooks", "mounts", "intelRdt", "additionalGids", "path", "hostPath",
    "containerPath", "options", "type", "permissions", "major", "minor", "fileMode", "uid", "gid",
    "hookName", "args", "timeout", "closID", "l3CacheSchema", "memBwSchema", "schemata",
    "enableMonitoring", "hostInterfaceName",
]
RETIRED_KEYS = ["enableCMT", "enableMBM", "additionalGIDs", "schema", "host", "container", "x-foo"]


class Raw(str):
    """Text that goes into the file as it stands."""


class Map:
    """A map in which a key can stand twice."""

    def __init__(self, **pairs):
        self.pairs = [[key, value] for key, value in pairs.items()]

    def __repr__(self):
        return "Map(%r)" % self.pairs


# Separated by blanks, those that have blanks in them by semicolons.
ODD_WORDS = """
~ null Null NULL true false True TRUE yes no Yes on off y n Y N 0 1 -1 -0 +1 01 08 010 0666 0o666 0o17 0x10 0X1F 0x
0b11 0b2 1_000 _1 1_ 1e3 1e2 1E2 1.5 -0.5 1.0 438.0 1. .5 . .. - .nan .inf -.inf .NaN +.inf 1:30 2001-01-01 4294967295
4294967296 2147483648 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
18446744073709551615 18446744073709551616 1e19 1e400 1e-400 0.1e1 0e0 1e+2 0x1b6 0x1.8p1 1e 1e+ 0o8 0688 00 000 07777
010000 4095 4096 32767 65536 1048575 1048576 0x7fffffffffffffff 0b1111111111 -0x10 -010 +0x1
!!str << = "" '' "5" '5' "true" 'yes' "on" "off" "y" "n" "Yes" "1.5" "0x10" "null" "~" "a\\tb" "a\\nb" "\\x41" "\\u00e9"
"\\/dev\\/x" "\\ud83d\\ude00" "\\ud83d" "\\ude00x" "\\U0001F600" "\\0" "\\e" "\\_" "\\q" 'it''s' a#b [] {} [~] [[]] [a] "x"y
@x `x %x &a *nowhere ! !! | > * & "unterminated 'unterminated [a {a a] , : x: :x :: a,b /dev/c0 none rwm mwr rrw rwx c b
u p cc é "é"
"""
ODD_PHRASES = """!!str 5;!!int "5";!!int 5;!!int x;!!float 3;!!float 5.0;!!bool yes;!!bool "true";!!bool x;!!null x;!!null ~
;!foo 5;!foo x;! 5;! "5";!!binary aGk=;!!binary "YWJj";!!binary @@;!!binary a;!!timestamp 2001-01-01;!!timestamp x
;!!merge x;!!seq x;!!map x;!<tag:yaml.org,2002:str> 7;!<tag:yaml.org,2002:int> 7;!<x> y;"a b";"line
two";'line

two';a b;a: b;a #b;- a;{a: b};&a x;? x"""
ODD_SCALARS = [Raw(word) for word in ODD_WORDS.split()] + [Raw(text.strip("\n")) for text in ODD_PHRASES.split(";")]


class Generator:
    """One random case."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        # Nearly half of the cases are to be good in all: to compare what is made of them.
        self.tidy = self.chance(0.45)
        self.fits = True  # only what the version of the file at hand knows
        self.version = "1.1.0"

    # ---- small helpers ----

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, items):
        return self.rng.choice(items)

    def some(self, make, most=3):
        return [make() for _ in range(self.rng.randint(1, most))]

    def has(self, since):
        """Whether to use what version `since` brought."""
        return not self.fits or VERSIONS.index(self.version) >= VERSIONS.index(since)

    def usually(self, good, odd, probability=0.02):
        return self.pick(odd if not self.tidy and self.chance(probability) else good)

    # ---- specs ----

    def node(self):
        host = self.pick(HOST_NODES)
        node = Map(path=self.pick([host[0], host[0], "/dev/new", "/dev/c0"]))
        here = node.pairs[0][1] == host[0]
        if self.has("0.5.0") and (not here or self.chance(0.2)):
            node.pairs.append(["hostPath", host[0]])
            here = True
        style = self.rng.random() * (0.85 if self.tidy else 1)
        if style < 0.45 and here:
            if self.chance(0.3):
                node.pairs.append(["type", host[1]])
        elif style < 0.85:
            node.pairs.append(["type", host[1] if here else self.pick("cb")])
            node.pairs.append(["major", host[2] if here else self.pick([1, 240, 4095])])
            node.pairs.append(["minor", host[3] if here else self.pick([0, 3, 1048575])])
        elif not here and self.tidy:
            node.pairs += [["type", "p"]]
        else:
            if self.chance(0.7):
                node.pairs.append(["type", self.pick("cbup")])
            if self.chance(0.6):
                node.pairs.append(["major", self.pick([0, 1, 240, 241, 300, 4096, -1])])
            if self.chance(0.6):
                node.pairs.append(["minor", self.pick([0, 1, 255, 1048576, -1])])
        if not self.tidy and self.chance(0.03):
            other = self.pick(["/dev/link", "/dev/dangling", "/dev/file", "/dev", "/dev/none",
                               "/dev//c0", "/dev/./c1", "dev/c0", "/proc/x", "/sys/x", "/"])
            node.pairs[0][1] = other
        if self.chance(0.25):
            permissions = ["rwm", "rw", "r", "m", "mwr", "rrw", "none", ""]
            node.pairs.append(["permissions", self.usually(permissions, ["x", "rwx", "None", "r w"])])
        if self.chance(0.25):
            node.pairs.append(["fileMode", self.usually([0, 0o600, 0o666, 0o1777, Raw("0644"),
                                                         Raw("0o640")], [0o10000, 2**32 - 1, 2**32])])
        for key in ("uid", "gid"):
            if self.chance(0.15):
                node.pairs.append([key, self.usually([0, 1, 1000, 2**32 - 1], [-1, 2**32, Raw("1.5")])])
        return node

    def net_device(self):
        return Map(hostInterfaceName=self.pick(["eth0", "eth1", "eth2", "ib0"]),
                   name=self.usually(["eth0", "net1", "net2", "net3"], ["x/y", "a b", ""]))

    def net_devices(self):
        if self.tidy:
            hosts, names = (self.rng.sample([word % i for i in range(9)], 2) for word in ("eth%d", "net%d"))
            return [Map(hostInterfaceName=host, name=name) for host, name in zip(hosts, names)]
        return self.some(self.net_device, 2)

    def mount(self):
        kind = self.pick([None, None, None, "bind", "tmpfs", "", "none"])
        mount = Map(hostPath=self.usually(SOURCES, ["/absent/x", "rel", "/a/../b", "//opt//x/", ""]),
                    containerPath=self.usually(CONTAINER_PATHS, ODD_CONTAINER_PATHS, 0.03))
        if kind is not None and (self.has("0.4.0") or kind == ""):
            mount.pairs.append(["type", self.usually([kind], ["ext4", "overlay", "x"])])
        if self.chance(0.5):
            options = self.some(lambda: self.usually(OPTIONS, ["size=1m", "bogus", "", "idmap"]))
            mount.pairs.append(["options", options])
        return mount

    def hook(self):
        hook = Map(hookName=self.usually(HOOK_NAMES, ["prestarT", "", "poststop ", "createruntime"]),
                   path=self.usually(HOOK_PATHS, ["bin/x", "", "/usr/bin/nvidia-ctk"]))
        if self.chance(0.5):
            hook.pairs.append(["args", self.some(lambda: self.pick(["hook", "-x", "", "a b", "é"]))])
        if self.chance(0.3):
            hook.pairs.append(["env", self.some(self.env)])
        if self.chance(0.3):
            hook.pairs.append(["timeout", self.pick([1, 5, 0, -1, 2**31, 2**40])])
        return hook

    def env(self):
        if not self.tidy and self.chance(0.01):
            return self.pick(BAD_ENV)
        value = self.pick(["1", "", "a b", "x=y", "/usr/lib", "é", "yes", "#"])
        return "%s=%s" % (self.pick(ENV_NAMES), value)

    def rdt(self):
        rdt = Map()
        if self.chance(0.7):
            rdt.pairs.append(["closID", self.usually(CLOS_IDS, BAD_CLOS_IDS, 0.05)])
        for key in ("l3CacheSchema", "memBwSchema"):
            if self.chance(0.3):
                rdt.pairs.append([key, self.pick(["L3:0=f;1=f", "MB:0=20", ""])])
        if self.has("1.1.0") and self.chance(0.3):
            rdt.pairs.append(["schemata", self.pick([[], ["L3:0=f"], ["a", "b"]])])
        if self.chance(0.2):
            rdt.pairs.append(["enableMonitoring", self.has("1.1.0") and self.chance(0.7)])
        if self.chance(0.05):
            rdt.pairs.append([self.pick(["enableCMT", "enableMBM"]), self.chance(0.5)])
        return rdt

    def edits(self):
        makers = [
            ("env", lambda: self.some(self.env), 0.5, "0.3.0"),
            ("deviceNodes", lambda: self.some(self.node), 0.5, "0.3.0"),
            ("mounts", lambda: self.some(self.mount, 4), 0.4, "0.3.0"),
            ("hooks", lambda: self.some(self.hook), 0.2, "0.3.0"),
            ("intelRdt", self.rdt, 0.08, "0.7.0"),
            ("additionalGids", lambda: self.some(lambda: self.pick([0, 4, 5, 6, 2**32 - 1]), 4), 0.12, "0.7.0"),
            ("netDevices", self.net_devices, 0.12, "1.1.0"),
        ]
        edits = Map()
        for key, make, probability, since in makers:
            if self.has(since) and self.chance(probability):
                edits.pairs.append([key, make()])
        self.rng.shuffle(edits.pairs)
        return edits

    def annotations(self):
        keys = ["vendor.com/x", "note", "", "bad key!", "a" * 70]
        return Map(**{self.pick(keys): self.pick(["1", "", "text"]) for _ in range(self.rng.randint(0, 2))})

    def device(self, name):
        device = Map(name=name, containerEdits=self.edits())
        if not device.pairs[1][1].pairs and self.chance(0.97):
            device.pairs[1][1].pairs.append(["env", [self.env()]])
        if self.has("0.6.0") and self.chance(0.1):
            device.pairs.append(["annotations", self.annotations()])
        return device

    def spec(self, kind):
        self.version = "1.1.0" if self.chance(0.5) else self.pick(VERSIONS)
        self.fits = self.tidy or self.chance(0.85)
        kind = self.usually([kind], BAD_KINDS)
        if self.fits and self.version < "0.6.0" and "." in kind[kind.find("/"):]:
            kind = KINDS[0]
        names = [name for name in NAMES if self.has("0.5.0") or not name[0].isdigit()]
        names = self.rng.sample(names, self.rng.randint(1, 3))
        if not self.tidy and self.chance(0.03):
            names.append(self.pick(BAD_NAMES + names))
        version = self.version
        if not self.tidy and self.chance(0.03):
            version = self.pick(BAD_VERSIONS)
        elif self.chance(0.05):
            version = "v" + version
        spec = Map(cdiVersion=version, kind=kind, devices=[self.device(name) for name in names])
        if self.chance(0.4):
            spec.pairs.append(["containerEdits", self.edits()])
        if self.has("0.6.0") and self.chance(0.1):
            spec.pairs.append(["annotations", self.annotations()])
        if self.chance(0.2):
            self.rng.shuffle(spec.pairs)
        return spec

    # ---- faults in the tree ----

    def places(self, value, into):
        """Every place of the tree: the list or pair that holds it, and the index there."""
        if isinstance(value, Map):
            for pair in value.pairs:
                into.append((pair, 1))
                self.places(pair[1], into)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                into.append((value, i))
                self.places(item, into)
        return into

    def containers(self, value, kind, into):
        if isinstance(value, kind):
            into.append(value)
        items = [pair[1] for pair in value.pairs] if isinstance(value, Map) else value
        if isinstance(value, (Map, list)):
            for item in items:
                self.containers(item, kind, into)
        return into

    def odd_scalar(self):
        return self.pick(ODD_SCALARS)

    def other_key(self, key):
        choice = self.rng.randrange(5)
        if choice == 0:
            return self.pick([key.upper(), key.lower(), key[:1].upper() + key[1:], key.swapcase()])
        if choice == 1:
            return self.pick(RETIRED_KEYS)
        if choice == 2:
            return key[:-1] if self.chance(0.5) else key + self.pick("sx_ ")
        if choice == 3:
            return self.pick(SPEC_KEYS)
        return self.odd_scalar()

    def spoil(self, spec):
        """One fault, or only something unusual."""
        holder, at = self.pick(self.places(spec, []))
        maps = [m for m in self.containers(spec, Map, []) if m.pairs]
        lists = self.containers(spec, list, [])
        choice = self.rng.randrange(14)
        if choice <= 3:
            scalars = [(h, i) for h, i in self.places(spec, []) if not isinstance(h[i], (Map, list))]
            holder, at = self.pick(scalars)
            holder[at] = self.odd_scalar()
        elif choice == 4:
            the_map = self.pick(maps)
            the_map.pairs.remove(self.pick(the_map.pairs))
        elif choice == 5:
            pair = self.pick(self.pick(maps).pairs)
            pair[0] = self.other_key(pair[0])
        elif choice == 6:
            the_map = self.pick(maps)
            pair = self.pick(the_map.pairs)
            key = pair[0] if self.chance(0.6) else self.other_key(pair[0])
            the_map.pairs.append([key, pair[1] if self.chance(0.5) else self.odd_scalar()])
        elif choice == 7:
            holder[at] = None
        elif choice == 8 and lists:
            the_list = self.pick(lists)
            item = self.pick([None, None, None, self.odd_scalar(), [], Map(), ""])
            the_list.insert(self.rng.randint(0, len(the_list)), item)
        elif choice == 9:
            holder[at] = self.pick([[holder[at]], [], Map(), "", Map(a=holder[at])])
        elif choice == 10:
            numbers = [(h, i) for h, i in self.places(spec, []) if isinstance(h[i], int)]
            if numbers:
                holder, at = self.pick(numbers)
            holder[at] = self.odd_scalar()
        elif choice == 11:
            the_map = self.pick(maps)
            the_map.pairs.append([self.pick(SPEC_KEYS + RETIRED_KEYS), self.odd_scalar()])
        elif choice == 12:
            pairs = [pair for m in maps for pair in m.pairs if pair[0] in ("name", "kind", "cdiVersion")]
            if pairs:
                pair = self.pick(pairs)
                pair[1] = self.pick({"name": BAD_NAMES, "kind": BAD_KINDS}.get(pair[0], BAD_VERSIONS))
        elif choice == 13 and lists:
            the_list = self.pick(lists)
            if the_list:
                the_list.append(self.pick(the_list))

    # ---- texts ----

    def text(self, spec):
        style = self.rng.random()
        writer = Writer(self)
        if style < 0.35:
            return writer.flow(spec, True, self.pick([None, None, 1, 2])) + self.pick(["", "\n"])
        text = writer.block(spec, 0)
        if self.chance(0.3):
            text = self.pick(["---\n", "--- # x\n", "# a comment\n", "%YAML 1.1\n---\n", "\n\n"]) + text
        return text

    def encode(self, text):
        """The file's bytes; now and then something that only a reader of bytes sees."""
        if self.tidy or self.chance(0.9):
            return text.encode("utf-8", "surrogateescape")
        choice = self.rng.randrange(12)
        if choice == 0:
            return b"\xef\xbb\xbf" + text.encode()
        if choice == 1:
            return text.encode("utf-16")
        if choice == 2:
            return b"\xfe\xff" + text.encode("utf-16-be")
        if choice == 3:
            return text.replace("\n", "\r\n").encode()
        if choice == 4:
            return text.replace("\n", "\r").encode()
        if choice == 5:
            more = ["\n---\nx: [\n", "...\n", "\n...\nrest: x\n", "\n--- {}\n", "\n}", " x\n", "\n---\n\x01"]
            return (text + self.pick(more)).encode()
        if choice == 6:
            before = ["---\n---\n", "...\n", "# only\n", "%TAG ! !x\n---\n", "%YAML 1.2\n---\n",
                      "%YAML 1.1\n%YAML 1.1\n---\n", "%FOO\n---\n", "\t", " ", "\ufeff\n", "--- ---\n"]
            return (self.pick(before) + text).encode()
        if choice == 7:
            return self.pick([b"", b"\n", b"# x\n", b"~", b"null\n", b"---\n", b"...\n", b"[]", b"{}",
                              b"text", b"---\n---\nkind: x\n", b"\xff", b"\0", b"!!map", b"&a\n", b"*a\n"])
        if choice == 8:
            return text.replace("  ", self.pick(["\t", "   ", " "]), self.rng.randint(1, 5)).encode()
        return self.damage(text.encode())

    def damage(self, data):
        """A text with a few bytes changed."""
        data = bytearray(data)
        alphabet = b"\n\n  \t:-?,[]{}#&*!|>'\"%@`~\\/0x1_.e+nyabc<=\x00\x7f\x85\xc2\xff"
        for _ in range(self.rng.randint(1, 3)):
            if not data:
                break
            at = self.rng.randrange(len(data))
            choice = self.rng.randrange(6)
            if choice == 0:
                data[at] = self.pick(alphabet)
            elif choice == 1:
                del data[at]
            elif choice == 2:
                data.insert(at, self.pick(alphabet))
            elif choice == 3:
                del data[at:at + self.rng.randint(1, 30)]
            elif choice == 4:
                lines = bytes(data).split(b"\n")
                line = self.rng.randrange(len(lines))
                data = bytearray(b"\n".join(lines[:line] + [lines[line]] * self.pick([0, 2]) + lines[line + 1:]))
            else:
                end = at + self.rng.randint(1, 30)
                data[at:at] = data[at:end]
        return bytes(data)

    # ---- the rest of a case ----

    def config(self):
        config = {"ociVersion": "1.0.2", "root": {"path": "rootfs"},
                  "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/"}}
        user = config["process"]["user"]
        if self.chance(0.3):
            user["uid"], user["gid"] = self.pick([(1000, 1000), (0, 5), (7, 0)])
        if self.chance(0.2):
            user["additionalGids"] = self.pick([[4], [5, 5, 9], [0]])
        if self.chance(0.4):
            config["process"]["env"] = self.pick(
                [["PATH=/bin"], ["FOO=old", "BAR=old"], ["FOO=1", "X=1", "FOO=2"], ["FOO", "BAR=", "=x"]])
        linux = config["linux"] = {}
        if self.chance(0.3):
            linux["devices"] = [{"path": path, "type": "c", "major": BASE_MAJOR, "minor": 1, "uid": BASE_UID}
                                for path in self.rng.sample(["/dev/c0", "/dev/new", "/dev/other"], 2)]
            linux["resources"] = {"devices": [{"allow": False, "access": "rwm"},
                                              {"allow": True, "type": "c", "major": BASE_MAJOR, "access": "r"}]}
        if self.chance(0.4):
            places = ["/proc", "/dev", "/a", "/a/b", "/etc/x.conf", "/b", "/dev/shm", "/z/z/z/z", "/"]
            config["mounts"] = [{"destination": place, "source": BASE_SOURCE}
                                for place in self.rng.sample(places, self.rng.randint(1, 4))]
        if self.chance(0.1):
            config["hooks"] = {"prestart": [{"path": BASE_HOOK}], "createRuntime": [{"path": BASE_HOOK}]}
        if self.chance(0.1):
            linux["netDevices"] = {"eth0": {"name": "base0"}, "eth9": {"name": "base9"}}
        if self.chance(0.1):
            linux["intelRdt"] = {"closID": "base"}
        if self.chance(0.02):
            linux["namespaces"] = [{"type": "user"}]
            mapping = [{"containerID": 0, "hostID": 1000, "size": 10}]
            if self.chance(0.8):
                linux["uidMappings"] = mapping
            if self.chance(0.8):
                linux["gidMappings"] = mapping
        return config

    def request(self, specs):
        """Mostly devices that are there."""
        known = []
        for spec in specs:
            pairs = {str(key): value for key, value in spec.pairs}
            devices = pairs.get("devices")
            for device in devices if isinstance(devices, list) else []:
                names = {str(key): value for key, value in device.pairs} if isinstance(device, Map) else {}
                known.append("%s=%s" % (pairs.get("kind"), names.get("name")))
        names = [self.pick(known) for _ in range(self.rng.randint(1, 4))] if known else []
        if self.chance(0.02 if self.tidy else 0.15):
            names.insert(self.rng.randint(0, len(names)), self.pick([
                "vendor.com/gpu=nowhere", "other.com/x=y", "VENDOR.com/gpu=0", "v/c=all", "a/b=c"]))
        names = [name for name in names if "," not in name and "\n" not in name] or ["v/c=0"]
        if self.chance(0.75):
            names = list(dict.fromkeys(names))
        if not self.tidy and self.chance(0.04):
            names.append(self.pick([
                "", "v", "v.com/c", "v.com/c=", "=x", "v.com=x", "/c=x", "v.com/=x", "vendor=x/class", "v/c=a=b",
                "v/c=a/b", "v/c=a@b", "a/b/c=d", "1v/c=d", " v/c=0", "v/c=0 ", "v/1c=d", "v/c=:", "v/c=*", "v/c=a:",
                "v/c=é", "/dev/null", "v/c=1\n", "v-/c=1", "v/c-=1", "v/c=-1"]))
        return ",".join(names)

    def file_name(self, used):
        while True:
            name = self.pick(["a", "b", "vendor", ".hidden", "", "x.yaml", "Z", "z"]) + self.pick([".json", ".yaml"])
            if self.chance(0.03):
                name = self.pick(["a.yml", "a.JSON", "a.yaml~", "a", "a.yaml.tmp", "a.json.bak", "a.Yaml"])
            if name not in used:
                return name

    def case(self):
        dirs = ["/etc/cdi", "/run/cdi"]
        if self.chance(0.05):
            dirs = self.pick([["/run/cdi", "/etc/cdi"], ["/run/cdi"], ["/etc/cdi", "/opt/cdi", "/run/cdi"],
                              ["/missing/cdi", "/etc/cdi"], ["/etc/cdi", "/run/cdi", "/etc/cdi"],
                              ["/dev/file", "/etc/cdi"], ["/etc/cdi", "/link"], ["/link", "/etc/cdi"],
                              ["/etc//cdi/", "/run/./cdi"]])
        files, specs = {}, []
        count = self.pick([1, 1, 1, 2, 2, 3, 4])
        kinds = self.rng.sample(KINDS, count) if self.chance(0.6) else [self.pick(KINDS[:2]) for _ in range(count)]
        for kind in kinds:
            spec = self.spec(kind)
            for _ in range(0 if self.tidy else self.pick([0, 0, 0, 0, 1, 1, 1, 2, 3])):
                self.spoil(spec)
            directory = self.pick(["/etc/cdi", "/run/cdi"])
            path = "%s/%s" % (directory, self.file_name([p.rsplit("/", 1)[1] for p in files]))
            files[path] = self.encode(self.text(spec))
            specs.append(spec)
        if self.chance(0.02):
            files["/etc/cdi/link.yaml"] = self.pick(["DIRECTORY", "LINK:a.json", "LINK:nowhere", "LINK:/dev/null",
                                                     "LINK:.", "LINK:/run/cdi/a.json"])
        return {"dirs": dirs, "files": files, "annotation": self.request(specs), "config": self.config()}


class Writer:
    """A tree as YAML or JSON, in a way that chance chooses."""

    def __init__(self, generator):
        self.g = generator
        self.anchors = {}  # what an alias would stand for: its repr to the name and the value
        self.anchored = 0.08 if generator.chance(0.1 if generator.tidy else 0.25) else 0.0
        self.plain = generator.chance(0.7)  # scalars mostly without quotes
        self.step = generator.pick([1, 2, 2, 2, 4])
        self.indent_lists = generator.chance(0.5)
        self.slashes = generator.chance(0.005)

    def json_text(self, text):
        quoted = json.dumps(text, ensure_ascii=self.g.chance(0.3))
        return quoted.replace("/", "\\/") if self.slashes else quoted

    def scalar(self, value, is_json, is_key=False):
        if isinstance(value, Raw):
            # A comma right behind a tag is a named difference: seldom.
            return value + " " if value[0] == "!" and self.g.chance(0.95) else str(value)
        if value is None:
            return "null" if is_json else self.g.pick(["null", "~", ""] if not is_key else ["null", "~"])
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if is_json:
            return self.json_text(value)
        if self.plain and self.g.chance(0.9) and plain_is_safe(value):
            return value
        if "\n" in value or self.g.chance(0.5):
            return self.json_text(value)
        return "'%s'" % value.replace("'", "''")

    def anchor(self, value, allowed=True):
        """An alias that stands for the value; or an anchor to put before it, and its name."""
        if not self.anchored or isinstance(value, Raw) or value is None or not allowed:
            return None, "", None
        name, _ = self.anchors.get(repr(value), (None, None))
        if name and self.g.chance(0.7):
            return "*" + name, "", None
        if self.g.chance(self.anchored):
            name = self.g.pick(["a", "b", "anchor-%d" % len(self.anchors)])
            self.anchors = {text: named for text, named in self.anchors.items() if named[0] != name}
            return None, "&%s " % name, name
        return None, "", None

    def anchor_ends(self, value, name):
        """From here on the value can be named."""
        if name:
            self.anchors[repr(value)] = (name, value)

    def pairs(self, value):
        """The pairs of a map, perhaps with a merge key."""
        pairs = [(pair[0], pair[1]) for pair in value.pairs]
        keys = {key for key, _ in pairs}
        maps = [(name, other) for name, other in self.anchors.values()
                if isinstance(other, Map) and keys & {key for key, _ in other.pairs}]
        if maps and self.g.chance(0.4):
            name, other = self.g.pick(maps)
            merge = Raw("*" + name)
            if self.g.chance(0.2):
                merge = Raw("[*%s, *%s]" % (name, self.g.pick(maps)[0]))
            both = [pair for pair in pairs if pair[0] in {key for key, _ in other.pairs}]
            if self.g.chance(0.7):
                pairs.remove(self.g.pick(both))
            pairs.insert(self.g.rng.randint(0, len(pairs)), (Raw("<<"), merge))
        return pairs

    def flow(self, value, is_json, indent, depth=0):
        alias, anchor, name = self.anchor(value, not is_json)
        if alias:
            return alias + " "
        text = anchor + self.bare_flow(value, is_json, indent, depth)
        self.anchor_ends(value, name)
        return text

    def bare_flow(self, value, is_json, indent, depth):
        if not isinstance(value, (Map, list)):
            return self.scalar(value, is_json)
        line = "\n" + " " * (indent * (depth + 1)) if indent is not None else ""
        end = "\n" + " " * (indent * depth) if indent is not None else ""
        colon = ":" if is_json and indent is None else ": "
        if isinstance(value, Map):
            items = [self.scalar(key, is_json, True) + colon + self.flow(item, is_json, indent, depth + 1)
                     for key, item in self.pairs(value)]
            opening, closing = "{}"
        else:
            items = [self.flow(item, is_json, indent, depth + 1) for item in value]
            opening, closing = "[]"
        if not items:
            return opening + closing
        comma = "," if indent is not None else self.g.pick([",", ", "])
        last = "," if self.g.chance(0.01) else ""
        return opening + line + (comma + line).join(items) + last + end + closing

    def block_scalar(self, text, indent):
        """A literal or folded scalar."""
        head = self.g.pick(["|", "|-", "|+", ">", ">-"])
        pad = " " * (indent + self.step)
        return head + "\n" + "\n".join(pad + line for line in text.split("\n"))

    def value(self, value, indent, after_dash):
        """What stands behind "key:" or "-", with the blank or line break before it."""
        alias, anchor, name = self.anchor(value)
        if alias:
            return " " + alias
        text = self.bare_value(value, indent, after_dash, anchor)
        self.anchor_ends(value, name)
        return text

    def bare_value(self, value, indent, after_dash, anchor):
        if isinstance(value, (Map, list)) and (
                not (value.pairs if isinstance(value, Map) else value) or self.g.chance(0.08)):
            return " " + anchor + self.bare_flow(value, False, None, 0)
        if isinstance(value, Map):
            body = self.block(value, indent + self.step)
            if after_dash and not anchor and self.step > 1:
                return " " * (self.step - 1) + body.lstrip(" ").rstrip("\n")
            return " " + anchor.strip() + "\n" + body.rstrip("\n")
        if isinstance(value, list):
            inner = indent + self.step if self.indent_lists or after_dash else indent
            return " " + anchor.strip() + "\n" + self.block_list(value, inner)
        if isinstance(value, str) and not isinstance(value, Raw) and value and self.g.chance(0.01):
            return " " + anchor + self.block_scalar(value, indent)
        return " " + anchor + self.scalar(value, False) + (" # x" if self.g.chance(0.01) else "")

    def block_list(self, value, indent):
        return "\n".join(" " * indent + "-" + self.value(item, indent, True) for item in value)

    def block(self, value, indent):
        lines = []
        for key, item in self.pairs(value):
            name = self.scalar(key, False, True)
            if self.g.chance(0.005):
                lines.append(" " * indent + "? " + name + "\n" + " " * indent + ":" + self.value(item, indent, False))
                continue
            lines.append(" " * indent + name + ":" + self.value(item, indent, False))
            if self.g.chance(0.01):
                lines.append(self.g.pick(["", "# comment", " " * indent + "# comment", "   "]))
        return "\n".join(lines) + "\n" if lines else " " * indent + "{}\n"


def plain_is_safe(text):
    """Whether text can stand without quotes and stay text to YAML's grammar."""
    if not text or text != text.strip() or "\n" in text:
        return False
    if text[0] in "-?:,[]{}#&*!|>'\"%@`=" or ": " in text or " #" in text or text.endswith(":"):
        return False
    return not set(text) & set("[]{},")
