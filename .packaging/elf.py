"""What a program needs from outside, which Debian package has it, and how it finds a library that comes with it."""

import os
import re
import shutil
import subprocess

LINUX_ARCHITECTURES = {"i386:x86-64": "x86_64", "aarch64": "aarch64"}
# What every system with glibc has (PEP 600), and so no wheel brings.
BASE_LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# Versions that are a feature of glibc's linker and not a set of symbols, and the glibc that first had them.
LINKER_FEATURES = {"GLIBC_ABI_DT_RELR": (2, 36)}


class Program:
    """An ELF file, by what `objdump` tells of it."""

    def __init__(self, path):
        self.path = path
        told = objdump("--private-headers", path)
        architecture = re.search(r"architecture: ([^,]+),", objdump("--file-headers", path))[1]
        if architecture not in LINUX_ARCHITECTURES:
            raise SystemExit(f"packaging: {path} is for {architecture}; packages are made for x86_64 and aarch64.")
        self.architecture = LINUX_ARCHITECTURES[architecture]
        self.needed = re.findall(r"^  NEEDED +(\S+)", told, re.MULTILINE)
        # "0x09691a75 0x00 05 GLIBC_2.2.5", below "required from libc.so.6:"
        self.versions = set(re.findall(r"^ +0x[0-9a-f]+ 0x[0-9a-f]+ [0-9]+ (GLIBC_\S+)", told, re.MULTILINE))

    @property
    def glibc(self):
        """The first glibc, as (2, 36), that has all symbols that the program names; (2, 5) if it names none."""
        return max([(2, 5)] + [self.parsed(version) for version in self.versions])

    def parsed(self, version):
        if version in LINKER_FEATURES:
            return LINKER_FEATURES[version]
        numbers = re.fullmatch(r"GLIBC_([0-9]+)\.([0-9]+)(?:\.[0-9]+)?", version)
        if not numbers:
            raise SystemExit(f"packaging: {self.path} needs {version}, of which no release of glibc is known here.")
        return int(numbers[1]), int(numbers[2])

    def look_for_libraries_in(self, *directories):
        """Writes into the file where the dynamic linker looks for its libraries, as paths from the file's own directory.

        As DT_RUNPATH, which holds for this file alone: a library of the system that the program opens later finds its
        own libraries where the system keeps them.
        """
        places = [f"$ORIGIN/{os.path.relpath(directory, os.path.dirname(self.path))}" for directory in directories]
        subprocess.run(["patchelf", "--set-rpath", ":".join(places), self.path], check=True)


def system_library(name):
    """The file of a library as the dynamic linker of this machine finds it."""
    environment = {"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
    listed = subprocess.run(["ldconfig", "-p"], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    found = re.search(rf"^\t{re.escape(name)} .* => (\S+)$", listed, re.MULTILINE)
    if not found:
        raise SystemExit(f"packaging: {name} is not on this machine.")
    return os.path.realpath(found[1])


def bring(name, place, beside):
    """Copies a library of this machine into a directory, where it finds what it needs of `beside`, by their names. Returns
    it."""
    path = os.path.join(place, name)
    os.makedirs(place, exist_ok=True)
    shutil.copyfile(system_library(name), path)
    library = Program(path)
    needs = set(library.needed) - BASE_LIBRARIES
    if strange := needs - set(beside):
        raise SystemExit(f"packaging: {name} needs {', '.join(sorted(strange))}, which does not come beside it.")
    if needs:
        library.look_for_libraries_in(place)
    return library


def closure(programs, late=()):
    """The system's libraries that programs load at their start, and those of `late`, which they open later, with all that
    these need: the path of each by its name."""
    found, open_names = {}, sorted({name for path in programs for name in Program(path).needed} | set(late))
    while open_names:
        name = open_names.pop()
        if name not in found:
            found[name] = system_library(name)
            open_names += Program(found[name]).needed
    return found


def package_of(path):
    """The Debian package that has a file, as its fields: Package, Version, Architecture, Source and so on.

    A package that was built before directories were merged knows its file below /lib.
    """
    for place in (path, path.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "--search", place], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if done.returncode == 0:
            return package(done.stdout.split(": ")[0].split(",")[0])
    raise SystemExit(f"packaging: no Debian package has {path}, so its version is not known.")


def package(name):
    """The fields of an installed Debian package."""
    told = subprocess.run(["dpkg-query", "--status", name], check=True, stdout=subprocess.PIPE, text=True).stdout
    fields = dict(re.findall(r"^(Package|Source|Version|Architecture|Maintainer|Section|Homepage|Multi-Arch): (.*)$", told, re.M))
    return {**fields, "Source": fields.get("Source", fields["Package"])}


def objdump(*words):
    return subprocess.run(
        ["objdump", *words], check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
