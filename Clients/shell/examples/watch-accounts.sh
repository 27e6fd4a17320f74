#!/usr/bin/env bash
# Says when an account has to sign in again. Ends with Ctrl-C.
set -euo pipefail
# shellcheck source=../lanyard.sh disable=SC1091
. "$(dirname "$0")/../lanyard.sh"

lanyard_events --type session.expired --type session.stateChanged | while IFS= read -r event; do
  printf '%s %s\n' "$(date +%T)" "$event"
done
