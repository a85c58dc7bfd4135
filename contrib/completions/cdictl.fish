# SPDX-License-Identifier: Apache-2.0
#
# fish completion for cdictl. Commands, options and devices come from cdictl itself (its help texts,
# and `cdictl list`), so that there is no second list of them.

# The command on the line, if there is one already.
function __cdictl_command
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word
            echo $word
            return
        end
    end
end

function __cdictl_devices
    cdictl list -o name (string match -- '--spec-dir=*' (commandline -opc)) 2>/dev/null
end

# What the help says stands behind "--OPTION=".
function __cdictl_value
    cdictl (__cdictl_command) --help 2>/dev/null | string replace -rf -- '^ .*--'$argv[1]'=(\S+).*' '$1'
end

# Values of an option, each with the option in front.
function __cdictl_option_values
    set -l option (string replace -r -- '=.*' '' (commandline -ct))
    set -l value (__cdictl_value (string replace -- '--' '' $option))
    switch "$value"
        case DIR
            printf '%s\n' $option=(__fish_complete_directories (string replace -r -- '^[^=]*=' '' (commandline -ct)))
        case '*FILE*'
            printf '%s\n' $option=(__fish_complete_path (string replace -r -- '^[^=]*=' '' (commandline -ct)))
        case STAGE
            printf '%s\n' $option={precreate,prestart,createRuntime,createContainer}
        case '*|*'
            printf '%s\n' $option=(string split '|' -- $value)
    end
end

function __cdictl_complete
    set -l command (__cdictl_command)
    set -l current (commandline -ct)
    if test -z "$command"
        # "  list                     List all devices": the word and what it is for
        cdictl --help 2>/dev/null | string replace -rf -- '^  ([a-z]+) .{0,22}?\s{2,}(.*)' '$1\t$2'
        cdictl --help 2>/dev/null | string replace -rf -- '^ .*(--[a-z-]+)\s+(.*)' '$1\t$2'
        return
    end
    if string match -q -- '--*=*' $current
        __cdictl_option_values
        return
    end
    if string match -q -- '-*' $current
        cdictl $command --help 2>/dev/null | string replace -rf -- '^ .*(--[a-z-]+=?)\S*\s+(.*)' '$1\t$2'
        return
    end
    if test "$(commandline -opc)[-1]" = -o
        string split '|' -- (__cdictl_value output)
        return
    end
    # The command itself is the first word without a dash.
    set -l words (string match -v -- '-*' (commandline -opc)[2..-1])
    switch (cdictl $command --help 2>/dev/null)[1]
        case '*CONFIG *'
            if test (count $words) -lt 2
                __fish_complete_path $current
            else
                __cdictl_devices
            end
        case '*DEVICE*'
            __cdictl_devices
        case '*PATTERN*'
            set -l devices (__cdictl_devices)
            printf '%s\n' $devices (string replace -r -- '=.*' '=*' $devices | sort -u)
        case '*FILE*'
            __fish_complete_path $current
    end
end

complete -c cdictl -f -a '(__cdictl_complete)'
