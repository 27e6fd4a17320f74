#!/usr/bin/env bash
# Prints what a URL answers with the token of an account:
#   fetch.sh work https://api.example /orders/17
set -euo pipefail
# shellcheck source=../lanyard.sh disable=SC1091
. "$(dirname "$0")/../lanyard.sh"

account=${1:?the account} origin=${2:?the origin} path=${3:?the path}
body=''
lanyard_curl -v body "$account" "$origin" -- "$origin$path" || {
  echo "no answer: $LANYARD_ERROR_NAME" >&2
  exit 1
}
printf '%s\n' "$body"
[ "$LANYARD_HTTP_STATUS" -lt 400 ]
