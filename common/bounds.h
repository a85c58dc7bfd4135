/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Every bound in one place. Whatever is read may come from an image, a user or a vendor's tool that went wrong, and
 * this program runs as root on every container start: nothing it reads may cost more than these.
 */

/* State on stdin: podman and Kubernetes allow 256 KiB of annotations, CRI-O sends them twice, and JSON
 * escapes make them longer still. */
#define LIMIT_STATE_SIZE (4 * 1024 * 1024)
/* config.json: the largest seen in the wild (thousands of mounts) are below 1 MiB. */
#define LIMIT_CONFIG_SIZE (16 * 1024 * 1024)
/* One spec file: the largest published one is 134 kB. */
#define LIMIT_SPEC_SIZE (4 * 1024 * 1024)
/* All spec files of a run together: 1,000 files with ten devices each are about 4 MB. */
#define LIMIT_SPEC_TOTAL (64 * 1024 * 1024)
/* Entries of one spec directory that are looked at; device plugins write one file per claim. */
#define LIMIT_SPEC_FILES 4096
/* Problems that are told of one spec file: a screen or two. The rest is counted. */
#define LIMIT_SPEC_PROBLEMS 64
/* Spec directories named on the command line. */
#define LIMIT_SPEC_DIRS 64
/* The allow file, and each of its patterns: a page of rules is long already. */
#define LIMIT_ALLOW_SIZE (256 * 1024)
#define LIMIT_PATTERN 1024
/* What is read of /proc and cgroup files; a mount table of 10,000 mounts is about 2 MB. */
#define LIMIT_PROC_SIZE (16 * 1024 * 1024)
/* Memory for all that is read and planned in one run, expanded YAML aliases included. */
#define LIMIT_MEMORY (256 * 1024 * 1024)

/* Nesting of JSON and YAML: real files stay below 10, a recursive reader dies at some thousands. */
#define LIMIT_DEPTH 64
/*
 * Values of one document, aliases counted with all they stand for: in the densest file of
 * LIMIT_SPEC_SIZE that describes devices each takes ten bytes.
 */
#define LIMIT_VALUES 500000
/* YAML directives: libyaml takes 22 s to read 100,000 of them. Real files have none or one. */
#define LIMIT_YAML_DIRECTIVES 16
/* One string of a document: the kernel's bound for one of env or argv (MAX_ARG_STRLEN, its NUL included). */
#define LIMIT_STRING (128 * 1024 - 1)

/*
 * One string of state or config: CRI-O writes all annotations of a pod, 256 KiB at most, once more into a single one.
 * And one number, whatever it is.
 */
#define LIMIT_JSON_STRING 1000000
#define LIMIT_JSON_NUMBER 1000

/* SELinux's label of a container: fsconfig(2) takes no longer value. One with the categories of a container has 50. */
#define LIMIT_LABEL 255

/* Devices that one container asks for; the largest machines have 16 GPUs of 7 instances each. */
#define LIMIT_REQUESTS 256
/* Edits of one kind in a plan (nodes, mounts, hooks), and of environment entries. */
#define LIMIT_EDITS 4096
#define LIMIT_ENV 1024
/* Annotation prefixes, allow patterns and such on the command line. */
#define LIMIT_OPTION_REPEATS 256

/* The params file of NVIDIA's driver: about 100 settings, one a line. */
#define LIMIT_PARAMS_SIZE (64 * 1024)
/* The note in a CUDA library, and its section headers: about 100 bytes, and about 30 headers. */
#define LIMIT_NOTE_SIZE 4096
#define LIMIT_SECTIONS 1024

/* ld.so.conf of an image: files read, their size together, directories, nesting of includes. Debian has 4 and 7. */
#define LIMIT_LDCONF_FILES 256
#define LIMIT_LDCONF_SIZE (1024 * 1024)
#define LIMIT_LDCONF_DIRS 4096
#define LIMIT_LDCONF_DEPTH 8
/* Names in one directory that an include's pattern is compared with. */
#define LIMIT_LDCONF_NAMES 8192
/* Work on include patterns: bytes of a name times bytes of its pattern. 4,000 names against *.conf are about 500,000. */
#define LIMIT_LDCONF_MATCHING (16 * 1024 * 1024)
/* A library cache: 100,000 libraries are about 10 MB; ldconfig in its sandbox may write no more either. */
#define LIMIT_LDCACHE_SIZE (16 * 1024 * 1024)
/* musl's search path: some directories. */
#define LIMIT_MUSL_PATH (64 * 1024)
/* Entries of a mounted directory that are looked at for libraries. */
#define LIMIT_LIBRARY_DIR_ENTRIES 4096
/* A soname: file names have 255 bytes. */
#define LIMIT_SONAME 255

/* One piece of an answer of the kernel's about network interfaces: it writes 32 KiB at most. */
#define LIMIT_NETLINK_ANSWER 32768
/* Addresses of one network interface that are taken along. */
#define LIMIT_NET_ADDRESSES 1024

/* Lines of a uid_map: the kernel allows 340. */
#define LIMIT_ID_RANGES 512

/* Links followed while a path is walked step by step: the kernel's own bound. */
#define LIMIT_SYMLINKS 40
/* Directories above a file that are held open while its path is walked: real paths have about ten. */
#define LIMIT_PATH_DEPTH 128
/* Programs on one cgroup: the kernel's own bound for BPF_PROG_QUERY. */
#define LIMIT_BPF_PROGRAMS 64
/* Instructions of a device program: runtimes write 64 to 85, systemd some hundred; the kernel allows a million. */
#define LIMIT_BPF_INSNS 65536

/* What a vendor's hook may say: real ones say some lines. More is a loop. */
#define LIMIT_HOOK_OUTPUT (1024 * 1024)
/* systemd's answer to us: a sentence at most. And the line by which it lets us in: "OK" and 32 digits. */
#define LIMIT_DBUS_REPLY (64 * 1024)
#define LIMIT_DBUS_LINE 256
/* How long systemd may take to answer: it needs a millisecond, and a container waits for it. */
#define LIMIT_SYSTEMD_MS 1000
/* A unit file of a container, and drop-ins beside it: runtimes write some twenty lines, systemd one file a setting. */
#define LIMIT_UNIT_SIZE (1024 * 1024)
#define LIMIT_UNIT_DROPINS 64
/* The access control list of a device: udev's names two users at most, and an entry has eight bytes. */
#define LIMIT_ACL_SIZE 1024

/* Lines of one run in the log: a hostile input must not fill the disk. */
#define LIMIT_LOG_LINES 100
/*
 * An entry for journald, a value and the number of fields in it. The datagram must fit the buffer of a socket (212 kB by default,
 * 64 kB wherever it was made small); and journald drops an entry that has more than 1,024 fields.
 */
#define LIMIT_JOURNAL_ENTRY (64 * 1024)
#define LIMIT_JOURNAL_VALUE (8 * 1024)
#define LIMIT_JOURNAL_FIELDS 1000
/* Seconds a run may take by default: less than the 30 that hooks.d files say, so that ours ends first and can undo. */
#define DEFAULT_TIMEOUT 20
#define LIMIT_TIMEOUT 3600
