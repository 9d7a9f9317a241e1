#!/bin/sh
# Packs the files that `joinproto recover` reads, on a machine without a Python for it:
#     sh joinproto-pack.sh DIR... > NAME.pack       then, elsewhere: joinproto recover pick *.pack
# It writes only to standard output.  The files of quorum queues hold their messages.
# Made by `make pyz` from the readers' lists of files.
set -u
LC_ALL=C
export LC_ALL
set -f

fail() {
    printf 'joinproto-pack: %s\n' "$1" >&2
    exit 2
}

usage() {
    printf '%s\n' "usage: sh joinproto-pack.sh DIR... > NAME.pack" \
        "  DIR: the data directory of a stopped broker or member on this machine, such as" \
        "  /var/lib/broker, /var/lib/mysql, /var/lib/rabbitmq/mnesia/NODE or /var/lib/etcd" \
        "  Nothing is changed there.  Then, on a machine with joinproto:" \
        "  joinproto recover pick *.pack" >&2
}

pack() {
    if [ -L "$1" ]; then
        found=yes
        printf 'link %s\n' "$1"
    elif [ -f "$1" ]; then
        found=yes
        [ -r "$1" ] || fail "$PWD/$1: may not be read by this user; run this script with sudo"
        sum=$(cksum < "$1") || fail "$PWD/$1: cannot be read"
        printf 'file %s %s %s\n' ${sum} "${2-$1}"
        cat "$1" || fail "$PWD/$1: cannot be read"
        printf '\n'
    elif [ -e "$1" ] && [ ! -d "$1" ]; then
        fail "$PWD/$1: is not a regular file"
    fi
}

case ${1-} in
'') usage; exit 2 ;;
-h | --help) usage; exit 0 ;;
esac
[ ! -t 1 ] || fail 'standard output is a terminal: write it to a file, > NAME.pack'
here=$PWD
for directory in "$@"; do
    cd "$here" && [ -d "$directory" ] || fail "$directory: is not a directory"
done
printf 'joinproto-pack 1\nhost %s\n' "$(uname -n)"
for directory in "$@"; do
    cd "$here" && cd "$directory" || fail "$directory: may not be entered by this user"
    called=$(pwd -L)
    case $called$(pwd -P) in *"
"*) fail "$directory: there is a line break in its path" ;; esac
    cd "$(pwd -P)" || fail "$directory: may not be entered by this user"
    printf 'directory %s\ncalled %s\n' "$(pwd -P)" "${called##*/}"
    set +f
    for each in . @FOLDERS@; do
        [ ! -d "$each" ] || { [ -r "$each" ] && [ -x "$each" ]; } ||
            fail "$PWD/$each: may not be read by this user; run this script with sudo"
    done
    found=
    for each in @TELLING@; do
        [ ! -e "$each" ] || { printf 'there %s\n' "$each"; found=yes; }
    done
    for each in @FILES@; do
        pack "$each"
    done
    # A blank disk is a fact; a directory of something else is a wrong path.
    others=
    for each in *; do
        [ ! -e "$each" ] || [ "$each" = lost+found ] || others="$others $each"
    done
    [ -n "$found" ] || [ -z "$others" ] ||
        fail "$PWD: has no file that recover reads, only:$others; give the data directory itself"
    # RabbitMQ's feature flags lie next to a node's directory.
    [ ! -f "$called@NEXT_TO_IT@" ] || pack "$called@NEXT_TO_IT@" @FLAGS@
    set -f
done
printf 'end\n'
