"""Each hint of the command line is a command that a test runs, as it was printed, and that then does what it says.

`WAYS` has every command of a hint in the sources, the agent's too, and what runs it. A hint without an entry fails.
"""

import http.server
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import hints
from fake_agent import Error
from people import WORK, accounts
from person import BINARIES, PATIENCE_SECONDS, Person
from test_operations import ENTRY
from test_real import MISSING, RealProvider

# What runs a hint: a test of this file, `module.test` elsewhere, or `SHOWN` with what it shows; `NAME`: the text only
# names a command.
SHOWN, NAME = "shown", "name"
WAYS = {
    # Shown in `ShownTests`, in a world with two accounts.
    "lanyard approvals": (SHOWN, [], "Nothing waits for your yes"),
    "lanyard doctor": (SHOWN, [], "is sound"),
    "lanyard doctor --online": (SHOWN, [], "idp"),
    "lanyard export --status": (SHOWN, [], "destination"),
    "lanyard grant list": (SHOWN, [], "No program has a grant"),
    "lanyard help environment": (SHOWN, [], "LANYARD_SOCKET"),
    "lanyard help exit-codes": (SHOWN, [], "130"),
    "lanyard help export": (SHOWN, [], "USAGE: lanyard export"),
    "lanyard help grant create": (SHOWN, [], "--agent"),
    "lanyard help json": (SHOWN, [], "lanyard token"),
    "lanyard help mcp": (SHOWN, [], "USAGE: lanyard mcp"),
    "lanyard help provider add": (SHOWN, [], "--client-secret-file"),
    "lanyard help provider update": (SHOWN, [], "--client-secret-file"),
    "lanyard help proxy": (SHOWN, [], "USAGE: lanyard proxy"),
    "lanyard help ui": (SHOWN, [], "USAGE: lanyard ui"),
    "lanyard key list": (SHOWN, [], "key file"),
    "lanyard list": (SHOWN, [], "work"),
    "lanyard man COMMAND": (SHOWN, ["token"], ".TH LANYARD-TOKEN"),
    "lanyard operations": (SHOWN, [], "No operation is queued"),
    "lanyard provider list": (SHOWN, [], "idp"),
    "lanyard provider presets": (SHOWN, [], "--preset google"),
    "lanyard provider presets …": (SHOWN, ["stripe"], "refunds.create"),
    "lanyard provider presets PROVIDER": (SHOWN, ["stripe"], "refunds.create"),
    "lanyard provider show …": (SHOWN, ["idp"], "callback"),
    "lanyard provider test …": (SHOWN, ["idp"], "All is well"),
    "lanyard revocations": (SHOWN, [], "No revocation waits"),
    "lanyard rpc rpc.discover": (SHOWN, [], "token.get"),
    "lanyard rule list": (SHOWN, [], "There is no rule"),
    "lanyard status": (SHOWN, [], "Network"),
    "lanyard token …": (SHOWN, ["work"], "."),
    "lanyard token": (SHOWN, [], "."),
    "lanyard token…": "test_mistakes.test_the_token_that_is_there_is_printed_by_the_command",
    "lanyard demo --help": (SHOWN, [], "lanyard-demo"),
    # Names of commands.
    "lanyard audit": NAME, "lanyard grant create … --to FILE": NAME, "lanyard notify": NAME,
    "lanyard account set": NAME, "lanyard can": NAME, "lanyard events --exec": NAME, "lanyard exec": NAME,
    "lanyard mcp": NAME, "lanyard proxy": NAME, "lanyard restore": NAME, "lanyard rule": NAME, "lanyard setup": NAME,
    "lanyard setup …": NAME, "lanyard forget": NAME, "lanyard logout": NAME, "lanyard rename": NAME, "lanyard credential headers https://mcp.acme.example/mcp": NAME,
    # Tests of this file.
    "lanyard login": "test_without_an_account_login_is_advised_and_adds_one",
    "lanyard demo": "test_without_a_provider_a_key_is_taken_or_a_demo_runs",
    "lanyard login openai": "test_without_a_provider_a_key_is_taken_or_a_demo_runs",
    "lanyard login …": "test_a_login_at_a_provider_that_is_down_ends_at_once_and_later_works",
    "lanyard login ……": "test_a_provider_that_was_added_is_signed_in_at",
    "lanyard login --account …": "test_an_ended_session_is_signed_in_again",
    "lanyard login…": "test_an_ended_session_is_signed_in_again",
    "lanyard login… --paste": "test_an_unreachable_browser_is_answered_by_paste",
    "lanyard logout …": "test_an_account_that_is_signed_in_is_signed_out_before_it_is_forgotten",
    "lanyard logout ……": "test_a_locked_vault_is_unlocked_and_then_signed_out_of",
    "lanyard logout…": "test_logout.test_a_program_that_names_no_account_is_told_the_whole_command",
    "lanyard logout --all…": "test_a_locked_vault_is_unlocked_and_then_signed_out_of",
    "lanyard unlock": "test_a_locked_vault_is_unlocked_and_then_signed_out_of",
    "lanyard forget …": "test_an_erased_account_is_forgotten_by_its_id",
    "lanyard switch …": "test_the_account_that_switch_is_advised_for_becomes_active",
    "lanyard …": "test_status_without_an_active_account_advises_what_there_is_to_do",
    "lanyard rename … NEW": "test_a_taken_alias_is_freed_by_the_command",
    "lanyard rename … …": "test_the_name_that_is_proposed_is_given_by_the_command",
    "lanyard revocations send": "test_a_revocation_that_is_not_done_says_so_and_is_sent_later",
    "lanyard service install": "test_service.test_a_unit_of_the_person_s_own_stays",
    "lanyard stop": "test_an_agent_that_ended_is_started_by_the_next_command",
    "lanyard ui": "Web/test_server.test_lanyard_ui",
    "lanyard trust": "test_a_directory_is_trusted_by_the_command",
    "lanyard key rotate": "test_a_removed_key_is_rotated_away",
    "lanyard grant revoke GRANT": "test_a_grant_that_others_could_read_is_revoked",
    "lanyard grant revoke …": "test_grant.test_a_grant_that_can_not_be_revoked_either_is_named",
    "lanyard key remove …": "test_a_key_slot_whose_key_is_gone_is_removed",
    "lanyard policy check FILE": "test_without_a_policy_one_is_set",
    "lanyard policy show …": "test_mistakes.test_a_capability_with_a_slip_leads_to_the_policy",
    "lanyard policy set FILE": "test_without_a_policy_one_is_set",
    "lanyard policy set FILE --provider PROVIDER": "test_without_a_policy_one_is_set",
    "lanyard provider add NAME --issuer URL --client-id ID": "test_without_a_provider_one_is_added",
    "lanyard provider add … --issuer URL --client-id ID": "test_without_a_provider_one_is_added",
    "lanyard provider add URL": "test_without_a_provider_one_is_added",
    "lanyard provider add --preset google --client-id ID": "test_without_a_provider_one_is_added",
    "lanyard provider add --preset ……": "test_presets_of_hints_are_there",
    "lanyard provider add --preset ………": "test_real_sign_in.test_an_unknown_provider_suggests_provider_add",
    "lanyard provider add --preset github-enterprise --issuer … --client-id ID": "test_presets_of_hints_are_there",
    "lanyard provider add ……": "test_provider_url.test_issuer_elsewhere_is_confirmed_or_refused",
    "lanyard provider add … --allowed-origin URL": "test_an_origin_is_added_beside_the_others",
    "lanyard provider add … --policy NAME": "test_without_a_policy_one_is_set",
    "lanyard provider remove …": "test_the_only_provider_is_removed_by_its_name",
    "lanyard provider update … …": "test_an_origin_is_added_beside_the_others",
    "lanyard provider update --help": (SHOWN, [], "--allowed-origin"),
    "lanyard provider update … --client-secret-file -": "test_a_client_secret_is_taken_where_a_revocation_is_refused",
    "lanyard provider update … --redirect [HOST:]PORT[/PATH]": "test_another_redirect_address_is_set",
    "lanyard resolve https://github.com/acme/app.git": "test_a_url_is_answered_by_the_rule_that_is_advised",
    "lanyard resolve …": "test_an_address_as_git_has_it_is_advised_as_an_https_one",
    "lanyard resolve URL": "test_a_url_is_answered_by_the_rule_that_is_advised",
    "lanyard rule add PATTERN ACCOUNT": "test_a_url_is_answered_by_the_rule_that_is_advised",
    "lanyard rule add URL ACCOUNT": "test_a_url_is_answered_by_the_rule_that_is_advised",
    "lanyard rule add … ACCOUNT": "test_a_url_is_answered_by_the_rule_that_is_advised",
    "lanyard rule add https://HOST …": "test_a_url_is_answered_by_the_rule_that_is_advised",
    "lanyard credential netrc …": "test_a_url_is_answered_by_the_rule_that_is_advised",
    "lanyard rule remove …": "test_a_damaged_rule_is_removed_by_its_name",
    "lanyard account set ACCOUNT --unit UNIT": "test_a_unit_gets_its_account",
    "lanyard account set ACCOUNT --unit …": "Integration/test_desktop.test_no_other_unit_and_no_other_program_gets_one",
    "lanyard exec ACCOUNT -- COMMAND": "test_a_command_runs_as_the_usage_says",
    "lanyard exec --proxy -- COMMAND": "test_a_command_runs_as_the_usage_says",
    "lanyard events --exec COMMAND": "test_an_event_runs_a_command",
    "lanyard operations retry … -u …": "test_operations_name_the_account",
    "lanyard step-up": "test_without_a_pin_one_is_set",
    "lanyard step-up…": "test_without_a_pin_one_is_set",
    "lanyard step-up …": "test_operations_name_the_account",
    "lanyard step-up… --enroll": "test_without_a_pin_one_is_set",
    "lanyard setup … --undo": "test_a_tool_is_set_up_and_undone",
    "lanyard setup … URL": "test_a_tool_is_set_up_and_undone",
    "lanyard setup git https://github.com/* --account ACCOUNT": "test_a_tool_is_set_up_and_undone",
    "lanyard approvals --watch": "test_approvals.test_watch_asks_about_each_as_it_comes",
    "lanyard approvals allow ID": "test_approvals.test_what_waits_is_allowed_by_the_command_that_is_told",
    "lanyard approvals allow …": "test_approvals.test_what_waits_is_allowed_by_the_command_that_is_told",
    "lanyard approvals deny ID": "test_approvals.test_what_waits_is_denied",
    "lanyard approvals deny …": "test_approvals.test_what_waits_is_denied",
    "lanyard setup claude --skill --grant FILE": "test_setup_servers.test_a_skill_is_written_and_taken_back",
    # Those of programs beside this one.
    "lanyard export": "test_an_export_without_a_destination_names_them",
    "lanyard export journald": "test_an_export_without_a_destination_names_them",
    "lanyard export syslog": "test_an_export_without_a_destination_names_them",
    "lanyard export otlp URL": "test_an_export_without_a_destination_names_them",
    "lanyard import mutt_oauth2 FILE": "test_import.test_a_plain_file_is_listed_taken_over_and_deleted",
    "lanyard import oidc-agent …": "test_import_oidc_agent.test_a_file_elsewhere",
    "lanyard provider add … --issuer … --client-id ……": "test_import.test_a_refused_token_is_followed_by_commands_that_sign_in",
    "lanyard login PROVIDER --alias …": "test_import.test_the_provider_is_added_and_the_person_signs_in",
    "lanyard login … --alias …": "test_import.test_the_provider_is_added_and_the_person_signs_in",
    "lanyard login … --device": "test_real_sign_in.test_an_entered_code",
    "lanyard grant create NAME --agent --can requests --can status --can decisions -m operation.list --to FILE":
        "MCP/test_self.test_the_grant_that_is_advised_serves_every_tool",
    "lanyard mcp --self": "MCP/test_self.test_the_grant_that_is_advised_serves_every_tool",
    "lanyard mcp URL": "test_setup_servers.test_a_program_without_a_file_gets_one_that_undo_removes",
    "lanyard mcp … --account …": "MCP/test_sign_in.test_eachCall_isForTheAccountThatWasNamed",
    "lanyard mcp … --client-id ID": "MCP/test_authorization.test_auth_pre_registration",
    "lanyard grant create NAME --can requests --pass …": "Proxy/test_pass.test_a_grant_lets_pass_what_it_names_and_no_other",
    "lanyard mcp … --name NAME": "MCP/test_hostile.test_accountOfAnotherPathOfTheOrigin_isNotSent",
    # Those of the agent.
    "lanyard credential password --user alice@acme.example": NAME, "lanyard credential password -u mail": NAME,
    "lanyard credential xoauth2 --user MAILBOX": NAME, "lanyard exec --proxy": NAME, "lanyard provider update": NAME,
    "lanyard request": NAME,
    "lanyard request … URL": "test_request.test_an_address_alone_is_read",
    "lanyard request POST URL -d …": "test_request.test_an_address_alone_is_read",
    "lanyard credential kubectl --access-token":
        "test_real_machines.test_a_machine_has_no_id_token_and_the_access_token_is_advised",
    "lanyard exec … -- COMMAND": "test_real_secrets.test_keys_become_accounts_and_the_lines_that_can_go_are_told",
    "lanyard login … --username NAME": "test_real_secrets.test_a_key_that_needs_a_user_name_is_given_with_it",
    "lanyard sandbox": NAME,
    "lanyard sandbox -- COMMAND": "Proxy/test_sandbox.test_a_command_is_named_as_advised",
    "lanyard rotate …": "test_real_secrets.test_the_doctor_wants_another_key_and_no_sign_in",
    "lanyard rotate ACCOUNT": "test_real_secrets.test_a_refused_account_gets_another_key_by_the_command_that_is_told",
    "lanyard": NAME, "lanyard grant create": NAME, "lanyard grant revoke": NAME, "lanyard key remove": NAME, "lanyard policy explain": NAME, "lanyard lock": NAME,
    "lanyard operations cancel": NAME, "lanyard operations export": NAME, "lanyard operations retry": NAME,
    "lanyard policy draft": NAME, "lanyard policy set": NAME, "lanyard provider add": NAME, "lanyard rpc agent.shutdown": NAME, "lanyard switch": NAME,
    "lanyard key add passphrase": "test_a_passphrase_is_added_beside_the_key_file",
    "lanyard login … --paste": "test_what_a_trial_advises_works",
    "lanyard provider update NAME --allowed-origin ORIGIN": "test_the_agents_own_words_list_an_origin",
    "lanyard provider update NAME --narrowing keeps": "test_a_provider_that_keeps_scopes_is_said_to",
    "lanyard forget ACCOUNT": "Fleet/test_administrator.test_account_of_a_gone_file_is_signed_out_and_forgotten_as_advised",
    "lanyard grant create NAME --details-type TYPE": "test_agent_hints.test_a_grant_for_tokens_with_details_names_their_type",
    "lanyard login --details '[]'": "test_agent_hints.test_a_sign_in_whose_details_are_refused_is_made_without",
    "lanyard login --account ACCOUNT --scope SCOPE": "test_agent_hints.test_a_session_without_a_refresh_token_gets_other_scopes_by_a_sign_in",
    "lanyard login -u …": "test_agent_hints.test_an_operation_that_waits_for_a_sign_in_goes_on_with_it",
    "lanyard logout ACCOUNT": "Fleet/test_administrator.test_account_of_a_gone_file_is_signed_out_and_forgotten_as_advised",
    "lanyard operations -u …": "test_agent_hints.test_an_operation_that_was_rejected_is_shown",
    "lanyard policy refresh": "Fleet/test_bundles.test_replayed_old_bundle_is_refused_told_and_audited",
    "lanyard provider pin … HOST --until DATE": "Integration/test_pins.test_advice_about_authorities_and_pins_is_followed",
    "lanyard provider pin … … PIN BACKUP": "Integration/test_pins.test_advice_about_authorities_and_pins_is_followed",
    "lanyard provider update NAME --ca-file FILE": "Integration/test_pins.test_advice_about_authorities_and_pins_is_followed",
    "lanyard provider update … --dpop required": "test_agent_hints.test_tokens_that_are_bound_no_more_are_refused_from_then_on",
    "lanyard provider update … --redirect …:……": "test_a_provider_gets_a_path_of_its_own",
    "lanyard provider update … --redirect 8765": "test_agent_hints.test_a_server_that_compares_ports_gets_a_redirect_with_one",
    "lanyard rule remove RULE": "test_a_damaged_rule_that_doctor_names_is_removed",
    "lanyard step-up --enroll --pinentry": "test_agent_hints.test_a_policy_that_needs_a_pin_is_met_at_the_agents_prompt",
    "lanyard step-up --pinentry": "test_agent_hints.test_a_policy_that_needs_a_pin_is_met_at_the_agents_prompt",
    "lanyard step-up -u …": "test_agent_hints.test_an_operation_that_waits_for_a_pin_goes_on_with_it",
}
# Texts in quotes that only begin like a command.
OTHER_TEXTS = {
    "lanyard proxy: …: … was left out: ….…",
    "lanyard proxy: what passed to … is not in the audit log: the agent could not be reached.",
    "lanyard mcp: Sign in to …: open this page.\\n…", "lanyard proxy: ……"}
PLACE = os.path.dirname(os.path.abspath(__file__))


def advice(told):
    """The commands in a message, in order."""
    return re.findall(r"`((?:env -u \w+ )?lanyard [^`]*)`", told.replace("\n", " "))


class CollectionTests(Person):
    def test_each_hint_of_the_sources_has_an_entry_and_each_entry_a_hint(self):
        found = set(hints.all_hints()) | hints.data_hints() - OTHER_TEXTS
        self.assertEqual(sorted(found - set(WAYS)), [], "a hint that no test runs: add it to WAYS")
        self.assertEqual(sorted(set(WAYS) - found), [], "no hint of the sources any more")

    def test_each_test_of_an_entry_is_there(self):
        for hint, way in WAYS.items():
            if way == NAME or way[0] == SHOWN:
                continue
            with self.subTest(hint):
                module, _, name = way.rpartition(".")
                if "/" in module:
                    with open(os.path.join(PLACE, "..", f"{module}.py"), encoding="utf-8") as file:
                        self.assertIn(f"def {name}(", file.read())
                    continue
                tests = importlib.import_module(module or "test_hints")
                classes = [value for value in vars(tests).values() if isinstance(value, type)]
                self.assertTrue(any(name in vars(value) for value in classes), way)

    def test_each_command_and_each_option_of_a_hint_is_one(self):
        known = {}
        for hint in sorted({*WAYS, *hints.command_words()}):
            with self.subTest(hint):
                words = hint.replace("…", " … ").split()[1:]
                path = []
                while words and re.fullmatch(r"[a-z-]+", words[0]) and not words[0].startswith("-"):
                    path.append(words.pop(0))
                # The words behind a command without subcommands are its arguments.
                help = None
                while path and help is None:
                    done = known.get(tuple(path)) or self.lanyard("help", *path)
                    known[tuple(path)] = done
                    help = done.stdout if done.returncode == 0 and "USAGE:" in done.stdout + done.stderr else None
                    if help is None:
                        path.pop()
                if not path:
                    self.assertIn(hint, ("lanyard", "lanyard …"))
                    continue
                for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", hint):
                    self.assertIn(option, help, hint)

    def test_interpolations_are_found_in_a_source(self):
        text = '''
          // `lanyard in-a-comment`
          hints: ["Add it: `lanyard rule add \\(shellWord("a)\\(b)")) ACCOUNT`, or `lanyard \\
            list`."]
        '''
        self.assertEqual(hints.in_source(text), {"lanyard rule add … ACCOUNT", "lanyard list"})
        # Strings that are added are one.
        self.assertEqual(hints.in_source('"Add it: `lanyard rule add "\n    + "\\(pattern) ACCOUNT`."'), {"lanyard rule add … ACCOUNT"})


class Following(RealProvider):
    """Runs what a message advises."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in ("lanyard-export", "lanyard-mcp", "lanyard-proxy"):
            shutil.copy2(os.path.join(BINARIES, program), cls.install)

    def add_provider(self):
        """One that says who a person is."""
        self.answer("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo")

    def follow(self, told, beginning, *, fill=None, code=0, **options):
        """Runs the first advised command that begins so, its words in capitals filled in, and returns what it prints."""
        found = [command for command in advice(told) if command.startswith(beginning)]
        self.assertTrue(found, f"no `{beginning}` in: {told}")
        words = shlex.split(found[0])[1:]
        for name, value in (fill or {}).items():
            self.assertIn(name, words)
            words[words.index(name)] = value
        self.assertNotRegex(" ".join(words), r"\b[A-Z]{2,}\b", "a word to fill in")
        done = self.lanyard(*words, **options)
        self.assertEqual(done.returncode, code, done)
        return done.stdout + done.stderr

    def start_agent(self, *options):
        """An agent with options that a command does not give it."""
        process = subprocess.Popen(
            [os.path.join(self.install, "lanyard-agent"), "--socket", self.socket, *options],
            env=self.settings(None), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        while not os.path.exists(self.socket):
            self.assertIsNone(process.poll())
            time.sleep(0.01)

    def sign_in(self, user, *words):
        return self.at_its_page(user, "login", "idp", *words)

    def sign_in_by(self, told, beginning, user):
        """Runs the advised sign-in, as the person at its page."""
        found = next(command for command in advice(told) if command.startswith(beginning))
        return self.at_its_page(user, *shlex.split(found)[1:])

    def at_its_page(self, user, *words):
        process = self.start(*words, "--no-browser")
        self.post("/practice/options", autoApprove=user)
        with urllib.request.urlopen(self.page(process), timeout=PATIENCE_SECONDS) as page:
            page.read()
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 0, err)
        return out

    def states(self):
        return {account.get("alias"): account["state"] for account in json.loads(self.answer("list", "--json"))["accounts"]}

    def two_accounts(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.sign_in("bob", "--alias", "home")

    def without_provider(self):
        """The provider ends; `with_provider` starts it again where it was."""
        port = urllib.parse.urlsplit(self.issuer).port
        self.provider.terminate()
        self.provider.wait()
        return port

    def with_provider(self, port):
        again = subprocess.Popen(
            [os.path.join(self.install, "lanyard-demo"), "provider", "--port", str(port)], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(again.stdout.close)
        self.addCleanup(again.wait)
        self.addCleanup(again.terminate)
        self.assertEqual(again.stdout.readline().strip(), self.issuer)


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class ShownTests(Following):
    def test_commands_that_show_something_show_it(self):
        self.two_accounts()
        for hint, way in WAYS.items():
            if way == NAME or way[0] != SHOWN:
                continue
            with self.subTest(hint):
                _, words, says = way
                words = [*(word for word in shlex.split(hint)[1:] if word not in ("…", "COMMAND", "PROVIDER")), *words]
                done = self.lanyard(*words)
                self.assertEqual(done.returncode, 0, done)
                self.assertIn(says, done.stdout + done.stderr)


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class AccountHintTests(Following):
    def test_without_an_account_login_is_advised_and_adds_one(self):
        self.add_provider()
        self.assertEqual(self.states(), {})
        for told in (self.lanyard("list").stderr, self.refused(1, "switch"), self.refused(1, "token", "nobody")):
            self.assertIn("lanyard login", advice(told))
        self.sign_in_by(self.lanyard("list").stderr, "lanyard login", "alice")
        # Without --alias, too, the first list shows a name and no id.
        self.assertEqual(self.states(), {"idp": "active"})
        self.assertNotIn("acc_", self.answer("list"))

    def test_names_without_an_alias_differ(self):
        self.add_provider()
        self.sign_in("alice@acme")
        self.sign_in("alice@globex")
        # No name that a provider chose stands for an account in a program.
        self.assertEqual(self.states(), {"idp": "active", "idp-2": "active"})

    def test_the_name_that_is_proposed_is_given_by_the_command(self):
        self.add_provider()
        # The note is for a terminal alone.
        process = self.start("login", "idp", "--no-browser", stdin=subprocess.DEVNULL)
        self.post("/practice/options", autoApprove="alice")
        with urllib.request.urlopen(self.page(process), timeout=PATIENCE_SECONDS) as page:
            page.read()
        self.assertNotIn("lanyard rename", process.communicate(timeout=PATIENCE_SECONDS)[1])
        self.answer("logout", "idp", "--hard")

        def at_page(text):
            with urllib.request.urlopen(re.search(r"https?://\S+", text)[0], timeout=PATIENCE_SECONDS) as page:
                page.read()
            return ""

        screen = self.on_terminal("login", "idp", "--no-browser", answers=[("Waiting until", at_page)], size=(24, 500))
        self.follow(screen.text, "lanyard rename idp")
        self.assertEqual(self.states(), {"alice": "active"})

    def test_a_near_name_is_suggested_and_works(self):
        self.two_accounts()
        for typed, meant in (("wrk", "work"), ("hoem", "home"), ("alice@acme.exmaple", "alice@acme.example")):
            told = self.refused(1, "token", typed)
            self.assertIn(f"Did you mean {meant}?", told)
            self.answer("token", meant)
            self.assertIn("work", self.follow(told, "lanyard list"))
        self.assertIn("Did you mean idp?", self.refused(1, "provider", "show", "ipd"))
        self.assertIn("Did you mean `lanyard login idp`?", self.refused(1, "login", "ipd"))
        self.assertIn("Did you mean google?", self.refused(2, "provider", "add", "--preset", "gogle", "--client-id", "x"))
        self.assertIn("Did you mean `lanyard switch`?", self.refused(2, "swithc"))
        self.answer("rule", "add", "https://github.com/acme/*", "work")
        told = self.refused(1, "rule", "remove", "https://github.com/acem/*")
        self.assertIn("Did you mean https://github.com/acme/*?", told)
        self.assertNotIn("Did you mean", self.refused(1, "token", "somebody-else"))

    def test_an_email_address_means_its_account_in_capital_letters_too(self):
        self.two_accounts()
        for name in ("Alice@ACME.example", "ALICE@acme.EXAMPLE", "alice archer"):
            self.answer("token", name)
            self.answer("switch", name)
            self.assertEqual(self.status()["account"]["alias"], "work")
            self.answer("switch", "home")

    def test_a_taken_alias_is_freed_by_the_command(self):
        self.two_accounts()
        told = self.refused(1, "rename", "home", "work")
        self.assertIn("belongs to another account: Alice Archer", told)
        self.assertNotIn("by its id", told)
        self.follow(told, "lanyard rename", fill={"NEW": "acme"})
        self.answer("rename", "home", "work")
        self.assertEqual(set(self.states()), {"acme", "work"})

    def test_the_account_that_switch_is_advised_for_becomes_active(self):
        self.two_accounts()
        told = self.answer("logout", "work")
        self.follow(told, "lanyard switch")
        self.assertEqual(self.status()["account"]["alias"], "home")

    def test_status_without_an_active_account_advises_what_there_is_to_do(self):
        self.two_accounts()
        self.answer("logout", "work")
        told = self.answer("status")
        self.assertIn("lanyard switch", advice(told))
        self.follow(told, "lanyard switch")
        self.assertEqual(self.status()["account"]["alias"], "home")
        told = self.answer("logout", "home")
        for told in (told, self.answer("status")):
            self.assertNotIn("switch", told)
            self.assertIn("lanyard login", advice(told))

    def test_an_ended_session_is_signed_in_again(self):
        self.two_accounts()
        self.post("/practice/revoke", user="bob")
        told = self.refused(4, "token", "home", "-f")
        self.sign_in_by(told, "lanyard login --account home", "bob")
        self.answer("token", "home", "-f")
        self.assertEqual(self.states(), {"work": "active", "home": "active"})
        self.answer("logout", "home")
        self.sign_in_by(self.answer("status", "-u", "home"), "lanyard login --account home", "bob")
        self.answer("token", "home")

    def test_an_account_that_is_signed_in_is_signed_out_before_it_is_forgotten(self):
        self.two_accounts()
        told = self.refused(2, "forget", "home", "--yes")
        self.follow(told, "lanyard logout home")
        self.answer("forget", "home", "--yes")
        self.assertEqual(set(self.states()), {"work"})

    def test_an_erased_account_is_forgotten_by_its_id(self):
        self.two_accounts()
        self.follow(self.answer("logout", "home", "--hard"), "lanyard forget acc_")
        self.assertEqual(set(self.states()), {"work"})

    def test_a_locked_vault_is_unlocked_and_then_signed_out_of(self):
        for words, state in ((["work"], "signedOut"), (["--yes"], "signedOut"), (["--all"], "signedOut"), (["work", "--hard"], None)):
            with self.subTest(words):
                if "idp" not in self.lanyard("provider", "list").stdout:
                    self.two_accounts()
                self.answer("lock")
                self.assertIn("lanyard unlock", advice(self.refused(8, "token", "work")))
                told = self.refused(8, "logout", *words)
                self.follow(told, "lanyard unlock")
                self.follow(told, "lanyard logout")
                self.assertEqual(self.states().get("work"), state)
                if state is None:
                    return
                self.sign_in("alice", "--account", "work")
                self.answer("switch", "work")

    def test_a_directory_is_trusted_by_the_command(self):
        self.two_accounts()
        with open(os.path.join(self.work, ".lanyard"), "w", encoding="utf-8") as file:
            file.write("account = home\n")
        self.follow(self.refused(2, "token"), "lanyard trust")
        self.assertEqual(self.status()["account"]["alias"], "home")
        self.answer("token")

    def test_a_unit_gets_its_account(self):
        self.two_accounts()
        self.answer("account", "set", "work", "--unit", "backup.service")
        self.assertIn("backup.service gets its token.", self.answer("account", "show", "work"))

    def test_a_command_runs_as_the_usage_says(self):
        self.two_accounts()
        told = self.refused(2, "exec", "work")
        self.assertIn("lanyard exec ACCOUNT -- COMMAND", advice(told))
        self.assertEqual(self.answer("exec", "home", "--", "/bin/echo", "runs"), "runs\n")

    def test_an_event_runs_a_command(self):
        self.two_accounts()
        place = os.path.join(self.home, "event")
        process = self.start("events", "--type", "account.switched", "--exec", f"echo $LANYARD_EVENT > {place}")
        self.addCleanup(process.communicate)
        self.addCleanup(process.send_signal, signal.SIGINT)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(place) and time.monotonic() < deadline:
            self.answer("switch")
            time.sleep(0.1)
        with open(place, encoding="utf-8") as file:
            self.assertEqual(file.read().strip(), "account.switched")


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class ProviderHintTests(Following):
    def test_without_a_provider_one_is_added(self):
        """Every command that adds one, with its words filled in."""
        fill = {"URL": self.issuer, "ID": "lanyard-demo"}
        told = self.lanyard("provider", "list").stderr
        self.follow(told, "lanyard provider add NAME", fill={**fill, "NAME": "one"})
        self.answer("provider", "remove", "one")
        told = self.refused(2, "login")
        self.follow(told, "lanyard provider add --preset google", fill={"ID": "app"}, code=5 if self.isOffline() else 0)
        self.follow(self.refused(1, "login", "two"), "lanyard provider add two", fill=fill)
        told = self.refused(1, "provider", "show", "three")
        self.assertIn("lanyard provider add URL", advice(told))
        self.answer("provider", "add", self.issuer, "--client-id", "lanyard-demo")

    def test_without_a_provider_a_key_is_taken_or_a_demo_runs(self):
        told = self.refused(2, "login")
        self.follow(told, "lanyard demo")
        self.assertIn("lanyard login openai", advice(told))
        screen = self.on_terminal(
            "login", "openai", answers=[("Key or password for openai (not shown): ", "sk-of-nobody\n")])
        # The service refuses it, or can't be asked without a network.
        self.assertIn(screen.code, (4, 5), screen.text)

    def isOffline(self):
        """Google's documents can't be read here."""
        return self.lanyard("provider", "add", "probe", "--preset", "google", "--client-id", "app").returncode == 5

    def test_presets_of_hints_are_there(self):
        presets = json.loads(self.answer("provider", "presets", "--json"))["presets"]
        for hint in WAYS:
            for preset in re.findall(r"--preset ([a-z-]+)", hint):
                self.assertIn(preset, presets)

    def test_a_provider_that_was_added_is_signed_in_at(self):
        told = self.on_terminal("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo").text
        self.sign_in_by(told, "lanyard login idp", "alice")

    def test_the_only_provider_is_removed_by_its_name(self):
        self.add_provider()
        self.follow(self.refused(2, "provider", "remove"), "lanyard provider remove idp")
        self.assertIn("No provider is configured", self.lanyard("provider", "list").stderr)

    def test_a_slash_at_the_end_of_the_issuer_makes_no_difference(self):
        for name, issuer in (("with", self.issuer + "/"), ("without", self.issuer)):
            self.answer("provider", "add", name, "--issuer", issuer, "--client-id", "lanyard-demo", "-s", "openid")
            self.assertEqual(json.loads(self.answer("provider", "show", name, "--json"))["provider"]["issuer"], self.issuer)
        process = self.start("login", "with", "--no-browser")
        self.post("/practice/options", autoApprove="alice")
        with urllib.request.urlopen(self.page(process), timeout=PATIENCE_SECONDS) as page:
            page.read()
        process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 0)

    def test_a_login_at_a_provider_that_is_down_ends_at_once_and_later_works(self):
        self.add_provider()
        port = self.without_provider()
        began = time.monotonic()
        for way in ([], ["--no-browser"], ["--paste"], ["--device"]):
            with self.subTest(way):
                done = self.lanyard("login", "idp", *way)
                self.assertEqual((done.returncode, done.stdout), (5, ""), done)
                self.assertNotIn("redirect_uri", done.stderr)
                self.assertNotIn("http://127.0.0.1:%d/authorize" % port, done.stderr)
        self.assertLess(time.monotonic() - began, 10)
        told = self.refused(5, "login", "idp")
        self.assertIn(f"The provider idp ({self.issuer}) can't be reached.", told)
        shown = self.follow(told, "lanyard provider test idp", code=1)
        self.assertNotIn("Nothing was changed", shown)
        self.with_provider(port)
        self.sign_in_by(told, "lanyard login idp", "alice")

    def with_page(self, page, **settings):
        """A provider `corp` whose issuer serves nothing here, with endpoints of its own."""
        self.answer("rpc", "provider.add", json.dumps({
            "name": "corp", "issuer": "https://idp.invalid", "clientId": "x",
            "endpoints": {"authorization": page + "/authorize", "token": page + "/token"}, **settings}))

    def test_the_server_of_the_page_is_asked_and_not_the_issuer(self):
        self.with_page(self.issuer)
        process = self.start("login", "corp", "--no-browser")
        self.assertTrue(self.page(process).startswith(self.issuer + "/authorize"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
        self.answer("provider", "remove", "corp")
        self.without_provider()
        self.with_page(self.issuer)
        self.assertIn(f"The provider corp ({self.issuer}) can't be reached.", self.refused(5, "login", "corp"))

    def test_a_server_that_answers_an_error_is_there(self):
        class Busy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(503)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_port}"
        self.with_page(page)
        process = self.start("login", "corp", "--no-browser")
        self.assertTrue(self.page(process).startswith(page))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)

    def test_a_known_provider_without_documents_is_asked_too(self):
        # Nothing listens there, so that no server is reached.
        self.answer("provider", "add", "github", "--preset", "github", "--client-id", "x", "--proxy", "http://127.0.0.1:1")
        told = self.refused(5, "login", "github")
        self.assertIn("The proxy http://127.0.0.1:1 refuses connections.", told)

    def test_the_login_that_is_advised_is_for_the_same_account(self):
        self.two_accounts()
        self.without_provider()
        for words in (["--account", "home", "--paste"], ["--account", "home"]):
            told = self.refused(5, "login", *words)
            self.assertRegex(told, r"`lanyard login --account \S+" + "".join(f" {word}" for word in words[2:]) + "`")

    def test_a_silent_provider_ends_the_login(self):
        self.add_provider()
        self.provider.send_signal(signal.SIGSTOP)
        self.addCleanup(self.provider.send_signal, signal.SIGCONT)
        began = time.monotonic()
        done = subprocess.run(
            self.command(["login", "idp"]), env=self.settings(None), cwd=self.work, text=True, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=40)
        self.assertEqual(done.returncode, 5, done)
        self.assertLess(time.monotonic() - began, 25)
        self.assertIn("does not answer", done.stderr)

    def test_an_address_with_a_slip_is_named(self):
        for words in (["corp", "--issuer", "https://idp.invalid", "--client-id", "x"], ["corp", "https://idp.invalid", "--client-id", "x"]):
            told = self.refused(5, "provider", "add", *words)
            self.assertIn("idp.invalid can't be reached", told)
            self.follow(told, "lanyard status")
        told = self.refused(2, "provider", "add", "corp", "--client", self.issuer, "--issuer", self.issuer)
        self.assertIn("Unknown option '--client'. Did you mean '--client-id'", told)
        self.follow(told, "lanyard help provider add")

    def test_an_unreachable_browser_is_answered_by_paste(self):
        self.add_provider()
        process = self.start("login", "idp", "--no-browser", environment={"SSH_CONNECTION": "1"})
        told = "".join(process.stderr.readline() for _ in range(7))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
        command = next(command for command in advice(told) if command.endswith("--paste"))
        again = self.start(*shlex.split(command)[1:], stdin=subprocess.PIPE)
        self.post("/practice/options", autoApprove="alice")
        address = self.page(again)

        class Stop(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None
        try:
            urllib.request.build_opener(Stop).open(address)
        except urllib.error.HTTPError as answer:
            location = answer.headers["Location"]
        out, err = again.communicate(location + "\n", timeout=PATIENCE_SECONDS)
        self.assertEqual(again.returncode, 0, err)

    def test_another_redirect_address_is_set(self):
        self.add_provider()
        process = self.start("login", "idp", "--no-browser", "--hint-after", "0")
        told = ""
        while "[HOST:]PORT" not in told:
            told += process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
        self.follow(told, "lanyard provider update idp", fill={"[HOST:]PORT[/PATH]": "localhost:8765/back"})
        redirect = json.loads(self.answer("provider", "show", "idp", "--json"))["provider"]["redirect"]
        self.assertEqual(redirect, {"host": "localhost", "port": 8765, "path": "/back"})

    def test_what_a_trial_advises_works(self):
        self.with_page(self.issuer)
        told = self.lanyard("provider", "test", "corp").stdout
        self.follow(told, "lanyard help provider update")
        command = next(command for command in advice(told) if command.startswith("lanyard login corp --paste"))
        process = self.start(*shlex.split(command)[1:], stdin=subprocess.PIPE)
        self.assertTrue(self.page(process).startswith(self.issuer))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)

    def test_a_provider_gets_a_path_of_its_own(self):
        self.with_page(self.issuer)
        self.answer("rpc", "provider.add", json.dumps({
            "name": "other", "issuer": "https://other.invalid", "clientId": "x",
            "endpoints": {"authorization": self.issuer + "/authorize", "token": self.issuer + "/token"}}))
        told = self.lanyard("login", "other", "--no-browser").stderr
        self.follow(told, "lanyard provider update other")
        process = self.start("login", "other", "--no-browser")
        self.assertTrue(self.page(process).startswith(self.issuer))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)

    def test_a_provider_that_keeps_scopes_is_said_to(self):
        self.two_accounts()
        exactly = json.dumps({"account": "work", "scopes": ["openid"], "exactScopes": True})
        told = self.lanyard("rpc", "token.get", exactly).stderr
        self.follow(json.loads(told)["message"], "lanyard provider update", fill={"NAME": "idp"})
        self.answer("rpc", "token.get", exactly)

    def test_the_agents_own_words_list_an_origin(self):
        self.two_accounts()
        request = json.dumps({"account": "work", "method": "GET", "url": self.issuer + "/resource"})
        told = self.lanyard("rpc", "request.send", request).stderr
        self.follow(json.loads(told)["message"], "lanyard provider update", fill={"NAME": "idp", "ORIGIN": self.issuer})
        self.answer("rpc", "request.send", request)

    def test_a_client_secret_is_taken_from_a_pipe(self):
        self.add_provider()
        self.answer("provider", "update", "idp", "--client-secret-file", "-", input="not-a-real-secret\n")
        self.assertTrue(json.loads(self.answer("provider", "show", "idp", "--json"))["provider"]["clientSecretSet"])

    def test_an_origin_is_added_beside_the_others(self):
        self.two_accounts()
        self.answer("provider", "update", "idp", "--allowed-origin", self.issuer)
        told = self.refused(1, "request", "GET", "https://api.example/orders", "-u", "work")
        self.assertIn("The provider idp does not list https://api.example", told)
        self.follow(told, "lanyard provider update idp")
        origins = json.loads(self.answer("provider", "show", "idp", "--json"))["provider"]["allowedOrigins"]
        self.assertEqual(sorted(origins), sorted([self.issuer, "https://api.example"]))

    def allowed_origins(self):
        return json.loads(self.answer("provider", "show", "idp", "--json"))["provider"]["allowedOrigins"]

    def test_a_server_of_this_machine_is_listed_beside_the_others(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.answer("provider", "update", "idp", "--allowed-origin", "https://api.example")
        url = "http://127.0.0.1:8080/x"
        self.follow(self.refused(1, "resolve", url), "lanyard provider update idp")
        self.assertEqual(sorted(self.allowed_origins()), ["http://127.0.0.1:8080", "https://api.example"])
        self.assertTrue(self.answer("resolve", url).startswith("work: "))

    def test_a_bridge_lists_its_server_beside_the_others(self):
        self.two_accounts()
        self.answer("provider", "update", "idp", "--allowed-origin", "https://api.example")
        asked = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}]
        done = self.lanyard("mcp", "http://127.0.0.1:1/mcp", "--account", "work",
                            input="".join(json.dumps(request) + "\n" for request in asked))
        self.follow(done.stdout.replace("\\n", "\n"), "lanyard provider update idp")
        self.assertEqual(sorted(self.allowed_origins()), ["http://127.0.0.1:1", "https://api.example"])

    def test_a_proxy_without_origins_names_the_command(self):
        self.two_accounts()
        told = self.refused(1, "proxy", "--account", "work")
        self.follow(told, "lanyard provider update idp")
        self.assertEqual(self.allowed_origins(), ["https://api.example"])

    def test_a_proxy_for_an_origin_that_is_not_listed_lists_that_one(self):
        self.two_accounts()
        self.answer("provider", "update", "idp", "--allowed-origin", "https://api.example")
        told = self.refused(1, "proxy", "--allow", "https://foo.example")
        self.follow(told, "lanyard provider update idp")
        self.assertEqual(sorted(self.allowed_origins()), ["https://api.example", "https://foo.example"])
        self.assertIn("notorigin is no origin", self.refused(2, "proxy", "--allow", "notorigin"))

    def test_a_proxy_without_an_account_leads_to_a_sign_in(self):
        self.add_provider()
        self.answer("provider", "update", "idp", "--allowed-origin", "https://api.example")
        told = self.refused(1, "proxy")
        self.assertNotIn("provider update", told)
        self.sign_in_by(told, "lanyard login idp", "alice")

    def test_a_url_is_answered_by_the_rule_that_is_advised(self):
        self.two_accounts()
        url = "https://github.com/acme/app.git"
        told = self.refused(1, "resolve", url)
        self.follow(told, "lanyard rule add", fill={"ACCOUNT": "home"})
        self.assertTrue(self.answer("resolve", url).startswith("home: "))
        self.assertIn("login", self.answer("credential", "netrc", url))
        self.answer("rule", "add", "https://other.example", "work")
        self.assertTrue(self.answer("resolve", "https://other.example/x").startswith("work: "))

    def test_an_address_as_git_has_it_is_advised_as_an_https_one(self):
        self.two_accounts()
        self.answer("rule", "add", "https://github.com/acme/*", "home")
        done = self.lanyard("resolve", "git@github.com:acme/app.git")
        if done.returncode == 0:
            return self.assertTrue(done.stdout.startswith("home: "))
        self.assertTrue(self.follow(done.stderr, "lanyard resolve").startswith("home: "))

    def test_a_tool_is_set_up_and_undone(self):
        self.two_accounts()
        told = self.lanyard("setup").stderr
        command = next(command for command in advice(told) if command.startswith("lanyard setup git"))
        words = [word.replace("ACCOUNT", "work") for word in shlex.split(command)[1:]]
        told = self.answer(*words, "--yes")
        self.assertIn("github.com", self.answer("setup"))
        self.follow(told, "lanyard setup git --undo")
        self.assertIn("No tool is set up", self.lanyard("setup").stderr)

    def test_a_revocation_that_is_not_done_says_so_and_is_sent_later(self):
        self.two_accounts()
        told = self.answer("logout", "work", "--offline")
        port = self.without_provider()
        for words in ([], ["--json"]):
            done = self.lanyard("revocations", "send", *words)
            self.assertEqual(done.returncode, 5, done)
        done = self.lanyard("revocations", "send")
        self.assertRegex(done.stderr, "The provider could not be reached. The revocation of work at .* is not done: its token may still be valid.")
        self.assertIn("tried", done.stdout)
        self.assertIn("work", self.follow(done.stderr, "lanyard revocations"))
        self.with_provider(port)
        self.assertIn(f"Revoked: work at {self.issuer}.", self.follow(told, "lanyard revocations send"))
        self.assertEqual(self.lanyard("revocations", "send").stderr, "No revocation waits.\n")


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class AgentHintTests(Following):
    def test_an_agent_that_ended_is_started_by_the_next_command(self):
        configuration = os.path.join(self.home, ".config", "lanyard", "agent.json")
        os.makedirs(os.path.dirname(configuration), mode=0o700, exist_ok=True)
        with open(configuration, "w", encoding="utf-8") as file:
            file.write("{}")
        self.two_accounts()
        before = self.instance()
        with open(configuration, "w", encoding="utf-8") as file:
            file.write("{")
        told = self.lanyard("doctor").stdout
        os.unlink(configuration)
        self.follow(told, "lanyard stop")
        self.assertEqual(self.answer("stop"), "No agent runs.\n")
        self.answer("token", "work")
        self.assertNotEqual(self.instance(), before)

    def test_a_passphrase_is_added_beside_the_key_file(self):
        self.instance()
        told = self.lanyard("doctor").stdout
        self.follow(told, "lanyard key add passphrase", input="not-a-real-passphrase\n")
        self.assertIn("passphrase", self.answer("key", "list"))

    def test_a_key_slot_whose_key_is_gone_is_removed(self):
        self.answer("list", "--quiet")
        key = os.path.join(self.home, ".local", "state", "lanyard", "key")
        os.rename(key, key + ".away")
        told = self.lanyard("doctor").stdout
        self.assertIn("nothing opens it, and all accounts are lost", " ".join(told.split()))
        secret = os.path.join(self.home, "pw")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("not-a-real-passphrase\n")
        os.chmod(secret, 0o600)
        self.answer("key", "add", "passphrase", "--pw-file", secret)
        told = self.lanyard("doctor").stdout
        self.follow(told, "lanyard key remove 0")
        self.assertNotIn("is gone", self.lanyard("doctor").stdout)
        self.answer("lock")
        self.answer("unlock", "--pw-file", secret)

    def test_a_removed_key_is_rotated_away(self):
        secret = os.path.join(self.home, "pw")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("not-a-real-passphrase\n")
        os.chmod(secret, 0o600)
        self.answer("key", "add", "passphrase", "--pw-file", secret)
        told = self.lanyard("key", "remove", "1").stderr
        self.follow(told, "lanyard key rotate")

    def test_a_passphrase_that_others_can_read_is_refused_everywhere_with_the_command_that_helps(self):
        secret = os.path.join(self.home, "pw; touch pwn")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("not-a-real-passphrase\n")
        backup = os.path.join(self.home, "backup")
        self.two_accounts()
        for words in (["backup", backup], ["key", "add", "passphrase"], ["restore", backup]):
            os.chmod(secret, 0o644)
            told = self.refused(2, *words, "--pw-file", secret)
            self.assertIn(f"Others can read {secret}. Nothing was changed.", told)
            command = re.search("`(chmod [^`]*)`", told)[1]
            subprocess.run(shlex.split(command), check=True)
            done = self.lanyard(*words, "--pw-file", secret)
            self.assertEqual(done.returncode, 0, done)
        self.answer("lock")
        os.chmod(secret, 0o604)
        self.assertIn("chmod 600", self.refused(2, "unlock", "--pw-file", secret))

    def test_a_grant_that_others_could_read_is_revoked(self):
        self.two_accounts()
        created = json.loads(self.answer("rpc", "grant.create", json.dumps(
            {"client": "ci", "accounts": [json.loads(self.answer("list", "--json"))["accounts"][0]["id"]], "methods": ["token.get"]})))
        path = os.path.join(self.home, "the grant")
        with open(path, "w", encoding="utf-8") as file:
            file.write(created["secret"] + "\n")
        os.chmod(path, 0o644)
        told = self.refused(1, "token", "work", environment={"LANYARD_GRANT_FILE": path})
        self.assertIn("does not belong to you alone", told)
        subprocess.run(shlex.split(re.search("`(chmod [^`]*)`", told)[1]), check=True)
        self.answer("token", "work", environment={"LANYARD_GRANT_FILE": path})

        def typed(beginning):
            """The advised command, in the shell where the variable is set."""
            command = next(command for command in advice(told) if command.startswith(beginning))
            done = subprocess.run(
                shlex.split(command.replace(" revoke GRANT", f" revoke {created['grant']}")),
                env=self.settings({"LANYARD_GRANT_FILE": path, "PATH": f"{self.install}:/usr/bin:/bin"}), text=True,
                capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)
            self.assertEqual(done.returncode, 0, done)
            return done.stdout
        self.assertIn("ci", typed("env -u LANYARD_GRANT_FILE lanyard grant list"))
        typed("env -u LANYARD_GRANT_FILE lanyard grant revoke")
        self.assertIn("No program has a grant", self.lanyard("grant", "list").stderr)

    def test_without_a_policy_one_is_set(self):
        self.two_accounts()
        told = self.lanyard("policy", "list").stderr
        path = os.path.join(self.home, "p.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": "default", "version": 1, "capabilities": {"order.view": {"kind": "read"}}}, file)
        self.answer("policy", "check", path, "--quiet")
        self.follow(told, "lanyard policy set", fill={"FILE": path})
        self.answer("policy", "set", path, "--provider", "idp")
        self.assertEqual(json.loads(self.answer("provider", "show", "idp", "--json"))["provider"]["policy"], "default")

    def test_without_a_pin_one_is_set(self):
        self.two_accounts()
        told = self.refused(1, "step-up", "home", input="2468\n")
        self.assertIn("lanyard step-up home --enroll", advice(told))
        self.follow(told, "lanyard step-up home --enroll", input="2468\n")
        self.answer("step-up", "home", input="2468\n")

    def test_a_prompt_that_is_not_there_is_explained_by_doctor(self):
        self.start_agent("--pinentry", "/nowhere/pinentry")
        self.assertNotIn("pinentry", self.lanyard("doctor").stdout)
        told = self.lanyard("key", "add", "passphrase", "--pinentry").stderr
        self.assertIn("pinentry is not installed", told)
        self.assertIn("The agent found no pinentry", self.follow(told, "lanyard doctor", code=1))

    def test_an_export_without_a_destination_names_them(self):
        self.instance()
        told = self.lanyard("export")
        self.assertNotEqual(told.returncode, 0)
        for command in ("lanyard export journald", "lanyard export syslog", "lanyard export otlp URL"):
            self.assertIn(command, advice(told.stderr))


class OperationHintTests(Person):
    def test_operations_name_the_account(self):
        entry = {**ENTRY, "status": "needsInteraction"}
        for changes, command in (
            ({}, "lanyard login --account work"),
            ({"decision": {"reason": "stepUpRequired"}}, "lanyard step-up work"),
            ({"status": "unknown"}, "lanyard operations retry op_4d1c -u work"),
            ({"status": "rejected", "rejection": {"reason": "policy"}, "lastError": {"name": "originNotAllowed"}},
             "lanyard provider update idp --allowed-origin https://other.example --allowed-origin https://api.example"),
        ):
            listed = {"provider": {"name": "idp", "allowedOrigins": ["https://other.example"]}}
            agent = self.agent({
                **accounts(WORK), "provider.get": listed, "operation.retry": {**entry, "status": "queued"},
                "stepUp.verify": {}, "stepUp.status": {"enrolled": True, "attemptsLeft": 10},
                "provider.update": {"provider": {"name": "idp"}},
                "operation.list": {"account": WORK["id"], "operations": [{**entry, "account": WORK["id"], **changes}], "more": False}})
            told = self.answer("operations")
            self.assertIn(command, advice(told))
            if "login" not in command:
                done = self.lanyard(*shlex.split(command)[1:], input="2468\n")
                self.assertEqual(done.returncode, 0, done)
            agent.close()


class MessageHintTests(Person):
    """Messages of an agent in a state that a test can't bring about; the commands are run."""

    def run_hint(self, agent, told, beginning, **options):
        command = next(command for command in advice(told) if command.startswith(beginning))
        done = self.lanyard(*shlex.split(command)[1:], **options)
        self.assertEqual(done.returncode, 0, done)

    def test_a_client_secret_is_taken_where_a_revocation_is_refused(self):
        agent = self.agent({
            **accounts(WORK), "account.signOut": {"account": WORK["id"], "mode": "soft", "data": "sealed", "revocation": "refused"},
            "provider.update": {"provider": {"name": "idp"}}})
        told = self.answer("logout", "work")
        self.run_hint(agent, told, "lanyard provider update idp", input="not-a-real-secret\n")
        self.assertEqual(agent.params("provider.update")["clientSecret"], "not-a-real-secret")

    def test_a_damaged_rule_is_removed_by_its_name(self):
        agent = self.agent({
            **accounts(WORK), "rule.list": {"rules": [], "damaged": ["rul_4d1c"]}, "rule.remove": {"rule": "rul_4d1c"}})
        told = self.lanyard("rule", "list").stderr
        self.run_hint(agent, told, "lanyard rule remove")
        self.assertEqual(agent.params("rule.remove"), {"rule": "rul_4d1c"})

    def test_a_damaged_rule_that_doctor_names_is_removed(self):
        finding = {"check": "rules", "severity": "problem",
                   "message": "Rules can't be decrypted: rul_4d1c. Until they are removed no tool gets a token by the URL that it asks for.",
                   "remedies": ["`lanyard rule remove RULE` removes one."]}
        agent = self.agent({
            **accounts(WORK), "agent.diagnose": {"findings": [finding]}, "rule.list": {"rules": [], "damaged": ["rul_4d1c"]},
            "rule.remove": {"rule": "rul_4d1c"}})
        told = self.lanyard("doctor").stdout
        self.run_hint(agent, told.replace("remove RULE", "remove rul_4d1c"), "lanyard rule remove")
        self.assertEqual(agent.params("rule.remove"), {"rule": "rul_4d1c"})


class ReadOnlyTests(Person):
    def test_a_command_that_changes_nothing_does_not_say_so(self):
        unreachable = Error(3001, "offline", "The provider can't be reached. Nothing was changed; try again when it works.",
                            remedies=["connect"])
        finding = {"check": "discovery", "severity": "problem", "subject": "idp",
                   "message": "The provider can't be reached. Nothing was changed; try again when it works.", "remedies": []}
        self.agent({**accounts(WORK), "provider.test": unreachable, "agent.diagnose": {"findings": [finding]}})
        self.assertTrue(self.refused(5, "provider", "test", "idp").startswith(
            "lanyard: The provider can't be reached. Try again when it works.\n"))
        self.assertIn("The provider can't be reached. Try again when it works.", self.lanyard("doctor").stdout)
        for words in (["status", "-u", "nobody"], ["account", "show", "nobody"], ["provider", "show", "nobody"]):
            done = self.lanyard(*words)
            self.assertNotIn("Nothing was changed", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
