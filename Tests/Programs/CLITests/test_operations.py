"""operations, as people and programs see them."""

import base64
import datetime
import json
import os

from people import SESSION
from person import Person

WORK = "acc_c2ztq4xk7m3vwy5ndhb6rfgupa"
ENTRY = {
    "operation": "op_4d1c", "account": WORK, "status": "rejected", "capability": "workOrder.note", "delivery": "agent",
    "label": "Note on 17", "idempotencyKey": "b7e0c1", "enqueuedAt": "2030-01-01T00:00:00.000Z",
    "updatedAt": "2030-01-01T00:00:00.000Z", "attempts": 1, "response": {"status": 409},
    "rejection": {"reason": "conflict", "response": {"status": 409}},
    "request": {"method": "POST", "url": "https://api.example/notes", "body": "pump replaced"},
    "payload": {"text": "pump replaced"},
}


class OperationTests(Person):
    def shown(self, *words, **changes):
        entry = {key: value for key, value in {**ENTRY, **changes}.items() if value is not None}
        agent = self.agent({
            "operation.list": {"account": WORK, "operations": [entry], "more": False}, "operation.get": entry,
            "operation.retry": entry, "operation.cancel": entry,
        })
        shown = self.answer("operations", *words, "-u", "work")
        agent.close()
        return shown

    def test_a_conflict(self):
        title, request, situation = self.shown().splitlines()
        self.assertEqual(title, "op_4d1c  workOrder.note: Note on 17")
        self.assertEqual(request, "  POST https://api.example/notes")
        self.assertIn("the server has a newer state (status 409)", situation)

    def test_an_operation_that_waits_says_why(self):
        for last, words in (
            (None, "waits for its turn"),
            ({"name": "denied", "reason": "clockSuspect"}, "until this machine's clock is right"),
            ({"name": "denied", "reason": "budgetExceeded"}, "hourly budget"),
            ({"name": "denied", "reason": "onlineRequired"}, "until the provider confirms the account again"),
            ({"name": "accountLocked"}, "the provider has disabled the account"),
            ({"name": "providerUnavailable", "reason": "status503"}, "waits for the network, or for the server"),
        ):
            with self.subTest(last):
                last = last and {**last, "at": "2030-01-01T00:00:00.000Z"}
                self.assertIn(words, self.shown(status="queued", rejection=None, response=None, lastError=last))

    def test_moments_count_on_the_clock_of_the_provider(self):
        def instant(**ahead):
            return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        entry = {**ENTRY, "status": "queued", "enqueuedAt": instant(days=3, minutes=-10), "nextAttemptAt": instant(days=3, minutes=5, seconds=10)}
        self.agent({
            "operation.list": {"account": WORK, "operations": [entry], "more": False},
            "session.get": {**SESSION, "serverTimeOffsetMs": 3 * 86_400_000}})
        self.assertIn("waits, tried again in 5 min, queued 10 min ago", self.answer("operations", "-u", "work"))

    def test_an_unknown_outcome_is_not_shown_as_failed(self):
        shown = self.shown(status="unknown", rejection=None)
        self.assertIn("it may have been carried out", shown)

    def test_programs_get_every_operation(self):
        self.assertEqual(json.loads(self.shown("list", "--json")), {"operations": [ENTRY]})

    def test_a_payload_is_exported_as_it_was_given(self):
        self.assertEqual(json.loads(self.shown("export", "op_4d1c")), ENTRY["payload"])
        self.assertEqual(self.shown("export", "op_4d1c", payload=None), "pump replaced\n")

    def test_a_body_that_is_no_text_is_exported_as_its_bytes(self):
        bytes_ = b"\x00\xff\r\nbinary\x1b"
        request = {"method": "POST", "url": "https://api.example/", "bodyBase64": base64.b64encode(bytes_).decode()}
        path = os.path.join(self.place, "body")
        self.assertEqual(self.shown("export", "op_4d1c", "-o", path, payload=None, request=request), "")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), bytes_)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        agent = self.agent({"operation.get": {**ENTRY, "request": request}})
        again = self.lanyard("operations", "export", "op_4d1c", "-o", path, "-u", "work")
        agent.close()
        self.assertNotEqual(again.returncode, 0, "a file that is there is not overwritten")
        self.assertIn("can't be created", again.stderr)

    def test_a_payload_is_written_as_the_program_gave_it(self):
        self.assertEqual(json.loads(self.shown("export", "op_4d1c", "-o", "-")), ENTRY["payload"])
        self.assertEqual(self.shown("export", "op_4d1c", "-o", "-", payload=None), "pump replaced")

    def test_one_that_waits_for_a_step_up_names_it(self):
        entry = {"status": "needsInteraction", "rejection": None}
        self.assertIn("lanyard login", self.shown(**entry))
        self.assertIn("lanyard step-up", self.shown(decision={"reason": "stepUpRequired"}, **entry))

    def test_a_cancelled_operation_that_was_tried_is_not_called_unsent(self):
        self.assertIn("may have been carried out", self.shown("cancel", "op_4d1c"))
        self.assertIn("never sent", self.shown("cancel", "op_4d1c", attempts=0))

    def test_control_characters_of_a_program_are_replaced(self):
        self.assertNotIn("\x1b", self.shown(label="\x1b[2J"))
