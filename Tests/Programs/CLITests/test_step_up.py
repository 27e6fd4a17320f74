"""`lanyard step-up`: the PIN is typed without echo."""

import datetime
import json

from fake_agent import Error
from people import AGENT, SESSION, WORK
from person import Person

ASKED = "PIN (not shown): "


class StepUpTests(Person):
    def pin(self, pin=None, valid=False, left=10):
        """An agent that remembers a PIN."""
        state = {"pin": pin, "valid": valid, "left": left}

        def status(*_):
            return {
                "account": WORK["id"], "enrolled": state["pin"] is not None, "attemptsLeft": state["left"],
                **({"validUntil": "2999-01-01T00:05:00.000Z"} if state["valid"] else {}),
            }

        def verify(params, _):
            if "prompt" not in params and params["pin"] != state["pin"]:
                state["left"] -= 1
                raise Error(4003, "stepUpFailed", "The PIN is wrong.", reason="wrongPIN", attemptsLeft=state["left"])
            state["valid"] = True
            return {"account": WORK["id"], "validUntil": "2999-01-01T00:05:00.000Z"}

        def enroll(params, _):
            if state["pin"] is not None and not state["valid"]:
                raise Error(4002, "stepUpRequired", "A PIN is set.", remedies=["stepUp"])
            state["pin"] = params.get("pin", "typed elsewhere")
            return status()

        def unenroll(*_):
            state.update(pin=None, valid=False)
            return status()

        def clear(*_):
            state["valid"] = False
            return status()

        self.fake = self.agent({
            "agent.status": AGENT, "stepUp.status": status, "stepUp.verify": verify, "stepUp.enroll": enroll,
            "stepUp.unenroll": unenroll, "stepUp.clear": clear,
        })
        return self.fake

    def test_the_pin_is_typed_without_echo(self):
        agent = self.pin("2468")
        screen = self.on_terminal("step-up", "work", "--duration", "600", answers=[(ASKED, "2468\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Confirmed, until ", screen.text)
        self.assertNotIn("2468", screen.text)
        self.assertEqual(agent.params("stepUp.verify"), {"account": "work", "pin": "2468", "durationSeconds": 600})

    def test_without_a_pin_enroll_is_suggested(self):
        agent = self.pin()
        screen = self.on_terminal("step-up")
        self.assertEqual(screen.code, 1, screen.text)
        self.assertIn("`lanyard step-up --enroll` sets one.", screen.text)
        self.assertNotIn(ASKED, screen.text)
        self.assertNotIn("stepUp.verify", agent.methods())

    def test_a_wrong_pin_shows_the_attempts_left(self):
        self.pin("2468")
        words = self.refused(7, "step-up", input="1111\n")
        self.assertIn("The PIN is wrong.", words)
        self.assertIn("Attempts left: 9.", words)
        error = json.loads(self.refused(7, "step-up", "--json", input="1111\n"))
        self.assertIn("4003", json.dumps(error))

    def test_few_tries_left_cause_a_warning(self):
        self.pin("2468", left=2)
        done = self.lanyard("step-up", input="2468\n")
        self.assertEqual(done.returncode, 0)
        self.assertIn("2 tries left. `lanyard step-up --enroll`", done.stderr)

    def test_a_pin_is_chosen_by_typing_it_twice(self):
        agent = self.pin()
        screen = self.on_terminal("step-up", "--enroll", answers=[("A new " + ASKED, "2468\n"), ("Once more: ", "2468\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("A PIN is set, with 10 tries left; not confirmed now.", screen.text)
        self.assertEqual(agent.params("stepUp.enroll"), {"account": "@active", "pin": "2468"})
        self.assertNotIn("stepUp.verify", agent.methods())

    def test_two_different_pins_set_nothing(self):
        agent = self.pin()
        screen = self.on_terminal("step-up", "--enroll", answers=[("A new " + ASKED, "2468\n"), ("Once more: ", "2469\n")])
        self.assertEqual(screen.code, 2, screen.text)
        self.assertNotIn("stepUp.enroll", agent.methods())

    def test_changing_and_removing_need_the_present_pin(self):
        agent = self.pin("2468")
        of_now = "Your present PIN (not shown): "
        screen = self.on_terminal(
            "step-up", "--enroll", answers=[(of_now, "2468\n"), ("A new " + ASKED, "1357\n"), ("Once more: ", "1357\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertEqual(agent.params("stepUp.enroll")["pin"], "1357")
        self.answer("step-up", "--clear")
        screen = self.on_terminal("step-up", "--remove", answers=[(of_now, "1357\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("No PIN is set.", screen.text)
        self.assertIn("stepUp.unenroll", agent.methods())

    def test_status_and_clear(self):
        self.pin("2468", valid=True)
        self.assertIn("confirmed until ", self.answer("step-up", "--status"))
        self.assertEqual(self.answer("step-up", "--clear"), "A PIN is set, with 10 tries left; not confirmed now.\n")
        self.assertEqual(
            json.loads(self.answer("step-up", "--status", "--json")),
            {"account": WORK["id"], "enrolled": True, "attemptsLeft": 10})

    def test_the_end_counts_on_the_clock_of_the_provider(self):
        agent = self.pin("2468")
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3, minutes=5, seconds=10)
        until = {"account": WORK["id"], "validUntil": end.strftime("%Y-%m-%dT%H:%M:%S.000Z")}
        agent.answers.update({
            "stepUp.verify": until, "stepUp.status": {**until, "enrolled": True, "attemptsLeft": 10},
            "session.get": {**SESSION, "serverTimeOffsetMs": 3 * 86_400_000}})
        self.assertRegex(self.lanyard("step-up", "work", input="2468\n").stdout, r"^Confirmed, until [0-9:]+ \(in 5 min\)\.\n$")
        self.assertRegex(self.answer("step-up", "work", "--status"), r"; confirmed until [0-9:]+ \(in 5 min\)\.\n$")

    def test_pinentry_sends_no_pin(self):
        agent = self.pin("2468")
        self.assertIn("Confirmed", self.answer("step-up", "--pinentry"))
        self.assertEqual(agent.params("stepUp.verify"), {"account": "@active", "prompt": "pinentry"})
        self.answer("step-up", "--enroll", "--pinentry")
        self.assertEqual(agent.params("stepUp.enroll"), {"account": "@active", "prompt": "pinentry"})

    def test_conflicting_options_are_usage(self):
        self.pin("2468")
        for words in (["--duration", "0"], ["--clear", "--pinentry"], ["--clear", "--remove"], ["--enroll", "--duration", "5"]):
            self.refused(2, "step-up", *words)
