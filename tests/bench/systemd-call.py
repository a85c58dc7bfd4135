#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What it costs to tell systemd of a device: by one message on its private socket, as hook/systemd.c
# does it, and by the programs that a host may have for it. In turn, each with the same list for the
# same scope, until systemd has answered. To be run as root where systemd is pid 1:
#
#   tests/vm/run debian12 'sh:tests/bench/systemd-call.py'
import os
import socket
import struct
import subprocess
import time

ROUNDS = 50
UNIT = "oci-cdi-hook-bench-%d.scope" % os.getpid()
DEVICE, ACCESS = "/dev/char/10:229", "rw"
MANAGER = "org.freedesktop.systemd1.Manager"
SET, BARRIER = 1, 2  # serial numbers, as in common/dbus-message.h
CALL, RETURN, REPLY_SERIAL = 1, 2, 5


def aligned(data, size):
    return data + b"\0" * (-len(data) % size)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def signature(value):
    return bytes([len(value)]) + value.encode() + b"\0"


def message(serial, interface, member, types="", body=b""):
    fields = b""
    for number, kind, value in (
        (1, "o", "/org/freedesktop/systemd1"),
        (2, "s", interface),
        (3, "s", member),
        (6, "s", "org.freedesktop.systemd1"),
        (8, "g", types),
    ):
        if value:
            fields = aligned(fields, 8) + bytes([number]) + signature(kind)
            fields += signature(value) if kind == "g" else text(value)
    head = b"l" + bytes([CALL, 0, 1]) + struct.pack("<III", len(body), serial, len(fields))
    return aligned(head + fields, 8) + body


def conversation():
    entry = aligned(text(DEVICE), 4) + text(ACCESS)
    prop = aligned(text("DeviceAllow") + signature("a(ss)"), 4) + struct.pack("<I", len(entry))
    prop = aligned(prop, 8) + entry
    body = aligned(aligned(text(UNIT), 4) + struct.pack("<II", 1, len(prop)), 8)
    return (
        b"\0AUTH EXTERNAL 30\r\nBEGIN\r\n"
        + message(SET, MANAGER, "SetUnitProperties", "sba(sv)", body + prop)
        + message(BARRIER, "org.freedesktop.DBus.Peer", "Ping")
    )


def answers_to(head, fields):
    """The serial number of the call that a message answers; 0 for a signal: everybody there is sent those too."""
    at = 0
    while at < len(fields):
        at += -at % 8
        number, kind = fields[at], fields[at + 2]
        at += 4
        if chr(kind) == "g":
            at += fields[at] + 2
            continue
        at += -at % 4
        (value,) = struct.unpack_from("<I", fields, at)
        at += 4
        if number == REPLY_SERIAL:
            return value
        if chr(kind) != "u":
            at += value + 1
    return 0


def by_socket():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect("/run/systemd/private")
        # In one go. What fits into 256 bytes together with the authentication would not be looked at before more comes.
        sock.sendall(conversation())
        answer = sock.makefile("rb")
        if not answer.readline().startswith(b"OK "):
            raise SystemExit("systemd lets nobody in")
        serial = 0
        while serial != BARRIER:
            head = answer.read(16)
            kind, body, _, size = struct.unpack("<xBxxIII", head)
            fields = answer.read(size)
            answer.read(-size % 8 + body)
            serial = answers_to(head, fields)
            if serial and kind != RETURN:
                raise SystemExit("call %d: answered by a message of type %d" % (serial, kind))


def by_busctl():
    call = ["busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", MANAGER, "SetUnitProperties"]
    subprocess.run(call + ["sba(sv)", UNIT, "true", "1", "DeviceAllow", "a(ss)", "1", DEVICE, ACCESS], check=True)


def by_systemctl():
    subprocess.run(["systemctl", "set-property", "--runtime", UNIT, "DeviceAllow=%s %s" % (DEVICE, ACCESS)], check=True)


def busctl_started():
    subprocess.run(["busctl", "--version"], check=True, stdout=subprocess.DEVNULL)


calls = {
    "private socket": by_socket,
    "busctl": by_busctl,
    "systemctl": by_systemctl,
    "busctl --version": busctl_started,
}


def measure():
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            started = time.monotonic()
            call()
            times[name].append((time.monotonic() - started) * 1000)
    for values in times.values():
        values.sort()
    base = times["private socket"][ROUNDS // 2]
    for name, values in times.items():
        middle = values[ROUNDS // 2]
        print("%-18s %8.2f ms, least %8.2f, %5.1f times the socket's" % (name, middle, values[0], middle / base))
    print("(medians of %d calls in turn)" % ROUNDS)


def is_there():
    return subprocess.run(["systemctl", "-q", "is-active", UNIT]).returncode == 0


def allowed():
    shown = subprocess.run(["systemctl", "show", "-p", "DeviceAllow", UNIT], check=True, capture_output=True, text=True)
    return shown.stdout


scope = subprocess.Popen(
    ["systemd-run", "-q", "--scope", "--unit=" + UNIT, "-p", "DevicePolicy=strict", "-p", "DeviceAllow=/dev/null rw"]
    + ["sleep", "infinity"]
)
try:
    while not is_there():
        if scope.poll() is not None:
            raise SystemExit("systemd made no scope")
        time.sleep(0.1)
    by_socket()
    if DEVICE not in allowed():
        raise SystemExit("systemd has not done what it was told: " + allowed())
    measure()
finally:
    scope.terminate()
