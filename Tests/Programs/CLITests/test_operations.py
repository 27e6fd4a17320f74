"""operations, as people and programs see them."""

import json

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

    def test_an_unknown_outcome_is_not_shown_as_failed(self):
        shown = self.shown(status="unknown", rejection=None)
        self.assertIn("it may have been carried out", shown)

    def test_programs_get_every_operation(self):
        self.assertEqual(json.loads(self.shown("list", "--json")), {"operations": [ENTRY]})

    def test_a_payload_is_exported_as_it_was_given(self):
        self.assertEqual(json.loads(self.shown("export", "op_4d1c")), ENTRY["payload"])
        self.assertEqual(self.shown("export", "op_4d1c", payload=None), "pump replaced\n")

    def test_a_cancelled_operation_that_was_tried_is_not_called_unsent(self):
        self.assertIn("may have been carried out", self.shown("cancel", "op_4d1c"))
        self.assertIn("never sent", self.shown("cancel", "op_4d1c", attempts=0))

    def test_control_characters_of_a_program_are_replaced(self):
        self.assertNotIn("\x1b", self.shown(label="\x1b[2J"))
