#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The hook as on a kernel (or below a seccomp filter) that lacks newer system calls: the same
# container, the same sentences. silent-old-kernel.c makes it look so, for the hook alone.

load engines

helpers_file=$(declare -f setup_file)
eval "ldcache_$helpers_file"

setup_file() {
	ldcache_setup_file
	gcc -O1 -o "$BATS_FILE_TMPDIR/silent-old-kernel" "$BATS_TEST_DIRNAME/silent-old-kernel.c" -lseccomp
}

# without CALL[,CALL]...: the hook from now on
without() {
	printf '#!/bin/sh\nexec %s %s %s "$@"\n' "$BATS_FILE_TMPDIR/silent-old-kernel" "$1" "$hook" >"$base/bin/old-hook"
	chmod +x "$base/bin/old-hook"
	hook=$base/bin/old-hook
}

all=openat2,mount_setattr,pidfd_open,clone3,close_range

# A container with everything, twice; and with a read-only root, where the library cache is mounted over.
works_without() {
	local before
	use_engine runc
	without "$1"
	stages=("${2:-createRuntime}")
	all_spec
	start
	sees_all
	before=$(snapshot)
	run -0 second_run
	[[ $(snapshot) == "$before" ]] || fail "the second run changed:" "$(diff <(echo "$before") <(snapshot))"
	run cat "$base/log"
	says_not "warning"
	"$runtime" --root "$base/runc" delete -f "$id"
	pid=

	rm -rf "$rootfs/opt" "$rootfs/etc/ld.so.cache"
	read_only=true
	start
	sees_all
}

@test "without openat2" { works_without openat2; }
@test "without mount_setattr" { works_without mount_setattr; }
@test "without pidfd_open" { works_without pidfd_open; }
@test "without clone3 and close_range" { works_without clone3,close_range; }
@test "without any of them" { works_without "$all"; }
@test "without any of them, at createContainer" { works_without "$all" createContainer; }

@test "without any of them: options of mounts are in force, and nothing else changes" {
	use_engine runc
	without "$all"
	spec flags.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/flags
		devices:
		- name: all
		  containerEdits:
		    mounts:
		    - {hostPath: $base/vendor, containerPath: /a, options: [ro, nosuid, noexec, bind]}
		    - {hostPath: $base/vendor, containerPath: /b, options: [rw, rbind, rslave, noatime]}
		    - {hostPath: $base/vendor/libgadget.so.1, containerPath: /c, options: [ro, nodev, bind]}
		    - {hostPath: tmpfs, containerPath: /d, type: tmpfs, options: [nosuid, nodev, size=64k]}
	YAML
	request vendor.example/flags=all
	start
	local output
	output=$(awk '$5 ~ "/[abcd]$" {sub(".*/", "/", $5); print $5, $6, $7}' "/proc/$pid/mountinfo")
	grep -qE '^/a ro,nosuid,noexec,relatime -' <<<"$output" || fail "$output"
	grep -qE '^/b rw,noatime (master:[0-9]+|-)' <<<"$output" || fail "$output"
	grep -qE '^/c ro,nodev,relatime -' <<<"$output" || fail "$output"
	grep -qE '^/d rw,nosuid,nodev,relatime -' <<<"$output" || fail "$output"
}

# Links of the image: what openat2 refuses the walk refuses, with the same words.
@test "without openat2: links lead where they lead inside the container" {
	use_engine runc
	all_spec
	mkdir -p "$rootfs/real"
	ln -s ../../../../real "$rootfs/opt"
	without openat2
	start
	[[ -f $rootfs/real/x/lib/libgadget.so.1 ]] || fail "not in the container's own /real"
	[[ ! -e /real ]] || fail "/real was made on the host"
	sees_all
}

@test "without openat2: a loop of links, and a link in the way of a node" {
	use_engine runc
	all_spec
	ln -s two "$rootfs/one"
	ln -s one "$rootfs/two"
	ln -s one "$rootfs/opt"
	without openat2
	run start
	((status != 0)) || fail "the container started"
	says "open /opt/x/lib/libgadget.so.1 in the container: Too many levels of symbolic links"
}
