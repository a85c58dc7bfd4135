#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cdictl prints, compared with golden transcripts.

  transcripts.py CDICTL DIRECTORY [--write]

A case is a directory: the spec directories and other files that it needs, and `transcript`, which has lines "$ COMMAND",
each followed by all that the command prints and, unless that is 0, "[exit N]". A command is run by sh in a copy of the
case, /run/cdictl-test, where files are trusted. Behind "$ terminal WIDTH " it has a terminal of that width, and colours
show as <1>. With --write the transcripts are written anew: read the diff before you believe it.

A line "! COMMAND" prepares something (chmod, mkfifo) and must print nothing.
"""
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

# Always the same name, since tables are made for it: one run at a time.
BASE = "/run/cdictl-test"


def in_terminal(width, command, env):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        os.execvpe("sh", ["sh", "-c", command], dict(env, TERM=env.get("TERM", "xterm")))
    output = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the terminal is closed
            break
        if not piece:
            break
        output += piece
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = output.decode("latin-1").replace("\r\n", "\n")
    if re.search(r"[^\n\x20-\x7e\x1b]|\x1b(?!\[[0-9]+m)", text):
        text += "\n*** a control character went to the terminal ***\n"
    return re.sub(r"\x1b\[([0-9]+)m", r"<\1>", text), status


def in_pipe(command, env):
    run = subprocess.run(["sh", "-c", command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=60)
    text = run.stdout.decode("latin-1")
    if re.search(r"[^\n\x20-\x7e]", text):
        text += "\n*** something was printed that is not plain ASCII ***\n"
    return text, run.returncode


def play(case, cdictl):
    """The transcript of the case, as it comes out."""
    shutil.rmtree(BASE, ignore_errors=True)
    os.mkdir(BASE)
    os.mkdir(os.path.join(BASE, ".bin"))
    # A copy: other users may not get to the build directory.
    shutil.copy(cdictl, os.path.join(BASE, ".bin/cdictl"))
    shutil.copytree(case, BASE, dirs_exist_ok=True, symlinks=True)
    for directory, _, files in os.walk(BASE):
        os.chmod(directory, 0o755)
        if directory.endswith("/.bin"):
            continue
        for name in files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                os.chmod(path, 0o644)
    env = {"PATH": f"{BASE}/.bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    result = ""
    os.chdir(BASE)
    try:
        with open(os.path.join(case, "transcript"), encoding="latin-1") as file:
            lines = file.read().splitlines()
        for line in lines:
            if line.startswith("! "):
                text, status = in_pipe(line[2:], env)
                result += line + "\n" + (text if status == 0 else f"{text}*** exit {status} ***\n")
            if not line.startswith("$ "):
                continue
            terminal = re.match(r"\$ terminal (\d+) (.*)", line)
            text, status = in_terminal(int(terminal[1]), terminal[2], env) if terminal else in_pipe(line[2:], env)
            result += line + "\n" + text + (f"[exit {status}]\n" if status else "")
    finally:
        os.chdir("/")
        shutil.rmtree(BASE)
    return result


def main():
    cdictl, directory = map(os.path.abspath, sys.argv[1:3])
    cases = sorted(name for name in os.listdir(directory) if os.path.isdir(os.path.join(directory, name)))
    if not os.access("/run", os.W_OK):
        print("needs a directory below /run, where spec files are trusted")
        return 77
    # Held until the end.
    lock = open(BASE + ".lock", "w", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    print(f"1..{len(cases)}")
    failed = False
    for number, name in enumerate(cases, 1):
        case = os.path.join(directory, name)
        result = play(case, cdictl)
        path = os.path.join(case, "transcript")
        if "--write" in sys.argv:
            with open(path, "w", encoding="latin-1") as file:
                file.write(result)
        with open(path, encoding="latin-1") as file:
            good = file.read() == result
        if not good:
            diff = subprocess.run(["diff", "-u", path, "-"], input=result.encode("latin-1"), stdout=subprocess.PIPE)
            print("".join(f"# {line}\n" for line in diff.stdout.decode("latin-1").splitlines()), end="")
            failed = True
        print(f"{'ok' if good else 'not ok'} {number} {name}")
    return 1 if failed else 0


sys.exit(main())
