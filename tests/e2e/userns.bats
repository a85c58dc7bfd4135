#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Containers in a user namespace, whose engine is root. No node can be made for them, so the host's
# own is mounted; files are made as the container's root makes them.

load engines

# The lines of the final table.
table() { echo "# table: user namespace, $(same_in_each_run "$1")" >&3; }

# runc gives its standard input to the container's root, and that is the host's own node.
teardown_file() { chown 0:0 /dev/null; }

# shift_image UID: the root file system belongs to the container's root
shift_image() { chown -R --no-dereference "$1:$1" "$rootfs"; }

# A bundle whose container's root is UID of the host
use_mapping() {
	edit_config '
		.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: $host, size: 65536}]
		| .linux.gidMappings = .linux.uidMappings' --argjson host "$1"
	shift_image "$1"
}

user_spec() {
	spec all.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: all
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $base/dev/open}
		    - {path: /dev/deep/down/thing, hostPath: $base/dev/open}
		    mounts:
		    - {hostPath: $base/vendor/libgadget.so.1, containerPath: /opt/x/lib/libgadget.so.1, options: [ro, nosuid, nodev, bind]}
	YAML
	request vendor.example/thing=all
	# A node of the host's that is open to all, where no other test can change it.
	mkdir -p "$base/dev"
	mknod -m 666 "$base/dev/open" $num1
	mknod -m 660 "$base/dev/closed" $num1
}

look() {
	cat <<-SH
		$opens
		(opens /dev/thing && echo thing opens)
		(opens /dev/deep/down/thing && echo deep thing opens)
		mknod /dev/own $num3 && echo a node was made
		(: >>/opt/x/lib/libgadget.so.1 && echo library writes)
		use libgadget.so.1
		stat -c '%n of %u:%g' /opt /opt/x /opt/x/lib /dev/deep /dev/deep/down /etc/ld.so.cache
	SH
}

sees() {
	local output
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "thing opens" "deep thing opens" "gadget of the host"
	says_not "a node was made" "library writes"
	# What was made belongs to the container's root.
	[[ $(grep -c ' of [0-9]' <<<"$output") -ge 6 ]] || fail "too few files:" "$output"
	[[ -z $(grep ' of [0-9]' <<<"$output" | grep -v ' of 0:0$') ]] || fail "files of others:" "$output"
}

# mapped ENGINE: a runtime with id mappings in config.json
mapped() {
	use_engine "$1"
	user_spec
	use_mapping 100000
	start
	sees
	[[ $(stat -c %u:%g "$rootfs/etc/ld.so.cache") == 100000:100000 ]]
	second_run
	stop_container
	table "$label, uidMappings, $cgroups: node opens, library found by soname"
}

@test "runc with id mappings" { mapped runc; }
@test "crun with id mappings" { mapped crun; }
@test "new-runc with id mappings" { mapped new-runc; }
@test "new-crun with id mappings" { mapped new-crun; }
@test "new-youki with id mappings" { mapped new-youki; }

eval "engines_$(declare -f teardown)"

teardown() {
	umount /etc/passwd /etc/subuid /etc/subgid 2>/dev/null || true
	engines_teardown
}

# Subordinate ids for the user "containers", whom userns=auto takes them from; podman 5 wants that user to be there.
subordinate_ids() {
	local name
	for name in passwd subuid subgid; do
		cp "/etc/$name" "$base/$name"
		case $name in
		passwd) echo "containers:x:23457:23457::/:/bin/false" ;;
		*) echo containers:300000:1000000 ;;
		esac >>"$base/$name"
		mount --bind "$base/$name" "/etc/$name"
	done
}

# mapped_by_podman ENGINE: its two ways to ask for a user namespace, as root
mapped_by_podman() {
	local mode
	use_engine "$1"
	user_spec
	subordinate_ids
	for mode in --userns=auto --uidmap=0:200000:65536; do
		start "$mode"
		sees
		# podman 5 mounts the root for the runtime alone, where nobody can look later.
		[[ ! -e $(jq -r .root.path "$running_bundle/config.json")/bin/sh ]] || second_run
		pod rm --force --time 0 "$id" >/dev/null
		table "$label, $mode, $cgroups: node opens, library found by soname"
	done
	# These are a plain user's.
	for mode in --userns=keep-id --userns=nomap; do
		if [[ $mode == --userns=keep-id ]] && ! podman_older_than 5; then
			start "$mode"
			sees
			pod rm --force --time 0 "$id" >/dev/null
			table "$label, $mode, $cgroups: node opens, library found by soname"
		else
			run ! start "$mode"
			says "is only supported in rootless mode"
			table "$label, $mode: podman's own: ${output#Error: }"
		fi
	done
}

@test "podman+runc as root: userns=auto and uidmap" { mapped_by_podman podman+runc; }
@test "podman+crun as root: userns=auto and uidmap" { mapped_by_podman podman+crun; }
@test "new-podman+new-runc as root: userns=auto and uidmap" { mapped_by_podman new-podman+new-runc; }
@test "new-podman+new-crun as root: userns=auto and uidmap" { mapped_by_podman new-podman+new-crun; }

# The host's own nodes and the vendor's files, with all that a stray chown, write or new file would change.
# (What is no business of ours: terminals, and runc gives its standard input to the container's root.)
host_files() { find /dev "$base/dev" "$base/vendor" -xdev ! -path '/dev/pts*' ! -path /dev/null -printf '%p %i %m %U:%G %s %C@\n' | sort; }

is_sleep() { [[ $(<"/proc/$1/comm") == sleep ]]; }

# crio_pod: what CRI-O makes for a pod of `hostUsers: false` before any container: namespaces that belong
# to the user namespace, pinned as files
crio_pod() {
	local name process
	mkdir "$base/ns"
	unshare --user --ipc --uts --net sh -c 'exec sleep 300' 3>&- &
	process=$!
	wait_until is_sleep "$process"
	echo '0 100000 65536' >"/proc/$process/uid_map"
	echo '0 100000 65536' >"/proc/$process/gid_map"
	for name in user ipc uts net; do
		touch "$base/ns/$name"
		mount --bind "/proc/$process/ns/$name" "$base/ns/$name"
	done
	kill "$process"
	wait "$process" || true
}

# crio_bundle: config.json as CRI-O writes it for such a pod, the root far from the bundle and the bundle in
# directories that can be passed but not listed
crio_bundle() {
	local merged=$base/storage/overlay/0a1b/merged
	mkdir -p "$merged" "$base/userdata/shm"
	mount --bind "$rootfs" "$merged"
	chmod 711 "$base/storage" "$bundle"
	chmod 1777 "$base/userdata/shm"
	edit_config '
		.root.path = $merged
		| .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
		| .linux.gidMappings = .linux.uidMappings
		| .linux.namespaces = [{type: "pid"}, {type: "network", path: ($base + "/ns/net")},
			{type: "ipc", path: ($base + "/ns/ipc")}, {type: "uts", path: ($base + "/ns/uts")},
			{type: "mount"}, {type: "user", path: ($base + "/ns/user")}]
		| .linux.resources.devices = [{allow: false, access: "rwm"}]
		| .mounts |= map(if .destination == "/dev/shm"
			then {destination, type: "bind", source: ($base + "/userdata/shm"), options: ["rw", "bind"]} else . end)
		| .annotations += {"io.kubernetes.cri-o.Annotations": "null", "io.kubernetes.cri-o.MountPoint": $merged,
			"io.container.manager": "cri-o"}
		| del(.hostname)' --arg merged "$merged" --arg base "$base"
}

@test "CRI-O, hostUsers: false: a pinned user namespace with its mappings, the root far from the bundle" {
	local name before
	user_spec
	shift_image 100000
	crio_pod
	crio_bundle
	before=$(host_files)
	for name in runc crun; do
		use_engine "$name"
		rm -f "$base/userdata/shm"/*
		start
		sees
		[[ $(stat -Lc %i "/proc/$pid/ns/user") == "$(stat -c %i "$base/ns/user")" ]]
		second_run
		stop_container
		[[ $(host_files) == "$before" ]] || fail "the host's files changed:" "$(diff <(echo "$before") <(host_files))"
		# The next one is to find the image as it was.
		rm -rf "$rootfs/opt" "$rootfs/etc/ld.so.cache"
		table "$name, CRI-O with hostUsers: false, $cgroups: node opens, library found by soname, nothing of the host changed"
	done
	umount "$base/storage/overlay/0a1b/merged" "$base"/ns/*
}

# mapped_inside ENGINE: createContainer, where we are inside: the device cgroup is out of reach, and said so
mapped_inside() {
	use_engine "$1"
	user_spec
	use_mapping 100000
	stages=(createContainer)
	# The hook is nobody of the host's there.
	touch "$base/log"
	chmod 666 "$base/log"
	run ! start
	output=$(sentence)
	says "device node /dev/thing: the device cgroup does not allow it, and from a user namespace that cannot be changed" \
		"register the hook at createRuntime instead of createContainer"
	table "$label, createContainer, $cgroups: refused: $output"
	"$runtime" --root "$base/runc" delete -f "$id" 2>/dev/null || true
	# A device that the runtime allows anyway is no matter for the cgroup.
	rm "$base/dev/open"
	mknod -m 666 "$base/dev/open" c 1 5
	start
	sees
	table "$label, createContainer, $cgroups, a device that its cgroup allows: node opens, library found by soname"
}

@test "runc at createContainer" { mapped_inside runc; }
@test "crun at createContainer" { mapped_inside crun; }
@test "new-runc at createContainer" { mapped_inside new-runc; }
@test "new-crun at createContainer" { mapped_inside new-crun; }
@test "new-youki at createContainer" { mapped_inside new-youki; }

@test "two containers with different mappings from one image: each is right, nothing of one is seen in the other" {
	local first
	user_spec
	subordinate_ids
	use_engine podman+crun
	hooks_d
	podman_annotations
	for name in one two; do
		pod run --detach --name "$id-$name" --userns=auto --cgroup-parent "$in_cgroup" "${annotations[@]}" localhost/test \
			sh -c "{ $(look); } >/dev/shm/seen.new 2>&1; mv /dev/shm/seen.new /dev/shm/seen; exec sleep 300" >/dev/null
	done
	for name in one two; do
		pid=$(pod inspect --format '{{.State.Pid}}' "$id-$name")
		wait_until test -e "/proc/$pid/root/dev/shm/seen"
		sees
		first+=" $(awk '{print $2}' "/proc/$pid/uid_map")"
	done
	[[ ${first%% [0-9]*} != "${first##* }" ]]
}

@test "a device that only root of the host may open is refused, and nothing is left" {
	user_spec
	sed -i "s,hostPath: $base/dev/open,hostPath: $base/dev/closed," "$specs/all.yaml"
	use_mapping 100000
	refused 6
	says "device vendor.example/thing=all (" \
		"device node /dev/thing: the container's user 0 (100000 on the host) may not open $base/dev/closed of the host, which is 0660 of 0:0" \
		"its user has to be in group 0 there, or the node open to all"
}

@test "a group of the device that is mapped into the container opens it" {
	user_spec
	sed -i "s,hostPath: $base/dev/open,hostPath: $base/dev/closed," "$specs/all.yaml"
	chown 0:100044 "$base/dev/closed"
	use_mapping 100000
	edit_config '.process.user.additionalGids = [44]'
	run -0 container 'opens /dev/thing && stat -c %u:%g:%a /dev/thing'
	says "65534:44:660"
}

@test "an access control list opens a device to a group, or keeps the device's own group out" {
	user_spec
	sed -i "s,hostPath: $base/dev/open,hostPath: $base/dev/closed," "$specs/all.yaml"
	use_mapping 100000
	edit_config '.process.user.additionalGids = [44]'
	access_list closed owner:6 group:0 group:6:100044 mask:6 others:0
	run -0 container 'opens /dev/thing && echo thing opens'
	says "thing opens"
	edit_config '.process.user.additionalGids = [45]'
	refused 6
	says "which is 0660 of 0:0 with an access control list: " "its user has to be in group 100044 there"
	# The mode says that its group may, and that is the mask of somebody else.
	chown 0:100045 "$base/dev/closed"
	access_list closed owner:6 user:6:23456 group:0 mask:6 others:0
	refused 6
	says "which is 0660 of 0:100045 with an access control list: " "no group would do: the node has to be open to that user" \
		"setfacl -m u:100000:rw $base/dev/closed"
	access_list closed owner:6 user:6:100000 group:0 mask:6 others:0
	run -0 container 'opens /dev/thing && echo thing opens'
	says "thing opens"
}

@test "a node that the host does not have cannot be made" {
	user_spec
	sed -i "s|hostPath: $base/dev/open}|hostPath: $base/dev/none, type: c, major: 10, minor: 229}|" "$specs/all.yaml"
	use_mapping 100000
	refused 6
	says "device node /dev/thing: the host has none, and in a user namespace none can be made"
}

@test "a FIFO is made, and belongs to the container's root" {
	spec fifo.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/fifo
		devices:
		- {name: a, containerEdits: {deviceNodes: [{path: /dev/pipe, type: p, fileMode: 0600}]}}
	YAML
	request vendor.example/fifo=a
	use_mapping 100000
	run -0 container 'stat -c "%F %u:%g %a" /dev/pipe'
	says "fifo 0:0 600"
}

@test "a failure at the end takes all of it back" {
	user_spec
	echo 'a file' >"$rootfs/etc/in-the-way"
	sed -i "s,    mounts:,&\n    - {hostPath: $base/vendor\, containerPath: /etc/in-the-way\, options: [ro\, bind]}," "$specs/all.yaml"
	use_mapping 100000
	refused 8
	says vendor.example/thing=all /etc/in-the-way
}

@test "user namespaces that cannot be served: each a sentence" {
	user_spec
	# No root in it: by hand, since no runtime starts a container there.
	unshare --user --mount sh -c 'exec sleep 300' 3>&- &
	pid=$!
	until [[ $(<"/proc/$pid/comm") == sleep ]]; do
		sleep 0.02
	done
	echo '1 100000 10' >"/proc/$pid/uid_map"
	echo '0 100000 10' >"/proc/$pid/gid_map"
	run -7 by_hand --no-cgroup
	says "the user namespace of process $pid has no root: nothing can be made in the container"

	kill "$pid"
	process_with_namespace
	edit_config '.linux.namespaces += [{type: "user"}]'
	run -7 by_hand --no-cgroup
	says "process $pid is to have a user namespace by config.json, and is not in one"
}

@test "a vendor's hook of createContainer runs as the container's root, in its namespaces" {
	local name
	user_spec
	use_mapping 100000
	cat >"$base/vendor/hook" <<-'SH'
		#!/bin/sh
		{ id -u; cat /proc/self/uid_map; } >"$1/seen" && touch "$1/made"
	SH
	chmod 755 "$base/vendor/hook"
	mkdir -m 777 "$base/out"
	spec hook.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/hooked
		devices:
		- name: a
		  containerEdits:
		    hooks: [{hookName: createContainer, path: $base/vendor/hook, args: [hook, $base/out]}]
	YAML
	request vendor.example/hooked=a
	for name in runc crun; do
		use_engine "$name"
		rm -f "$base/out"/*
		start
		sees
		[[ $(tr -s ' \n' ' ' <"$base/out/seen") == "0 0 100000 65536 " ]] || fail "$(<"$base/out/seen")"
		[[ $(stat -c %u "$base/out/made") == 100000 ]]
		stop_container
	done
}

# Whoever becomes somebody else loses the signal that it asked for.
@test "kill -9 of the hook ends the process that works for it" {
	user_spec
	cat >"$base/vendor/slow" <<-'SH'
		#!/bin/sh
		touch "$1/begun"
		exec sleep 60
	SH
	chmod 755 "$base/vendor/slow"
	spec hook.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/hooked
		devices:
		- name: a
		  containerEdits:
		    hooks: [{hookName: createRuntime, path: $base/vendor/slow, args: [slow, $base]}]
	YAML
	request vendor.example/hooked=a
	use_mapping 100000
	runtime_alone
	container true >/dev/null 2>&1 3>&- &
	local runtime_pid=$! hook_pid
	wait_until test -e "$base/begun" || fail "the vendor's hook does not run"
	hook_pid=$(pgrep --oldest --full -- "--spec-dir=$specs ")
	[[ -n $(pgrep --parent "$hook_pid") ]]
	kill -9 "$hook_pid"
	wait "$runtime_pid" || true
	no_worker() { ! pgrep --full -- "--spec-dir=$specs "; }
	wait_until no_worker || fail "it goes on: $(pgrep --full --list-full -- "--spec-dir=$specs ")"
}
