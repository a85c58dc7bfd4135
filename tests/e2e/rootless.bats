#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Engines that a plain user runs. The user is one of the test's own, known to nobody outside this
# mount namespace.

load engines

# Another run of these tests may be under way. Neither people nor subordinate ids have such a number, and a container of 65536 ids has it.
user_id=$((60100 + ${BATS_ROOT_PID:-0} % 4800))

eval "engines_$(declare -f teardown)"

teardown() {
	# Whatever the user's containers left running.
	pkill --uid "$user_id" || true
	umount /etc/passwd /etc/group /etc/subuid /etc/subgid 2>/dev/null || true
	umount "$base/home/graph/overlay" 2>/dev/null || true
	engines_teardown
}

# The user, with subordinate ids, and a place that is theirs.
make_user() {
	local name
	for name in passwd group subuid subgid; do
		cp "/etc/$name" "$base/$name"
		case $name in
		passwd) echo "cdi:x:$user_id:$user_id::$base/home:/bin/sh" ;;
		group) echo "cdi:x:$user_id:" ;;
		*) echo "cdi:400000:65536" ;;
		esac >>"$base/$name"
		mount --bind "$base/$name" "/etc/$name"
	done
	mkdir -p "$base/home" "$base/run"
	chown "$user_id:$user_id" "$base/home" "$base/run"
	groups=()
	touch "$base/log"
	chmod 666 "$base/log"
}

as_user() {
	local list=--clear-groups
	((${#groups[@]} == 0)) || list=--groups=$(IFS=,; echo "${groups[*]}")
	(cd "$base/home" && setpriv --reuid "$user_id" --regid "$user_id" "$list" \
		env -u DBUS_SESSION_BUS_ADDRESS HOME="$base/home" USER=cdi XDG_RUNTIME_DIR="$base/run" "$@")
}

user_spec() {
	spec all.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: all
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $base/dev/$1}
		    mounts:
		    - {hostPath: $base/vendor/libgadget.so.1, containerPath: /opt/x/lib/libgadget.so.1, options: [ro, nosuid, nodev, bind]}
	YAML
	request vendor.example/thing=all
	mkdir -p "$base/dev"
	mknod -m 666 "$base/dev/open" $num1
	mknod -m 660 "$base/dev/closed" $num1
	chown 0:777 "$base/dev/closed"
}

# rootless_bundle STAGE: the bundle as the user's, with the hook at STAGE
rootless_bundle() {
	edit_config '
		del(.linux.resources, .linux.cgroupsPath)
		| .linux.namespaces |= map(select(.type != "network" and .type != "cgroup" and .type != "user"))
		| .linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: $user, size: 1}]
		| .linux.gidMappings = .linux.uidMappings
		| .mounts |= map(select(.type != "sysfs" and .type != "cgroup"))
		| (.mounts[] | select(.destination == "/dev/pts") .options) |= map(select(startswith("gid") | not))
		| .process.args = ["sh", "-c", $text]' --argjson user "$user_id" --arg text "$(look)"
	stages=("$1")
	hooks_in_config
	chown -R --no-dereference "$user_id:$user_id" "$bundle"
}

look() {
	cat <<-SH
		$opens
		(opens /dev/thing && echo thing opens)
		use libgadget.so.1
		stat -c '%n of %u:%g' /opt /opt/x /opt/x/lib /etc/ld.so.cache
		cat /proc/self/uid_map
	SH
}

sees() {
	says "thing opens" "gadget of the host" "/opt/x/lib of 0:0" "/etc/ld.so.cache of 0:0"
}

table() { echo "# table: without root, $(same_in_each_run "$1")" >&3; }

# plain PROGRAM STAGE: a container of a user's own, no engine around the runtime
plain() {
	rootless_bundle "$2"
	: >"$base/log"
	as_user "$1" --root "$base/run/${1##*/}" run --bundle "$bundle" "$id"
}

# plain_runc ENGINE: it serves both stages
plain_runc() {
	program "$1"
	label="runc $(version_of "$path")"
	make_user
	user_spec open
	for stage in createRuntime createContainer; do
		run -0 plain "$path" "$stage"
		sees
		table "$label, $stage, $cgroups: node opens, library found by soname"
		rm -rf "$rootfs/opt"
	done
}

@test "plain runc" { plain_runc runc; }
@test "plain new-runc" { plain_runc new-runc; }

# plain_crun ENGINE: it gives hooks of the earlier stages no rights at all
plain_crun() {
	program "$1"
	label="crun $(version_of "$path")"
	make_user
	user_spec open
	run -0 plain "$path" createContainer
	sees
	table "$label, createContainer, $cgroups: node opens, library found by soname"
	run ! plain "$path" createRuntime
	output=$(sentence)
	says "the hook has no right to look at the container's process" "an engine without root is served at createContainer"
	table "$label, createRuntime, $cgroups: refused: $output"
}

@test "plain crun" { plain_crun crun; }
@test "plain new-crun" { plain_crun new-crun; }

# youki makes a cgroup of its own for every container, which a plain user cannot have without systemd.
@test "plain new-youki" {
	program new-youki
	label="youki $(version_of "$path")"
	make_user
	user_spec open
	run without_hook plain "$path" createRuntime
	if ((status != 0)); then
		table "$label, $cgroups: starts no container, with or without a hook"
		skip "youki starts no container for a plain user here: $(grep -m 1 ERROR <<<"$output")"
	fi
	for stage in createRuntime createContainer; do
		run -0 plain "$path" "$stage"
		sees
		table "$label, $stage, $cgroups: node opens, library found by soname"
		rm -rf "$rootfs/opt"
	done
}

# without_hook COMMAND...: with no hook in config.json
without_hook() {
	hooks_in_config() { edit_config 'del(.hooks)'; }
	"$@"
}

@test "a device of a group that the user is not in, and one that the user keeps" {
	make_user
	user_spec closed
	run ! plain runc createRuntime
	says "device vendor.example/thing=all (" "exit status 6" "the container's user 0" "may not open $base/dev/closed of the host, which is 0660" \
		"in group 777" 
	run ! plain crun createContainer
	output=$(sentence)
	says "the container's user 0 may not open $base/dev/closed of the host, which is 0660 of a group that its user namespace does not have" \
		"podman: --group-add keep-groups"

	annotate run.oci.keep_original_groups 1
	run ! plain crun createContainer
	output=$(sentence)
	says "the container's root may not open $base/dev/closed" "(podman: --group-add keep-groups)"
	groups=(777)
	run -0 plain crun createContainer
	sees
	# What lets no group in: to be in one does not help.
	chmod 600 "$base/dev/closed"
	rm -rf "$rootfs/opt"
	run ! plain crun createContainer
	output=$(sentence)
	says "the container's root may not open $base/dev/closed, whose owner or group is not of its user namespace, and no group would do" "setfacl"
	# A list lets another group in.
	access_list closed owner:6 group:0 group:6:778 mask:6 others:0
	run ! plain crun createContainer
	output=$(sentence)
	says "has to be in a group of the access control list of $base/dev/closed (getfacl $base/dev/closed names it)"
	groups=(778)
	run -0 plain crun createContainer
	sees
}

pod_as_user() {
	as_user env CONTAINERS_CONF="$base/podman/containers.conf" CONTAINERS_STORAGE_CONF="$base/podman/storage.conf" \
		TMPDIR="$base/home/tmp" timeout 60 "$podman" --root "$base/home/graph" --runroot "$base/run/podman" --tmpdir "$base/run/libpod" \
		--cgroup-manager cgroupfs --runtime "$runtime" --hooks-dir "$base/hooks.d" "$@" </dev/null
}

rootless_podman() {
	mkdir -p "$base/home/tmp" "$base/runc"
	chown "$user_id:$user_id" "$base/home/tmp" "$base/runc"
	tar -C "$rootfs" -c -f "$base/image.tar" .
	pod_as_user import --quiet "$base/image.tar" localhost/test
	options+=(--log-file="$base/log")
	hooks_d
	podman_annotations
}

# runs_rootless [OPTION]...: the container of the tests above under podman; runc wants cgroups there
runs_rootless() {
	[[ $engine == *runc ]] || set -- --cgroups=disabled "$@"
	: >"$base/log"
	pod_as_user run --rm "${annotations[@]}" "$@" localhost/test sh -c "$(look)"
}

# mapped [OPTION]: the line for the container's root in its map: who that is outside
mapped() {
	case ${1:-} in
	--userns=keep-id) echo " 0 1 $user_id" ;;
	--userns=nomap) echo " 0 1 65536" ;;
	*) echo " 0 $user_id 1" ;;
	esac
}

# podman 5 keeps the bundle in directories that only the user may enter, who is nobody in the container.
bundle_is_out_of_sight() {
	[[ $stages == createContainer && $options_of == --userns=nomap ]] && ! podman_older_than 5
}

# crun cannot enter the bundle either, and ends with a number of its own before the hook runs.
refused_out_of_sight() {
	if [[ $engine == *crun ]]; then
		says "exit code: 1)"
		output="crun's own: exit code 1"
	else
		output=$(sentence)
		says "the container's user may not look there, so register the hook at createRuntime instead of createContainer" \
			"Permission denied"
	fi
	table "$label, $stages, $cgroups, $options_of: refused: ${output#*/userdata: }"
}

# rootless_under ENGINE: at both stages, as whom podman lets the container's root be
rootless_under() {
	local options_of
	make_user
	user_spec open
	use_engine "$1"
	for stages in createRuntime createContainer; do
		rootless_podman
		for options_of in "" --userns=keep-id --userns=nomap; do
			if bundle_is_out_of_sight; then
				run ! runs_rootless $options_of
				refused_out_of_sight
				continue
			fi
			run -0 runs_rootless $options_of
			# A user that keeps its id is no root in the container.
			[[ $options_of == *keep-id ]] || sees
			says "thing opens" "gadget of the host"
			output=$(tr -s " " <<<"$output")
			says "$(mapped $options_of)"
			table "$label, $stages, $cgroups${options_of:+, $options_of}: node opens, library found by soname"
		done
	done
}

@test "rootless podman+runc" { rootless_under podman+runc; }
@test "rootless podman+crun" { rootless_under podman+crun; }
@test "rootless new-podman+new-runc" { rootless_under new-podman+new-runc; }
@test "rootless new-podman+new-crun" { rootless_under new-podman+new-crun; }

@test "rootless podman: a device of a group" {
	make_user
	user_spec closed
	use_engine podman+crun
	stages=(createContainer)
	rootless_podman
	run ! runs_rootless
	output=$(sentence)
	says "device vendor.example/thing=all (" "may not open $base/dev/closed of the host, which is 0660" "(podman: --group-add keep-groups)"
	run ! runs_rootless --group-add keep-groups
	output=$(sentence)
	says "the container's root may not open $base/dev/closed" "whoever starts the container has to be in the group of $base/dev/closed"
	groups=(777)
	run -0 runs_rootless --group-add keep-groups
	sees
}

@test "a device that udev opens to whoever sits at the machine" {
	local case
	make_user
	user_spec closed
	access_list closed owner:6 "user:6:$user_id" group:6 mask:6 others:0
	for case in "runc createRuntime" "runc createContainer" "crun createContainer"; do
		run -0 plain $case
		sees
		rm -rf "$rootfs/opt"
	done
	use_engine podman+crun
	for stages in createRuntime createContainer; do
		rootless_podman
		run -0 runs_rootless
		says "thing opens" "gadget of the host"
		# Who is in the container, and neither its root nor the user, has no entry.
		run ! runs_rootless --user 7
		output=$(sentence)
		says "the container's user 7 may not open $base/dev/closed of the host"
	done
	run -0 runs_rootless --userns=keep-id
	says "thing opens"
	# The mode of a node for root alone shows the mask then.
	access_list closed owner:6 "user:6:$user_id" group:0 mask:6 others:0
	run ! runs_rootless --user 7
	output=$(sentence)
	says "which is 0660 of " "with an access control list: " "no group would do: the node has to be open to that user"
}

@test "an access control list that takes away from the user what others have" {
	local case
	make_user
	user_spec open
	access_list open owner:6 "user:4:$user_id" group:6 mask:6 others:6
	remember_tree
	for case in "runc createRuntime" "runc createContainer" "crun createContainer"; do
		: >"$base/log"
		run ! plain $case
		output=$(sentence)
		says "may not open $base/dev/open of the host, which is 0666" "what its list says of that user counts alone: setfacl -m u:"
		nothing_left
	done
	# The mask takes away from the user, and from its owner nothing.
	access_list open owner:6 "user:6:$user_id" group:6 mask:4 others:6
	run ! plain runc createRuntime
	says "what its list says of that user counts alone"
	chown "$user_id" "$base/dev/open"
	run -0 plain runc createRuntime
	sees
}

# hooked_spec: a vendor's hook of createContainer, that leaves a file in the user's home
hooked_spec() {
	cat >"$base/vendor/hook" <<-'SH'
		#!/bin/sh
		touch "$1/made"
	SH
	chmod 755 "$base/vendor/hook"
	spec hook.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/hooked
		devices:
		- name: a
		  containerEdits:
		    hooks: [{hookName: createContainer, path: $base/vendor/hook, args: [hook, $base/home]}]
	YAML
	request vendor.example/hooked=a
}

@test "a vendor's hook: from where it can be run" {
	make_user
	user_spec open
	hooked_spec
	run ! plain runc createRuntime
	says "exit status 11" "hook createContainer $base/vendor/hook cannot be run from createRuntime by an engine without root: register oci-cdi-hook at createContainer"
	[[ ! -e $base/home/made ]]
	run -0 plain runc createContainer
	sees
	[[ -e $base/home/made ]]
	rm "$base/home/made"

	use_engine podman+runc
	rootless_podman
	run ! runs_rootless
	says "exit status 11" "cannot be run from createRuntime by an engine without root"
	[[ ! -e $base/home/made ]]
	stages=(createContainer)
	rootless_podman
	run -0 runs_rootless
	says "thing opens"
	[[ -e $base/home/made ]]
}

# own_library: the library of the spec is in the user's home, and the user's own
own_library() {
	mkdir "$base/home/lib"
	cp "$base/vendor/libgadget.so.1" "$base/home/lib"
	chown -R "$user_id:$user_id" "$base/home/lib"
	sed -i "s,hostPath: $base/vendor,hostPath: $base/home/lib," "$specs/all.yaml"
}

@test "a library and a node of the user's own" {
	local case
	make_user
	user_spec closed
	own_library
	chown "$user_id" "$base/dev/closed"
	for case in "runc createRuntime" "runc createContainer" "crun createContainer"; do
		run -0 plain $case
		sees
		rm -rf "$rootfs/opt"
	done
	chown 0:0 "$base/home/lib/libgadget.so.1"
	run -0 plain runc createRuntime
	sees
	chown 400001:400001 "$base/home/lib/libgadget.so.1"
	run ! plain runc createRuntime
	says "mount source $base/home/lib/libgadget.so.1 can be loaded or executed and belongs to user 400001, not to root"
}

# ---------------------------------------------------------------------------------------------
# What a plain user may have in a way that does not do. tests/vm/rootless.bats has what belongs to the whole machine.

# Whatever the container would have left: it is as it was before, and nothing of the user's is running.
nothing_left() {
	[[ $(tree) == "$tree_before" ]] || fail "left behind:" "$(diff <(echo "$tree_before") <(tree))"
	# The dead of an earlier test are not always waited for by the machine's first process at once.
	[[ -z $(pgrep --uid "$user_id" --runstates R,S,D,T) ]] || fail "still runs:" "$(pgrep --uid "$user_id" --list-full)"
}

# The runtime makes mount points while it sets a container up: "before" is after a run without a hook.
remember_tree() {
	rootless_bundle createContainer
	edit_config 'del(.hooks) | .process.args = ["true"]'
	as_user runc --root "$base/run/runc" run --bundle "$bundle" "$id"
	tree_before=$(tree)
}

@test "a home with other file systems in it: they cannot be left out" {
	local case
	make_user
	user_spec open
	own_library
	mkdir "$base/home/lib/sub"
	mount -t tmpfs tmpfs "$base/home/lib/sub"
	spec all.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: all
		  containerEdits:
		    deviceNodes: [{path: /dev/thing, hostPath: $base/dev/open}]
		    mounts: [{hostPath: $base/home/lib, containerPath: /opt/x/lib, options: [ro, bind]}]
	YAML
	remember_tree
	for case in "runc createRuntime" "runc createContainer" "crun createContainer"; do
		run ! plain $case
		output=$(sentence)
		says "device vendor.example/thing=all (" "mount on /opt/x/lib: clone mount source $base/home/lib:" \
			"other file systems are mounted below it" "the mount has to be rbind, not bind"
		nothing_left
	done
	sed -i 's/\[ro, bind\]/[ro, rbind]/' "$specs/all.yaml"
	# Nor can the sandbox of ldconfig leave them out: it shows them too.
	run -0 plain runc createRuntime
	sees
	umount "$base/home/lib/sub"
}

@test "a mapping without root in it" {
	make_user
	user_spec open
	remember_tree
	rootless_bundle createContainer
	edit_config '(.linux.uidMappings, .linux.gidMappings)[0].containerID = 1 | .process.user = {uid: 1, gid: 1}'
	run ! as_user crun --root "$base/run/crun" run --bundle "$bundle" "$id"
	output=$(sentence)
	says "the user namespace of process" "has no root: nothing can be made in the container"
	table "crun, createContainer, $cgroups, a mapping without root: refused: $output"
	nothing_left
	# runc and podman do not get as far as that.
	run ! as_user runc --root "$base/run/runc" run --bundle "$bundle" "$id"
	table "runc, a mapping without root: runc refuses: ${output##*msg=}"
	nothing_left
}

@test "rootless podman without subordinate ids: the user alone is mapped, and has the device" {
	make_user
	for name in subuid subgid; do
		grep -v ^cdi: "$base/$name" >"$base/$name.new" || true
		cp "$base/$name.new" "$base/$name" # what is mounted there is this file
	done
	user_spec open
	use_engine podman+crun
	stages=(createContainer)
	rootless_podman
	run -0 runs_rootless
	sees
	says " $user_id "
	says_not " 400000 "
	table "$engine, $stages, $cgroups, no subordinate ids: node opens, library found by soname"
}
