"""Plants faults: a conformance run that a broken client passes would be worth nothing."""

import json
import os
import shutil
import tempfile

import judge
import languages


def check(prepared, say):
    """True if the text that each fault replaces stands once in its file: a change of a client takes its faults along."""
    sound = True
    for folder, original, faults in planted(prepared):
        for fault in faults:
            with open(os.path.join(original, fault["file"]), encoding="utf-8") as file:
                count = file.read().count(fault["find"])
            if count != 1:
                sound = False
                say(f"{folder}: {fault['name']}: the text to replace stands {count} times in {fault['file']}")
    return sound


def planted(prepared):
    """The folder, the directory and the faults of each client."""
    for folder in dict.fromkeys(language.folder for language in prepared):
        original = os.path.join(languages.CLIENTS, folder)
        with open(os.path.join(original, "conformance", "faults.json"), encoding="utf-8") as file:
            yield folder, original, json.load(file)


def run(prepared, cases, jobs, say):
    """Plants each fault of each language in a copy of its client. True if each makes a case fail."""
    sound = True
    for folder, original, faults in planted(prepared):
        with tempfile.TemporaryDirectory(prefix="lanyard-faults-") as place:
            # One build directory for all faults, so that only what changed is built anew.
            build = os.path.join(place, "build")
            os.mkdir(build)
            for fault in faults:
                copy = os.path.join(place, folder)
                shutil.copytree(original, copy, symlinks=True, ignore=shutil.ignore_patterns(".build*", "target", "node_modules"))
                try:
                    noticed = noticed_by(folder, copy, build, fault, cases, jobs)
                finally:
                    shutil.rmtree(copy)
                sound = sound and noticed is not None
                say(f"{folder}: {fault['name']}: " + (f"noticed: {noticed}" if noticed else "NOT NOTICED by any case"))
    return sound


def noticed_by(folder, copy, build, fault, cases, jobs):
    """The name of the first case that fails; nothing if all pass."""
    path = os.path.join(copy, fault["file"])
    with open(path, encoding="utf-8") as file:
        source = file.read()
    count = source.count(fault["find"])
    if count != 1:
        raise SystemExit(f"{folder}: {fault['name']}: the text to replace stands {count} times in {fault['file']}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source.replace(fault["find"], fault["replace"]))
    try:
        variants = languages.prepare(folder, copy, build)
    except languages.PrepareFailed as error:
        raise SystemExit(f"{folder}: {fault['name']}: the client with this fault can't be built:\n{error}") from None
    os.environ.setdefault("LANYARD_PATIENCE", "0.3")
    # The cases about what the fault is in come first: most faults are noticed by one of them.
    group = fault["name"].split(":")[0] + ":"
    ordered = sorted(cases, key=lambda case: not case.name.startswith(group))
    for language in variants:
        for case, failure in judge.outcomes(language, ordered, jobs):
            if isinstance(failure, str):
                return case.name
    return None
