"""The licenses of what comes along, by the copyright files of the Debian packages of this machine."""

import os
import re

COMMON = "/usr/share/common-licenses"
OWN = ".packaging/debian/copyright"


def copyright_of(package):
    return read(f"/usr/share/doc/{package}/copyright")


def common(texts):
    """The licenses that these texts name without quoting them, since Debian has them once for all packages: text by name."""
    named = {name for text in texts for name in re.findall(rf"{COMMON}/([A-Za-z0-9.+-]*[A-Za-z0-9+])", text)}
    return {name: read(f"{COMMON}/{name}") for name in sorted(named)}


def names(package):
    """The licenses of a package, by the fields of its copyright file. Of one without fields only a reader learns them."""
    text = copyright_of(package)
    found = {name.strip() for name in re.findall(r"^License:[ \t]*(\S.*)$", text, re.M)}
    return sorted(found) or [f"see the copyright file of {package}, which also names {', '.join(common([text])) or 'no other'}"]


def read(path):
    if not os.path.exists(path):
        raise SystemExit(f"packaging: {path} is missing, and what comes along may not go out without its license.")
    with open(path, encoding="utf-8") as file:
        return file.read()
