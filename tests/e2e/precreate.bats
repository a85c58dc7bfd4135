#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# podman with the stage precreate in a directory of its own, which containers.conf names: everything
# that a spec has arrives, since podman's runtime does the work.

load engines

# podman as the installed files tell it: its configuration names both directories.
pod() {
	timeout 60 env CONTAINERS_CONF="$base/podman/containers.conf" \
		CONTAINERS_STORAGE_CONF="$base/podman/storage.conf" TMPDIR="$base/podman/tmp" HOME="$base/podman" \
		"$podman" --root "$base/podman/graph" --runroot "$base/podman/run" --tmpdir "$base/podman/libpod" \
		--runtime "$runtime" "$@" </dev/null
}

# hooks_in DIRECTORY STAGE...: the JSON files as they are installed, but for the path and the options
hooks_in() {
	local directory=$1 stage
	shift
	mkdir -p "$directory"
	rm -f "$directory"/*
	for stage; do
		sed "s,@HOOK@,$hook," "$top/hooks.d/50-oci-cdi-hook-$stage.json.in" |
			jq '.hook.args = .hook.args[:1] + $ARGS.positional + .hook.args[1:]' --args -- "${options[@]}" \
				>"$directory/50-oci-cdi-hook-$stage.json"
	done
}

hooks_d() {
	hooks_in "$base/hooks.d" "${stages[@]}"
	hooks_in "$base/hooks.precreate.d" precreate
}

# The drop-in as it is installed, but for the directories.
drop_in() {
	sed "s,@HOOKSDIR@,$base/hooks.d,; s,@PRECREATEHOOKSDIR@,$base/hooks.precreate.d," \
		"$top/hooks.d/50-oci-cdi-hook.conf.in"
}

use_podman() {
	use_engine "$1"
	{ drop_in | sed -n '/^hooks_dir/p'; cat "$base/podman/containers.conf"; } >"$base/podman/new"
	# The [engine] of the file takes the line.
	sed -e "/^\[engine\]/a $(sed -n '/^hooks_dir/p' "$base/podman/new")" -i "$base/podman/containers.conf"
	rm "$base/podman/new"
}

# A device that is all that a device can be. Its hooks leave a line each on the host.
full_spec() {
	cat >"$base/bin/note" <<-SH
		#!/bin/sh
		cat >/dev/null
		echo "\$2" >>$base/hooks-ran
	SH
	chmod +x "$base/bin/note"
	all_spec
	spec full.yaml <<-YAML
		cdiVersion: "0.7.0"
		kind: vendor.example/full
		containerEdits:
		  env: [VENDOR=all of them]
		devices:
		- name: one
		  containerEdits:
		    env: [DEVICE=one, TERM=vendor]
		    additionalGids: [4242]
		    hooks:
		    - {hookName: createRuntime, path: $base/bin/note, args: [note, $base, createRuntime]}
		    - {hookName: poststop, path: $base/bin/note, args: [note, $base, poststop]}
	YAML
	edit_config '.annotations = {}'
	request vendor.example/thing=all vendor.example/full=one
}

# What the container's first process saw of full_spec.
sees_full() {
	local output
	output=$(tr '\0' '\n' <"/proc/$pid/environ")
	says "VENDOR=all of them" "DEVICE=one" "TERM=vendor"
	[[ $(grep -c ^TERM= <<<"$output") == 1 ]] || fail "two TERM in" "$output"
	# As its first process has them: podman exec makes its own.
	grep -q '^Groups:.*[[:space:]]4242\b' "/proc/$pid/status" || fail "no group 4242 in" "$(grep ^Groups "/proc/$pid/status")"
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "thing opens" "thing-r reads" "/dev/thing-r: Operation not permitted" \
		"/dev/own: Operation not permitted" "/opt/x/lib/libgadget.so.1: Read-only file system"
	says_not "thing-r writes" "own opens" "library writes"
	[[ $(grep -c " /opt/x/lib/libgadget.so.1 " "/proc/$pid/mountinfo") == 1 ]] || fail "mounted more than once:" "$(grep -e gadget "/proc/$pid/mountinfo")" "$(cat "$base/log")"
}

@test "precreate alone: environment, groups, nodes with their cgroup, mounts and hooks arrive" {
	local name
	stages=()
	full_spec
	for name in podman+runc podman+crun; do
		use_podman "$name"
		rm -f "$base/hooks-ran"
		start
		sees_full
		[[ $(<"$base/hooks-ran") == createRuntime ]]

		# And again after a stop: podman asks the hook at each start.
		stop_container
		wait_until grep -qx poststop "$base/hooks-ran"
		pod start "$id" >/dev/null
		podman_process "$id"
		wait_until test -e "/proc/$pid/root/dev/shm/seen"
		sees_full
		[[ $(<"$base/hooks-ran") == $'createRuntime\npoststop\ncreateRuntime' ]]
		pod rm --force --time 0 "$id" >/dev/null
	done
}

@test "precreate and createRuntime: once, and the library is found by its name" {
	local name config
	full_spec
	for name in podman+runc podman+crun; do
		use_podman "$name"
		rm -f "$base/hooks-ran"
		start
		sees_full
		output=$(<"/proc/$pid/root/dev/shm/seen")
		says "gadget of the host"
		[[ $(<"$base/hooks-ran") == createRuntime ]] || fail "hooks ran:" "$(<"$base/hooks-ran")"
		config=$running_bundle/config.json
		[[ $(jq '[.linux.devices[] | select(.path == "/dev/thing")] | length' "$config") == 1 ]]
		[[ $(jq '[.mounts[] | select(.destination == "/opt/x/lib/libgadget.so.1")] | length' "$config") == 1 ]]
		[[ $(jq '[.process.user.additionalGids[] | select(. == 4242)] | length' "$config") == 1 ]]
		# createRuntime has nothing to complain about.
		output=$(<"$base/log")
		says_not warning "cannot be set"
		pod rm --force --time 0 "$id" >/dev/null
		: >"$base/log"
	done
}

@test "--device for the same node, together with the annotation: once" {
	local config
	stages=()
	full_spec
	use_podman podman+runc
	start --device "$dev1:/dev/thing" --device "$dev2:/dev/thing-r:r"
	sees_full
	config=$running_bundle/config.json
	[[ $(jq '[.linux.devices[] | select(.path == "/dev/thing")] | length' "$config") == 1 ]]
	[[ $(jq '[.linux.devices[] | select(.path == "/dev/thing-r")] | length' "$config") == 1 ]]
}

@test "--device vendor/class=name of podman's own CDI, together with the annotation: once" {
	stages=()
	full_spec
	use_podman podman+runc
	hooks_d
	podman_annotations
	# Podman reads /etc/cdi only: it gets an /etc that has one, in a mount namespace of its own. It
	# knows no additionalGids, so that group is the hook's in any case.
	mkdir -p "$base/etc"/{upper,work}
	sed -i 's/cdiVersion: .*/cdiVersion: "0.5.0"/; /additionalGids/d' "$specs/full.yaml"
	sed -i 's/cdiVersion: .*/cdiVersion: "0.5.0"/' "$specs/all.yaml"
	cp -r "$specs" "$base/etc/upper/cdi"
	in_another_etc() {
		unshare --mount bash -c '
			mount -t overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" overlay /etc
			shift; "$@"' - "$base/etc" "$@"
	}
	export -f pod
	export base runtime podman
	run -0 in_another_etc bash -c 'pod "$@"' - run --rm --name "$id" --cgroup-parent "$in_cgroup" --cap-add MKNOD \
		"${annotations[@]}" --device vendor.example/full=one --device vendor.example/thing=all localhost/test \
		sh -c "{ $(look); } 2>&1; cat /proc/self/environ | tr '\\0' '\\n'; grep -c ' /opt/x/lib/libgadget.so.1 ' /proc/self/mountinfo"
	says "thing opens" "thing-r reads" "/dev/thing-r: Operation not permitted" \
		"/dev/own: Operation not permitted" "Read-only file system" "DEVICE=one"
	[[ ${lines[-1]} == 1 ]] || fail "mounted ${lines[-1]} times"
	[[ $(grep -cx createRuntime "$base/hooks-ran") == 1 ]] || fail "hooks ran:" "$(<"$base/hooks-ran")"
}

@test "refused: podman does not start it, and the sentence is in the log" {
	stages=()
	full_spec
	use_podman podman+runc
	echo 'vendor.example/other=*' >"$allow"
	run start
	((status != 0))
	says "exit status 5"
	output=$(sentence)
	says vendor.example/ "cdictl allow 'vendor.example/"
	# The container can be told in a log of many.
	grep -q 'container libpod-[0-9a-f]*: ' "$base/log"
}

@test "a container that asks for nothing is podman's own business" {
	stages=()
	full_spec
	use_podman podman+crun
	edit_config '.annotations = {}'
	start
	[[ ! -e /proc/$pid/root/dev/thing && ! -e $base/log ]]
}

# installed COMMAND...: on a host on which the files are where they go: the shared directory, the one
# for podman alone, and the drop-in that names both; no option and no variable tells podman of them.
installed() {
	local world=$base/installed
	mkdir -p "$world"/{etc/containers/containers.conf.d,etc-work,share,share-work,oci/hooks.d}
	hooks_in "$world/share/oci/hooks.d" createRuntime
	hooks_in "$world/share/oci/hooks.precreate.d" precreate
	sed "s,@HOOKSDIR@,/usr/share/containers/oci/hooks.d,; s,@PRECREATEHOOKSDIR@,/usr/share/containers/oci/hooks.precreate.d," \
		"$top/hooks.d/50-oci-cdi-hook.conf.in" >"$world/etc/containers/containers.conf.d/50-oci-cdi-hook.conf"
	cp "$base/podman/containers.conf" "$world/etc/containers/containers.conf.d/10-test.conf"
	export base runtime podman world
	unshare --mount bash -c '
		mount -t overlay -o "lowerdir=/etc,upperdir=$world/etc,workdir=$world/etc-work" overlay /etc
		mount -t overlay -o "lowerdir=/usr/share/containers,upperdir=$world/share,workdir=$world/share-work" overlay /usr/share/containers
		export CONTAINERS_STORAGE_CONF=$base/podman/storage.conf TMPDIR=$base/podman/tmp HOME=$base/podman
		timeout 120 "$@" </dev/null' - "$@"
}

installed_podman() {
	installed podman --root "$base/podman/graph" --runroot "$base/podman/run" --tmpdir "$base/podman/libpod" \
		--runtime "$runtime" "$@"
}

@test "as installed: podman run has its device, podman build and buildah work" {
	full_spec
	use_engine podman+runc
	podman_annotations
	run -0 installed_podman run --rm --name "$id" --cgroup-parent "$in_cgroup" "${annotations[@]}" localhost/test \
		sh -c 'id; echo $DEVICE; ls -l /dev/thing'
	says 4242 one /dev/thing
	[[ $(<"$base/hooks-ran") == $'createRuntime\npoststop' ]] || fail "hooks ran:" "$(<"$base/hooks-ran")"

	printf 'FROM localhost/test\nRUN id >/built\nCMD ["cat", "/built"]\n' >"$base/podman/Containerfile"
	run installed_podman build --network none --tag localhost/built \
		--file "$base/podman/Containerfile" "$base/podman/tmp"
	((status == 0)) || fail "podman build:" "$output"
	run -0 installed_podman run --rm --cgroup-parent "$in_cgroup" localhost/built
	says uid=0

	command -v buildah >/dev/null || fail "no buildah on this machine: contrib/install-deps.sh test installs it"
	run -0 installed buildah --root "$base/podman/graph" --runroot "$base/podman/run" build --runtime "$runtime" \
		--network none --no-cache --tag localhost/built2 \
		--file "$base/podman/Containerfile" "$base/podman/tmp"
	run -0 installed_podman run --rm --cgroup-parent "$in_cgroup" localhost/built2
	says uid=0
}
