#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the refresh of a container's library cache costs: by a merge, and by ldconfig in its sandbox.

    meson setup build && ninja -C build
    tests/bench/ldcache.py build/hook/oci-cdi-hook [RUNS]

as root, on a machine that has little else to do. Makes root file systems with 100, 1,000 and 5,000 libraries and a cache
of them, brings one library in by the real hook, in turn by either way, and prints the medians of the hook's own steps
(--log-level=debug) in milliseconds, with everything in the page cache; "least" is the smallest that was seen. The last line is
the merge of 40 libraries into a cache of 200.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

LDCONFIG = next(path for path in ("/sbin/ldconfig.real", "/sbin/ldconfig") if os.path.exists(path))
STEPS = ("choose how", "run ldconfig", "merge ", "install the library cache")
TEMPLATE = "libbench00000.so.1"


def make_template():
    source = tempfile.NamedTemporaryFile(suffix=".so")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{TEMPLATE}", "-o", source.name, "-x", "c", "-"],
        input=b"int answer = 42;",
        check=True,
    )
    return open(source.name, "rb").read()


def write_library(template, path, number):
    with open(path, "wb") as file:
        file.write(template.replace(TEMPLATE.encode(), f"libbench{number:05}.so.1".encode()))


class World:
    """A root file system with `count` libraries, and a spec that brings `brought` more."""

    def __init__(self, base, template, count, brought):
        self.base, self.root = base, f"{base}/root"
        for name in ("etc", "usr/lib", "lib64", "proc", "dev"):
            os.makedirs(f"{self.root}/{name}")
        os.makedirs(f"{base}/vendor")
        os.makedirs(f"{base}/specs")
        libc = next(line.split()[2] for line in self.output(["ldd", "/bin/true"]).splitlines() if "libc.so" in line)
        loader = re.search(r"/\S*ld-linux\S*", self.output(["ldd", "/bin/true"]))[0]
        shutil.copy(libc, f"{self.root}/usr/lib/libc.so.6")
        os.makedirs(os.path.dirname(self.root + loader), exist_ok=True)
        shutil.copy(loader, self.root + loader)
        for number in range(count - 1):
            write_library(template, f"{self.root}/usr/lib/libbench{number:05}.so.1", number)
        mounts = []
        for number in range(90000, 90000 + brought):
            path = f"{base}/vendor/libbench{number}.so.1"
            write_library(template, path, number)
            mounts.append({"hostPath": path, "containerPath": f"/usr/lib/libbench{number}.so.1", "options": ["ro", "bind"]})
        spec = {
            "cdiVersion": "0.6.0",
            "kind": "example.com/d",
            "devices": [{"name": "lib", "containerEdits": {"mounts": mounts}}],
        }
        config = {"ociVersion": "1.0.2", "root": {"path": "root"}, "linux": {"namespaces": [{"type": "mount"}]}}
        for name, value in (("specs/d.json", spec), ("config.json", config)):
            with open(f"{base}/{name}", "w") as file:
                json.dump(value, file)
        subprocess.run([LDCONFIG, "-X", "-r", self.root], check=True, stderr=subprocess.DEVNULL)
        os.rename(f"{self.root}/etc/ld.so.cache", f"{base}/cache")

    @staticmethod
    def output(command):
        return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()

    def run(self, hook, options):
        """One refresh: {step: ms}."""
        shutil.copy(f"{self.base}/cache", f"{self.root}/etc/ld.so.cache")
        command = 'mount --bind "$0" "$0" && echo ready && exec sleep 60'
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", command, self.root], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        process.stdout.readline()
        state = {"ociVersion": "1.0.2", "id": "bench", "status": "creating", "pid": process.pid, "bundle": self.base}
        log = f"{self.base}/log"
        with open(log, "w"):
            pass
        subprocess.run(
            [hook, f"--spec-dir={self.base}/specs", "--device=example.com/d=lib", "--no-cgroup", "--log-level=debug",
             f"--log-file={log}", *options, "createRuntime"],
            input=json.dumps(state).encode(),
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        process.kill()
        process.wait()
        steps = {}
        with open(log) as file:
            for line in file:
                match = re.search(r"step: (.*): (\d+) us$", line)
                if match:
                    steps.update({step: int(match[2]) / 1000 for step in STEPS if match[1].startswith(step)})
        return steps


def measure(world, hook, runs, ways):
    times = {way: [] for way in ways}
    for i in range(runs + 1):
        for way, options in ways.items():
            steps = world.run(hook, options)
            if i > 0:  # the first warms the page cache
                times[way].append((sum(steps.values()), steps))
    return times


def main():
    hook = os.path.abspath(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    template = make_template()
    ways = {"merge": [], "ldconfig": [f"--ldconfig={LDCONFIG}"]}
    print("libraries     merge   least   ldconfig    least   ratio")
    for count in (100, 1000, 5000):
        with tempfile.TemporaryDirectory(dir="/run") as base:
            os.chmod(base, 0o755)
            times = measure(World(base, template, count, 1), hook, runs, ways)
        median = {way: statistics.median(total for total, _ in times[way]) for way in ways}
        least = {way: min(total for total, _ in times[way]) for way in ways}
        print(
            f"{count:9} {median['merge']:9.2f} {least['merge']:7.2f} {median['ldconfig']:10.2f} {least['ldconfig']:8.2f}"
            f" {median['ldconfig'] / median['merge']:7.0f}"
        )
    with tempfile.TemporaryDirectory(dir="/run") as base:
        os.chmod(base, 0o755)
        times = measure(World(base, template, 200, 40), hook, runs, {"merge": []})["merge"]
    merge = [steps["merge "] for _, steps in times]
    total = [total for total, _ in times]
    print(
        f"40 into 200: merge {statistics.median(merge):.3f} (least {min(merge):.3f}), "
        f"with choosing and installing {statistics.median(total):.2f} (least {min(total):.2f})"
    )


main()
