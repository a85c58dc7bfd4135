#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the dynamic loader of an image finds under each name that a program might ask for.

    loader-view.py ROOT LOADER PROGRAM CACHE...      run in the container's mount namespace

The loader itself is asked, in a chroot: it lists PROGRAM with all names preloaded. The names are those of the given
library caches (files of the host) and of $NAMES. One line a name: the name, the device and inode of what was
found or "-", and its path. $LOADER_OPTIONS are options of the loader.
"""
import os
import struct
import subprocess
import sys


def sonames(path):
    """All names in a cache; the damaged part of one is left out."""
    with open(path, "rb") as file:
        data = file.read()
    head = data.find(b"glibc-ld.so.cache1.1")
    if head < 0:
        return
    try:
        (count,) = struct.unpack_from("=I", data, head + 20)
        for i in range(count):
            (at,) = struct.unpack_from("=I", data, head + 48 + 24 * i + 4)
            yield data[head + at : data.index(b"\0", head + at)].decode()
    except (struct.error, ValueError, UnicodeDecodeError):
        return


def ask(root, loader, program, names):
    """The paths that the loader answers with, by name."""
    options = os.environ.get("LOADER_OPTIONS", "").split()
    listing = subprocess.run(
        [loader, *options, "--preload", " ".join(names), "--list", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        env={"LC_ALL": "C"},
        preexec_fn=lambda: os.chroot(root) or os.chdir("/"),
    ).stdout.decode()
    found = {}
    for line in listing.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] == "=>":
            found[words[0]] = words[2]
        elif len(words) == 2 and words[0].startswith("/"):
            found[os.path.basename(words[0])] = words[0]
    if not found:
        sys.exit(f"the loader listed nothing: {listing}")
    return found


def main():
    root, loader, program = sys.argv[1:4]
    names = set(os.environ.get("NAMES", "").split())
    for cache in sys.argv[4:]:
        if os.path.exists(cache):
            names.update(sonames(cache))
    names = sorted(names)
    found = ask(root, loader, program, names)
    # Of two names for one library only the first is listed.
    for name in names:
        if name not in found:
            found.update(ask(root, loader, program, [name]))
    os.chroot(root)
    for name in names:
        path = found.get(name)
        identity = "-"
        if path and os.path.exists(path):
            st = os.stat(path)
            identity = f"{st.st_dev}:{st.st_ino}"
        print(name, identity, path or "-")


main()
