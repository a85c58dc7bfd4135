#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Engines that are not here. states/ENGINE-STAGE.json has what each hands to a hook, in its form (which
# keys, in which order, with which escapes and white space) and with values of our own; runc makes the
# container, and at each stage the hook reads that state instead of runc's, with no environment and from
# another directory, as youki starts hooks.

load engines

# replays ENGINE: at each stage that there is a state of
replays() {
	local state stage stages=() seen=0 real_hook=$hook hook=$base/bin/replay
	use_engine runc
	for stage in prestart createRuntime createContainer; do
		state=$BATS_TEST_DIRNAME/states/$1-$stage.json
		[[ -f $state ]] || continue
		seen=$((seen + 1))
		cp "$state" "$base/state"
		spec_of_state
		stages=("$stage")
		replaced_state
		: >"$base/log"
		start
		sees_all
		"$runtime" --root "$base/runc" delete -f "$id"
		rm -rf "$rootfs/opt" "$rootfs/etc/ld.so.cache"
	done
	((seen >= 2)) || fail "only $seen states of $1"
}

# The device that the annotation asks for.
spec_of_state() {
	local device
	device=$(jq -r '.annotations["cdi.k8s.io/test"] // .annotations["cdi.k8s.io/x"]' "$base/state")
	echo "$device" >"$allow"
	all_spec
	edit_config '.annotations = {}'
	sed -i "s,^kind: .*,kind: ${device%=*}, ; s,^- name: .*,- name: ${device#*=}," "$specs/all.yaml"
}

# A hook that calls ours with that state. Of runc's it takes the process's number, unless
# the state has none or one of another namespace. Slashes may be written \/ in JSON.
replaced_state() {
	cat >"$hook" <<-SH
		#!/bin/sh
		pid=\$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
		cd /
		sed -E -e "s,(\"pid\": *)[0-9]{2\,},\1\$pid," -e 's,("bundle": *")[^"]*,\1$bundle,' \\
			-e 's,("root": *")[^"]*,\1$rootfs,' $base/state |
			env -i $real_hook "\$@"
	SH
	chmod +x "$hook"
}

@test "youki 0.7.0" { replays youki-0.7.0; }
@test "CRI-O 1.37 with runc" { replays crio-1.37; }
@test "CRI-O 1.37 with crun 1.21" { replays crio-1.37+crun-1.21; }
@test "containerd 2.4.2" { replays containerd-2.4.2; }
@test "podman 5.8.6 with crun 1.28" { replays podman-5.8.6+crun-1.28; }
@test "podman 5.8.6 with youki 0.7.0" { replays podman-5.8.6+youki-0.7.0; }
@test "crun 1.28" { replays crun-1.28; }
@test "runc 1.6.0-rc.1" { replays runc-1.6.0-rc.1; }
