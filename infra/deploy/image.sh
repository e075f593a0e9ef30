#!/bin/sh
# Builds both images from this tree, prints their sizes and tries them: as nobody, without
# capabilities, without a network, on a root that is read only. The first runs the demo alone, the
# second with the servers of the first. The images stay, as NAME and NAME-slim.
#   infra/deploy/image.sh [NAME [BASE]]
# The container program is podman, or what CONTAINER names, with its options. NODE_EXTRA_CA_CERTS
# names a PEM file of authorities to trust while npm installs.
set -eu
cd "$(dirname "$0")/../.."
name=${1:-tieline} base=${2:-docker.io/library/node:24-trixie-slim}
container=${CONTAINER:-podman} ca=${NODE_EXTRA_CA_CERTS:-}
work=$(mktemp -d)
alone=tieline-alone-$$

# crun, which podman prefers, does not run where control groups of both versions are mounted; runc does.
case $container in
  *--runtime*) ;;
  *podman*) if command -v runc >/dev/null; then container="$container --runtime runc"; fi ;;
esac

# The limits are low enough for a container in a container, which may not raise its own.
# shellcheck disable=SC2086
in_container() {
  verb=$1
  shift
  $container "$verb" --ulimit nofile=16384:16384 --ulimit nproc=4096:4096 "$@"
}
# shellcheck disable=SC2086
finish() {
  $container rm -f "$alone" >/dev/null 2>&1 || :
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

run_or_fail() {
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}

build() {
  format=
  case $container in *podman*) format=--format=docker ;; esac # its own format has no health check
  run_or_fail in_container build $format --network host ${ca:+--secret "id=authorities,src=$ca"} \
    --build-arg "BASE=$base" --build-arg "SERVERS=$2" -f infra/deploy/Dockerfile -t "$1" .
  # shellcheck disable=SC2086
  bytes=$($container image inspect --format '{{.Size}}' "$1")
  echo "$1: $((bytes / 1000000)) MB, SERVERS=$2"
}

confined() {
  in_container run --read-only --cap-drop all --security-opt no-new-privileges \
    --tmpfs /tmp:rw,size=64m,mode=1777 "$@"
}

demo() {
  run_or_fail confined --rm "$@" demo --once
  tail -n 1 "$work/log"
}

build "$name" embedded
build "$name-slim" none

echo "$name: the demo, alone"
demo --network none "$name"

printf 'companyCodes: [TRIAL]\ntimeZone: America/Detroit\ndatabase: trial\n' >"$work/profile.yaml"
run_or_fail confined -d --name "$alone" --network none \
  -v "$work/profile.yaml:/etc/tieline/profile.yaml:ro" "$name"
in_it() { # shellcheck disable=SC2086
  $container exec "$alone" node -e "$1"
}
is_ready="fetch('http://127.0.0.1:9465/health/ready').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"
tries=0
until in_it "$is_ready"; do
  tries=$((tries + 1))
  [ "$tries" -lt 60 ] || { echo "$name: not ready"; exit 1; }
  sleep 1
done
# shellcheck disable=SC2086
run_or_fail $container exec "$alone" tieline doctor
echo "$name: ready as a service"

password() { in_it "process.stdout.write(require('/data/secrets.json').$1)"; }
echo "$name-slim: the demo, with the servers of $name"
demo --network "container:$alone" \
  -e "CLICKHOUSE_URL=http://tieline:$(password writer)@127.0.0.1:8123" \
  -e "CLICKHOUSE_READER_URL=http://reader:$(password reader)@127.0.0.1:8123" \
  -e "REDIS_URL=redis://:$(password redis)@127.0.0.1:6379" "$name-slim"

# shellcheck disable=SC2086
run_or_fail $container stop -t 45 "$alone"
# shellcheck disable=SC2086
[ "$($container inspect --format '{{.State.ExitCode}}' "$alone")" = 0 ]
echo "$name: stopped in order"
