#!/bin/sh
# Runs a composable fabric on this machine: devices are attached when they are allocated, pods wait for that
# and are bound, and unused devices are detached. It exits by itself.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
supercargo=${SUPERCARGO:-supercargo}
work=$(mktemp -d)
emulator= ; cluster= ; controller=
finish() {
    for process in $controller $cluster $emulator; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# Waits until a file says something, for a minute at most.
await() {
    tries=600
    until grep -q "$1" "$2" 2>/dev/null; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then echo "error: waited in vain for \"$1\"" >&2; cat "$2" >&2; exit 1; fi
        sleep 0.1
    done
}

"$supercargo" fabric-emulator --inventory "$here/room.yaml" --listen 127.0.0.1:0 >"$work/emulator" &
emulator=$!
await http:// "$work/emulator"
manager=$(sed -n 's/^address  //p' "$work/emulator")
echo "fabric manager: $manager"

"$supercargo" up --no-examples -f "$here/cluster.yaml" --listen 127.0.0.1:0 \
    --write-kubeconfig "$work/kubeconfig" >"$work/cluster" 2>&1 &
cluster=$!
await kubeconfig "$work/cluster"

"$supercargo" fabric --kubeconfig "$work/kubeconfig" --manager "$manager" --driver gpu.example.com \
    --period 1s --idle-after 3s 2>"$work/controller" &
controller=$!
for pod in first second third; do await "default/$pod .*placed" "$work/cluster"; done
for pod in first second third; do await "default/$pod .*succeeded" "$work/cluster"; done
tries=600
until [ "$(grep -c ' INFO  detached' "$work/controller")" -eq "$(grep -c ' INFO  attached' "$work/controller")" ]; do
    tries=$((tries - 1))
    if [ "$tries" -eq 0 ]; then echo "error: devices are still attached" >&2; exit 1; fi
    sleep 0.1
done

echo "pods:"
grep -E 'default/(first|second|third) +(waits|placed|running|succeeded)' "$work/cluster" | sed 's/^/  /'
echo "fabric controller:"
sed -n 's/^[^ ]* INFO  /  /p' "$work/controller" | grep -vE '^  (starting|leading|stopped)'
echo "every device is back in the fabric"
