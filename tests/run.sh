#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is needed, builds, and runs the tests. Run it as root.
#
#   tests/run.sh           what a newcomer runs: wall, security-tests, unit, data, ctl, fuzz, edit, root and e2e
#   tests/run.sh --ci      those, and the gates: style, compilers, analysers, sanitizers, faults, hostile root file
#                          systems, the reference library, a fresh Debian, machines with systemd
#   tests/run.sh --long    as --ci, each gate with its whole count instead of CI's share (hours), and
#                          with runtimes that take long to build; a step or suite asks for LONG=1
#   tests/run.sh --step S  one step alone, by the name that it has below, after the others built
#
# --vm=all before any of them: every release of tests/vm, and not only the two that --ci has, each with all of its
# suites (an hour).
#
# TABLES_WRITE=1 in the environment writes the tables that the suites of the run print into TESTING.md, and
# E2E_FILES="matrix update" has the steps e2e-v1 and e2e-v2 run these files of tests/e2e alone.
#
# The last line is "N passed, N failed, N skipped", in single test cases where a step has such, and
# the exit status is non-zero if anything failed. Each step has a time limit. A skip is shown with
# its reason; with --ci it counts as a failure unless tests/skips-allowed lists it.
set -euo pipefail

top=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cd "$top"

# ---------------------------------------------------------------------------------------------
# Test cases. A step appends lines to $RESULTS/cases: pass|fail|skip, name, reason, tab-separated.
# A step that appends none is one case itself.

record() { printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$RESULTS/cases"; }

# What git knows, and what it would: a check that passes before the commit must pass after it.
# (git refuses trees of another owner, such as a checkout mounted into a container.)
sources() { git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@"; }

# meson_suite BUILD SUITE: one suite of `meson test`, its cases counted from the TAP of each test
# program, or as one case for a program that speaks no TAP. (meson itself counts programs; and it
# takes the line that cmocka prints for a skipped case, "not ok … # SKIP", for a failure.)
meson_suite() {
	local build=$1 suite=$2 log=$1/meson-logs/$2.json
	rm -f "$log"
	meson test -C "$build" --suite "$suite" ${LONG:+--timeout-multiplier=60} --no-rebuild --logbase "$suite" >"$RESULTS/meson" 2>&1 || true
	if [[ ! -s $log ]]; then
		cat "$RESULTS/meson"
		echo "suite $suite has no tests"
		return 1
	fi

	# Each line of the log is one test program: what it printed, its exit status, and as .result
	# what meson thinks of it.
	jq -r --arg suite "$suite" '
		def case:
			{name: sub("^\\s*(not )?ok\\s*[0-9]*[\\s-]*"; "") | sub("#\\s*(skip\\S*)?\\s*"; ""; "i")}
			+ {result: (if test("#\\s*skip"; "i") then "skip" elif test("^\\s*not") then "fail" else "pass" end)};

		.result as $whole
		| "\($suite)/\(.name | sub("^.* / "; ""))" as $program
		| ((.stdout // "") | split("\n")) as $lines
		| ([$lines[] | capture("^\\s*1\\.\\.(?<n>[0-9]+)").n | tonumber] | add // 0) as $planned
		| [$lines[] | select(test("^\\s*(not )?ok\\b")) | case] as $cases
		| ([$cases[] | select(.result == "skip")] | length) as $skips
		| (.returncode == 0 and ($whole == "OK" or $whole == "SKIP" or $skips > 0)
			or $whole == "SKIP" and .returncode == 77) as $fine

		| if .returncode == 77 or ($whole == "SKIP" and $planned == 0) then
			[{name: $program, result: "skip", reason: ($lines | map(select(. != "")) | last)}]
		elif $planned == 0 then [{name: $program, result: (if $fine then "pass" else "fail" end)}]
		else
			($cases | map(.name = "\($program): \(.name)"))
			# A program can fail without a failed case: it crashed, or left the rest out.
			+ (if any($cases[]; .result == "fail") then []
			elif $fine and ($cases | length) >= $planned then []
			else [{name: $program, result: "fail", reason: "not all of its cases ran"}] end)
		end
		| .[] | [.result, .name, .reason // ""] | join("\t")' "$log" >"$RESULTS/suite"
	cat "$RESULTS/suite" >>"$RESULTS/cases"
	grep -q ^fail "$RESULTS/suite" || return 0

	jq -r 'select(.returncode != 0 and .returncode != 77 or .result != "OK")
		| "--- \(.name): \(.result), exit status \(.returncode)", .stdout, .stderr // empty' "$log"
	return 1
}

# record_tap SUITE: the cases of the TAP in $RESULTS/tap, which are left in $RESULTS/suite too. What the
# suite prints as "# table: LINE" is shown, and again at the end of it all.
record_tap() {
	awk -v suite="$1" 'sub(/^# table: /, "") {print suite "\t" $0}' "$RESULTS/tap" >"$RESULTS/table"
	cat "$RESULTS/table" >>"$RESULTS/tables"
	cut -f 2- "$RESULTS/table"
	awk -v suite="$1" '
		/^1\.\.[0-9]+/ { planned = substr($0, 4) }
		!/^(not )?ok [0-9]+ / { next }
		{ seen++; result = /^not/ ? "fail" : "pass"; reason = "" }
		{ sub(/^(not )?ok [0-9]+ (- )?/, "") }
		match($0, / # skip.*/) {
			result = "skip"; reason = substr($0, RSTART + 8); $0 = substr($0, 1, RSTART - 1)
		}
		{ print result "\t" suite ": " $0 "\t" reason }
		END { if (seen < planned || !planned) print "fail\t" suite ": not all of its tests ran\t" }
	' "$RESULTS/tap" >"$RESULTS/suite"
	cat "$RESULTS/suite" >>"$RESULTS/cases"
}

# bats_suite v1|v2: the end-to-end tests in an environment with that cgroup version
bats_suite() {
	local cgroup=$1 file name environment status=0 failed=0 seen=0
	if ((EUID != 0)); then
		record skip "e2e-$cgroup" "needs root"
		return 0
	fi
	for file in tests/e2e/*.bats; do
		name=$(basename "$file" .bats)
		[[ -z $E2E_FILES || " $E2E_FILES " == *" $name "* ]] || continue
		seen=$((seen + 1))
		# Long, and the same with both: no cgroup has a part in it.
		[[ $file != */ldcache-shapes.bats || $cgroup == v1 ]] || continue
		# The engines' tests want one cgroup version alone; crun runs on no other machine.
		environment=$cgroup
		! grep -qE '^load (engines|containerd)$' "$file" || [[ $cgroup == v2 ]] || environment=v1-alone
		tests/e2e/with-cgroup "$environment" \
			bats --tap --print-output-on-failure "$file" >"$RESULTS/tap" 2>&1 && status=0 || status=$?
		if ((status == 77)); then
			record skip "e2e-$cgroup" "$(tail -n 1 "$RESULTS/tap")"
			return 0
		fi
		record_tap "e2e-$cgroup/$name"
		if ((status != 0)) || grep -q ^fail "$RESULTS/suite"; then
			failed=1
			# The failed cases with what follows them, and whatever is no TAP at all.
			awk '/^ok /{show = 0} /^not ok /{show = 1} show || !/^(ok |# |1\.\.)/' "$RESULTS/tap"
		fi
	done
	((seen > 0)) || { echo "no such file in tests/e2e: $E2E_FILES"; failed=1; }
	return $failed
}

# build DIRECTORY [MESON-OPTION]...: from nothing
build() {
	rm -rf "$1"
	setup "$@"
	compile "$1"
}

# Both say nothing unless they fail: then compile shows all errors, without progress and commands.
setup() { meson setup -Db_colorout=never "$@" >"$RESULTS/build" 2>&1 || { cat "$RESULTS/build"; return 1; }; }
compile() {
	ninja -C "$1" -k 0 >"$RESULTS/build" 2>&1 ||
		{ grep -vE '^(\[[0-9/]+\]|cc|clang|ninja:) ' "$RESULTS/build"; return 1; }
}

# ---------------------------------------------------------------------------------------------
# The steps

step_install() { contrib/install-deps.sh test; }

step_build() {
	# A build directory that is there already is used as it is, but has to have the tests.
	if [[ -f build/build.ninja ]]; then
		meson configure build -Dtests=enabled
	else
		setup build -Dtests=enabled
	fi
	compile build
}

step_wall() { meson_suite build build; } # what is and isn't in the objects
step_unit() { meson_suite build unit; }
step_data() { meson_suite build data; }
step_ctl() { meson_suite build ctl; }
step_fuzz() { meson_suite build fuzz; }
step_edit() { meson_suite build edit; }
step_root() { meson_suite build root; }
step_faults() { meson_suite build faults; }
step_e2e-v1() { bats_suite v1; }
step_e2e-v2() { bats_suite v2; }

step_format() {
	local file bad=0
	while read -r file; do
		clang-format "$file" | diff -u --label "$file" --label formatted "$file" - || bad=1
	done < <(sources '*.c' '*.h')
	((bad == 0)) || echo "clang-format -i puts these right"
	return $bad
}

# One licence line a file, and nobody's licence text pasted in. Data has none: test inputs are
# byte-exact, and JSON has no comments.
step_spdx() {
	local file count bad=0
	while read -r file; do
		[[ -f $file && ! -L $file ]] || continue
		case $file in
		LICENSE | *.md | *.json | *.json.in | */go.sum | tests/data/* | tests/ctl/cases/* | tests/fuzz/corpus/*) continue ;;
		esac
		count=$(grep -cE '^[^[:alnum:]]*SPDX-License-Identifier: Apache-2\.0[^[:alnum:]]*$' "$file") || true
		((count == 1)) || { echo "$file: $count SPDX lines instead of one"; bad=1; }
	done < <(sources)
	return $bad
}

# code PATTERN...: the C files of these names without comments and without the text of strings, as
# FILE:LINE:TEXT, in $RESULTS/code
code() {
	local file files
	mapfile -t files < <(sources "$@")
	((${#files[@]})) || { echo "no files: $*"; return 1; }
	for file in "${files[@]}"; do
		gcc -fpreprocessed -dD -E -w "$file" |
			awk -v file="$file" '
				/^# [0-9]+ /{ line = $2; next }
				{ gsub(/"([^"\\]|\\.)*"/, "\"\""); print file ":" line++ ":" $0 }'
	done >"$RESULTS/code"
}

# Calls that are never right in what we ship: unbounded copies and shells; and in the program that
# runs beside hostile images, checks of a path that is then used again as a string.
step_banned-calls() {
	code '*.c' '*.h' ':!tests'
	! grep -E '\<(strcpy|strcat|sprintf|vsprintf|gets|strtok|system|popen|tmpnam|mktemp|alloca)[[:space:]]*\(' "$RESULTS/code" || return 1
	code 'common/*.[ch]' 'hook/*.[ch]'
	! grep -E '\<(realpath|access|canonicalize_file_name|chmod|l?chown|rename|unlink|mkdir|mknod|symlink|link)[[:space:]]*\(' "$RESULTS/code"
}

# Where hook/ looks a path up as a string at all: each such place is named, with its reason, and none is named in vain.
step_paths() {
	local files
	code 'hook/*.[ch]'
	sed -nE 's/^([^:]*):[0-9]+:(.*)/\1 \2/p' "$RESULTS/code" |
		grep -oE '^[^ ]+|\<(mount|umount2?|open|creat|l?stat|statfs|opendir|fopen|truncate|chdir|chroot|execve|readlink|l?[sg]etxattr)[[:space:]]*\(' |
		awk '/\(/ { sub(/[[:space:]]*\(/, ""); print file, $0; next } { file = $0 }' | sort -u >"$RESULTS/paths"
	files=$(cut -d' ' -f1 "$RESULTS/paths" | sort -u | wc -l)
	sed 's/#.*//' tests/analysis/paths | awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -u >"$RESULTS/paths-allowed"
	diff -u --label tests/analysis/paths --label hook/ "$RESULTS/paths-allowed" "$RESULTS/paths" || return 1
	echo "$(wc -l <"$RESULTS/paths") kinds of calls with a path in $files files of hook/, each with its reason"
}

# common/ is pure: bytes and directory fds in, data out.
step_pure-common() {
	code 'common/*.c' 'common/*.h'
	! grep -E '\<(mount|umount2?|setns|unshare|mknod(at)?|v?fork|clone3?|exec(v|l|ve|vp|le|lp|vpe|veat)|posix_spawnp?|pivot_root|chroot|syscall|open_tree|move_mount|mount_setattr|fs(open|config|mount|pick)|mnt_[a-z_]+|ioctl|kill|_?exit|_Exit|abort|v?printf|puts|putchar|perror|v?syslog|set(res)?[ug]id|setgroups|prctl)[[:space:]]*\(' "$RESULTS/code"
}

step_gcc() { build build-ci/gcc -Dtests=enabled -Dwerror=true; }
step_clang() { CC=clang build build-ci/clang -Dtests=enabled -Dwerror=true; }

# The analysers, over all that is shipped: a finding is a failure. What one is wrong about is written so that it can see why
# (ANALYSIS in common/error.h), or stands in tests/analysis with its reason. Each has to find what is planted there first.

# analysis_files: the C files that are shipped, in $RESULTS/files, and how the compiler is called for each, in build-ci/analysis
analysis_files() {
	rm -rf build-ci/analysis
	CC=clang setup build-ci/analysis -Dtests=disabled -Dman=disabled -Dbuildtype=debug -Dlink=dynamic -Dc_args=-DANALYSIS
	jq -r '.[].file' build-ci/analysis/compile_commands.json | sed 's,^\(\.\./\)*,,' | sort -u >"$RESULTS/files"
}

step_fanalyzer() {
	! gcc -O2 -fanalyzer -Werror -c -o /dev/null tests/analysis/planted.c 2>/dev/null || { echo "what is planted was not found"; return 1; }
	build build-ci/fanalyzer -Dtests=disabled -Dman=disabled -Dwerror=true "-Dc_args=['-fanalyzer', '-DANALYSIS']" || return 1
	echo "gcc -fanalyzer: $(jq length build-ci/fanalyzer/compile_commands.json) files, no finding"
}

# tidy CHECKS WHAT: of hook/ alone where WHAT is "hook"
tidy() {
	! clang-tidy --quiet --checks="$1" tests/analysis/planted.c -- -std=gnu11 >/dev/null 2>&1 || { echo "what is planted was not found"; return 1; }
	analysis_files
	[[ -z ${2:-} ]] || sed -i "\\,^$2/,!d" "$RESULTS/files"
	# One file a process: with several its va_list check has been seen to invent findings.
	xargs -P2 -n1 clang-tidy --quiet --checks="$1" -p build-ci/analysis <"$RESULTS/files" 2>"$RESULTS/tidy" || { grep -v 'warnings\? generated' "$RESULTS/tidy"; return 1; }
}

# Without its analyser, which takes ten times as long as all else.
step_clang-tidy() {
	tidy '-clang-analyzer-*'
	echo "clang-tidy: $(wc -l <"$RESULTS/files") files, no finding"
}

# In CI over what runs with privileges; gcc's looks for the same in all files.
step_clang-analyzer() {
	tidy '-bugprone-*,-cert-*' "$([[ -n $LONG ]] || echo hook)"
	echo "clang's analyser: $(wc -l <"$RESULTS/files") files, no finding"
}

step_cppcheck() {
	local options=(-q -j2 --enable=warning,performance,portability --std=c11 --error-exitcode=1)
	! cppcheck "${options[@]}" tests/analysis/planted.c 2>/dev/null || { echo "what is planted was not found"; return 1; }
	analysis_files
	grep -v '^#' tests/analysis/cppcheck >"$RESULTS/cppcheck"
	cppcheck "${options[@]}" --suppressions-list="$RESULTS/cppcheck" --project=build-ci/analysis/compile_commands.json
	echo "cppcheck: $(wc -l <"$RESULTS/files") files, no finding beside $(wc -l <"$RESULTS/cppcheck") in tests/analysis/cppcheck"
}

# memcheck COMMAND [ARGUMENT]...: fails for a fault of memory, for what was not freed, and for a descriptor left open
memcheck() {
	local log status=0
	log=$(mktemp -p "$RESULTS")
	# Of ours is what was not there from the start.
	valgrind -q --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --track-fds=yes --error-exitcode=99 \
		--log-file="$log" "$@" >/dev/null 2>"$log.words" || status=$?
	awk '/Open (file descriptor|.* socket)/ { open = 1; line = $0; next } open && /inherited from parent/ { open = 0; next }
		open { print line; open = 0; left = 1 } END { exit left }' "$log" || status=98
	((status == 0)) || { echo "$*: $status"; head -n 40 "$log.words" "$log"; return 1; }
}

# In CI those that own descriptors and memory by hand; all of unit and data with --long, but for one: test-elf-library looks at
# the libraries of its own process, and valgrind's among them are like no others.
step_valgrind() {
	local tests=(test-cuda-compat test-error test-fdio test-host-node test-json test-json-scan test-ldcache test-ldcache-merge test-oci-config
		test-spec-tree test-trusted)
	export -f memcheck
	gcc -g -w -o "$RESULTS/planted" tests/analysis/planted.c
	! memcheck "$RESULTS/planted" >/dev/null || { echo "what is planted was not found"; return 1; }
	rm -rf build-ci/valgrind
	# The fortified memmove and memcpy are one function in glibc, so that valgrind takes the one for the other.
	setup build-ci/valgrind -Dtests=enabled -Dman=disabled -Dlink=dynamic -Dc_args=-U_FORTIFY_SOURCE
	[[ -z $LONG ]] || mapfile -t tests < <(cd tests/unit && printf '%s\n' test-*.c | sed '/elf-library/d; s/\.c$//')
	ninja -C build-ci/valgrind "${tests[@]/#/tests/unit/}" >"$RESULTS/build" || { cat "$RESULTS/build"; return 1; }
	printf '%s\n' "${tests[@]/#/build-ci/valgrind/tests/unit/}" | xargs -P2 -I{} bash -c 'memcheck {}' || return 1
	if [[ -n $LONG ]]; then
		ninja -C build-ci/valgrind tests/data/test-data >"$RESULTS/build"
		memcheck build-ci/valgrind/tests/data/test-data tests/data
	fi
	echo "valgrind: ${#tests[@]} test programs, no fault, nothing left"
}

step_sanitizers() {
	export ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1
	export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
	# Counts are the plain build's: here each round takes ten times as long.
	export LONG=
	local dir=build-ci/sanitizers suite failed=0 cases
	build "$dir" -Dtests=enabled -Dlink=dynamic -Db_sanitize=address,undefined
	cases=$RESULTS/cases
	touch "$cases"
	cp "$cases" "$RESULTS/cases.before"
	for suite in unit data ctl fuzz root; do
		meson_suite "$dir" "$suite" || failed=1
	done
	# The same cases as in the other build: they get another name, so that a list shows which.
	tail -n "+$(($(wc -l <"$RESULTS/cases.before") + 1))" "$cases" | sed 's,\t,\tsanitizers/,' >"$RESULTS/cases.new"
	cat "$RESULTS/cases.before" "$RESULTS/cases.new" >"$cases"
	return $failed
}

# The reference library and our own code on the same cases, and on the real files where they are. The
# cases are the same in every run: REFERENCE_SEED=$RANDOM REFERENCE_CASES=100000 is for a longer look.
step_reference() {
	local status=0 specs=()
	[[ ! -d ../shared/cases/specs ]] || specs=(--specs=../shared/cases/specs)
	tests/reference/reference.py --build=build --seed="${REFERENCE_SEED:-1}" \
		--cases="${REFERENCE_CASES:-20000}" "${specs[@]}" >"$RESULTS/tap" 2>&1 || status=$?
	if ((status == 77)); then
		record skip reference "$(sed -n 's/^1\.\.0 # SKIP //p' "$RESULTS/tap")"
		return 0
	fi
	record_tap reference
	grep -v '^ok ' "$RESULTS/tap"
	return $status
}

# tap_part NAME COMMAND...: a program that prints TAP
tap_part() {
	local name=$1 status=0 reason
	shift
	"$@" >"$RESULTS/tap" 2>&1 || status=$?
	reason=$(sed -n 's/^1\.\.0 # SKIP //p' "$RESULTS/tap")
	if [[ -n $reason ]]; then
		record skip "$name" "$reason"
		return 0
	fi
	record_tap "$name"
	grep -vE '^(ok |# table: )' "$RESULTS/tap" || true
	return $status
}

# The tests that the list of known attacks names are there.
step_security-tests() { tap_part security-tests tests/security-tests.py; }

# Root file systems that mean harm, and hooks without a rule on them, which must be noticed. CI: each two of role, kind, stage
# and runner meet, and two of the hooks.
step_hostile() {
	local failed=0 mode=--share mutants=(--only look-ups-leave-the-root --only refusals-are-passed-over)
	[[ -z $LONG ]] || mode=--full mutants=()
	tap_part hostile/corpus tests/hostile/hostile.py "$mode" --build=build/tests/hostile build/hook/oci-cdi-hook || failed=1
	tap_part hostile/mutants tests/hostile/mutants.py "${mutants[@]}" build || failed=1
	return $failed
}

step_fresh-debian() {
	local cgroup status failed=0
	for cgroup in v1 v2; do
		tests/e2e/with-cgroup "$cgroup" tests/fresh-debian.sh && status=0 || status=$?
		case $status in
		0) record pass "fresh-debian-$cgroup" ;;
		77) record skip "fresh-debian-$cgroup" "no cgroup $cgroup on this machine" ;;
		*)
			record fail "fresh-debian-$cgroup"
			failed=1
			;;
		esac
	done
	return $failed
}

# Machines with systemd, one with SELinux, else one for each release of Debian, both processors for all of them at once.
# What each runs is little: without KVM a machine is some ten times slower than this one.
step_vm() {
	local row failed=0 limit=1500 rows=(debian12 debian13)
	local -A suites=(
		[debian11]="vm:systemd old-kernel"
		[debian12]="vm:systemd vm:rootless"
		[debian12-selinux]="vm:selinux root:test-race"
		[debian13]="vm:systemd vm:rootless"
	)
	if [[ $VM == all ]]; then
		rows+=(debian11 debian12-selinux)
		limit=7000
		suites[debian12]+=" vm:rootless-long rootless userns demo"
		suites[debian13]+=" vm:rootless-long rootless userns"
	fi
	for row in "${rows[@]}"; do
		tests/vm/image "$row" >/dev/null
	done
	for row in "${rows[@]}"; do
		# shellcheck disable=SC2086 # a list of words
		tests/vm/run "$row" --limit="$limit" ${suites[$row]} >"$RESULTS/vm-$row" 2>&1 &
	done
	wait
	for row in "${rows[@]}"; do
		vm_results "$row" || failed=1
	done
	return $failed
}

# vm_results ROW: the suites of a machine out of $RESULTS/vm-ROW
vm_results() {
	local row=$1 line name status failed=0
	: >"$RESULTS/tap"
	while IFS= read -r line; do
		case $line in
		'@ suite '*) : >"$RESULTS/tap" ;;
		'@ status '*)
			name=${line#@ status } status=${line##* }
			name=${name% *}
			if grep -q '^1\.\.' "$RESULTS/tap"; then
				record_tap "$row/$name"
			else
				record "$( ((status == 0)) && echo pass || echo fail)" "$row/$name"
			fi
			((status == 0)) || { failed=1; awk '/^ok /{show = 0} /^not ok /{show = 1} show || !/^(ok |# |1\.\.)/' "$RESULTS/tap"; }
			;;
		*) echo "$line" >>"$RESULTS/tap" ;;
		esac
	done <"$RESULTS/vm-$row"
	grep -qx '@ end' "$RESULTS/vm-$row" || {
		record fail "$row" "the machine did not come to its end"
		tail -n 50 "$RESULTS/vm-$row"
		failed=1
	}
	return $failed
}

# ---------------------------------------------------------------------------------------------
# Running them

seconds() { date +%s.%N; }

# The built-in hooks beside the vendor's: our own rows, and what was observed of the vendor's program where that is.
step_rows() {
	local status=0 files=(tests/vendor-hooks/rows.md)
	[[ ! -f ../shared/cases/nvidia-hooks.md ]] || files+=(../shared/cases/nvidia-hooks.md)
	tests/vendor-hooks/replay.py --hook=build/hook/oci-cdi-hook "${files[@]}" >"$RESULTS/tap" 2>&1 || status=$?
	if ((status == 77)); then
		record skip rows "$(sed -n 's/^1\.\.0 # SKIP //p' "$RESULTS/tap")"
		return 0
	fi
	record_tap rows
	grep -v '^ok ' "$RESULTS/tap"
	return $status
}

# run_step NAME LIMIT: LIMIT as timeout(1) takes it, sixty times that with --long
run_step() {
	local name=$1 limit=$2 started status=0 log=$RESULTS/log.$1 before after
	local -A count=([pass]=0 [fail]=0 [skip]=0)
	[[ -z $LONG ]] || limit=$((60 * ${limit%m}))m
	started=$(seconds)
	before=$(wc -l <"$RESULTS/cases")
	timeout --kill-after=20s "$limit" "$top/tests/run.sh" --step "$name" >"$log" 2>&1 </dev/null || status=$?
	after=$(tail -n "+$((before + 1))" "$RESULTS/cases")

	if ((status != 0)) && ! grep -q ^fail <<<"$after"; then
		record fail "$name" "exit status $status"
	elif [[ -z $after ]]; then
		record pass "$name"
	fi
	if ((status == 124 || status == 137)); then
		echo "$name: ran into its limit of $limit" >>"$log"
	fi

	local result
	while IFS=$'\t' read -r result _; do
		count[$result]=$((count[$result] + 1))
	done < <(tail -n "+$((before + 1))" "$RESULTS/cases")
	printf '%-14s %5d passed %3d failed %3d skipped %8.1f s\n' "$name" \
		"${count[pass]}" "${count[fail]}" "${count[skip]}" "$(awk "BEGIN{print $(seconds) - $started}")"
	if ((status != 0 || count[fail] > 0)); then
		tail -n 200 "$log" | sed 's/^/    /'
		return 1
	fi
}

allowed_skip() {
	local pattern
	while IFS= read -r pattern; do
		[[ $pattern != '#'* && $pattern == *' # '* ]] || continue
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 == ${pattern%% # *} ]] && return 0
	done <tests/skips-allowed
	return 1
}

write_tables() { [[ -z $TABLES_WRITE || ! -s $RESULTS/tables ]] || tests/tables.py TESTING.md <"$RESULTS/tables"; }

report() {
	local passed=0 failed=0 skipped=0 result name reason
	cut -f 2- "$RESULTS/tables"
	write_tables || echo "failed: the tables could not be written"
	while IFS=$'\t' read -r result name reason; do
		case $result in
		pass) passed=$((passed + 1)) ;;
		fail)
			failed=$((failed + 1))
			echo "failed: $name${reason:+ ($reason)}"
			;;
		skip)
			if [[ $mode == ci ]] && ! allowed_skip "$name"; then
				failed=$((failed + 1))
				echo "failed: $name: skipped (${reason:-no reason given}), and tests/skips-allowed does not list it"
			else
				skipped=$((skipped + 1))
				echo "skipped: $name${reason:+ ($reason)}"
			fi
			;;
		esac
	done <"$RESULTS/cases"
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0))
}

mode=default
export VM=${VM:-} LONG=${LONG:-} E2E_FILES=${E2E_FILES:-} TABLES_WRITE=${TABLES_WRITE:-}
if [[ ${1:-} == --vm=all ]]; then
	VM=all
	shift
fi
case ${1:-} in
'') ;;
--ci) mode=ci ;;
--long) mode=ci LONG=1 ;;
--step)
	if [[ -z ${RESULTS:-} ]]; then
		RESULTS=$(mktemp -d)
		trap 'write_tables || true; rm -rf "$RESULTS"' EXIT
		: >"$RESULTS/cases"
		: >"$RESULTS/tables"
	fi
	"step_$2"
	exit
	;;
*)
	echo "usage: tests/run.sh [--vm=all] [--ci|--long|--step STEP]" >&2
	exit 2
	;;
esac

RESULTS=$(mktemp -d)
export RESULTS
trap 'rm -rf "$RESULTS"' EXIT
: >"$RESULTS/cases"
: >"$RESULTS/tables"

# Nothing can follow when these two fail; of all the others each is tried.
run_step install 10m && run_step build 10m || { report; exit 1; }

if [[ $mode == ci ]]; then
	run_step format 1m || true
	run_step spdx 1m || true
	run_step banned-calls 1m || true
	run_step paths 1m || true
	run_step pure-common 1m || true
	run_step gcc 5m || true
	run_step clang 5m || true
	run_step fanalyzer 5m || true
	run_step clang-tidy 5m || true
	run_step clang-analyzer 5m || true
	run_step cppcheck 2m || true
	run_step valgrind 5m || true
	run_step sanitizers 10m || true
fi
run_step wall 5m || true
run_step security-tests 1m || true
run_step unit 5m || true
run_step data 5m || true
run_step ctl 5m || true
run_step fuzz 5m || true
run_step edit 5m || true
run_step root 5m || true
run_step e2e-v1 25m || true
run_step e2e-v2 25m || true
if [[ $mode == ci ]]; then
	run_step faults 20m || true
	run_step hostile 6m || true
	run_step reference 10m || true
	run_step rows 5m || true
	run_step fresh-debian 15m || true
	run_step vm "$([[ $VM == all ]] && echo 120m || echo 30m)" || true
fi

report
