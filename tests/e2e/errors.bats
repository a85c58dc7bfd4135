#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What a person sees when something is wrong. `refused` also checks that the container did not
# start and that its root file system is as it was; teardown, that the host's mounts are.

load helpers

@test "an unknown device: directories searched, and what the kind has" {
	simple_spec
	request vendor.example/thing=missing
	refused 3
	says "oci-cdi-hook: " vendor.example/thing=missing "$specs" "$specs2" node spare
}

@test "an unknown kind" {
	simple_spec
	request vendor.example/other=node
	refused 3
	says vendor.example/other=node "$specs"
}

@test "all devices that are unknown are named" {
	simple_spec
	request vendor.example/thing=no1 vendor.example/thing=node vendor.example/thing=no2
	refused 3
	says vendor.example/thing=no1 vendor.example/thing=no2
}

@test "no spec directory at all" {
	options=(--spec-dir="$base/none" --allow-file="$allow")
	request vendor.example/thing=node
	refused 3
	says vendor.example/thing=node "$base/none"
}

@test "a broken spec is named with the place" {
	simple_spec
	spec broken.yaml <<-'YAML'
		cdiVersion: "0.6.0"
		kind: vendor.example/broken
		devices:
		- name: x
		  containerEdits:
		    deviceNodes: {path: /dev/null
	YAML
	request vendor.example/broken=x
	refused 4
	says vendor.example/broken=x "$specs/broken.yaml"
}

@test "a spec with an unknown key is named with the key" {
	spec typo.json <<-'JSON'
		{"cdiVersion": "0.6.0", "kind": "vendor.example/typo", "devices": [{"name": "x",
		 "containerEdits": {"deviceNode": [{"path": "/dev/null"}]}}]}
	JSON
	request vendor.example/typo=x
	refused 4
	says "$specs/typo.json" deviceNode
}

@test "a broken spec of somebody else does not matter" {
	simple_spec
	spec broken.json <<<'{"cdiVersion": '
	request vendor.example/thing=node
	run -0 container 'opens /dev/thing'
}

@test "a spec that its group may write is not trusted" {
	simple_spec
	chmod 0664 "$specs/thing.yaml"
	request vendor.example/thing=node
	refused 5
	says vendor.example/thing=node "$specs/thing.yaml"
}

@test "a spec directory that others may write is not trusted" {
	simple_spec
	chmod 0777 "$specs"
	request vendor.example/thing=node
	refused 5
	says vendor.example/thing=node "$specs"
}

@test "a spec that is not root's is not trusted" {
	simple_spec
	chown 1000 "$specs/thing.yaml"
	request vendor.example/thing=node
	refused 5
	says "$specs/thing.yaml"
}

@test "a device nobody allowed: the sentence ends with the command to type" {
	simple_spec
	echo 'vendor.example/other=*' >"$allow"
	request vendor.example/thing=node
	refused 5
	says vendor.example/thing=node "cdictl allow 'vendor.example/thing="
}

@test "the command that the sentence ends with, typed, is the cure" {
	simple_spec
	rm "$allow"
	request vendor.example/thing=node
	refused 5
	# The runtime's own message escapes what it quotes.
	local command=${output##*cdictl }
	command=${command%%\\n*}
	eval "run -0 '$top/build/ctl/cdictl' ${command%%\"*}"
	run -0 container 'opens /dev/thing'
}

@test "an allow file that is missing allows nothing" {
	simple_spec
	rm "$allow"
	request vendor.example/thing=node
	refused 5
	says "cdictl allow '"
}

@test "an allow file that others may write is not read" {
	simple_spec
	chmod 0666 "$allow"
	request vendor.example/thing=node
	refused 5
	says "$allow"
}

@test "a mount source that is missing" {
	spec mount.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: lib
		  containerEdits:
		    mounts:
		    - {hostPath: $base/libmissing.so, containerPath: /lib/libmissing.so, options: [ro]}
	YAML
	request vendor.example/thing=lib
	refused 6
	says vendor.example/thing=lib "$base/libmissing.so"
}

@test "a device node that is missing" {
	simple_spec
	sed -i "s,hostPath: $dev1,hostPath: $base/no-node," "$specs/thing.yaml"
	request vendor.example/thing=node
	refused 6
	says vendor.example/thing=node "$base/no-node"
}

@test "two things that are missing are both named" {
	spec two.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: two
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
		    - {path: /dev/gone, hostPath: $base/node-gone}
		    mounts:
		    - {hostPath: $base/mount-gone, containerPath: /data, options: [ro]}
	YAML
	request vendor.example/thing=two
	refused 6
	says "$base/node-gone" "$base/mount-gone"
}

@test "a malformed annotation" {
	simple_spec
	request vendor.example/thing
	refused 3
	says vendor.example/thing cdi.k8s.io/test1
}

@test "a malformed annotation fails the good ones too" {
	simple_spec
	request vendor.example/thing=node
	request 'vendor.example/thing=not a name'
	refused 3
	says 'not a name'
}

# edit_spec YAML: one device, "edit", with the given edits besides a node that works
edit_spec() {
	spec edit.yaml <<-YAML
		cdiVersion: "0.7.0"
		kind: vendor.example/thing
		devices:
		- name: edit
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
		    $1
	YAML
	request vendor.example/thing=edit
}

@test "an edit that no hook can make is a warning, or an error when asked for" {
	edit_spec 'env: [THING=1]'
	options+=(--log-file="$base/log")
	run -0 container 'opens /dev/thing && test -z "$THING"'
	grep vendor.example/thing=edit "$base/log" | grep createRuntime
	options+=(--unsupported=fail)
	refused 1
	says vendor.example/thing=edit createRuntime
}

@test "hooks of a spec are not left out in silence" {
	edit_spec 'hooks: [{hookName: createContainer, path: /usr/bin/vendor-hook, args: [vendor-hook]}]'
	refused 11
	says vendor.example/thing=edit "hook createContainer /usr/bin/vendor-hook: " "No such file or directory"
	options+=(--vendor-hooks=none)
	run -0 container 'opens /dev/thing'
}

@test "--dry-run prints the plan and does nothing" {
	simple_spec
	request vendor.example/thing=node
	process_with_namespace
	local before after
	before=$(cat "/proc/$pid/mountinfo"; tree)
	run -0 by_hand --dry-run
	says /dev/thing
	after=$(cat "/proc/$pid/mountinfo"; tree)
	[[ $after == "$before" ]] || fail "$(diff <(echo "$before") <(echo "$after"))"
}

@test "a state that is not JSON" {
	run -3 "$hook" "${options[@]}" createRuntime <<<'not a state'
	says "oci-cdi-hook: "
}

@test "an empty state" {
	run -3 "$hook" "${options[@]}" createRuntime </dev/null
	says "oci-cdi-hook: "
}

@test "a process that is gone" {
	simple_spec
	request vendor.example/thing=node
	true &
	pid=$!
	wait "$pid"
	run -7 by_hand
	says "oci-cdi-hook: " "$pid"
}

@test "a process in the host's mount namespace is not touched" {
	simple_spec
	request vendor.example/thing=node
	process_without_namespace
	# As in a container that shares the host's mounts: its root file system is a mount there.
	mount --bind "$rootfs" "$rootfs"
	run -7 by_hand
	says "mount namespace"
	[[ ! -e /dev/thing && ! -e $rootfs/dev/thing ]]
	umount "$rootfs"
}

# By number it is a process of another container: its cgroup must not be changed before that is seen.
@test "a process that has another root than the container is not touched" {
	local before
	simple_spec
	request vendor.example/thing=node
	mkdir "$base/other"
	cp -a "$rootfs/bin" "$base/other/"
	unshare --mount sh -c 'mount --bind "$0" "$0" && exec chroot "$0" /bin/busybox sleep 300' "$base/other" 3>&- &
	pid=$!
	until [[ $(stat -L -c %d:%i "/proc/$pid/root") == "$(stat -c %d:%i "$base/other")" ]]; do sleep 0.02; done
	before=$(cat "/proc/$pid/mountinfo")
	state | {
		run -7 strace -f --trace=openat -o "$base/trace" "$hook" "${options[@]}" createRuntime
		says "oci-cdi-hook: the root directory of process $pid is neither the container's root $rootfs nor the host's"
	}
	grep -F "\"$pid/ns/mnt\"" "$base/trace"
	run ! grep -F "\"$pid/cgroup\"" "$base/trace"
	[[ $(cat "/proc/$pid/mountinfo") == "$before" && ! -e $base/other/dev && ! -e $rootfs/dev/thing ]]
}

@test "a root file system that is missing" {
	simple_spec
	request vendor.example/thing=node
	process_with_namespace
	mv "$rootfs" "$rootfs.away"
	run -7 by_hand
	says "$rootfs"
}

@test "without a request no spec directory and no allow file is opened" {
	simple_spec
	process_with_namespace
	state | {
		run -0 strace -f -y -o "$base/trace" "$hook" "${options[@]}" createRuntime
		[[ -z $output ]]
	}
	[[ -s $base/trace ]]
	# -y shows the path of every descriptor, however it was opened.
	run ! grep -F -e "$specs" -e "$allow" "$base/trace"
}

@test "with a request they are opened: the test above can fail" {
	simple_spec
	request vendor.example/thing=missing
	process_with_namespace
	state | run -3 strace -f -y -o "$base/trace" "$hook" "${options[@]}" createRuntime
	grep -F "$specs" "$base/trace"
	grep -F "$allow" "$base/trace"
}

@test "the state is read to its end even when there is nothing to do" {
	process_with_namespace
	# More than a pipe holds: a writer that nobody reads from would be killed by SIGPIPE.
	annotate example.com/long "$(printf '%0100000d' 0)"
	state >"$base/state"
	run -0 bash -c 'set -o pipefail; cat "$1" | "$2" createRuntime' - "$base/state" "$hook"
}

@test "usage errors" {
	local arguments
	for arguments in "" "--no-such-option createRuntime" "noSuchStage" "createRuntime extra" \
		"--spec-dir createRuntime" "--allow"; do
		# shellcheck disable=SC2086 # these are words
		run "$hook" $arguments </dev/null
		((status == 2)) || fail "exit code $status for: $arguments" "$output"
		says "oci-cdi-hook: "
	done
	run -2 "$hook" --no-such-option createRuntime </dev/null
	says --no-such-option
	run -2 "$hook" noSuchStage </dev/null
	says noSuchStage
}

@test "a stage at which no hook of the host can be called is a usage error" {
	run -2 "$hook" startContainer </dev/null
	says "startContainer runs programs of the container"
}

@test "help and version" {
	run -0 "$hook" --help
	says createRuntime --spec-dir --allow-file
	run -0 "$hook" --version
	[[ $output =~ [0-9]+\.[0-9]+\.[0-9]+ ]]
}
