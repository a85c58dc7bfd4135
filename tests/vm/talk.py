#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What one call to systemd costs: by its private socket, as hook/systemd.c makes it, and by busctl.
# Both ask for nothing (Peer.Ping). To be run where systemd is pid 1:
#
#   tests/vm/run debian12 'sh:tests/vm/talk.py'
import socket
import struct
import subprocess
import time

ROUNDS = 20


def aligned(data, size):
    return data + b"\0" * (-len(data) % size)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def field(number, kind, value):
    return bytes([number, 1]) + kind + b"\0" + text(value)


def ping():
    fields = b""
    for number, kind, value in (
        (1, b"o", "/org/freedesktop/systemd1"),
        (2, b"s", "org.freedesktop.DBus.Peer"),
        (3, b"s", "Ping"),
    ):
        fields = aligned(fields, 8) + field(number, kind, value)
    return aligned(b"l\1\0\1" + struct.pack("<III", 0, 1, len(fields)) + fields, 8)


def by_socket():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("/run/systemd/private")
        sock.sendall(b"\0AUTH EXTERNAL 30\r\nBEGIN\r\n" + ping())
        answer = b""
        while b"\r\n" not in answer or len(answer.split(b"\r\n", 1)[1]) < 24:
            data = sock.recv(4096)
            if not data:
                raise SystemExit("systemd hung up")
            answer += data
        if answer.split(b"\r\n", 1)[1][1] != 2:
            raise SystemExit("no answer but %r" % answer)


def by_busctl():
    subprocess.run(
        ["busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.DBus.Peer", "Ping"],
        check=True,
    )


for name, call in (("private socket", by_socket), ("busctl", by_busctl)):
    times = []
    for _ in range(ROUNDS):
        started = time.monotonic()
        call()
        times.append(time.monotonic() - started)
    print("%-14s %7.2f ms (median of %d)" % (name, sorted(times)[ROUNDS // 2] * 1000, ROUNDS))
