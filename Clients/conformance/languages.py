"""The languages that have a client, and the programs that drive them."""

import json
import os
import subprocess
import tempfile

CLIENTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PREPARE_SECONDS = 900
NO_TOOLCHAIN = 77


class Language:
    """A client, or one variant of it, that is ready to be driven."""

    def __init__(self, folder, about, variant, directory, build, profile):
        self.folder = folder
        self.does = frozenset(about["does"]) - frozenset(about.get("lacks", {}).get(variant, ()))
        self.variant = variant
        self.title = f"{about['language']} ({variant})" if variant else about["language"]
        self.directory = directory
        self.build = build
        self.command = [os.path.join(directory, "conformance", "driver")]
        self.environment = {"LANYARD_CLIENT_BUILD": build, "LANYARD_CLIENT_PROFILE": profile}
        if variant:
            self.environment["LANYARD_VARIANT"] = variant


class NoToolchain(Exception):
    """The last line of `prepare` says what is missing."""


class PrepareFailed(Exception):
    """The client was not built; the text is what `prepare` said."""


def folders():
    return sorted(
        name for name in os.listdir(CLIENTS) if os.path.exists(os.path.join(CLIENTS, name, "conformance", "about.json")))


def build_directory(folder, profile):
    """Where a client is built: in `$LANYARD_CLIENTS_BUILD`, else in `.build/clients` of this repository."""
    top = os.environ.get("LANYARD_CLIENTS_BUILD") or os.path.join(os.path.dirname(CLIENTS), ".build", "clients")
    path = os.path.abspath(os.path.join(top, profile, folder))
    os.makedirs(path, exist_ok=True)
    return path


def prepare(folder, directory, build, profile="debug"):
    """Builds the client in `directory`; returns its variants. Raises `NoToolchain` or `PrepareFailed`."""
    with open(os.path.join(directory, "conformance", "about.json"), encoding="utf-8") as file:
        about = json.load(file)
    with tempfile.TemporaryFile() as log:
        status = subprocess.call(
            [os.path.join(directory, "conformance", "prepare")], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "LANYARD_CLIENT_BUILD": build, "LANYARD_CLIENT_PROFILE": profile,
                 "LANYARD_REPOSITORY": os.path.dirname(CLIENTS)},
            timeout=PREPARE_SECONDS)
        log.seek(0)
        said = log.read().decode(errors="replace").strip()
    if status == NO_TOOLCHAIN:
        raise NoToolchain(said.split("\n")[-1])
    if status != 0:
        raise PrepareFailed(said[-4000:] or f"status {status}")
    variants = about.get("variants") or [""]
    return [Language(folder, about, variant, directory, build, profile) for variant in variants]


def prepared(names, say, profile="debug"):
    """The languages that were built, and what is missing for the others."""
    known = folders()
    unknown = set(names) - set(known)
    if unknown:
        raise SystemExit(f"there is no client named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    found, missing = [], {}
    for folder in names or known:
        say(f"{folder}: building …")
        try:
            found += prepare(folder, os.path.join(CLIENTS, folder), build_directory(folder, profile), profile)
        except NoToolchain as error:
            missing[folder] = str(error)
            say(f"{folder}: left out: {error}")
        except PrepareFailed as error:
            raise SystemExit(f"{folder}: the client can't be built:\n{error}") from None
    return found, missing
