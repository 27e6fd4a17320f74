"""A fake agent at which something waits for a person's yes."""

from fake_agent import Error
from people import SESSION, WORK, accounts

APPROVAL = {
    "approval": "apr_7k2m", "grant": "grt_5", "client": "claude", "account": WORK["id"], "capability": "ticket.comment",
    "method": "POST", "url": "https://api.example/tickets/17?notify", "requestedAt": "2030-01-01T00:00:00.000Z",
    "expiresAt": "2999-01-01T00:02:00.000Z", "waiting": 1,
}
ACCESS = {
    "request": "acr_3n8d", "grant": "grt_5", "client": "claude", "origins": ["https://api.example"], "methods": ["POST"],
    "capabilities": [], "reason": "To comment on the tickets that I close.", "requestedAt": "2030-01-01T00:00:00.000Z",
}


class WaitingAgent:
    """Answers as an agent with what waits, and tells those who subscribed."""

    def __init__(self, *waiting, step_up=False):
        self.approvals = [dict(each) for each in waiting if "approval" in each]
        self.requests = [dict(each) for each in waiting if "request" in each]
        self.subscribed = []
        self.sequence = 0
        self.needs_pin = step_up
        self.decided = []

    def answers(self, **more):
        return {
            **accounts(WORK), "session.get": SESSION,
            "approval.list": lambda *_: {"approvals": self.approvals},
            "access.list": lambda *_: {"requests": self.requests},
            "approval.decide": self.decide_approval, "access.decide": self.decide_access,
            "event.subscribe": self.subscribe, "stepUp.verify": self.verify, **more,
        }

    def subscribe(self, params, connection):
        self.subscribed.append(connection)
        return {"subscription": "sub_1", "epoch": "e1", "sequence": 0, "gap": False}

    def tell(self, type, account=None, **data):
        for connection in self.subscribed:
            self.sequence += 1
            connection.event(self.sequence, type, account, **data)

    def comes(self, waiting):
        if "approval" in waiting:
            self.approvals.append(dict(waiting))
            self.tell("approval.requested", waiting["account"], approval=waiting["approval"])
        else:
            self.requests.append(dict(waiting))
            self.tell("access.requested", request=waiting["request"])

    def goes(self, waiting, **how):
        """It ends without this program."""
        if "approval" in waiting:
            self.approvals = [each for each in self.approvals if each["approval"] != waiting["approval"]]
            self.tell("approval.decided", waiting["account"], approval=waiting["approval"], **how)
        else:
            self.requests = [each for each in self.requests if each["request"] != waiting["request"]]
            self.tell("access.decided", request=waiting["request"], **how)

    def verify(self, params, _):
        if "prompt" not in params and params.get("pin") != "2468":
            raise Error(4003, "stepUpFailed", "The PIN is wrong.", reason="wrongPIN", attemptsLeft=9)
        self.needs_pin = False
        return {"account": WORK["id"], "validUntil": "2999-01-01T00:05:00.000Z"}

    def decide_approval(self, params, _):
        found = [each for each in self.approvals if each["approval"] == params["approval"]]
        if not found:
            raise Error(6003, "notFound", "There is no such approval.", kind="approval")
        if self.needs_pin and params["verdict"] != "deny":
            failed = [{"check": "stepUp", "reason": "stepUpRequired", "facts": {"maxAgeSeconds": 60, "method": "pin"}}]
            raise Error(
                4002, "stepUpRequired", "A step-up is missing.", account=WORK["id"], reason="stepUpRequired",
                remedies=["stepUp"], decision={"failed": failed})
        self.decided.append(params)
        self.goes(found[0], outcome="decided", verdict=params["verdict"])
        return {"approval": params["approval"], "verdict": params["verdict"], "account": WORK["id"]}

    def decide_access(self, params, _):
        found = [each for each in self.requests if each["request"] == params["request"]]
        if not found:
            raise Error(6003, "notFound", "There is no such request.", kind="access")
        self.decided.append(params)
        self.goes(found[0], verdict=params["verdict"])
        return {"request": params["request"], "status": "allowed" if params["verdict"] == "allow" else "denied"}
