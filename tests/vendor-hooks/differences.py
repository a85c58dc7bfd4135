# SPDX-License-Identifier: Apache-2.0
"""Where the built-in hooks do something else than the vendor's own, and why.

rows: whose result is another one. told: they are told in words, and cannot be played; the reason says where they are
tested instead. A row that is named here and holds after all fails.
"""

DIFFERENCES = [
    {
        "name": "arguments are judged before anything is done: nothing is left of a hook that is refused",
        "rows": "L38 L47",
    },
    {
        "name": "a path that ends in / is refused: the vendor's program makes a directory of that name, and the link in it",
        "rows": "L19",
    },
    {
        "name": "the mode of what is made does not depend on the umask",
        "rows": "L17 P24 A29",
    },
    {
        "name": "the host never decides: the vendor's program looks for the link by a path that leads out of the root",
        "rows": "L34 L37",
    },
    {
        "name": "a name may be as long as the file system allows",
        "rows": "L52",
    },
    {
        "name": "every mode that cannot be set stops the container, not the last one's alone; and then none is set",
        "rows": "C25 C26",
    },
    {
        "name": "no library cache is made for an image that has none, where no library was mounted",
        "rows": "U18 U20 K40",
    },
    {
        "name": "a cache that cannot be replaced is mounted over",
        "rows": "U16 U17 U19 U23 K43",
    },
    {
        "name": "a FIFO or link in the image's library configuration is passed over: the vendor's program hangs or fails",
        "rows": "U24 U25 U26",
    },
    {
        "name": "which ldconfig runs is said by --ldconfig, not by the spec",
        "rows": "U30 U31 U32 U34 U35 U36",
    },
    {
        "name": "the image's /proc, /sys and /etc do not decide whether the container starts",
        "rows": "U53 U55 U59 U63",
    },
    {
        "name": "where /etc or its ld.so.conf.d is a link of the image, nothing is written through it",
        "rows": "U56 U57 K41 K42",
    },
    {
        "name": "state and config.json are real JSON with all that their specification asks for, whatever the hook needs of it",
        "rows": "K02 P02 M04 S11 S12 S13 S14 S16 S20 S21 S23 X05 X07",
    },
    {
        "name": "the container's root is what config.json says; a root in the state is crun's own, and is not needed",
        "rows": "S04 S05 S07 S08 U60 K45 K46 K47",
    },
    {
        "name": "an empty directory of CUDA libraries is refused: the vendor's program takes its working directory",
        "rows": "K38",
    },
    {
        "name": "the driver's params are covered by a file without a name that can be written to: no /run/nvidia-ctk-hook",
        "rows": "P11 P14 P16 P17 P18 P21",
    },
    {
        "name": "a container that cannot see the driver's params needs no others: the vendor's program fails",
        "rows": "P12 P13 P19 P20 P22",
    },
    {
        "name": "host params that are no file are none",
        "rows": "P23",
    },
    {
        "name": "an application profile is a comfort: whatever is in its way is a warning",
        "rows": "A18 A24 A25 A27 A28",
    },
    {
        "name": "links of the image are followed inside its root, absolute and climbing ones too",
        "rows": "A22 A23",
    },
    {
        "name": "the hook's environment is not read",
        "rows": "X20 X21",
    },
    {
        "name": "observed with whole runtimes: tests/e2e (nvidia.bats, hostile.bats, matrix.bats, userns.bats) are ours",
        "rows": "R01 R02 R03 R04 R05 R06 R07 R08 R09 R10 R11 R12 R13 R14 R15 R16 R17",
        "told": True,
    },
]
