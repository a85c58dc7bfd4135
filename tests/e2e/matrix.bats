#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Every engine at every stage: the same container, the same device. Each test is a cell, and the
# table of all cells is printed at the end.

load engines

# cell_is STAGE RESULT: the table's line for the cell that is being tested. (bats runs each
# test in a process of its own, hence the files.)
cell_is() {
	local file
	file=$BATS_FILE_TMPDIR/cell.$(printf %02d "$BATS_TEST_NUMBER").$cells
	printf '%-30s %-16s %-10s %s\n' "$label" "$1" "$root" "$2" >"$file"
}

teardown_file() {
	{
		printf '# table: cgroup %s\n' "$(<"$BATS_FILE_TMPDIR/cgroups")"
		printf '# table: %-30s %-16s %-10s %s\n' engine "registered at" root result
		sed 's/^/# table: /' "$BATS_FILE_TMPDIR"/cell.*
	} >&3
}

# cell ENGINE STAGE: the container has it all, and a second run of the hook changes nothing; once
# with a root that can be written, once with one that cannot
cell() {
	local read_only root cells=0
	echo "$cgroups" >"$BATS_FILE_TMPDIR/cgroups"
	label=$1 root=- # as long as it has no version
	cell_is "$2" "not tested: tests/newer-engine.sh does not give it here"
	use_engine "$1"
	rm "$BATS_FILE_TMPDIR/cell.$(printf %02d "$BATS_TEST_NUMBER").0"
	stages=("$2")
	all_spec

	read_only=false root=writable
	passes "$2"

	# What the hook made is still in the root of runc and crun.
	rm -rf "$rootfs/opt" "$rootfs/etc/ld.so.cache"
	read_only=true root=read-only
	if root_is_closed "$2"; then
		refuses "$2"
		give_mount_points
		root="read-only*"
	fi
	passes "$2"
}

passes() {
	local before after
	cells=$((cells + 1))
	cell_is "$1" FAILED
	start
	sees_all

	before=$(snapshot)
	run -0 second_run
	after=$(snapshot)
	[[ $after == "$before" ]] ||
		fail "the second run changed:" "$(diff <(echo "$before") <(echo "$after"))"
	remove_container
	cell_is "$1" passed
}

# At createContainer crun before 1.26 has made a read-only root read-only already: where the image
# has no place for a mount, none can be made.
root_is_closed() {
	[[ $read_only == true && $1 == createContainer ]] && crun_older_than 1.26
}

# Then the container must not start without what it asked for, and the sentence must say why.
refuses() {
	local said
	cells=$((cells + 1))
	cell_is "$1" FAILED
	: >"$base/log"
	run start
	((status != 0)) || fail "the container started"
	said=$(sentence)
	[[ $said == *"Read-only file system"*"createRuntime"* ]] || fail "the sentence is: $said"
	remove_container
	cell_is "$1" "refused: ${said//"$base"/}
	(impossible: crun before 1.26 makes the root read-only before it calls the hook;
	read-only*: an image that has the mount points and an /etc/ld.so.cache)"
}

give_mount_points() {
	mkdir -p "$rootfs/opt/x/lib"
	touch "$rootfs/opt/x/lib/libgadget.so.1" "$rootfs/etc/ld.so.cache"
	[[ $engine != *podman+* ]] || podman_image
}

@test "runc, prestart" { cell runc prestart; }
@test "runc, createRuntime" { cell runc createRuntime; }
@test "runc, createContainer" { cell runc createContainer; }
@test "crun, prestart" { cell crun prestart; }
@test "crun, createRuntime" { cell crun createRuntime; }
@test "crun, createContainer" { cell crun createContainer; }
@test "podman+runc, prestart" { cell podman+runc prestart; }
@test "podman+runc, createRuntime" { cell podman+runc createRuntime; }
@test "podman+runc, createContainer" { cell podman+runc createContainer; }
@test "podman+crun, prestart" { cell podman+crun prestart; }
@test "podman+crun, createRuntime" { cell podman+crun createRuntime; }
@test "podman+crun, createContainer" { cell podman+crun createContainer; }
@test "new-runc, prestart" { cell new-runc prestart; }
@test "new-runc, createRuntime" { cell new-runc createRuntime; }
@test "new-runc, createContainer" { cell new-runc createContainer; }
@test "new-crun, prestart" { cell new-crun prestart; }
@test "new-crun, createRuntime" { cell new-crun createRuntime; }
@test "new-crun, createContainer" { cell new-crun createContainer; }
@test "new-youki, prestart" { cell new-youki prestart; }
@test "new-youki, createRuntime" { cell new-youki createRuntime; }
@test "new-youki, createContainer" { cell new-youki createContainer; }
@test "new-podman+new-runc, prestart" { cell new-podman+new-runc prestart; }
@test "new-podman+new-runc, createRuntime" { cell new-podman+new-runc createRuntime; }
@test "new-podman+new-runc, createContainer" { cell new-podman+new-runc createContainer; }
@test "new-podman+new-crun, prestart" { cell new-podman+new-crun prestart; }
@test "new-podman+new-crun, createRuntime" { cell new-podman+new-crun createRuntime; }
@test "new-podman+new-crun, createContainer" { cell new-podman+new-crun createContainer; }

# all_stages ENGINE: three registrations, one injection. The root is read-only: at createContainer,
# where crun may not change it any more, nothing must be left to do.
all_stages() {
	local read_only=true once
	use_engine "$1"
	all_spec
	start
	once=$(rules_alone)
	remove_container

	: >"$base/log"
	stages=(prestart createRuntime createContainer)
	start
	sees_all
	[[ $(grep -c " /opt/x/lib/libgadget.so.1 " "/proc/$pid/mountinfo") == 1 ]] ||
		fail "mounts:" "$(<"/proc/$pid/mountinfo")"
	[[ $(rules_alone) == "$once" ]] || fail "device rules:" "$(diff <(echo "$once") <(rules_alone))"
	[[ $(grep -c 'allowed by vendor.example/\*' "$base/log") == 1 ]] || fail "log:" "$(<"$base/log")"
}

# Without the numbers of the programs, which are new for each container.
rules_alone() { device_rules | sed 's/^program [0-9]* /program /'; }

@test "runc, all three stages at once" { all_stages runc; }
@test "crun, all three stages at once" { all_stages crun; }
@test "podman+runc, all three stages at once" { all_stages podman+runc; }
@test "podman+crun, all three stages at once" { all_stages podman+crun; }
@test "new-runc, all three stages at once" { all_stages new-runc; }
@test "new-crun, all three stages at once" { all_stages new-crun; }
@test "new-youki, all three stages at once" { all_stages new-youki; }
@test "new-podman+new-runc, all three stages at once" { all_stages new-podman+new-runc; }
@test "new-podman+new-crun, all three stages at once" { all_stages new-podman+new-crun; }

@test "what compares a container before and after the second run sees all three kinds of change" {
	local before after
	use_engine runc
	all_spec
	spec more.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/more
		devices:
		- name: node
		  containerEdits:
		    deviceNodes: [{path: /dev/more, hostPath: $dev2}]
		- name: mount
		  containerEdits:
		    mounts: [{hostPath: $base/vendor, containerPath: /opt/more, options: [ro, bind]}]
	YAML
	start
	before=$(snapshot)
	run -0 second_run --device=vendor.example/more=node
	after=$(snapshot)
	run diff <(echo "$before") <(echo "$after")
	says "dev/more' character special file $(stat -c %t:%T "$dev2") "
	if [[ $cgroups == v1 ]]; then
		says "> c $(stat -c %Hr:%Lr "$dev2") rw"
	else
		says "> program "
	fi
	run -0 second_run --device=vendor.example/more=mount
	run diff <(echo "$after") <(snapshot)
	says " /opt/more ro"
}

# The mount table has no links in its paths. (runc takes no such path.)
@test "crun: a root.path that leads through a link" {
	local engine_stage
	use_engine crun
	all_spec
	ln -s bundle "$base/link"
	edit_config '.root.path = $path' --arg path "$base/link/rootfs"
	for engine_stage in createRuntime createContainer; do
		stages=("$engine_stage")
		start
		sees_all
		stop_container
	done
}
