"""Aliases, e-mail addresses and names: `rename`, proposals, and whom a word means."""

import json
import os
import unittest

from fake_agent import Error
from people import HOME, WORK, accounts, resolving
from person import Person
from test_login import SignIns

MAIL, NAME = WORK["email"], WORK["displayName"]


class SelectorTests(Person):
    def test_an_email_address_or_a_name_means_its_account(self):
        agent = self.agent(resolving(WORK, HOME))
        for word in (MAIL, NAME):
            self.answer("token", word)
            self.assertEqual(agent.params("token.get")["account"], WORK["id"])
            self.assertEqual(json.loads(self.answer("status", "-u", word, "--json"))["account"]["id"], WORK["id"])
            self.answer("switch", word)
            self.assertEqual(agent.params("account.switch"), {"account": WORK["id"]})
        self.answer("logout", MAIL)
        self.assertEqual(agent.params("account.signOut")["account"], WORK["id"])

    def test_a_damaged_account_keeps_no_other_from_being_named(self):
        answers = resolving(WORK)
        for method in ("account.get", "account.signOut", "token.get"):
            def found(params, context, known=answers[method]):
                if params["account"] not in (WORK["id"], WORK["alias"]):
                    raise Error(5002, "integrity")
                return known(params, context)
            answers[method] = found
        self.agent(answers)
        for word in (MAIL, NAME):
            self.answer("token", word)
            self.assertEqual(json.loads(self.answer("account", "show", word, "--json"))["account"], WORK["id"])
        self.answer("logout", MAIL, "--json")
        # A word that nobody has may be the damaged account's.
        self.assertIn("integrity", self.refused(1, "account", "show", "nobody", "--json"))

    def test_one_of_several_accounts_is_not_chosen(self):
        agent = self.agent(resolving(WORK, {**HOME, "email": MAIL}))
        for words in (["token", MAIL], ["logout", MAIL, "--yes"], ["forget", MAIL, "--yes"]):
            told = self.refused(1, *words)
            self.assertIn(f"work: {NAME} <{MAIL}> at idp", told)
            self.assertIn(f"home: <{MAIL}> at idp", told)
        self.assertNotIn("account.signOut", agent.methods())

    def test_of_several_accounts_for_a_url_one_advice_is_given(self):
        agent = self.agent(accounts(WORK, HOME))
        agent.answers["account.resolve"] = Error(
            2002, "accountAmbiguous", "Several accounts match. Name one of the candidates by its id.",
            candidates=[WORK["id"], HOME["id"]])
        told = self.refused(1, "resolve", "https://api.example/orders").splitlines()
        self.assertEqual(told[0], "lanyard: Several accounts match.")
        self.assertEqual([line.partition(":")[0].strip() for line in told[1:3]], ["work", "home"])
        self.assertEqual(told[3:], ["  Name one by the word before the colon."])

    def test_a_name_counts_on_the_command_line_only(self):
        self.agent(resolving(WORK))
        told = self.refused(1, "token", environment={"LANYARD_ACCOUNT": MAIL})
        self.assertIn(f"LANYARD_ACCOUNT names an account by its e-mail address, {MAIL}.", told)
        self.assertIn("Name it there by its alias or its id", told)
        self.assertNotIn("Did you mean", told)
        with open(os.path.join(self.work, ".lanyard"), "w") as file:
            file.write(f"{MAIL}\n")
        self.lanyard("trust")
        self.assertIn(".lanyard names an account by its e-mail address", self.refused(1, "token"))
        # What is only near an alias is still proposed.
        self.assertIn("Did you mean work?", self.refused(1, "token", environment={"LANYARD_ACCOUNT": "wrok"}))


class RenameTests(Person):
    def test_rename(self):
        agent = self.agent(resolving(WORK, HOME))
        self.assertEqual(self.answer("rename", "work", "acme"), "Renamed: work is acme now.\n")
        self.assertEqual(agent.params("account.rename"), {"account": WORK["id"], "alias": "acme"})
        self.assertEqual(json.loads(self.answer("rename", MAIL, "mail", "--json"))["alias"], "mail")
        self.refused(2, "rename", "work")
        self.refused(1, "rename", "nobody", "new")

    def test_a_taken_alias_names_its_account(self):
        self.agent(resolving(WORK, HOME))
        told = self.refused(1, "rename", "home", "work")
        self.assertIn(f"The alias work belongs to another account: {NAME} <{MAIL}> at idp.", told)
        self.assertIn("`lanyard rename work NEW`", told)
        self.assertNotIn("candidates", told)


class LoginAliasTests(SignIns):
    def test_a_taken_alias_names_its_account(self):
        self.sign_ins(WORK, begun=Error(2002, "accountAmbiguous", "Name one of the candidates by its id."))
        told = self.refused(1, "login", "idp", "--alias", "work")
        self.assertIn("The alias work belongs to another account", told)

    def test_a_rename_by_login_is_told(self):
        agent = self.sign_ins(WORK)
        known = agent.answers["account.get"]
        agent.answers["account.get"] = lambda params, _: {**known(params), "alias": "new"}
        self.assertIn("Renamed: work is new now.", self.lanyard("login", "idp", "--alias", "new").stdout)

    def test_an_alias_is_proposed(self):
        def proposed(*people):
            agent = self.sign_ins(*people)
            screen = self.on_terminal("login", "idp", "--no-browser", size=(24, 200))
            self.assertEqual(screen.code, 0, screen.text)
            agent.close()
            return screen.text.rpartition("lanyard rename ")[2].rpartition("`")[0]

        nameless = {name: value for name, value in WORK.items() if name != "alias"}
        self.assertEqual(proposed(nameless), f"{WORK['id']} acme")
        self.assertEqual(proposed({**nameless, "tenant": "f8cdef31-a31e-4b4a-93e4-5f571e91255a"}), f"{WORK['id']} alice")
        self.assertEqual(proposed(nameless, {**HOME, "alias": "acme"}), f"{WORK['id']} alice")
        self.assertEqual(proposed(nameless, {**HOME, "alias": "acme"}, {**HOME, "id": "acc_x", "alias": "alice"}),
                         f"{WORK['id']} acme-alice")
        self.assertEqual(proposed(WORK), "")
        self.assertEqual(proposed({**nameless, "tenant": "…", "email": "@"}), f"{WORK['id']} NEW")

    def signs_in(self, renamed, *others):
        """A sign-in that brings a new account; what the account is called then, and the note."""
        account = {name: value for name, value in WORK.items() if name != "alias"}
        agent = self.sign_ins(account, *others)
        everyone = [*others]
        agent.answers["account.list"] = lambda *_: {"accounts": list(everyone)}

        def rename(params, _):
            if not renamed:
                raise Error(2002, "accountAmbiguous")
            account["alias"] = params["alias"]
            return account

        agent.answers["account.rename"] = rename
        agent.answers["account.get"] = lambda *_: account
        screen = self.on_terminal("login", "idp", "--no-browser", size=(24, 200))
        self.assertEqual(screen.code, 0, screen.text)
        agent.close()
        return account.get("alias"), screen.text.rpartition("lanyard rename ")[2].rpartition("`")[0]

    def test_a_new_account_is_called_after_its_provider(self):
        self.assertEqual(self.signs_in(True), ("idp", "idp acme"))
        self.assertEqual(self.signs_in(True, {**HOME, "alias": "idp"}), ("idp-2", "idp-2 acme"))
        # The name was taken at that moment.
        self.assertEqual(self.signs_in(False), (None, f"{WORK['id']} acme"))

    def test_an_account_that_was_there_keeps_what_it_is_called(self):
        agent = self.sign_ins({name: value for name, value in WORK.items() if name != "alias"})
        self.assertEqual(self.lanyard("login", "--account", WORK["id"], "--no-browser").returncode, 0)
        self.assertNotIn("account.rename", agent.methods())


if __name__ == "__main__":
    unittest.main()
