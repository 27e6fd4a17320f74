#!/usr/bin/env python3
"""What `.ci/map` reads in small modules, and in the house's own manifest."""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("map_of_the_house", os.path.join(os.path.dirname(os.path.abspath(__file__)), "map"))
house = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(house)


class House(unittest.TestCase):
    def sources(self, **texts):
        """Files by their names: `Ring__Module__Folder__Name`."""
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        for name, text in texts.items():
            path = os.path.join(place.name, "Sources", *name.split("__")) + ".swift"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return house.files(place.name)

    def test_an_import_is_an_arrow_whatever_its_access_level(self):
        found = self.sources(
            Ring__A__F="internal import B\npackage import C\nimport Foundation\nimport struct D.Thing\n",
            Ring__B__F="", Ring__C__F="@preconcurrency import B\n", Ring__D__F="// import A\n")
        self.assertEqual(house.imports(found), {"A": {"B", "C", "D"}, "B": set(), "C": {"B"}, "D": set()})
        self.assertEqual(house.order(house.imports(found)), ["B", "D", "C", "A"])

    def test_modules_that_import_each_other_are_a_problem(self):
        found = self.sources(Ring__A__F="import B\n", Ring__B__F="import C\n", Ring__C__F="import A\n", Ring__D__F="import A\n")
        self.assertEqual(house.problems(found), ["these modules form a cycle: A, B, C"])

    def test_a_folder_uses_another_by_the_types_that_it_names(self):
        found = self.sources(
            Ring__A__One__Token="struct Token { var grant: Grant }\n",
            Ring__A__Two__Grant="enum Grant { }  // a Token\nlet text = \"a Token\"\nlet long = \"\"\"\n  Token\n  \"\"\"\n")
        self.assertEqual(house.uses(found, house.declared(found)), {("One", "Two"): {"Grant"}})
        self.assertEqual(house.problems(found), [])

    def test_a_name_that_two_folders_declare_is_no_arrow(self):
        found = self.sources(
            Ring__A__One__X="struct Failure { }\n", Ring__A__Two__X="struct Failure { }\n", Ring__A__Three__X="let it: Failure\n")
        self.assertEqual(house.uses(found, house.declared(found)), {})

    def test_a_name_that_the_file_itself_declares_is_no_arrow(self):
        found = self.sources(
            Ring__A__One__X="struct List { }\n", Ring__A__Two__X="struct Other {\n  struct List { }\n  var it: List\n}\n")
        self.assertEqual(house.uses(found, house.declared(found)), {})

    def test_a_folder_is_another_one_than_that_in_it(self):
        found = self.sources(
            Ring__A__One__X="struct Whole { var part: Part }\n", Ring__A__One__In__X="struct Part { var whole: Whole }\n")
        self.assertEqual(house.uses(found, house.declared(found)), {("One", "One/In"): {"Part"}, ("One/In", "One"): {"Whole"}})
        (problem,) = house.problems(found)
        self.assertIn("these folders of A form a cycle: One, One/In.", problem)

    def test_what_an_extension_adds_is_an_arrow(self):
        found = self.sources(
            Ring__A__One__X="let it = 1.grouped\nlet list = Text.Part()\nText.write()\n",
            Ring__A__Two__X="package extension Int {\n  var grouped: String { \"\" }\n}\n\n"
            "extension Text {\n  struct Part { }\n  @inlinable static func write() {\n    let inside = 1\n  }\n}\n")
        self.assertEqual(house.uses(found, house.declared(found)), {("One", "Two"): {"grouped", "Part", "write"}})

    def test_a_function_or_constant_at_the_top_is_an_arrow(self):
        found = self.sources(
            Ring__A__One__X="let it = written(1)\nlet count = renderers.count\n",
            Ring__A__Two__X="func written(_ it: Int) { }\nvar renderers: [Int] { [] }\n")
        self.assertEqual(house.uses(found, house.declared(found)), {("One", "Two"): {"written", "renderers"}})

    def test_a_member_that_others_declare_or_that_is_private_is_no_arrow(self):
        found = self.sources(
            Ring__A__One__X="let it = 1.first + 1.second + 1.third\n",
            Ring__A__Two__X="extension Int {\n  var first: Int { 1 }\n  private var second: Int { 1 }\n}\n\n"
            "private extension Int {\n  var third: Int { 1 }\n}\n",
            Ring__B__One__X="struct Other {\n  let first: Int\n}\n")
        self.assertEqual(house.uses(found, house.declared(found)), {})

    def test_folders_that_use_each_other_are_a_problem(self):
        found = self.sources(
            Ring__A__One__X="struct First { var next: Second }\n", Ring__A__Two__X="struct Second { var next: First }\n",
            Ring__A__Three__X="struct Third { var next: First }\n", Ring__B__One__X="struct First { }\n")
        (problem,) = house.problems(found)
        self.assertIn("these folders of A form a cycle: One, Two.", problem)

    PACKAGE = """
        func module(_ name: String, in ring: String) -> Target { .target(name: name) }
        let targets = [
          module("A", in: "Ring", ["B", .product(name: "Parser", package: "parser")], release: .small),  // not "C"
          module("B", in: "Ring", ["C"]), module("C", in: "Ring"),
          program("it", [
            "A", "C",
          ], linker: [.unsafeFlags(["Parser"])]),
          tests("ATests", in: "Ring", ["A"], exclude: ["B"]),
          system("D", pkgConfig: "http://d", apt: "d"), shim("E"),
        ]
        """

    def test_the_lists_of_a_manifest(self):
        self.sources(Ring__A__F="")
        with open(os.path.join(self.place, "Package.swift"), "w", encoding="utf-8") as file:
            file.write(self.PACKAGE)
        self.assertEqual(house.lists(self.place), {
            "A": {"B", "Parser", "parser"}, "B": {"C"}, "C": set(), "it": {"A", "C"}, "ATests": {"A"}, "D": set(), "E": set()})

    def test_an_import_that_only_a_module_between_lists_is_a_problem(self):
        found = self.sources(
            Ring__A__F="internal import B\nimport Glibc\n@testable import C\n// import D\n", Ring__B__F="import C\nimport B\n")
        self.assertEqual(
            house.undeclared(found, {"A": {"B"}, "B": {"C"}, "C": set(), "D": set()}),
            ["Sources/Ring/A/F.swift imports C, which Package.swift does not list for A"])

    def test_the_house_imports_what_its_manifest_lists(self):
        lists = house.lists()
        sources = house.files() + house.files(top="Tests")
        self.assertLessEqual({file.module for file in sources}, set(lists))
        self.assertEqual(house.undeclared(sources, lists), [])

    def test_a_block_has_the_lines_of_its_braces(self):
        (file,) = self.sources(
            Ring__A__F="protocol P {\n  func asked()\n  func told() -> Int\n}\n\nextension P {\n  func asked() {\n    if true { }\n  }\n}\n")
        self.assertEqual(
            sorted((block.name, block.lines) for block in house.blocks(file)), [("P", 4), ("P", 5), ("asked", 3)])


if __name__ == "__main__":
    unittest.main()
