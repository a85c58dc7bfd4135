#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The library cache when something is wrong: the host's ldconfig, the container's /etc, or an image
# that is made to break out. Where a hook of the spec asks for the cache, a container that cannot
# have it does not start; else it starts without, and a warning says why.

load helpers
load ldcache-helpers

setup_image() {
	glibc_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
}

# without_cache CAUSE...: the start fails if a hook asks for the cache, else there is a warning and
# the image's /etc is as before. The causes are in both sentences.
without_cache() {
	local spec=$specs/library.yaml saved etc
	etc=$(ls -A "$rootfs/etc" 2>/dev/null || true)
	saved=$(<"$spec")
	with_hook
	: >"$base/log"
	refused 10
	says "device vendor.example/thing=lib ($spec:" "$@"
	echo "$saved" >"$spec"

	: >"$base/log"
	run -0 container 'use /opt/x/lib/libgadget.so.1; use libgadget.so.1 || true'
	says "gadget of the host" "libgadget.so.1: cannot open shared object file"
	logged "$@" "programs may not find the mounted libraries by name"
	[[ $(ls -A "$rootfs/etc" 2>/dev/null || true) == "$etc" ]] || fail "in /etc: $(ls -A "$rootfs/etc")"
}

# An ldconfig of our own: what it does before it ends is $1, C statements that have the name of the
# cache that is asked for as `cache`.
stand_in() {
	mkdir -p "$base/sbin"
	gcc -static -o "$base/sbin/stand-in" -x c - <<-C
		#include <linux/futex.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/syscall.h>
		#include <unistd.h>

		int main(int argc, char **argv)
		{
			const char *cache = "";
			FILE *file = NULL;

			for (int i = 1; i + 1 < argc; i++)
				if (strcmp(argv[i], "-C") == 0)
					cache = argv[i + 1];
			(void)cache, (void)file;
			$1
			return 0;
		}
	C
	options+=(--ldconfig="$base/sbin/stand-in")
}

# Processes that run the stand-in, whatever they call themselves.
stand_ins() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		[[ ! $exe -ef $base/sbin/stand-in ]] || echo "$exe"
	done
}

#
# The host's ldconfig
#

@test "no ldconfig on the host" {
	setup_image
	options+=(--ldconfig=/nonexistent/ldconfig)
	without_cache "the host's ldconfig" "/nonexistent" "No such file or directory"
}

@test "ldconfig fails: exit code and last words are in the sentence" {
	setup_image
	stand_in 'fputs("no such luck\n", stderr); return 3;'
	without_cache "ldconfig ended with exit code 3: no such luck"
}

@test "ldconfig crashes" {
	setup_image
	stand_in '*(volatile int *)0 = 1;'
	without_cache "ldconfig was ended by signal 11 (SEGV)"
}

@test "ldconfig is killed when it computes for too long" {
	setup_image
	stand_in 'for (;;) ;'
	with_hook
	run ! container 'echo THE PROCESS RAN'
	says "exit status 10" "ldconfig was ended by signal"
	[[ -z $(stand_ins) ]]
}

# crun gives a container's limits to its hooks; in the sandbox nobody may raise them.
@test "limits of the runtime that are tighter than the sandbox's" {
	setup_image
	with_hook
	cat >"$base/limited" <<-SH
		#!/bin/sh
		ulimit -f 8192 && ulimit -n 50 && ulimit -t 4 && exec "$hook" "\$@"
	SH
	chmod 755 "$base/limited"
	hook=$base/limited
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
}

@test "ldconfig hangs: the deadline ends it, with or without a hook" {
	setup_image
	stand_in 'int word = 0; for (;;) syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);'
	options+=(--timeout=1)
	refused 12
	says "--timeout"
	[[ -z $(stand_ins) ]]
	with_hook
	refused 12
	says "--timeout"
	[[ -z $(stand_ins) ]]
}

@test "ldconfig leaves a process behind: it goes with the sandbox" {
	setup_image
	# seccomp refuses fork, so all that is left of the attempt is the message.
	stand_in 'if (fork() < 0) perror("fork"); else if (fork() == 0) for (;;) ; return 3;'
	without_cache "fork: Function not implemented"
	[[ -z $(stand_ins) ]]
}

@test "ldconfig writes nothing" {
	setup_image
	stand_in ''
	without_cache "what ldconfig wrote" "No such file or directory"
}

@test "ldconfig writes an empty file" {
	setup_image
	stand_in 'file = fopen(cache, "w");'
	without_cache "library cache"
}

@test "ldconfig writes rubbish" {
	setup_image
	stand_in 'file = fopen(cache, "w"); for (int i = 0; i < 10000; i++) fputs("rubbish ", file); fclose(file);'
	without_cache "library cache"
}

@test "ldconfig writes without end" {
	setup_image
	stand_in 'file = fopen(cache, "w"); while (fputs("glibc-ld.so.cache1.1", file) >= 0) ;'
	without_cache "library cache"
}

@test "ldconfig writes a valid cache with nothing in it" {
	setup_image
	stand_in 'file = fopen(cache, "w"); fputs("glibc-ld.so.cache1.1", file); fwrite((char[28]){[8] = 2}, 28, 1, file); fclose(file);'
	without_cache "ldconfig did not find libgadget.so.1 (/opt/x/lib/libgadget.so.1)"
}

@test "ldconfig is a dynamic program" {
	setup_image
	mkdir "$base/sbin"
	cp "$rootfs/bin/use" "$base/sbin/"
	options+=(--ldconfig="$base/sbin/use")
	without_cache "$base/sbin/use is not a static program"
}

@test "ldconfig is a shell script" {
	setup_image
	mkdir "$base/sbin"
	printf '#!/bin/sh\nexec /sbin/ldconfig.real "$@"\n' >"$base/sbin/script"
	chmod +x "$base/sbin/script"
	options+=(--ldconfig="$base/sbin/script")
	without_cache "$base/sbin/script is not a static program"
}

@test "ldconfig can be written by others than root" {
	setup_image
	mkdir "$base/sbin"
	cp "$host_ldconfig" "$base/sbin/ldconfig"
	chmod g+w "$base/sbin/ldconfig"
	options+=(--ldconfig="$base/sbin/ldconfig")
	without_cache "the host's ldconfig" "$base/sbin/ldconfig" "writable"
}

#
# The container's /etc
#

# etc_mount TYPE SOURCE OPTION...: config.json mounts it on /etc
etc_mount() {
	edit_config '.mounts += [{destination: "/etc", type: $type, source: $source, options: $ARGS.positional}]' \
		--arg type "$1" --arg source "$2" --args -- "${@:3}"
}

@test "/etc is full: no cache, and no part of one" {
	setup_image
	# The image's /etc fills the tmpfs that it is copied to.
	head -c 16k /dev/zero >"$rootfs/etc/zeros"
	etc_mount tmpfs tmpfs size=16k mode=755 tmpcopyup
	without_cache "/etc/ld.so.cache" "No space left on device"
	run -0 container 'ls -A /etc'
	[[ $output == zeros ]] || fail "$output"
}

@test "/etc can take no more files" {
	setup_image
	etc_mount tmpfs tmpfs nr_inodes=1 mode=755
	without_cache "/etc/ld.so.cache" "No space left on device"
	run -0 container 'ls -A /etc'
	[[ -z $output ]] || fail "$output"
}

@test "/etc is a tmpfs: the cache is made there" {
	setup_image
	etc_mount tmpfs tmpfs size=1m mode=755
	run -0 container 'use libgadget.so.1; ls -A /etc'
	says "gadget of the host" ld.so.cache
	[[ -z $(ls -A "$rootfs/etc") ]]
}

@test "/etc is a directory of the host, with a cache: ours covers it, the host's file stays" {
	setup_image
	mkdir "$base/volume"
	echo "of the volume" >"$base/volume/ld.so.cache"
	etc_mount bind "$base/volume" bind rw
	run -0 container 'use libgadget.so.1; ls -A /etc'
	says "gadget of the host"
	[[ $(ls -A "$base/volume") == ld.so.cache && $(<"$base/volume/ld.so.cache") == "of the volume" ]]
}

@test "/etc is a directory of the host, without a cache: none is made there" {
	setup_image
	mkdir "$base/volume"
	etc_mount bind "$base/volume" bind rw
	without_cache "/etc/ld.so.cache" "directory of the host"
	[[ -z $(ls -A "$base/volume") ]]
}

@test "/etc is mounted read-only, with a cache: ours covers it" {
	setup_image
	mkdir "$base/volume"
	echo "of the volume" >"$base/volume/ld.so.cache"
	etc_mount bind "$base/volume" bind ro
	run -0 container 'use libgadget.so.1; ls -A /etc'
	says "gadget of the host"
	[[ $(ls -A "$base/volume") == ld.so.cache && $(<"$base/volume/ld.so.cache") == "of the volume" ]]
}

@test "/etc is mounted read-only, without a cache" {
	setup_image
	mkdir "$base/volume"
	etc_mount bind "$base/volume" bind ro
	without_cache "/etc/ld.so.cache"
	[[ -z $(ls -A "$base/volume") ]]
}

@test "ld.so.cache is a volume itself: it is covered" {
	setup_image
	echo "of the volume" >"$base/volume"
	edit_config '.mounts += [{destination: "/etc/ld.so.cache", type: "bind", source: $s, options: ["bind", "rw"]}]' \
		--arg s "$base/volume"
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
	[[ $(<"$base/volume") == "of the volume" ]]
}

#
# Images that mean harm. What must not change is the canary, a directory of the host with files of
# the names that something might be written to.
#

hostile_image() {
	setup_image
	# None of them can make it hang: exit code 12 would be.
	options+=(--timeout=10)
	mkdir -p "$base/canary/ld.so.conf.d"
	touch "$base/canary/"{ld.so.cache,ld.so.cache~,ld.so.conf}
	echo "canary" >"$base/canary/file"
	canary_before=$(canary)
}

canary() { (cd "$base/canary" && find . -printf '%p %i %m %s %T@ %C@\n' | sort && cat file); }

# canary_lives COMMAND...: COMMAND succeeds, and the canary is as it was
canary_lives() {
	"$@"
	[[ $(canary) == "$canary_before" ]] || fail "$(diff <(echo "$canary_before") <(canary))"
}

finds_gadget() {
	run -0 container 'use libgadget.so.1; test -f /etc/ld.so.cache && test ! -L /etc/ld.so.cache'
	says "gadget of the host"
}

@test "ld.so.cache is a link to a file of the host: the link is replaced" {
	local target
	hostile_image
	for target in "$base/canary/file" ../../../../../../../../../../../../"$base/canary/file" /proc/1/root"$base/canary/file"; do
		ln -sfn "$target" "$rootfs/etc/ld.so.cache"
		canary_lives finds_gadget
		[[ -f $rootfs/etc/ld.so.cache && ! -L $rootfs/etc/ld.so.cache ]]
	done
}

@test "ld.so.cache is a link to a file of the host, and the root read-only: refused" {
	hostile_image
	ln -s "$base/canary/file" "$rootfs/etc/ld.so.cache"
	edit_config '.root.readonly = true'
	canary_lives without_cache "/etc/ld.so.cache" "a symbolic link is there"
}

@test "the name that ldconfig gives to its new file is a link to a file of the host" {
	hostile_image
	ln -s "$base/canary/file" "$rootfs/etc/ld.so.cache~"
	canary_lives finds_gadget
	[[ -L $rootfs/etc/ld.so.cache~ ]]
}

@test "ld.so.cache is a directory" {
	hostile_image
	mkdir "$rootfs/etc/ld.so.cache"
	canary_lives without_cache "/etc/ld.so.cache" "a directory is there"
}

@test "ld.so.cache is a FIFO: it is replaced, or covered in a read-only root" {
	hostile_image
	mkfifo "$rootfs/etc/ld.so.cache"
	edit_config '.root.readonly = true'
	canary_lives finds_gadget
	[[ -p $rootfs/etc/ld.so.cache ]]
	edit_config '.root.readonly = false'
	canary_lives finds_gadget
	[[ -f $rootfs/etc/ld.so.cache ]]
}

@test "the conf.d file cannot be made: the libraries are found, and a warning says what will not last" {
	hostile_image
	includes_conf_d
	with_hook
	mkdir "$rootfs/$conf_d"
	canary_lives finds_gadget
	logged "$conf_d" "a directory is there; ldconfig run in the container will forget the mounted libraries"
	[[ -d $rootfs/$conf_d ]]
	rm -r "$rootfs/etc/ld.so.conf.d"
	ln -s "$base/canary/ld.so.conf.d" "$rootfs/etc/ld.so.conf.d"
	canary_lives finds_gadget
	logged "the image has a symbolic link there; ldconfig run in the container will forget"
}

@test "the conf.d file is a link to a file of the host: the link is replaced" {
	hostile_image
	includes_conf_d
	ln -s "$base/canary/file" "$rootfs/$conf_d"
	canary_lives finds_gadget
	[[ -f $rootfs/$conf_d && ! -L $rootfs/$conf_d ]]
}

@test "/etc is a link, to the host or elsewhere: nothing is written through it" {
	local target
	hostile_image
	for target in "/proc/1/root$base/canary" "$base/canary" "../../../../../..$base/canary"; do
		rm -rf "$rootfs/etc"
		ln -s "$target" "$rootfs/etc"
		canary_lives without_cache "/etc" "symbolic link"
	done
}

@test "ld.so.conf is a FIFO" {
	hostile_image
	mkfifo "$rootfs/etc/ld.so.conf"
	canary_lives finds_gadget
}

@test "ld.so.conf is a link to a file of the host: the host's is not read" {
	hostile_image
	library "$rootfs/srv/secret/libsecret.so.1" libsecret.so.1 "found by the host's configuration"
	echo /srv/secret >"$base/canary/ld.so.conf"
	canary_before=$(canary)
	ln -s "/proc/1/root$base/canary/ld.so.conf" "$rootfs/etc/ld.so.conf"
	canary_lives finds_gadget
	run -0 cache_lists "$rootfs/etc/ld.so.cache"
	says_not libsecret
}

@test "ld.so.conf includes itself" {
	hostile_image
	printf 'include /etc/ld.so.conf\ninclude /etc/*\n' >"$rootfs/etc/ld.so.conf"
	canary_lives finds_gadget
}

@test "ld.so.conf names 10,000 directories" {
	hostile_image
	seq -f '/srv/%.0f' 10000 >"$rootfs/etc/ld.so.conf"
	canary_lives finds_gadget
}

# damage_cache STATEMENTS: changes the image's cache, Python with its bytes as `data` and the head's place as `head`
damage_cache() {
	"$host_ldconfig" -X -r "$rootfs"
	python3 - "$rootfs/etc/ld.so.cache" "$1" <<-'PYTHON'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		head = data.index(b"glibc-ld.so.cache1.1")
		def put(at, value): data[at : at + 4] = struct.pack("=I", value & 0xFFFFFFFF)
		def get(at): return struct.unpack_from("=I", data, at)[0]
		exec(sys.argv[2])
		open(sys.argv[1], "wb").write(data)
	PYTHON
}

@test "hostile caches: one that is whole comes out, and the host's is not reached" {
	local damage
	hostile_image
	options+=(--log-level=info)
	for damage in 'put(head + 20, 0xFFFFFFFF)' 'put(head + 20, 0)' 'put(head + 20, get(head + 20) - 1)' \
		'put(head + 24, 0xFFFFFFFF)' 'put(head + 24, 0)' 'put(head + 32, 0xFFFFFFFC)' 'put(head + 32, 4)' \
		'put(head + 52, 0x7FFFFFFF)' 'put(head + 56, 0xFFFFFFF0)' 'put(head + 48, 0xFFFFFFFF)' \
		'data[head + 48 : head + 96] = data[head + 72 : head + 96] + data[head + 48 : head + 72]' \
		'data[head + 28] = 3' 'del data[100:]' 'data[:] = b"ld.so-1.7.0\0\xff\xff\xff\xff" + data' \
		'put(head + 64, 5); put(head + 68, 0x40000000)' 'data[:] = b""' \
		'data += b"A" * (1 << 20)' \
		'at = head + get(head + 56); data[at : at + 5] = b"/../."'; do
		damage_cache "$damage"
		: >"$base/log"
		echo "damage: $damage"
		canary_lives finds_gadget
		run -0 cache_lists "$rootfs/etc/ld.so.cache"
		says "libgadget.so.1 /opt/x/lib/libgadget.so.1"
	done
	truncate -s 2G "$rootfs/etc/ld.so.cache"
	canary_lives finds_gadget
	[[ $(stat -c %s "$rootfs/etc/ld.so.cache") -lt 100000 ]]
	truncate -s 15M "$rootfs/etc/ld.so.cache"
	canary_lives finds_gadget
	ln -sf ld.so.cache "$rootfs/etc/ld.so.cache"
	canary_lives finds_gadget
}

@test "a merge opens no library of the image" {
	hostile_image
	options+=(--log-level=info)
	library "$rootfs$libdir/libevil.so.1" libevil.so.1 "evil"
	"$host_ldconfig" -X -r "$rootfs"
	# What it was when the cache was made: now nobody could read it, and who opens it waits for ever.
	rm "$rootfs$libdir/libevil.so.1"
	mkfifo "$rootfs$libdir/libevil.so.1"
	canary_lives finds_gadget
	logged "library cache: merge"
	run -0 cache_lists "$rootfs/etc/ld.so.cache"
	says "libevil.so.1 $libdir/libevil.so.1"
}

@test "100,000 files beside the mounted library" {
	hostile_image
	mkdir -p "$rootfs/opt/x/lib"
	(cd "$rootfs/opt/x/lib" && seq -f 'libfile%.0f.so.1' 100000 | xargs touch)
	canary_lives finds_gadget
}

@test "ld.so.conf: a million lines, includes without end, the container's own /proc" {
	local i
	hostile_image
	seq -f '/srv/%.0f' 1000000 >"$rootfs/etc/ld.so.conf"
	canary_lives finds_gadget
	mkdir "$rootfs/etc/bomb"
	for i in $(seq 40); do
		printf 'include /etc/bomb/*\n/srv/%d\n' "$i" >"$rootfs/etc/bomb/$i"
	done
	echo 'include /etc/bomb/*' >"$rootfs/etc/ld.so.conf"
	canary_lives finds_gadget
	printf 'include /proc/*/maps\ninclude /proc/self/root/etc/*\n/proc/1/root/lib\n/proc/self/fd\n' >"$rootfs/etc/ld.so.conf"
	canary_lives finds_gadget
}

@test "files that are no libraries where libraries are looked for" {
	hostile_image
	mkfifo "$rootfs$libdir/libfifo.so.1"
	mknod "$rootfs$libdir/libnode.so.1" c 1 5
	truncate -s 8G "$rootfs$libdir/libsparse.so.1"
	ln -s libloop.so.1 "$rootfs$libdir/libloop.so.1"
	ln -s "/proc/1/root$base/canary/file" "$rootfs$libdir/libhost.so.1"
	head -c 100 "$rootfs$libdir/libc.so.6" >"$rootfs$libdir/libshort.so.1"
	library "$rootfs$libdir/libevil.so.1" "../../../../../../../../../..$base/canary/made" "evil"
	canary_lives finds_gadget
}

@test "the mount point of the library is a link to a file of the host" {
	hostile_image
	mkdir -p "$rootfs/opt/x/lib"
	ln -s "$base/canary/file" "$rootfs/opt/x/lib/libgadget.so.1"
	with_hook
	canary_lives refused 8
}

@test "the mount point of the library is a FIFO, a socket or a device: found by both ways to a cache" {
	local kind
	hostile_image
	with_hook
	mkdir -p "$rootfs/opt/x/lib"
	for kind in "mkfifo" "mknod_c 1 5" "mknod_b 7 200" socket; do
		rm -f "$rootfs/opt/x/lib/libgadget.so.1"
		case $kind in
		mkfifo) mkfifo "$rootfs/opt/x/lib/libgadget.so.1" ;;
		mknod_*) mknod "$rootfs/opt/x/lib/libgadget.so.1" ${kind#mknod_} ;;
		*) python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$rootfs/opt/x/lib/libgadget.so.1" ;;
		esac
		rm -f "$rootfs/etc/ld.so.cache"
		canary_lives finds_gadget
		canary_lives finds_gadget
	done
}
