#!/bin/sh
# The redis image is built to answer clients of other machines; the machine's own redis-server answers only itself
# until somebody says otherwise ("protected mode"). What the command or its file says about that still counts.
here=${0%/*}
real=
IFS=:
for directory in $PATH; do
    if [ "$directory" != "$here" ] && [ -x "$directory/redis-server" ]; then
        real=$directory/redis-server
        break
    fi
done
unset IFS
if [ -z "$real" ]; then
    echo "redis-server: not found in PATH ($PATH); on Debian: apt-get install redis-server" >&2
    exit 127
fi
case ${1-} in
    -v | --version | -h | --help | --test-memory | --check-system) exec "$real" "$@" ;;
    '' | --*) exec "$real" --protected-mode no "$@" ;;
esac
file=$1
shift
if [ "$file" != - ] && grep -qs '^[[:space:]]*protected-mode[[:space:]]' "$file"; then
    exec "$real" "$file" "$@"
fi
exec "$real" "$file" --protected-mode no "$@"
