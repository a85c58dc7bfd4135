#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# An engine's update writes the device rules of its own record over what the hook allowed: the device is gone, cdictl check
# says why, and with --repair it comes back. (check.bats has the rest of it.)

load engines

# cdictl_check [OPTION...]
cdictl_check() {
	"${CDICTL:-$top/build/ctl/cdictl}" check --hook="$hook" --spec-dir="$specs" "$@" vendor.example/thing=all
}

# What podman 5 tells crun with every update: the rules that the container was made with.
update_with_rules() {
	printf '{"devices": [{"allow": false, "access": "rwm"}, {"allow": true, "type": "c", "major": 1, "minor": 3, "access": "rwm"}]}' |
		"$runtime" --root "$base/runc" update --resources=- "$id"
}

@test "crun: an update takes the device away, and cdictl check --repair brings it back" {
	local named
	use_engine crun
	all_spec
	start
	sees_all
	run -0 cdictl_check --bundle="$bundle"
	says "good   rule   $(set -- $num1; echo "$1 $2:$3 rwm")" "good   rule   $(set -- $num2; echo "$1 $2:$3 r")"

	update_with_rules
	run inside "opens /dev/thing"
	((status != 0)) || fail "the device still opens"
	run -8 cdictl_check --bundle="$bundle"
	says "missing  rule" "$id/container" ": an engine's update has written its own rules over it, or it never was allowed" \
		"2 of 5 nodes, mounts and device rules are not as they should be"
	if [[ $cgroups == v1 ]]; then
		says "r is not in devices.list of cgroup /"
	else
		says " refuses rw: " " refuses r: "
	fi

	for named in --bundle="$bundle" --pid="$pid"; do
		run -0 cdictl_check --repair "$named"
		says "mended  rule" "good    node   /dev/thing"
		run -0 inside "opens /dev/thing && : </dev/thing-r"
		run inside ": >/dev/thing-r"
		((status != 0)) || fail "more was allowed than the spec says"
		run inside "mknod /dev/own $num3 && opens /dev/own"
		((status != 0)) || fail "another device was allowed"
		run -0 cdictl_check --repair "$named"
		says "There is nothing to mend."
		update_with_rules
	done
}

# Its root is an overlay that only the container's mount namespace has: no path of the host leads there.
@test "podman+crun: by pid alone" {
	use_engine podman+crun
	all_spec
	start
	sees_all
	nsenter --target "$pid" --mount --root -- /bin/busybox rm /dev/thing
	run -8 cdictl_check --pid="$pid"
	run -0 cdictl_check --repair --pid="$pid"
	says "mended  node   /dev/thing"
	run -0 inside "opens /dev/thing"
}
