"""The commands that the sources tell a person to type: those in backticks that begin with `lanyard`. The agent's messages are
printed by the commands, too."""

import glob
import os
import re

ALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../Sources")
SOURCES = os.path.join(ALL, "Programs")
PROGRAMS = (
    "CommandSupport", "lanyard", "lanyard-cli", "lanyard-export", "lanyard-mcp", "lanyard-proxy", "lanyard-web", "PageGate")
AGENT = ("../Agent", "../Domain", "lanyard-agent")


def end_of_string(text, index):
    """Where a string of Swift that begins before `index` has ended."""
    while index < len(text) and text[index] != '"':
        if text.startswith("\\(", index):
            index = end_of_interpolation(text, index + 2)
        else:
            index += 2 if text[index] == "\\" else 1
    return index + 1


def end_of_interpolation(text, index):
    depth = 1
    while depth and index < len(text):
        if text[index] == '"':
            index = end_of_string(text, index + 1)
            continue
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        index += 1
    return index


def without_interpolations(text):
    """Swift's `\\(…)` as `…`, also where it holds parentheses and strings."""
    shown, index = "", 0
    while index < len(text):
        if text.startswith("\\(", index):
            shown, index = shown + "…", end_of_interpolation(text, index + 2)
        else:
            shown, index = shown + text[index], index + 1
    return shown


def in_source(text):
    """The commands in the strings of a Swift file. A line that a backslash ends goes on in the next one, and strings that are
    added are one."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*//", line)]
    text = without_interpolations(re.sub(r"\\\n\s*", "", "\n".join(lines)))
    text = re.sub(r'"\s*\+\s*"', "", text)
    return {command.strip() for command in re.findall(r"`(?:env -u \w+ )?(lanyard(?: [^`\n]*)?)`", text)}


def all_hints():
    """Every command of a hint, with the files that have it."""
    found = {}
    for program in PROGRAMS + AGENT:
        for path in sorted(glob.glob(os.path.join(SOURCES, program, "**", "*.swift"), recursive=True)):
            with open(path, encoding="utf-8") as file:
                for hint in in_source(file.read()):
                    found.setdefault(hint, []).append(os.path.relpath(path, SOURCES))
    return found


def data_hints():
    """The commands that the sources put together as texts of their own, without backticks: `"lanyard login …"`."""
    found = set()
    for program in PROGRAMS:
        for path in sorted(glob.glob(os.path.join(SOURCES, program, "**", "*.swift"), recursive=True)):
            if os.path.basename(path) == "CommandWords.swift":
                continue  # the commands of the contract's methods: `command_words`
            with open(path, encoding="utf-8") as file:
                lines = [line for line in file.read().splitlines() if not re.match(r"\s*//", line)]
            text = without_interpolations("\n".join(lines))
            found |= {command.strip() for command in re.findall(r'"(lanyard [a-z][^"\n]*)"', text)}
    return found


def command_words():
    """The commands that take the place of the contract's methods in a message of the agent."""
    with open(os.path.join(SOURCES, "CommandSupport", "CommandWords.swift"), encoding="utf-8") as file:
        return set(re.findall(r': "(lanyard [^"]*)"', file.read()))
