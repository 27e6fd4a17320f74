"""lock and unlock."""

import json
import os
import threading

from fake_agent import Error
from people import AGENT
from person import Person


class VaultTests(Person):
    def vault(self, **status):
        def unlock(params, _):
            if params.get("passphrase") == "right" or self.fake.answers["agent.status"]["protection"] != "passphrase":
                return {"locked": False}
            raise Error(1008, "unlockFailed", "That is not the passphrase.")

        self.fake = self.agent({
            "agent.status": {**AGENT, "locked": True, "protection": "passphrase", **status},
            "agent.lock": {"locked": True},
            "agent.unlock": unlock,
            "agent.initialize": lambda params, _: {"locked": False, "protection": params["protection"]},
        })
        return self.fake

    def test_lock(self):
        self.vault(locked=False)
        self.assertEqual(self.answer("lock"), "The vault is locked.\n")
        self.assertEqual(json.loads(self.answer("lock", "--json")), {"locked": True})

    def test_unlock_without_a_person(self):
        path = os.path.join(self.place, "passphrase")
        with open(path, "w") as file:
            file.write("right\n")
        os.chmod(path, 0o600)
        self.vault()
        self.assertEqual(self.answer("unlock", "--passphrase-file", path), "The vault is unlocked.\n")
        self.assertEqual(self.answer("unlock", input="right\n"), "The vault is unlocked.\n")
        self.assertIn("not the passphrase", self.refused(8, "unlock", "--passphrase-file", "-", input="wrong"))

    def test_a_private_passphrase_file(self):
        path = os.path.join(self.place, "passphrase")
        with open(path, "w") as file:
            file.write("right\n")
        agent = self.vault()
        for mode in (0o640, 0o604, 0o620):
            os.chmod(path, mode)
            self.assertIn("Others can read", self.refused(2, "unlock", "--pw-file", path))
        self.assertNotIn("agent.unlock", agent.methods())
        os.chmod(path, 0o600)
        self.assertEqual(self.answer("unlock", "--pw-file", path), "The vault is unlocked.\n")
        self.assertEqual(self.answer("unlock", "--pw-file", "-", input="right\n"), "The vault is unlocked.\n")
        with open(path, "w"):
            pass
        self.assertIn("is empty", self.refused(2, "unlock", "--pw-file", path))
        self.refused(2, "unlock", "--pw-file", path + ".gone")

    def test_a_passphrase_command(self):
        agent = self.vault()
        for command in ("echo right", "printf right", "printf 'right\\r\\nsecond line\\n'", "yes right | head -1",
                        "test -n \"$HOME\" && echo right"):
            self.assertEqual(self.answer("unlock", "--pw-cmd", command), "The vault is unlocked.\n", command)
            self.assertEqual(agent.params("agent.unlock"), {"passphrase": "right"}, command)

    def test_a_failing_passphrase_command(self):
        agent = self.vault()
        self.assertIn("ended with 3", self.refused(1, "unlock", "--pw-cmd", "echo right; exit 3"))
        self.assertIn("ended with 137", self.refused(1, "unlock", "--pw-cmd", "kill -9 $$"))
        self.assertIn("ended with 127", self.refused(1, "unlock", "--pw-cmd", "no-such-program-of-mine 2>&-"))
        self.assertIn("printed nothing", self.refused(2, "unlock", "--pw-cmd", "true"))
        self.assertIn("65536", self.refused(2, "unlock", "--pw-cmd", "yes"))
        self.assertNotIn("agent.unlock", agent.methods())
        self.assertIn("not the passphrase", self.refused(8, "unlock", "--pw-cmd", "echo wrong"))
        self.assertEqual(agent.methods().count("agent.unlock"), 1, "it would say the same again")

    def test_a_command_asks_at_the_terminal(self):
        agent = self.vault()
        screen = self.on_terminal(
            "unlock", "--pw-cmd", "printf 'Which? ' >&2; read word; echo $word", answers=[("Which? ", "right\n")])
        self.assertEqual(screen.code, 0)
        self.assertEqual(agent.params("agent.unlock"), {"passphrase": "right"})

    def test_conflicting_options_are_usage(self):
        agent = self.vault()
        self.assertIn("choose one", self.refused(2, "unlock", "--pw-cmd", "echo right", "--pinentry"))
        self.assertIn("choose one", self.refused(2, "unlock", "--pw-cmd", "echo right", "--pw-file", "-"))
        self.assertEqual(agent.methods(), [])

    def test_initialize_with_a_passphrase_command(self):
        agent = self.vault(initialized=False)
        self.assertEqual(self.answer("unlock", "--pw-cmd", "echo new"), "The vault is unlocked.\n")
        self.assertEqual(agent.params("agent.initialize"), {"protection": "passphrase", "passphrase": "new"})

    def test_a_passphrase_beside_another_protection(self):
        agent = self.vault(protection="keyFile")
        agent.answers["agent.unlock"] = {"locked": False}
        self.answer("unlock", "--pw-cmd", "echo right")
        self.assertEqual(agent.params("agent.unlock"), {"passphrase": "right"})

    def test_a_passphrase_for_a_new_vault_under_another_protection_is_refused(self):
        agent = self.vault(initialized=False, protection="secretService")
        self.assertIn("lanyard key add passphrase", self.refused(2, "unlock", "--pw-cmd", "echo new"))
        self.assertEqual(agent.methods(), ["agent.status"])

    def test_a_mistyped_passphrase_is_asked_for_again(self):
        agent = self.vault()
        asked = "(not shown): "
        screen = self.on_terminal("unlock", answers=[(asked, "worng\n"), (asked, "right\n")])
        self.assertEqual(screen.code, 0)
        self.assertIn("The vault is unlocked.", screen.text)
        self.assertNotIn("worng", screen.text)
        self.assertEqual(agent.methods().count("agent.unlock"), 2)

    def test_three_wrong_passphrases_end_the_command(self):
        agent = self.vault()
        agent.answers["agent.unlock"] = lambda *_: (_ for _ in ()).throw(Error(1008, "unlockFailed", "No."))
        screen = self.on_terminal("unlock", answers=[("(not shown): ", wrong + "\n") for wrong in "abc"])
        self.assertEqual((screen.code, agent.methods().count("agent.unlock")), (8, 3))

    def test_a_key_file_needs_no_question(self):
        agent = self.vault(protection="keyFile")
        self.assertEqual(self.answer("unlock"), "The vault is unlocked.\n")
        self.assertEqual(agent.params("agent.unlock"), {})
        agent.answers["agent.status"] = {**AGENT, "locked": False}
        self.answer("unlock")

    def test_pinentry_sends_no_passphrase(self):
        agent = self.vault()
        agent.answers["agent.unlock"] = {"locked": False}
        for way in (["--pinentry"], ["--prompt", "pinentry"]):
            self.answer("unlock", *way)
            self.assertEqual(agent.params("agent.unlock"), {"prompt": "pinentry"})
        self.refused(2, "unlock", "--prompt", "telepathy")

    def test_initialize_asks_twice(self):
        agent = self.vault(initialized=False)
        again = "Once more: "
        screen = self.on_terminal("unlock", answers=[("(not shown): ", "new\n"), (again, "new\n")])
        self.assertEqual(screen.code, 0)
        self.assertEqual(agent.params("agent.initialize"), {"protection": "passphrase", "passphrase": "new"})
        screen = self.on_terminal("unlock", answers=[("(not shown): ", "new\n"), (again, "other\n")])
        self.assertEqual(screen.code, 2)
        self.assertIn("not the same", screen.text)

    def test_ctrl_c_gives_the_echo_back(self):
        self.vault()
        screen = self.on_terminal("unlock", interrupt_after="(not shown): ")
        self.assertEqual(screen.code, 130)

    def test_ctrl_c_ends_it_while_the_agent_works(self):
        agent = self.vault()
        agent.answers["agent.unlock"] = lambda *_: threading.Event().wait(30)
        screen = self.on_terminal("unlock", answers=[("(not shown): ", "right\n\x03")])
        self.assertEqual(screen.code, 130)
