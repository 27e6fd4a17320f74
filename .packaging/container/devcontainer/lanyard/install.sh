#!/bin/sh
# Installs Lanyard in a dev container of Debian or Ubuntu, from the apt repository of the option `repository`. The options are
# variables here: REPOSITORY, VERSION, PYTHON.
set -eu
repository=${REPOSITORY:-https://lanyard.example/apt}
version=${VERSION:-latest}
key=/etc/apt/keyrings/lanyard.asc

say() { echo "lanyard: $1" >&2; }

if [ "$(id -u)" -ne 0 ]; then
  say 'a feature is installed as root.'
  exit 1
fi
if ! command -v apt-get > /dev/null; then
  say 'there is no apt-get here: the packages are for Debian and Ubuntu. Another system with glibc takes the wheel, from its file: docs/packages.md.'
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive

mkdir -p /etc/apt/keyrings
case "$repository" in
  file:*)
    cp "${repository#file:}/lanyard.asc" "$key"
    ;;
  *)
    if ! command -v curl > /dev/null; then
      apt-get --quiet update
      apt-get --quiet install --yes --no-install-recommends ca-certificates curl
    fi
    curl --fail --silent --show-error --location --proto '=https' "$repository/lanyard.asc" --output "$key"
    ;;
esac
# apt reads it as a user of its own.
chmod 644 "$key"
cat > /etc/apt/sources.list.d/lanyard.sources <<END
Types: deb
URIs: $repository
Suites: stable
Components: main
Signed-By: $key
END
apt-get --quiet update

names=lanyard
[ "${PYTHON:-false}" != true ] || names="$names python3-lanyard"
if [ "$version" != latest ]; then
  # The revision of the package is not part of the version that people know.
  full=$(apt-cache madison lanyard | awk -v version="$version" '{ split($3, part, "-"); if (part[1] == version) { print $3; exit } }')
  if [ -z "$full" ]; then
    say "$repository has no lanyard $version. \`apt-cache madison lanyard\` lists what it has."
    exit 1
  fi
  names=$(for name in $names; do printf '%s=%s ' "$name" "$full"; done)
fi
# The words are meant to be split.
# shellcheck disable=SC2086
apt-get --quiet install --yes --no-install-recommends --allow-downgrades $names
# The socket of the desktop is mounted here (docs/containers.md).
mkdir -p /run/lanyard
rm -rf /var/lib/apt/lists/*
