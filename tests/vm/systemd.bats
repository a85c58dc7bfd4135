#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Containers in scopes of systemd, inside a machine that it runs (tests/vm/run): what the hook gave
# must still be there when systemd was reloaded, the scope was changed, and the engine has updated
# the container; and what nobody asked for must not open either. The table at the end has a line for
# each. Needs systemd as pid 1 and cgroup v1 or v2.

load ../e2e/engines

engines_setup=$(declare -f setup)
eval "engines_$engines_setup"

setup() {
	[[ $(</proc/1/comm) == systemd ]] || { echo "systemd is not pid 1 here"; return 1; }
	engines_setup
	driver=systemd
}

teardown_file() {
	{
		printf '# table: systemd driver, cgroup %s, systemd %s\n' "$(<"$BATS_FILE_TMPDIR/cgroups")" \
			"$(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p')"
		printf '# table: %-22s %-16s %-26s %s\n' engine "registered at" after "the device"
		sed 's/^/# table: /' "$BATS_FILE_TMPDIR"/line.*
	} >&3
}

# line AFTER RESULT: one line of the table
line() {
	echo "$cgroups" >"$BATS_FILE_TMPDIR/cgroups"
	n_lines=$((${n_lines:-0} + 1))
	printf '%-22s %-16s %-26s %s\n' "$engine $(engine_version)" "${stages[*]}" "$1" "$2" \
		>"$BATS_FILE_TMPDIR/line.$(printf '%02d.%02d' "$BATS_TEST_NUMBER" "$n_lines")"
}

engine_version() { "${engine#podman+}" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'; }

# The container's unit.
scope() { sed 's/.*\/\([^/]*\.scope\).*/\1/;q' < <(grep -E '^0:|devices' "/proc/$pid/cgroup" | grep scope); }

# systemctl as the host has it, whatever we have mounted over its socket.
host_systemctl() { nsenter --mount=/proc/1/ns/mnt systemctl "$@"; }

# The container's devices, by their effect.
opens_inside() { inside 'opens /dev/thing && : </dev/thing-r' 2>&1; }
refuses_others() {
	local output
	# A redirection that fails ends the shell, hence the brackets.
	output=$(inside "mknod /dev/other $num3 || true; (opens /dev/other && echo other opens)
		(: >/dev/thing-r && echo thing-r writes); echo asked" 2>&1)
	says asked "/dev/other: Operation not permitted" "/dev/thing-r: Operation not permitted"
	says_not "other opens" "thing-r writes"
}

# after WHAT COMMAND...: does it, and looks again
after() {
	local what=$1 output
	shift
	output=$("$@" 2>&1) || { line "$what" "the command failed"; fail "$*:" "$output"; }
	output=$(opens_inside) || { line "$what" LOST; fail "after $what:" "$output" "$(device_state)"; }
	refuses_others
	line "$what" opens
}

# For a failed test: what systemd and the kernel have.
device_state() {
	local path
	host_systemctl show -p DevicePolicy,DeviceAllow "$(scope)" || true
	cat /run/systemd/transient/"$(scope)"{,.d/*} 2>/dev/null || true
	[[ $cgroups == v2 ]] || return 0
	path=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
	for path in "$path" "$(dirname "$path")"; do
		echo "$path:" && bpf_programs "/sys/fs/cgroup$path"
	done
}

update() {
	case $engine in
	podman+*) pod update --cpus 1 "$id" ;;
	runc) "$runtime" --root "$base/runc" update --cpu-quota 100000 --cpu-period 100000 "$id" ;;
	crun) "$runtime" --root "$base/runc" update --cpu-quota 100000 --cpu-period 100000 "$id" ;;
	esac
}

# lasts ENGINE STAGE
lasts() {
	use_engine "$1"
	stages=("$2")
	all_spec
	start
	if no_rules; then
		opens_inside
		line start "opens, as all do"
		return
	fi
	sees_all
	line start opens
	[[ -n $(scope) ]] || fail "no scope:" "$(<"/proc/$pid/cgroup")"
	run cat "$base/log"
	says_not "daemon-reload" "left as it is"

	after "daemon-reload" host_systemctl daemon-reload
	after "set-property" host_systemctl set-property --runtime "$(scope)" CPUWeight=50
	if update_takes_away; then
		taken_away
		return
	fi
	if has_update; then
		after "$(update_name)" update
		after "daemon-reload again" host_systemctl daemon-reload
	else
		line "podman update" "there is none yet"
	fi

	# A second run finds it all there.
	local before
	before=$(snapshot; device_state)
	run -0 second_run
	[[ $(snapshot; device_state) == "$before" ]] ||
		fail "the second run changed:" "$(diff <(echo "$before") <(snapshot; device_state))"
}

has_update() { [[ $engine != podman+* ]] || ! podman_older_than 4.3; }

# podman before 4 has no device rules in config.json: runc has some of its own, crun lets everything open.
no_rules() { [[ $engine == podman+crun && $(jq .linux.resources.devices "$running_bundle/config.json") == null ]]; }

# podman 5 gives crun the device rules of its own record with every update, and runc before 1.0 does it itself.
update_takes_away() {
	case $engine in
	podman+crun) ! podman_older_than 5 ;;
	runc) [[ $(runc --version) =~ version\ 1\.0\.0[~-]rc ]] ;;
	*) return 1 ;;
	esac
}

# As README.md says. cdictl check says so, and brings the device back; so does the hook, called once more.
taken_away() {
	update >/dev/null
	run opens_inside
	((status != 0)) || { line "$(update_name)" opens; fail "the device still opens: README.md says that it does not"; }
	line "$(update_name)" "is lost, as README.md says"
	if cdictl_runs; then
		brings_back ": an engine's update has written its own rules over it, or it never was allowed"
		update >/dev/null
		run opens_inside
		((status != 0)) || fail "the second update leaves the device alone"
	fi
	run -0 second_run
	opens_inside
	refuses_others
	line "the hook once more" opens
}

# It is linked with the libraries of the machine that it was built on, which Debian 11 is too old for.
cdictl_runs() {
	"$top/build/ctl/cdictl" --version >/dev/null 2>&1 && return
	line "cdictl check --repair" "cdictl does not start here"
	return 1
}

cdictl_check() {
	"$top/build/ctl/cdictl" check --hook="$hook" --spec-dir="$specs" --pid="$pid" "$@" vendor.example/thing=all
}

# brings_back CAUSE: cdictl check names the cause of the loss, and --repair mends it
brings_back() {
	run -8 cdictl_check
	says "missing  rule" "$1"
	run -0 cdictl_check --repair
	says "mended  rule"
	opens_inside
	refuses_others
	run -0 cdictl_check --repair
	says "There is nothing to mend."
	line "cdictl check --repair" opens
}

update_name() { [[ $engine == podman+* ]] && echo "podman update --cpus 1" || echo "$engine update --cpu-quota"; }

@test "runc, createRuntime" { lasts runc createRuntime; }
@test "crun, createRuntime" { lasts crun createRuntime; }
@test "podman+runc, createRuntime" { lasts podman+runc createRuntime; }
@test "podman+crun, createRuntime" { lasts podman+crun createRuntime; }

# From inside systemd cannot be told: README.md says what comes of it.
@test "runc, createContainer: the devices open until the next change" {
	use_engine runc
	stages=(createContainer)
	all_spec
	start
	sees_all
	line start opens
	host_systemctl daemon-reload
	host_systemctl set-property --runtime "$(scope)" CPUWeight=50
	run opens_inside
	((status != 0)) || { line set-property opens; fail "the device still opens: README.md says that it does not"; }
	line set-property "is lost, as README.md says"

	# From outside, where systemd can be told.
	cdictl_runs || return 0
	brings_back ": the device list that systemd has of unit $(scope) lacks it, and a daemon-reload, a set-property or a package upgrade"
	host_systemctl daemon-reload
	host_systemctl set-property --runtime "$(scope)" CPUWeight=60
	opens_inside
	line "set-property again" opens
}

# slice_limits ENGINE: an administrator's list for a slice, in which the container happens to be alone. The hook says what to type for
# each device, and leaves the slice to whoever types it. systemd's programs have no name before release 251: then it says only what
# entry to make if there are such.
slice_limits() {
	# One of its own for each test: systemd does not change it at once to what files say anew.
	local slice=limited$BATS_TEST_NUMBER.slice allows command entry n
	local left="units that are not the container's are left as they are: " advice
	advice="systemctl set-property '$slice' 'DeviceAllow=/dev/char/"
	(($(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p') >= 251)) || advice="device program "
	use_engine "$1"
	all_spec
	printf '[Slice]\nDevicePolicy=closed\nDeviceAllow=char-pts rw\n' >"/run/systemd/system/$slice"
	host_systemctl daemon-reload
	host_systemctl start "$slice"
	# By its tag: systemd attaches the same one anew when something is put into the slice.
	allows=$(bpf_programs "/sys/fs/cgroup/$slice" | awk '{print $3}')
	[[ -n $allows ]] || fail "systemd limits no devices in $slice"
	edit_config '.linux.cgroupsPath = $path' --arg path "$slice:test:$id"
	start
	run opens_inside
	((status != 0)) || fail "the device opens although $slice does not allow it"
	[[ $(bpf_programs "/sys/fs/cgroup/$slice" | awk '{print $3}') == "$allows" ]] || fail "the program of $slice was changed"
	line start "is closed, as its slice says"
	if cdictl_runs; then
		run -8 cdictl_check
		says "of cgroup /$slice refuses" ": $left$advice"
	fi

	output=$(<"$base/log")
	for n in 1 2; do
		says "$slice above it limits devices too, and $left$advice"
		command=$(grep -o "systemctl set-property '$slice' 'DeviceAllow=[^']*'" <<<"$output" | tail -n 1)
		if [[ $advice == "device program "* ]]; then
			entry=$(grep -oP "has no name, .*\(\KDeviceAllow=\S+ [rwm]+" <<<"$output" | tail -n 1)
			command="systemctl set-property '$slice' '$entry'"
		fi
		[[ $command == *DeviceAllow=/dev/* ]] || fail "no device is named:" "$output"
		eval "host_$command"
		run -0 second_run
	done
	says_not "limits devices too"
	opens_inside
	refuses_others
	line "what it was told to type" opens
	after "daemon-reload" host_systemctl daemon-reload
	rm -rf "/run/systemd/system/$slice" "/etc/systemd/system.control/$slice.d"
}

@test "runc: a slice that limits devices is the administrator's" { slice_limits runc; }
@test "crun: a slice that limits devices is the administrator's" { slice_limits crun; }

# What podman 5 does with every update, by hand: the device rules that the container was made with.
@test "crun: an update that brings rules of its own, and cdictl check --repair" {
	use_engine crun
	cdictl_runs || return 0
	all_spec
	start
	sees_all
	jq '{devices: .linux.resources.devices}' "$bundle/config.json" |
		"$runtime" --root "$base/runc" update --resources=- "$id"
	run opens_inside
	((status != 0)) || fail "the device still opens"
	line "crun update with devices" "is lost, as README.md says"
	brings_back ": an engine's update has written its own rules over it, or it never was allowed"
	host_systemctl daemon-reload
	host_systemctl set-property --runtime "$(scope)" CPUWeight=60
	opens_inside
	line "set-property again" opens
}

# A file in the place of its socket: nobody listens there.
@test "systemd is not there to be told: the device opens, and the log says until when" {
	use_engine runc
	all_spec
	: >"$base/empty"
	mount --bind "$base/empty" /run/systemd/private
	start
	umount /run/systemd/private
	sees_all
	run cat "$base/log"
	says "systemd: connect to /run/systemd/private: Connection refused" "will be refused to unit $(scope)"
}
