"""The Debian packages as files: their names and fields, a second version of them, and what they leave on a machine."""

import glob
import os
import re
import tempfile

from machines import PLACE, run

# The directory of the packages; None if none are tested.
DEBS = os.environ.get("LANYARD_DEBS")
NAMES = ("lanyard", "lanyard-demo", "python3-lanyard")
# What apt and dpkg themselves note of a package that came and went.
NOTES = re.compile(
    r"/(var/(lib/(apt|dpkg|systemd/deb-systemd-user-helper-enabled)|cache|log|tmp)|tmp|run|home|packages|older|repository)(/|$)"
    r"|/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|/__pycache__(/|$)|/etc/ld\.so\.cache$")


def package(name):
    (path,) = glob.glob(os.path.join(DEBS, f"{name}_*.deb"))
    return path


def field(path, name):
    return run("dpkg-deb", "--field", path, name).strip()


def own_version(version):
    """The version that the programs of a package tell."""
    return re.match(r"[0-9.]+", version)[0]


def repack(source, target, version):
    """A package with the same programs that call themselves by another version, of the same length."""
    old = field(source, "Version")
    with tempfile.TemporaryDirectory(dir=PLACE) as place:
        run("dpkg-deb", "--raw-extract", source, place)
        with open(f"{place}/DEBIAN/control") as file:
            control = file.read().replace(old, version)
        with open(f"{place}/DEBIAN/control", "w") as file:
            file.write(control)
        for program in glob.glob(f"{place}/usr/bin/lanyard*") + glob.glob(f"{place}/usr/libexec/lanyard/*"):
            with open(program, "rb") as file:
                content = file.read()
            told, new = own_version(old).encode(), own_version(version).encode()
            assert len(told) == len(new)
            content = re.sub(rb"(?<![0-9.])" + re.escape(told) + rb"(?=\0\0\0|\n\0)", new, content)
            with open(program, "wb") as file:
                file.write(content)
        run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", place, target)


def files_besides_notes(machine):
    """The files of a machine, without those that are a person's, of no package, or notes of apt."""
    found = machine.root_does("find / -xdev -path /proc -prune -o -path /dev -prune -o -print")
    return sorted(path for path in found.splitlines() if not NOTES.match(path))
