#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Does a device stay when its container is updated while it runs? README.md has a table of that, and here
# it is tried: each engine; the device given by a hook at createRuntime, and by what stands in config.json
# from the beginning (podman's stage precreate, cdictl inject). podman 5 hands crun a record that is older than
# config.json: there it is tried with a rule of podman's own besides, and with podman's own CDI. What is
# expected is what README.md says, and the table of what was seen is printed at the end.
#
# Where cgroup v2 has no cpu controller podman's update fails. What it did to the device until then is
# looked at all the same: it is the runtime that writes device rules, and it does so first.

load engines

# line RESULT: the line of the table for what is being tested
line() {
	echo "$cgroups" >"$BATS_FILE_TMPDIR/cgroups"
	printf '%-30s %-18s %-14s %s\n' "$label" "$way" "$1" "$2" \
		>"$BATS_FILE_TMPDIR/line.$(printf '%02d.%d' "$BATS_TEST_NUMBER" "$turn")"
}

teardown_file() {
	{
		printf '# table: cgroup %s, cgroupfs driver\n' "$(<"$BATS_FILE_TMPDIR/cgroups")"
		printf '# table: %-30s %-18s %-14s %s\n' engine "given at" "updated with" "the device"
		sed 's/^/# table: /' "$BATS_FILE_TMPDIR"/line.*
	} >&3
}

# after_update ENGINE RESOURCES RESULT...: RESOURCES is "a limit" or "a device list"; then what is to become of
# a device that was given in the ways that give knows, in their order: "stays" or "is lost"
after_update() {
	local label=$1 resources=$2 way=- turn=0 expected said
	shift 2
	line "$resources" "not tested: tests/newer-engine.sh does not give it here"
	use_engine "$label"
	rm "$BATS_FILE_TMPDIR/line.$(printf %02d "$BATS_TEST_NUMBER").0"
	all_spec
	for expected; do
		turn=$((turn + 1))
		give
		start "${how[@]}"
		opens_it || fail "$label, $way: it does not open at the start" "$output" "$(<"$base/log")"
		update "$resources"
		opens_it && said=stays || said="is lost"
		line "$resources" "$said$failed"
		[[ $said == "$expected" ]] || fail "$label, $way, $resources: it $said, and README.md says it $expected" "$output"
		opens_nothing_else
		[[ $said == stays ]] || comes_back
		remove_container
	done
}

# give: sets the name of this turn's $way, and $how it is told to podman
give() {
	how=() stages=()
	case $turn$engine in
	1*) way=createRuntime stages=(createRuntime) ;;
	2*podman+*) way=precreate stages=(precreate) ;;
	2*)
		way="cdictl inject"
		"$top/build/ctl/cdictl" inject --spec-dir="$specs" --in-place "$bundle" vendor.example/thing=all
		;;
	3*)
		way=createRuntime,rule stages=(createRuntime)
		how=("--device-cgroup-rule=c $(stat -c %Hr:%Lr "$dev1") rw" "--device-cgroup-rule=c $(stat -c %Hr:%Lr "$dev2") r")
		;;
	4*)
		way="podman's CDI"
		how=(--device vendor.example/thing=all)
		;;
	esac
}

# What is lost comes back when the hook is called again; and a container that is started again has all of its devices again.
comes_back() {
	second_run
	opens_it || fail "$label, $way: the hook was called again, and it does not open" "$output"
	# podman keeps what it could not set, and cannot start the container with that either.
	[[ $engine == *podman+* && -z $failed ]] || return 0
	pod restart --time 0 "$id" >/dev/null
	podman_process "$id"
	opens_it || fail "$label, $way: started again, it does not open" "$output"
}

opens_it() { output=$(inside 'opens /dev/thing && : </dev/thing-r' 2>&1); }

# A rule that is lost must not be so because there are no rules any more.
opens_nothing_else() {
	local output
	# A redirection that fails ends the shell, hence the brackets.
	output=$(inside "test -c /dev/other || mknod /dev/other $num3; (opens /dev/other && echo other opens); echo asked" 2>&1)
	says asked "/dev/other: Operation not permitted"
	says_not "other opens"
}

# update RESOURCES: sets $failed, a word for the table
update() {
	local resources
	failed=
	if [[ $1 == "a device list" ]]; then
		resources='{"devices": [{"allow": false, "access": "rwm"}, {"allow": true, "type": "c", "major": 1, "minor": 3, "access": "rwm"}]}'
	elif [[ $cgroups == v1 ]] || grep -qw cpu /sys/fs/cgroup/cgroup.controllers; then
		resources='{"cpu": {"shares": 512}}'
	else
		resources='{"unified": {"hugetlb.2MB.max": "4194304"}}'
	fi
	echo "$resources" >"$base/resources"
	if [[ $engine != *podman+* ]]; then
		run -0 timeout 60 "$runtime" --root "$base/runc" update --resources "$base/resources" "$id"
		return
	fi
	run pod update --cpu-shares 512 "$id"
	((status != 0)) || return 0
	[[ $resources == *hugetlb* ]] || fail "$output"
	failed=" (the update itself fails here: no cpu controller)"
}

@test "runc, a limit" { after_update runc "a limit" stays stays; }
@test "runc, a device list" { after_update runc "a device list" stays stays; }
@test "new-runc, a limit" { after_update new-runc "a limit" stays stays; }
@test "new-runc, a device list" { after_update new-runc "a device list" stays stays; }
@test "crun, a limit" { after_update crun "a limit" stays stays; }
@test "crun, a device list" { after_update crun "a device list" "is lost" "is lost"; }
@test "new-crun, a limit" { after_update new-crun "a limit" stays stays; }
@test "new-crun, a device list" { after_update new-crun "a device list" "is lost" "is lost"; }
@test "new-youki, a limit" {
	local result=stays
	[[ $cgroups == v1 ]] || result="is lost"
	after_update new-youki "a limit" "$result" "$result"
}
@test "new-youki, a device list" { after_update new-youki "a device list" "is lost" "is lost"; }
@test "podman+runc" { after_update podman+runc "a limit" stays stays; }
@test "podman+crun" { after_update podman+crun "a limit" stays stays; }
@test "new-podman+new-runc" { after_update new-podman+new-runc "a limit" stays stays; }
@test "new-podman+new-crun" { after_update new-podman+new-crun "a limit" "is lost" "is lost" stays "is lost"; }
