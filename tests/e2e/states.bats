#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Engines that are not here. What they hand to a hook was recorded (states/ENGINE-STAGE.json, byte by
# byte but for ids and the image's names); runc makes the container, and at each stage the hook reads
# the recorded state instead of runc's, with no environment and from another directory, as youki
# starts hooks.

load engines

# replays ENGINE: at each stage that was recorded
replays() {
	local state stage stages=() seen=0 real_hook=$hook hook=$base/bin/replay
	use_engine runc
	for stage in prestart createRuntime createContainer; do
		state=$BATS_TEST_DIRNAME/states/$1-$stage.json
		[[ -f $state ]] || continue
		seen=$((seen + 1))
		cp "$state" "$base/state"
		recorded_spec
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

# The device that the recorded annotation asks for.
recorded_spec() {
	local device
	device=$(jq -r '.annotations["cdi.k8s.io/test"] // .annotations["cdi.k8s.io/x"]' "$base/state")
	echo "$device" >"$allow"
	all_spec
	edit_config '.annotations = {}'
	sed -i "s,^kind: .*,kind: ${device%=*}, ; s,^- name: .*,- name: ${device#*=}," "$specs/all.yaml"
}

# A hook that calls ours with the recorded state. Of runc's it takes the process's number, unless
# the recorded one has none or one of another namespace. Slashes may be written \/ in JSON.
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
