"""Paths of requests that servers read in two ways, by all of Unicode."""

import unicodedata
import unittest
import urllib.parse

from agent_fixture import AgentFixture, LanyardError

SEPARATORS = set("/\\;.%?#")


def read_as_separators() -> "list[str]":
    """The characters that a server which normalises a path reads as one of its separators."""
    return [character for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000
            for character in [chr(code)]
            if any(SEPARATORS & set(unicodedata.normalize(form, character)) for form in ("NFC", "NFD", "NFKC", "NFKD"))]


class RequestPaths(AgentFixture):
    def setUp(self) -> None:
        self.agent = self.client(self.scene())

    def is_refused(self, path: str) -> bool:
        """Whether no policy may name the path."""
        rule = {"origin": "https://api.example", "methods": ["GET"], "path": path}
        capabilities = {"read": {"kind": "read", "offlineWindowSeconds": 60, "requests": [rule]}}
        try:
            self.agent.call("policy.validate", {"name": "p", "policy": {"name": "p", "version": 1, "capabilities": capabilities}})
        except LanyardError as error:
            return [problem["pointer"] for problem in error.data["problems"]] == ["/capabilities/read/requests/0/path"]
        return False

    def test_no_character_that_normalises_to_a_separator_is_in_a_path(self) -> None:
        characters = read_as_separators()
        self.assertGreater(len(characters), 40)
        taken = [hex(ord(character)) for character in characters if not self.is_refused("/a" + urllib.parse.quote(character) + "b")]
        self.assertEqual(taken, [])

    def test_letters_of_all_scripts_are_in_paths(self) -> None:
        for word in ("caf\u00e9", "cafe\u0301", "\u65e5\u672c", "\u0434\u043e\u043c", "\u05e9\u05dc", "\u0928\u092e", "a\u2013b"):
            self.assertFalse(self.is_refused("/" + urllib.parse.quote(word)), word)


if __name__ == "__main__":
    unittest.main()
