#!/usr/bin/env python3
"""What `.ci/guises` says of a file that has not the form of a guise."""

import copy
import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("guises", os.path.join(os.path.dirname(os.path.abspath(__file__)), "guises"))
guises = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(guises)

KNOWN = guises.Names(["keycloak"], ["authorization", "token", "userinfo"], ["deadToken", "rateLimit", "disabledPerson"], ["sub", "scope"])
GOOD = {
    "title": "Acme", "issuer": "/acme", "scopes": ["openid"], "endpoints": {"authorization": "/auth", "token": "/token"},
    "token": {"scope": "{scope:commas}"}, "errors": {"deadToken": {"status": 400, "body": {}}}, "expected": {},
    "sources": [{
        "members": ["issuer", "endpoints", "token", "errors"], "says": "All of it.", "source": "https://acme.example/docs",
        "date": "2026-11-29",
    }],
}


class Form(unittest.TestCase):
    def problems(self, **changes):
        guise = copy.deepcopy(GOOD)
        for member, value in changes.items():
            if value is None:
                del guise[member]
            else:
                guise[member] = value
        return list(guises.problems("acme", guise, KNOWN))

    def test_a_good_file_has_no_problem(self):
        self.assertEqual(self.problems(), [])

    def test_a_member_that_is_missing_unknown_or_of_another_kind(self):
        self.assertEqual(self.problems(title=None), ["`title` is missing"])
        self.assertIn("`colour` is no member of a guise", self.problems(colour="blue"))
        self.assertEqual(self.problems(scopes="openid"), ["`scopes` is of another kind"])

    def test_what_a_file_names_has_to_be_there(self):
        self.assertIn("there is no preset acme", self.problems(preset="acme"))
        self.assertIn("{subject} is no value", self.problems(token={"a": ["{subject}"]}))
        self.assertIn("{sub:upper} has no such shape", self.problems(token={"a": "{sub:upper}"}))
        self.assertEqual(self.problems(configured=["userinfo"]), ["`configured` has userinfo, which is no endpoint of it"])
        self.assertIn("`errors` lacks deadToken", self.problems(errors={"rateLimit": {"status": 429, "body": {}}}))

    def test_a_provider_with_a_preset_has_each_refusal_or_says_that_nothing_is_known(self):
        self.assertEqual(self.problems(preset="keycloak"), [
            "rateLimit is neither in `errors` nor in `undocumented`", "disabledPerson is neither in `errors` nor in `undocumented`"])
        untold = ["rateLimit", "disabledPerson"]
        self.assertEqual(self.problems(preset="keycloak", undocumented=untold), ["`undocumented` has no source"])
        sources = copy.deepcopy(GOOD["sources"])
        sources[0]["members"].append("undocumented")
        self.assertEqual(self.problems(preset="keycloak", undocumented=untold, sources=sources), [])
        self.assertEqual(self.problems(undocumented=["deadToken"], sources=sources), ["deadToken is in `errors` and in `undocumented`"])
        self.assertEqual(self.problems(undocumented=["colour"], sources=sources), ["`undocumented` has colour, which is no refusal"])

    def test_braces_around_no_word_are_the_servers_own(self):
        self.assertEqual(self.problems(token={"uuid": "{5B1A-{sub}}"}), [])

    def test_each_member_has_a_source_with_a_day(self):
        self.assertEqual(self.problems(refresh={}), ["`refresh` has no source"])
        undated = copy.deepcopy(GOOD["sources"])
        undated[0]["date"] = "today"
        self.assertEqual(self.problems(sources=undated), ["https://acme.example/docs is no address, or today no date"])

    def test_what_is_compiled_in_has_neither_sources_nor_what_is_expected(self):
        told = guises.swift({"acme": GOOD})
        self.assertIn('"title": "Acme"', told)
        self.assertNotIn("acme.example", told)
        self.assertNotIn("expected", told)


if __name__ == "__main__":
    unittest.main()
