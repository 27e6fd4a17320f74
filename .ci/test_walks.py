#!/usr/bin/env python3
"""What `.ci/walks` reads in names and in sources, and what it says of a page that is no longer so."""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("walks", os.path.join(os.path.dirname(os.path.abspath(__file__)), "walks"))
walks = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(walks)

STORE = "Sources/Agent/AgentStore/VaultActor.swift"


class Walks(unittest.TestCase):
    def named(self, demangled):
        found = walks.symbol(demangled)
        return found and (found.module, found.function)

    def test_a_function_is_named_by_its_module_and_its_types(self):
        self.assertEqual(self.named("static AgentCore.Replay.State.allowed(at: Swift.Int) -> Swift.Bool"), ("AgentCore", "Replay.State.allowed"))
        self.assertEqual(self.named("AgentRecords.withTimeout<A where A: Swift.Sendable>(A) async -> A?"), ("AgentRecords", "withTimeout"))
        self.assertEqual(self.named("AgentStore.VaultActor.(enter in _608DC920778AD8AAF211A14E790FA1EC)(AgentStore.OpenVault) -> ()"), ("AgentStore", "VaultActor.enter"))

    def test_a_function_of_an_extension_is_of_the_extensions_module(self):
        self.assertEqual(self.named("(extension in AgentRecords):AgentStore.VaultActor.receiver(AgentModel.AccountID) -> ()"), ("AgentRecords", "VaultActor.receiver"))

    def test_a_closure_and_a_copy_are_of_their_function(self):
        self.assertEqual(self.named("closure #1 (AgentVault.Vault) throws(AgentVault.VaultFailure) -> Swift.Bool in AgentRecords.ExchangeJournal.load(AgentRecords.AccountProfile) -> ()"), ("AgentRecords", "ExchangeJournal.load"))
        self.assertEqual(self.named("function signature specialization <Arg[0] = Dead> of AgentSessions.ExchangeRunner.run(_: AgentCore.TokenMachine.Attempt, of: isolated AgentSessions.Account) async -> ()"), ("AgentSessions", "ExchangeRunner.run"))

    def test_what_functions_share_and_what_is_none_is_left_out(self):
        for other in ("merged AgentCore.A.b() -> ()", "(2) await resume partial function for AgentCore.A.b() async -> ()",
                      "AgentCore.A.b.getter : Swift.Int", "type metadata accessor for AgentCore.A",
                      "protocol witness for AgentPorts.Store.close() -> () in conformance SQLiteStore.SQLiteStore : AgentPorts.Store in SQLiteStore"):
            self.assertIsNone(self.named(other))

    def sources(self, text):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        path = os.path.join(place.name, STORE)
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return place.name

    def test_the_format_of_the_sources_says_which_type_a_function_is_of(self):
        root = self.sources(
            "public actor VaultActor {\n  struct Part {\n    func inner() {}\n  }\n\n  package static func commit() {}\n}\n\n"
            "extension Vault.Draft {\n  @inlinable func draw() {}\n}\n\nprivate func free() {}\n")
        self.assertEqual({of.function for of in walks.declared(root)}, {"VaultActor.Part.inner", "VaultActor.commit", "Vault.Draft.draw", "free"})

    def test_a_page_says_what_is_there(self):
        root = self.sources("actor VaultActor {\n  func commit() {}\n}\n")
        row = "| `%s` | `VaultActor.commit` |\n"
        self.assertEqual(walks.problems(row % STORE, root), [])
        self.assertEqual(len(walks.problems(row % STORE.replace("Actor", "Opening"), root)), 1)
        self.assertEqual(walks.problems(f"| `{STORE}` | `VaultActor.commit`, `VaultActor.read` |\n", root),
                         [f"docs/walks.md names VaultActor.read of {STORE}, which is gone"])
        self.assertEqual(walks.problems("# Three walks\n", root), ["docs/walks.md has no walk"])

    def test_commits_are_counted_by_walk(self):
        a = walks.Call("A.swift", "A.a")
        text = walks.page([walks.Walk("one", "", [a, None, a, None]), walks.Walk("two", "", [a])])
        self.assertEqual(walks.commits(text), {"one": 2, "two": 0})
        self.assertIn("1 functions in 1 files, 2 commits", text)
        self.assertIn("no commits", text)

    def test_calls_in_one_file_are_one_row_and_a_commit_is_its_own(self):
        a, b = walks.Call("A.swift", "A.a"), walks.Call("A.swift", "A.b")
        self.assertEqual(list(walks.rows([a, b, None, a])), [("A.swift", ["A.a", "A.b"]), ("", []), ("A.swift", ["A.a"])])


if __name__ == "__main__":
    unittest.main()
