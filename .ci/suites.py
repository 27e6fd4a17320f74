#!/usr/bin/env python3
"""Which suites run in their whole form for a range of commits: .ci/suites.py [BASE]

The suites of `SUITES` have two forms. The quick one shows every promise and each tool once, and runs for every change.
The whole one runs when the range touches a file of the suite, and in `make nightly`. So a test that is not in the quick
form is left out only where its subject did not change.

The range goes from a base to the working tree. The base is, in this order:

- BASE, or `LANYARD_BASE`: what was there before a push, or the branch that a change is for;
- where HEAD left `origin/main`, for a branch;
- the newest commit that is a day older than HEAD, where HEAD is in `origin/main` or there is none: what landed together
  with it counts, too.

Where git knows no base, every suite is whole. `LANYARD_TIER=whole` and `LANYARD_TIER=quick` choose for all.

It prints a line for each suite. With `--check` it checks the table instead. Problems are a suite without globs, a glob that
matches no file, a suite that is no target of the Makefile, and a test with a quick form that is in no suite.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QUICK, WHOLE = "quick", "whole"
LANDED_TOGETHER_SECONDS = 24 * 3600

# What all tests of running programs share: `**` is any number of folders, `*` a part of one name.
PROGRAM_TESTS = (
    ".ci/unittests",
    "Tests/Bench/anchors.py",
    "Tests/Bench/harness.py",
    "Tests/Programs/Integration/agent_fixture.py",
    "Tests/Programs/forms.py",
)
# What a program stands on whose requests stream.
STREAMING_HTTP = (
    "Sources/Adapters/CurlTransfers/**",
    "Sources/Adapters/FileRules/**",
    "Sources/Adapters/StreamingHTTP/**",
    "Sources/Adapters/Threads/**",
    "Sources/Adapters/WatchedFiles/**",
    "Sources/Foreign/CCurl/**",
)
# What all clients speak, and what judges them.
CLIENT_TESTS = (
    "Clients/conformance/**",
    "Schemas/**",
    "Sources/Protocol/SchemaKit/**",
    "Tests/Bench/anchors.py",
    "Tests/Bench/harness.py",
)

# By the target of the Makefile; of `test-clients` by the folder of the language, too.
SUITES: Dict[str, Tuple[str, ...]] = {
    "test-desktop": (
        *PROGRAM_TESTS,
        "Sources/Agent/AgentSessions/Accounts/*IDToken*.swift",
        "Sources/Agent/AgentSessions/Accounts/*Identity*.swift",
        "Sources/Agent/AgentRecords/Rules/**",
        "Sources/Agent/AgentServing/Handlers/TokenHandlers.swift",
        "Sources/Domain/AgentCore/Rules/**",
        "Sources/Foreign/CQuickToken/**",
        "Sources/Programs/CommandSupport/**",
        "Sources/Programs/UsageWords/**",
        "Sources/Programs/lanyard-cli/Commands/Credential/**",
        "Sources/Programs/lanyard-cli/Commands/Token.swift",
        "Sources/Programs/lanyard/**",
        "Tests/Programs/CLITests/machine_server.py",
        "Tests/Programs/Desktop/**",
        "Tests/Programs/Integration/test_credentials.py",
    ),
    "test-fleet": (
        *PROGRAM_TESTS,
        *STREAMING_HTTP,
        ".packaging/systemd/lanyard-export*",
        "Sources/Adapters/SystemAdapters/AdministratorDirectory.swift",
        "Sources/Adapters/SystemAdapters/SecureDirectory.swift",
        "Sources/Agent/AgentUpkeep/Administrator/**",
        "Sources/Agent/AgentPermissions/Audit/**",
        "Sources/Agent/AgentRecords/Audit/**",
        "Sources/Agent/AgentSessions/Environment/**",
        "Sources/Agent/AgentPermissions/Policies/**",
        "Sources/Agent/AgentDecisions/PolicySource/**",
        "Sources/Agent/AgentServing/Administrator/**",
        "Sources/Agent/AgentServing/Handlers/AuditHandlers.swift",
        "Sources/Agent/AgentServing/Handlers/MetricsHandlers.swift",
        "Sources/Agent/AgentServing/Handlers/PolicyHandlers.swift",
        "Sources/Domain/AgentCore/Audit/**",
        "Sources/Domain/AgentCore/Configuration/**",
        "Sources/Domain/AgentCore/Figures/**",
        "Sources/Domain/AgentCore/PolicySource/**",
        "Sources/Programs/AuditExport/**",
        "Sources/Programs/CommandSupport/**",
        "Sources/Programs/UsageWords/**",
        "Sources/Programs/MetricsExposition/**",
        "Sources/Programs/lanyard-agent/**",
        "Sources/Programs/lanyard-cli/Commands/Audit/**",
        "Sources/Programs/lanyard-cli/Commands/Metrics/**",
        "Sources/Programs/lanyard-cli/Commands/Policy/**",
        "Sources/Programs/lanyard-export/**",
        "Tests/Programs/Fleet/**",
        "docs/examples/**",
    ),
    "test-mcp": (
        *PROGRAM_TESTS,
        *STREAMING_HTTP,
        "Sources/Adapters/DirectoryFiles/**",
        "Sources/Agent/AgentOAuth/DPoP/**",
        "Sources/Agent/AgentOAuth/ProviderClient/ProofIssuer.swift",
        "Sources/Agent/AgentOAuth/ProviderClient/ProviderClient+Proofs.swift",
        "Sources/Programs/CommandSupport/**",
        "Sources/Programs/UsageWords/**",
        "Sources/Programs/MCPBridge/**",
        "Sources/Programs/lanyard-cli/Commands/MCPCommand.swift",
        "Sources/Programs/lanyard-mcp/**",
        "Tests/Programs/MCP/**",
    ),
    "test-proxy": (
        *PROGRAM_TESTS,
        *STREAMING_HTTP,
        "Sources/Adapters/LoopbackHTTP/**",
        "Sources/Adapters/TLSServing/**",
        "Sources/Agent/AgentDecisions/Requests/**",
        "Sources/Agent/AgentPermissions/Approvals/**",
        "Sources/Agent/AgentServing/Handlers/ApprovalHandlers.swift",
        "Sources/Agent/AgentServing/Handlers/RequestHandlers.swift",
        "Sources/Domain/AgentCore/Approvals/**",
        "Sources/Domain/AgentCore/Requests/**",
        "Sources/Domain/ProxyCore/**",
        "Sources/Foreign/CConfinement/**",
        "Sources/Foreign/CTLSServer/**",
        "Sources/Programs/CommandSupport/**",
        "Sources/Programs/UsageWords/**",
        "Sources/Programs/lanyard-cli/Commands/Exec/**",
        "Sources/Programs/lanyard-cli/Commands/Proxy/**",
        "Sources/Programs/lanyard-cli/Commands/Sandbox/**",
        "Sources/Programs/lanyard-proxy/**",
        "Tests/Programs/Desktop/desktop_fixture.py",
        "Tests/Programs/Desktop/requirements-agents.txt",
        "Tests/Programs/Desktop/services.py",
        "Tests/Programs/Proxy/**",
    ),
    "test-web": (
        *PROGRAM_TESTS,
        "Sources/Adapters/LoopbackHTTP/**",
        "Sources/Adapters/SystemAdapters/Confinement.swift",
        "Sources/Adapters/SystemAdapters/ProcessHardening.swift",
        "Sources/Adapters/Threads/**",
        "Sources/Adapters/WatchedFiles/**",
        "Sources/Foreign/CConfinement/**",
        "Sources/Programs/CommandSupport/**",
        "Sources/Programs/UsageWords/**",
        "Sources/Programs/PageGate/**",
        "Sources/Programs/WebPages/**",
        "Sources/Programs/lanyard-cli/Commands/UI/**",
        "Sources/Programs/lanyard-web/**",
        "Tests/Programs/Web/**",
    ),
    "test-site": (
        ".packaging/site/**",
        "*.md",
        "Clients/*/README.md",
        "Schemas/generated/**",
        "Sources/Programs/lanyard-cli/Commands/Man.swift",
        "Sources/Programs/lanyard-cli/Commands/Manual/**",
        "Tests/Programs/Site/**",
        "Tests/Programs/forms.py",
        "docs/**",
    ),
    "test-clients/go": (*CLIENT_TESTS, "Clients/go/**"),
    "test-clients/python": (*CLIENT_TESTS, "Clients/python/**"),
    "test-clients/rust": (*CLIENT_TESTS, "Clients/rust/**"),
    "test-clients/shell": (*CLIENT_TESTS, "Clients/shell/**", "Sources/Programs/lanyard-cli/Commands/RPC.swift"),
    "test-clients/swift": (*CLIENT_TESTS, "Clients/swift/**", "Sources/Protocol/**"),
    "test-clients/typescript": (*CLIENT_TESTS, "Clients/typescript/**"),
}

# The clients that always meet the real agent: they need no build. What all of them speak touches them all.
QUICK_LANGUAGES = ("python", "shell")


class Choice(NamedTuple):
    """The form of each suite, and why."""

    forms: Dict[str, str]
    because: str


def pattern(glob: str) -> "re.Pattern[str]":
    parts = [".*" if part == "**" else "[^/]*" if part == "*" else re.escape(part) for part in re.split(r"(\*\*|\*)", glob)]
    return re.compile("".join(parts) + r"\Z")


def touched(changed: Iterable[str], suites: Mapping[str, Tuple[str, ...]] = SUITES) -> Set[str]:
    """The suites of which one of these files is part."""
    paths = list(changed)
    return {name for name, globs in suites.items() if any(pattern(glob).match(path) for glob in globs for path in paths)}


def problems(
    files: Iterable[str], suites: Mapping[str, Tuple[str, ...]], targets: Iterable[str], quick: Iterable[str],
) -> List[str]:
    """What is wrong with the table, for a repository of these files and targets, with these tests in a quick form."""
    paths, known = list(files), set(targets)
    found = [f"the Makefile has no target {name}" for name in sorted({name.split("/")[0] for name in suites} - known)]
    for name, globs in sorted(suites.items()):
        found += [f"the suite {name}: no file matches {glob}" for glob in globs if not any(map(pattern(glob).match, paths))]
    found += [f"the suite {name} has no sources" for name, globs in sorted(suites.items()) if not globs]
    return found + [f"{path} has a quick form and is in no suite" for path in sorted(quick) if not touched([path], suites)]


def targets(makefile: str) -> Set[str]:
    """The targets of a Makefile, of its text."""
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.M))


def in_quick_form(files: Iterable[str], root: str = ROOT) -> List[str]:
    """The tests with a class that names its quick tests."""
    def marks(path: str) -> bool:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return re.search(r"^@in_quick_form\(", file.read(), re.M) is not None

    return [path for path in files if re.search(r"(^|/)test_\w+\.py$", path) and marks(path)]


def check(root: str = ROOT) -> Optional[List[str]]:
    """What is wrong with the table of this repository; nothing if git does not list its files."""
    listed = git("ls-files", "-z", root=root)
    if listed is None:
        return None
    files = [path for path in listed.split("\0") if os.path.exists(os.path.join(root, path))]
    with open(os.path.join(root, "Makefile"), encoding="utf-8") as makefile:
        return problems(files, SUITES, targets(makefile.read()), in_quick_form(files, root))


def git(*words: str, root: str = ROOT) -> Optional[str]:
    """What a command of git prints; nothing if it fails."""
    try:
        ran = subprocess.run(["git", *words], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None


def base_of_range(named: Optional[str] = None, root: str = ROOT) -> Optional[str]:
    """The commit before the first of the range; nothing if git does not know it."""
    if named:
        # A branch may have gone on since: what counts is where HEAD left it.
        return git("merge-base", named, "HEAD", root=root)
    head = git("rev-parse", "HEAD", root=root)
    left = git("merge-base", "origin/main", "HEAD", root=root)
    if left and left != head:
        return left
    committed = git("log", "-1", "--format=%ct", root=root)
    if not committed:
        return None
    return git("rev-list", "-1", f"--before={int(committed) - LANDED_TOGETHER_SECONDS}", "HEAD", root=root) or None


def changed_since(base: str, root: str = ROOT) -> Optional[List[str]]:
    """The files that differ between a commit and the working tree, with those that git does not know yet."""
    # Without renames: the old place of a file counts as well.
    changed = git("diff", "--name-only", "--no-renames", "-z", base, "--", root=root)
    new = git("ls-files", "--others", "--exclude-standard", "-z", root=root)
    if changed is None or new is None:
        return None
    return [path for path in (changed + "\0" + new).split("\0") if path]


def choose(environment: Mapping[str, str] = os.environ, named: Optional[str] = None, root: str = ROOT) -> Choice:
    tier = environment.get("LANYARD_TIER")
    if tier in (QUICK, WHOLE):
        return Choice({name: tier for name in SUITES}, f"LANYARD_TIER={tier}")
    if tier:
        raise SystemExit(f"LANYARD_TIER is {QUICK} or {WHOLE}, not {tier}")
    base = base_of_range(named or environment.get("LANYARD_BASE"), root)
    changed = changed_since(base, root) if base else None
    if base is None or changed is None:
        return Choice({name: WHOLE for name in SUITES}, "git knows no commit before the range")
    whole = touched(changed)
    return Choice(
        {name: WHOLE if name in whole else QUICK for name in SUITES}, f"{len(changed)} files differ from {base[:12]}")


def languages(forms: Mapping[str, str]) -> List[str]:
    """The words of `Clients/conformance/run` for the forms of the clients."""
    whole = sorted(name.split("/")[1] for name, form in forms.items() if "/" in name and form == WHOLE)
    return whole + [f"--only-agent={name}" for name in QUICK_LANGUAGES if name not in whole]


def main() -> int:
    words = sys.argv[1:]
    if words == ["--check"]:
        found = check()
        if found is None:
            print("suites: git does not list the files here", file=sys.stderr)
            return 1
        print("".join(f".ci/suites.py: {problem}\n" for problem in found), end="")
        return 1 if found else 0
    if len(words) > 1 or words[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0 if words[:1] in (["-h"], ["--help"]) else 2
    choice = choose(named=words[0] if words else None)
    print(choice.because)
    for name, form in choice.forms.items():
        print(f"{form:6} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
