#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# A run that fails half way takes back what it did. `refused` compares the container's root file
# system before and after, teardown the host's mounts.

load helpers

# A spec with nodes and mounts of every kind, of which the last is at $1: the ones before it work.
spec_ending_at() {
	mkdir -p "$base/dir"
	echo x >"$base/file"
	spec undo.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: all
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
		    - {path: /opt/made/dev/thing, hostPath: $dev2}
		    mounts:
		    - {hostPath: $base/file, containerPath: /opt/made/file, options: [ro, bind]}
		    - {hostPath: $base/file, containerPath: /etc/file, options: [ro, bind]}
		    - {hostPath: $base/dir, containerPath: /srv/made/dir, options: [ro, bind]}
		    - {hostPath: tmpfs, containerPath: /srv/made/tmp, type: tmpfs, options: [nosuid]}
		    - {hostPath: $base/dir, containerPath: "$1", options: [ro, bind]}
	YAML
	request vendor.example/thing=all
}

@test "all of them together work" {
	spec_ending_at /var/last
	run -0 container 'cat /opt/made/file /etc/file && test -d /srv/made/dir && opens /dev/thing'
}

@test "a file stands where the last directory is due" {
	echo 'a file' >"$rootfs/etc/in-the-way"
	spec_ending_at /etc/in-the-way
	refused 8
	says vendor.example/thing=all /etc/in-the-way
}

@test "a file stands where a directory above the last mount is due" {
	echo 'a file' >"$rootfs/etc/in-the-way"
	spec_ending_at /etc/in-the-way/below
	refused 8
	says vendor.example/thing=all /etc/in-the-way
}

@test "the last mount would lie in sysfs: known before anything is done" {
	spec_ending_at /sys/kernel
	refused 4
	says vendor.example/thing=all /sys/kernel
}

@test "the container's root file system cannot be written" {
	# A bind mount onto itself that is read-only: no directory can be made in it.
	spec_ending_at /var/last
	runtime_alone
	mount --bind "$rootfs" "$rootfs"
	mount -o remount,bind,ro "$rootfs"
	refused 8
	umount "$rootfs"
}

@test "undone in a living namespace: its mounts are as before" {
	echo 'a file' >"$rootfs/etc/in-the-way"
	spec_ending_at /etc/in-the-way
	process_with_namespace
	local before after
	before=$(cat "/proc/$pid/mountinfo"; tree)
	run -8 by_hand --no-cgroup
	after=$(cat "/proc/$pid/mountinfo"; tree)
	[[ $after == "$before" ]] || fail "$(diff <(echo "$before") <(echo "$after"))"
}

@test "a device that was made for a run that failed is not allowed by the cgroup either" {
	# Here the container's process and its cgroup outlive the hook.
	echo 'a file' >"$rootfs/etc/in-the-way"
	spec_ending_at /etc/in-the-way
	[[ -d /sys/fs/cgroup/devices ]] || skip "the rule lives in a BPF program here"
	local before
	mkdir "$cgroup"
	process_with_namespace
	echo "$pid" >"$cgroup/cgroup.procs"
	echo a >"$cgroup/devices.deny"
	before=$(<"$cgroup/devices.list")
	run -8 by_hand
	[[ $(<"$cgroup/devices.list") == "$before" ]] || fail "rules: $(<"$cgroup/devices.list")"
}
