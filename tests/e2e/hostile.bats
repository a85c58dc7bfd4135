#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Volumes, links and surroundings that somebody arranged to hold the hook up, or to make it read or
# change what is not the container's. More images that mean harm are in ldcache-errors.bats.

load helpers
load ldcache-helpers

setup_image() {
	glibc_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
}

# volume SOURCE: config.json mounts it on /data
volume() {
	edit_config '.mounts += [{destination: "/data", type: "bind", source: $s, options: ["bind"]}]' --arg s "$1"
}

# How many mounts there are on the cache of the container in $pid.
covers() { grep -c " $rootfs/etc/ld.so.cache " "/proc/$pid/mountinfo" || true; }

#
# File systems that do not answer
#

# silent_volume [polite]: /data is on a FUSE server that answers no look-up, and the image leads the
# library's path there. The server is $pid; it ends with the test.
silent_volume() {
	[[ -c /dev/fuse ]] || skip "no FUSE on this machine"
	simple_spec
	request vendor.example/thing=node
	setup_image
	library_spec "$base/vendor/libgadget.so.1" /usr/lib/vendor/libgadget.so.1
	mkdir -p "$base/silent" "$rootfs/usr/lib"
	ln -s ../../data "$rootfs/usr/lib/vendor"
	volume "$base/silent"
	"$BATS_TEST_DIRNAME/silent-fuse" "$base/silent" "$@" 3>&- &
	pid=$!
	until grep -q " $base/silent " /proc/self/mountinfo; do
		[[ -d /proc/$pid ]] || fail "silent-fuse did not start"
		sleep 0.05
	done
	mountinfo_before=$(mountinfo)
}

hooks_running() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		[[ ! $exe -ef $hook ]] || echo "$exe"
	done
}

@test "a volume does not answer: the start fails in time, and only the server's end frees the rest" {
	local started i
	silent_volume
	options+=(--timeout=1)
	started=$SECONDS
	refused 12
	# The deadline, 5 seconds to undo, half of one for a kill; the rest is a busy machine.
	((SECONDS - started <= 15)) || fail "took $((SECONDS - started)) seconds"
	says "not done 5 seconds after the deadline" "does not answer"

	kill "$pid"
	wait "$pid" || true
	pid=
	for ((i = 0; i < 50; i++)); do
		[[ -n $(hooks_running) ]] || return 0
		sleep 0.1
	done
	fail "still running: $(hooks_running)"
}

@test "a volume answers when it is interrupted: the deadline ends the run, and all is undone" {
	silent_volume polite
	options+=(--timeout=1)
	refused 12
	says "not done within the 1 seconds that --timeout allows"
	[[ -z $(hooks_running) ]]
}

#
# A configuration of libraries that leads out of the image
#

kernel_log() { dd if=/proc/kmsg iflag=nonblock bs=64k status=none 2>/dev/null || true; }

@test "ld.so.conf leads to the kernel's log: its lines stay there" {
	local line="a line that nobody has read, $id"
	[[ -z $(find /proc/[0-9]*/fd -lname /proc/kmsg 2>/dev/null) ]] || skip "the kernel's log has a reader here"
	setup_image
	ln -s ../proc/kmsg "$rootfs/etc/ld.so.conf"
	kernel_log >/dev/null
	echo "$line" >/dev/kmsg
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
	[[ $(kernel_log) == *"$line"* ]] || fail "the line is gone from the kernel's log"
}

# nothing_read: the container starts, and of what ld.so.conf leads to nothing was read or told
nothing_read() {
	: >"$base/log"
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
	output+=$(<"$base/log")
	says_not secret-of-the-host
	# A note with a line's number is about a text that was read.
	! grep -E '(ld\.so\.conf|/proc|/data)[^ ]*:[0-9]+: ' <<<"$output" || fail "was read"
	run -0 cache_lists "$rootfs/etc/ld.so.cache"
	says_not libsecret
}

@test "ld.so.conf leads into procfs or a volume, by links or includes: not read, and not told" {
	local target
	setup_image
	library "$rootfs/srv/secret/libsecret.so.1" libsecret.so.1 "found by the configuration of a volume"
	mkdir "$base/volume"
	printf 'secret-of-the-host\n/srv/secret\n' >"$base/volume/ld.so.conf"
	volume "$base/volume"
	# With the host's processes in its procfs.
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	env -i secret-of-the-host=x sleep 60 3>&- &
	pid=$!

	for target in "../proc/$pid/environ" "/proc/$pid/environ" ../data/ld.so.conf /data/../data/ld.so.conf; do
		ln -sfn "$target" "$rootfs/etc/ld.so.conf"
		nothing_read
		logged "/etc/ld.so.conf is left out" "Invalid cross-device link"
	done
	rm "$rootfs/etc/ld.so.conf"
	for target in /proc/cmdline "/proc/$pid/environ" '/proc/sys/kernel/*' '/data/*' /data/ld.so.conf; do
		echo "include $target" >"$rootfs/etc/ld.so.conf"
		nothing_read
		logged "Invalid cross-device link"
	done
}

@test "200,000 names that 256 includes look through: bounded in time and memory" {
	local milliseconds kilobytes
	setup_image
	python3 - "$rootfs/etc/ld.so.conf.d" <<-'PY'
		import os, sys
		os.mkdir(sys.argv[1])
		os.chdir(sys.argv[1])
		open("0.conf", "w").close()
		for i in range(1, 200000):
		    os.link("0.conf", "%d.conf" % i)
	PY
	seq -f 'include /etc/ld.so.conf.d/*z%.0f' 256 >"$rootfs/etc/ld.so.conf"
	process_with_namespace
	state >"$base/state"
	run -0 python3 - "$base/state" "$hook" "${options[@]}" --no-cgroup "$stage" <<-'PY'
		import resource, subprocess, sys
		subprocess.run(sys.argv[2:], stdin=open(sys.argv[1]), check=True, stderr=subprocess.DEVNULL)
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		print(int(1000 * (used.ru_utime + used.ru_stime)), used.ru_maxrss)
	PY
	read -r milliseconds kilobytes <<<"$output"
	# Of the processor: how long it takes is also a matter of what else the machine does.
	((milliseconds < 3000)) || fail "took $milliseconds ms"
	((kilobytes < 32 * 1024)) || fail "took $kilobytes KiB"
}

#
# A cache that is mounted on already
#

@test "/etc is shared with the host, the cache in it is not: refused, and nothing shows on the host" {
	setup_image
	with_hook
	edit_config '.root.readonly = true'
	mkdir "$base/etc"
	touch "$base/"{cache,etc/ld.so.cache}
	mount --make-private "$base"
	mount --bind "$base/etc" "$base/etc"
	mount --make-shared "$base/etc"
	unshare --mount --propagation unchanged sh -c '
		mount --bind "$1" "$1" && mount --bind "$2/etc" "$1/etc" &&
		mount --bind "$2/cache" "$1/etc/ld.so.cache" &&
		mount --make-private "$1/etc/ld.so.cache" && exec sleep 300' - "$rootfs" "$base" 3>&- &
	pid=$!
	until [[ $(<"/proc/$pid/comm") == sleep ]]; do
		sleep 0.02
	done
	# The volume on the cache shows on the host too; nothing else shall.
	mountinfo_before=$(mountinfo)
	local before
	before=$(cat "/proc/$pid/mountinfo")
	state >"$base/state"
	run -10 strace -f -y -e trace=move_mount -o "$base/trace" \
		"$hook" "${options[@]}" --no-cgroup "$stage" <"$base/state"
	says "is shared with other namespaces"
	# Not for a moment either.
	grep move_mount "$base/trace" | grep opt/x/lib
	run ! grep -E 'move_mount.*/etc[/>]' "$base/trace"
	[[ $(cat "/proc/$pid/mountinfo") == "$before" ]]
}

@test "a volume of one file on the cache: covered once, also when the hook is called twice" {
	local readonly i
	setup_image
	touch "$base/cache" "$rootfs/etc/ld.so.cache"
	for readonly in false true; do
		edit_config ".root.readonly = $readonly"
		process_with_namespace
		nsenter --target "$pid" --mount mount --bind "$base/cache" "$rootfs/etc/ld.so.cache"
		for i in 1 2; do
			run -0 by_hand --no-cgroup
			[[ $(covers) == 2 ]] || fail "call $i: $(covers) mounts on the cache"
		done
		run -0 cache_lists "/proc/$pid/root$rootfs/etc/ld.so.cache"
		says "libgadget.so.1 /opt/x/lib/libgadget.so.1"
		[[ ! -s $base/cache ]]
		kill "$pid"
		wait "$pid" || true
	done
}

#
# Libraries that others may change
#

@test "libraries in a mounted directory that are not root's, or that others may write: not in the cache" {
	setup_image
	library "$base/others/libowned.so.1" libowned.so.1 owned
	library "$base/others/libwritten.so.1" libwritten.so.1 written
	chown 1000 "$base/others/libowned.so.1"
	chmod 0666 "$base/others/libwritten.so.1"
	cat >>"$specs/library.yaml" <<-YAML
		    - {hostPath: $base/others, containerPath: /opt/others, options: [ro, bind]}
	YAML
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
	logged "libowned.so.1 can be loaded or executed and belongs to user 1000, not to root: left out of the libraries to find by name" \
		"libwritten.so.1: left out of the libraries to find by name"
	run -0 cache_lists "$rootfs/etc/ld.so.cache"
	says libgadget
	says_not libowned libwritten
}

#
# Limits and races
#

@test "no file may grow, by an inherited limit: a sentence, and all is undone" {
	local before
	setup_image
	process_with_namespace
	state >"$base/state"
	before=$(cat "/proc/$pid/mountinfo"; tree)
	with_hook
	# The mount point of a library is written to, that of a directory is not.
	run -8 bash -c 'ulimit -f 0; "$@" <"$0"' "$base/state" "$hook" "${options[@]}" --no-cgroup "$stage"
	says "device vendor.example/thing=lib" "mount point /opt/x/lib/libgadget.so.1 in the container" "File too large"
	[[ $(cat "/proc/$pid/mountinfo"; tree) == "$before" ]] ||
		fail "$(diff <(echo "$before") <(cat "/proc/$pid/mountinfo"; tree))"
	library_spec "$base/vendor" /opt/x/lib
	with_hook
	run -10 bash -c 'ulimit -f 0; "$@" <"$0"' "$base/state" "$hook" "${options[@]}" --no-cgroup "$stage"
	says "device vendor.example/thing=lib" "library cache"
	[[ $(cat "/proc/$pid/mountinfo"; tree) == "$before" ]] ||
		fail "$(diff <(echo "$before") <(cat "/proc/$pid/mountinfo"; tree))"
}

# exchange A B...: exchanges A with each of the others in turn, until it is ended, a while at most
exchange() {
	gcc -O1 -o "$base/exchange" -x c - <<-'C'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdio.h>
		#include <unistd.h>

		int main(int argc, char **argv)
		{
			alarm(30);
			for (int i = 2;; i = i + 1 < argc ? i + 1 : 2)
				if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[i], RENAME_EXCHANGE) < 0)
					return 1;
		}
	C
	exec "$base/exchange" "$@"
}

@test "a directory is exchanged for links to the host all the time: the hook stays inside the root" {
	local mounts i attacker done=0 refused=0 code host name=oci-cdi-hook-race-$BATS_ROOT_PID
	setup_image
	# Where a link to the host leads there is all that a mount needs.
	mkdir -p "$rootfs/opt/dir" "$base/canary/$name"
	touch "$base/canary/$name/libgadget.so.1"
	ln -s / "$rootfs/opt/1"
	ln -s ../../../../../../../.. "$rootfs/opt/2"
	ln -s "$base/canary" "$rootfs/opt/3"
	library_spec "$base/vendor/libgadget.so.1" "/opt/dir/$name/libgadget.so.1"
	process_with_namespace
	host=$(ls -A / "$base/canary" "$base/canary/$name")
	state >"$base/state"
	(cd "$rootfs/opt" && exchange dir 1 2 3) 3>&- &
	attacker=$!
	for ((i = 0, SECONDS = 0; i < 300 && SECONDS < 5; i++)); do
		code=0
		"$hook" "${options[@]}" --no-cgroup --ldconfig=none "$stage" <"$base/state" 2>/dev/null || code=$?
		case $code in
		0) done=$((done + 1)) ;;
		8) refused=$((refused + 1)) ;;
		*) break ;;
		esac
	done
	kill "$attacker" || fail "the links were not exchanged"
	wait "$attacker" || true
	((code == 0 || code == 8)) || fail "exit code $code"
	((done > 0 && refused > 0)) || fail "no race: $done done, $refused refused"
	[[ $(ls -A / "$base/canary" "$base/canary/$name") == "$host" ]] ||
		fail "made on the host:" "$(diff <(echo "$host") <(ls -A / "$base/canary" "$base/canary/$name"))"
	mounts=$(grep libgadget "/proc/$pid/mountinfo" | cut -d' ' -f5)
	[[ -n $mounts ]]
	! grep -v "^$rootfs/" <<<"$mounts" || fail "mounted outside of the root"
}
