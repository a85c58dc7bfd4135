#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Engines that are not here. states/ENGINE-STAGE.json has what each hands to a hook, in its form (which
# keys, in which order, with which escapes and white space) and with values of our own; runc makes the
# container, and at each stage the hook reads that state instead of runc's, with no environment and from
# another directory, as youki starts hooks.

load engines

eval "plain_$(declare -f hooks_in_config)"

# CRI-O takes the hook from the files that we install, as podman does: in their order, and what is for
# prestart becomes a hook of createRuntime.
hooks_in_config() {
	[[ -n ${of_crio:-} ]] || { plain_hooks_in_config; return; }
	hooks_d
	edit_config '.hooks = $hooks' --argjson hooks "$(jq -s 'reduce .[] as $file ({}; reduce $file.stages[] as $stage
		(.; .[if $stage == "prestart" then "createRuntime" else $stage end] += [$file.hook]))' "$base"/hooks.d/*.json)"
}

# replays ENGINE: at each stage that there is a state of
replays() {
	local state stage stages=() seen=0 real_hook=$hook hook=$base/bin/replay of_crio
	[[ $1 != crio* ]] || of_crio=yes
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

# config.json as CRI-O leaves it when it has given the device itself: no type at the mount, which stands
# before the cgroups', a mode and no owner at the nodes, a rule for each, and PATH twice. It keeps to $dev1,
# $dev2 and the library that all_spec gives.
native_edits() {
	edit_config '
		.process.env += ["PATH=/bin", "THING=all"]
		| .process.user.additionalGids = [0, 4711]
		| .mounts |= (map(select(.destination != "/sys/fs/cgroup")) + [{
			destination: "/opt/x/lib/libgadget.so.1", source: $library, options: ["ro", "nosuid", "nodev", "bind"]
		}] + map(select(.destination == "/sys/fs/cgroup")))
		| .linux.devices = [
			{path: "/dev/thing", type: "c", major: $m1, minor: $n1, fileMode: $mode1},
			{path: "/dev/thing-r", type: "c", major: $m2, minor: $n2, fileMode: $mode2}]
		| .linux.resources.devices = [{allow: false, access: "rwm"},
			{allow: true, type: "c", major: $m1, minor: $n1, access: "rwm"},
			{allow: true, type: "c", major: $m2, minor: $n2, access: "r"}]' \
		--arg library "$base/vendor/libgadget.so.1" \
		--argjson m1 "$(stat -c %Hr "$dev1")" --argjson n1 "$(stat -c %Lr "$dev1")" --argjson mode1 "$((0$(stat -c %a "$dev1")))" \
		--argjson m2 "$(stat -c %Hr "$dev2")" --argjson n2 "$(stat -c %Lr "$dev2")" --argjson mode2 "$((0$(stat -c %a "$dev2")))"
}

# native ENGINE: with and without our hook the container has the same of what the engine gave; what the engine
# does not do, the library cache, the hook adds. A spec's variable and group, there already, are no warning.
native() {
	local without real_hook=$hook hook=$base/bin/replay of_crio
	[[ $1 != crio* ]] || of_crio=yes
	use_engine runc
	cp "$BATS_TEST_DIRNAME/states/$1-createRuntime.json" "$base/state"
	spec_of_state
	sed -i 's,^cdiVersion: .*,cdiVersion: "0.7.0",' "$specs/all.yaml"
	echo '    env: [THING=all]
    additionalGids: [4711]' >>"$specs/all.yaml"
	native_edits
	cp /bin/true "$hook"
	start
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "thing opens" "thing-r reads" "libgadget.so.1: cannot open shared object file"
	without=$(has_of_device)
	"$runtime" --root "$base/runc" delete -f "$id"

	replaced_state
	options+=(--unsupported=fail)
	start
	sees_all
	[[ $(has_of_device) == "$without" ]] || fail "not the same:" "$(diff <(echo "$without") <(has_of_device))"
	[[ $(grep -c "libgadget.so.1 /opt" <<<"$(has_of_device)") == 1 ]] || fail "$(has_of_device)"
	[[ $(<"$base/log") == *"gave own.example/widget=w0"* && $(<"$base/log") != *warning* ]] || fail "log:" "$(<"$base/log")"
	echo "# table: replayed: $2 with its own CDI, $cgroups: nothing is done twice, the hook adds the library cache" >&3
}

@test "CRI-O 1.37 with runc, which has given the device itself" { native crio-1.37 "CRI-O 1.37 + runc"; }
@test "CRI-O 1.37 with crun 1.21, which has given the device itself" { native crio-1.37+crun-1.21 "CRI-O 1.37 + crun 1.21"; }
@test "containerd 2.4.2, which has given the device itself" { native containerd-2.4.2 "containerd 2.4.2"; }

# CRI-O does not start with a file that it cannot use, and says nothing where a file's pattern does not match.
@test "the files of hooks.d are such as CRI-O takes, and match what a pod asks" {
	local file key n=0
	for file in "$top"/hooks.d/*.json.in; do
		[[ $file != *precreate* ]] || continue
		n=$((n + 1))
		jq -e '.version == "1.0.0" and (.hook.path == "@HOOK@") and (.hook.timeout > 20) and (.stages | length == 1)
			and (.stages[0] as $stage | ["prestart", "createRuntime", "createContainer", "poststart", "poststop"] | index($stage) != null)
			and (.hook.args[-1] == .stages[0]) and (keys - ["version", "hook", "when", "stages"] == [])
			and (.when | keys == ["annotations"]) and ([.when.annotations[]] == [""])' "$file" ||
			fail "$file"
		key=$(jq -r '.when.annotations | keys[]' "$file")
		jq -r '.annotations | keys[]' "$BATS_TEST_DIRNAME"/states/crio-1.37-createRuntime.json >"$base/keys"
		[[ $(grep -E -e "$key" "$base/keys") == cdi.k8s.io/x ]]
	done
	((n == 5))
}
