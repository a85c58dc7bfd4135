#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Kubernetes' way: containerd, asked by the same protocol as a kubelet asks it. Debian's containerd has
# no CDI, so the hook does all of it; a newer one has, and the hook must not do it again.

load containerd

# The lines of the final table.
table() { echo "# table: containerd $("$containerd_bin/containerd" --version | awk '{print $3}' | sed 's/[~+].*//; s/^v//'), $cgroups, $1" >&3; }

@test "an annotation of the container, with both snapshotters" {
	local before
	all_spec
	for snapshotter in overlayfs native; do
		use_containerd
		start_cri
		sees_all
		# The root's path is relative: to the bundle, not to where the hook was called.
		[[ $(jq -r .root.path "$running_bundle/config.json") == rootfs ]]
		before=$(snapshot)
		run -0 second_run
		[[ $(snapshot) == "$before" ]] || fail "the second run changed:" "$(diff <(echo "$before") <(snapshot))"
		run -0 cri exec "$container_id" sh -c "${opens}opens /dev/thing && use libgadget.so.1"
		says "gadget of the host"
		stop_containerd
		table "$snapshotter: node opens, library found by soname, a second run changes nothing"
	done
}

@test "an annotation of the pod; a handler without lists" {
	all_spec
	pod_asks=$(jq .annotations "$bundle/config.json")
	edit_config '.annotations = {}'
	use_containerd
	start_cri
	sees_all
	table "annotation of the pod: node opens, library found by soname"

	# containerd hands on what is on its lists, and nothing else: the hook is not asked, and says nothing.
	request vendor.example/thing=all
	: >"$base/log"
	start_pod closed
	start_cri
	[[ ! -c /proc/$pid/root/dev/thing && ! -s $base/log ]]
	[[ $(jq '.hooks.createRuntime | length' "$running_bundle/config.json") == 1 ]]
	table "neither list has the annotation: the container starts without the device"
}

# refused CODE TEXT...: StartContainer fails, and the kubelet is told why
cri_refuses() {
	local code=$1
	shift
	: >"$base/log"
	run start_cri
	((status != 0)) || fail "the container started"
	says "starting the container" "exit status $code, " "stderr: oci-cdi-hook: " "$@"
	# crictl has quoted what runc's words come to.
	sentence=${output#*stderr: oci-cdi-hook: }
	sentence=${sentence%%: unknown*}
	# The pod's own root is left, and nothing of the attempt.
	[[ $(in_world grep -c '/rootfs ' /proc/self/mountinfo) == 1 ]] ||
		fail "mounts are left:" "$(in_world cat /proc/self/mountinfo)"
	[[ $(find /sys/fs/cgroup -path "*/$id/*" -type d -printf '%f\n' | sort -u | wc -l) == 1 ]]
	cri rm "$(cri ps --all --quiet --latest)" >/dev/null
}

@test "what is refused: StartContainer fails with the sentence" {
	all_spec
	use_containerd
	start_pod
	echo 'other.example/*' >"$allow"
	cri_refuses 5 "device vendor.example/thing=all: " "cdictl allow 'vendor.example/thing=*'"
	table "a device that is not allowed: StartContainer says \"${sentence//$base//run/test}\""

	echo 'vendor.example/*' >"$allow"
	annotate cdi.k8s.io/test1 vendor.example/thing=none
	cri_refuses 3 "device vendor.example/thing=none"
	annotate cdi.k8s.io/test1 bad
	cri_refuses 3 'annotation cdi.k8s.io/test1: device \"bad\"'
	request vendor.example/thing=all
	annotate cdi.k8s.io/test1 vendor.example/thing=all
	rm "$base/vendor/libgadget.so.1"
	cri_refuses 6 "vendor/libgadget.so.1"

	# And the next that may have it gets it.
	vendor_library
	start_cri
	sees_all
}

@test "a read-only root, all three stages at once, an update, and the end of the test's first process" {
	local read_only=true
	all_spec
	stages=(prestart createRuntime createContainer)
	use_containerd
	start_cri
	sees_all
	[[ $(grep -c " /opt/x/lib/libgadget.so.1 " "/proc/$pid/mountinfo") == 1 ]]
	[[ $(grep -c 'allowed by vendor.example/\*' "$base/log") == 1 ]] || fail "log:" "$(<"$base/log")"
	run -0 cri exec "$container_id" sh -c '(: >/file) 2>/dev/null || echo cannot be written'
	says "cannot be written"
	table "read-only root, three stages: node opens, library found by soname, once"
	# v2 has no controllers here that could be changed.
	if [[ $cgroups == v1 ]]; then
		cri update --memory $((256 * 1024 * 1024)) --cpu-share 512 "$container_id" >/dev/null
		[[ $(cat "/sys/fs/cgroup/cpu$(sed -n 's/^[0-9]*:cpu:\(.*\)/\1/p' "/proc/$pid/cgroup")/cpu.shares") == 512 ]]
		run -0 cri exec "$container_id" sh -c "${opens}opens /dev/thing"
		table "crictl update --memory, --cpu-share: node opens"
	fi

	# What containerd.bash promises: whoever kills this takes all with it.
	kill -KILL "$world_parent"
	wait "$world_parent" 2>/dev/null || true
	wait_until test ! -e "/proc/$pid"
	wait_until test ! -e "/proc/$world"
	world= pid=
	rmdir /run/containerd 2>/dev/null || true
	# But for cgroups, which are empty now.
	find /sys/fs/cgroup -depth -type d -path "*/$id*" -exec rmdir {} +
}

# crun tells containerd no more than the number.
@test "crun in runc's place" {
	all_spec
	cri_runtime=crun
	use_containerd
	start_cri
	sees_all
	table "crun: node opens, library found by soname"

	echo 'other.example/*' >"$allow"
	run ! start_cri
	says "starting the container" "error executing hook" "(exit code: 5)"
	output=$(sentence)
	says "device vendor.example/thing=all: " "cdictl allow 'vendor.example/thing=*'"
	table "crun, a device that is not allowed: StartContainer says \"error executing hook ... (exit code: 5)\", the sentence is in the log"
}

# ---------------------------------------------------------------------------------------------
# With CDI of its own

containerd_2() {
	local build=--if-cached directory
	[[ -z ${LONG:-} ]] || build=
	# shellcheck disable=SC2086 # none or one word
	directory=$("$BATS_TEST_DIRNAME/../cri-tools.sh" $build containerd 2>"$base/why") || skip "$(<"$base/why")"
	use_containerd "$directory"
}

# has_all: what the container and its config.json have of the device
has_all() {
	has_of_device
	jq -c '.linux.devices, [.mounts[] | select(.destination == "/opt/x/lib/libgadget.so.1")]' "$running_bundle/config.json"
}

# once WHAT: the container that is started now has what $native says, each once
once() {
	start_cri
	sees_all
	[[ $(has_all) == "$native" ]] || fail "not the same:" "$(diff <(echo "$native") <(has_all))"
	table "$1: injected once"
}

@test "containerd 2.4 with CDI of its own: each device once, whoever is asked and how often" {
	local native asks hooks
	all_spec
	sed -i '/containerEdits:/a\    env: [THING=all]' "$specs/all.yaml"
	asks=$(jq .annotations "$bundle/config.json")
	containerd_2

	# The kubelet's field alone: containerd does it, and the hook is not asked.
	edit_config '.annotations = {}'
	cri_devices='[{"name": "vendor.example/thing=all"}]'
	start_cri
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "thing opens" "thing-r reads" "libgadget.so.1: cannot open shared object file"
	[[ ! -s $base/log ]]
	native=$(has_all)
	[[ $(grep -c THING= <<<"$native") == 1 && $(grep -c ' /opt/x/lib/libgadget.so.1 ' "/proc/$pid/mountinfo") == 1 ]]
	table "the kubelet's field alone: containerd does it, without a library cache; the hook is not asked"

	edit_config '.annotations = $asks' --argjson asks "$asks"
	cri_devices=[]
	once "annotation of the container, for containerd and for the hook"
	cri_devices='[{"name": "vendor.example/thing=all"}]'
	once "annotation of the container and the kubelet's field"

	# An annotation of the pod is for the hook alone.
	edit_config '.annotations = {}'
	cri_devices=[] pod_asks=$asks
	cri rmp --force "$pod_id" >/dev/null
	start_pod
	start_cri
	sees_all
	[[ $(<"$base/log") == *"env THING=all"* ]]
	table "annotation of the pod: the hook does it, but for env"
	cri_devices='[{"name": "vendor.example/thing=all"}]'
	once "annotation of the pod and the kubelet's field"
}
