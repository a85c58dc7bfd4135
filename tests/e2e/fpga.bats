#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# contrib/examples/fpga, as it stands there but for the paths: an annotation names the function that a vendor's
# hook loads into a card.

load engines

card() {
	local example=$top/contrib/examples/fpga
	card=$base/card0
	mkdir -p "$card/functions"
	echo 3 >"$card/shell"
	: >"$card/slot"
	printf 'shell 3\nthe bits of aes\n' >"$card/functions/aes-128"
	printf 'shell 2\nold bits\n' >"$card/functions/fft"
	# shellcheck disable=SC2046
	gcc -Wall -Wextra -o "$base/fpga-load" "$example/fpga-load.c" $(pkg-config --cflags --libs json-c)
	sed "s,/run/fpga/card0,$card,; s,/usr/local/libexec/,$base/," "$example/fpga.yaml" | spec fpga.yaml
	echo 'example.com/fpga=*' >"$allow"
	request example.com/fpga=card0
	stages=(createRuntime poststop)
}

function_is() { edit_config '.annotations["fpga.example.com/function"] = $f' --arg f "$1"; }

look() { echo "cat /dev/fpga0"; }

works_under() {
	use_engine "$1"
	card
	function_is aes-128
	start
	[[ $(head -n 1 "/proc/$pid/root/dev/shm/seen") == "the bits of aes" ]] || fail "$(cat "/proc/$pid/root/dev/shm/seen")"
	[[ $(<"$card/slot") == "the bits of aes" ]]
	stop_container
	[[ ! -s $card/slot ]] || fail "the card is not cleared"
}

@test "runc: the hook loads the function that the annotation names, and clears the card in the end" { works_under runc; }
@test "crun: the hook loads the function that the annotation names, and clears the card in the end" { works_under crun; }

@test "a function that does not fit the card stops the container with the vendor's words" {
	card
	function_is fft
	refused 11
	says "device example.com/fpga=card0 ($specs/fpga.yaml:" "hook createRuntime $base/fpga-load: exit code 1: function fft is built for"
	says 'shell 2' 'and the card has' 'shell 3'
	[[ ! -s $card/slot ]]
}

@test "a function that is not there, no function, and one that is a path" {
	card
	function_is des
	refused 11
	says "exit code 1: $card/functions/des: No such file or directory"
	function_is ../shell
	refused 11
	says 'is no name of a function: small letters, digits and - only'
	edit_config 'del(.annotations["fpga.example.com/function"])'
	refused 11
	says "exit code 1: the container has no annotation fpga.example.com/function: it names the function to load"
}
