"""Fixtures: two accounts, a provider, and an agent that knows them."""

from fake_agent import Error

WORK = {
    "id": "acc_c2ztq4xk7m3vwy5ndhb6rfgupa", "account": "acc_c2ztq4xk7m3vwy5ndhb6rfgupa", "alias": "work",
    "provider": "idp", "issuer": "https://idp.example", "tenant": "acme", "subject": "alice",
    "displayName": "Alice Example", "email": "alice@acme.example", "state": "active", "active": True,
    "createdAt": "2030-01-01T00:00:00.000Z", "lastOnlineAuthAt": "2020-01-01T00:00:00.000Z",
}
HOME = {
    "id": "acc_m7n2qk4xwz5vty3cdhb6rfgups", "account": "acc_m7n2qk4xwz5vty3cdhb6rfgups", "alias": "home",
    "provider": "idp", "issuer": "https://idp.example", "subject": "alice2", "state": "reauthenticationRequired",
    "active": False, "createdAt": "2030-01-01T00:00:00.000Z",
}
CLIENT = {
    "id": "acc_aaaaaaaaaaaaaaaaaaaaaaaaaa", "account": "acc_aaaaaaaaaaaaaaaaaaaaaaaaaa", "provider": "other",
    "issuer": "https://other.example", "subject": "a-17", "state": "signedOut", "active": False,
    "createdAt": "2030-01-01T00:00:00.000Z",
}
IDP = {
    "name": "idp", "issuer": "https://idp.example", "clientId": "lanyard", "clientSecretSet": False,
    "scopes": ["openid", "offline_access"], "refresh": {"reuse": "strict"},
}
OTHER = {"name": "other", "issuer": "https://other.example", "clientId": "app", "clientSecretSet": True}
AGENT = {
    "locked": False, "initialized": True, "protection": "keyFile", "connectivity": "online",
    "accounts": {"total": 2, "byState": {"active": 1, "reauthenticationRequired": 1}}, "pendingRevocations": 1,
    "pendingOperations": 0, "connections": 1, "startedAt": "2030-01-01T00:00:00.000Z", "version": "0.1.0",
    "callersAreTrusted": True,
    "memoryLocked": True,
    "confinement": "landlock",
}
SESSION = {
    "account": WORK["id"], "state": "active", "freshness": "fresh", "accessTokenExpiresAt": "2999-01-01T00:05:00.000Z",
    "lastOnlineAuthAt": "2020-01-01T00:00:00.000Z", "scopes": ["openid"], "roles": [],
    "refresh": {"phase": "idle", "attempts": 0}, "clock": "trusted", "generation": 7,
}
TOKEN = {
    "accessToken": "not-a-real-access-token", "tokenType": "Bearer", "expiresAt": "2030-01-01T00:05:00.000Z",
    "expiresInSeconds": 300, "account": WORK["id"], "issuer": "https://idp.example", "scopes": ["openid"],
    "source": "cache", "fingerprint": "k3Jt0Qe1", "generation": 7,
}
IDENTITY = {
    "idToken": "not-a-real-id-token", "expiresAt": "2030-01-01T00:05:00.000Z", "expiresInSeconds": 300,
    "audience": ["lanyard-demo"], "issuer": "https://idp.example", "account": WORK["id"],
}


def accounts(*people, providers=(IDP,)):
    """The answers of an agent that holds these accounts; switching and signing out are remembered."""
    people = [dict(person) for person in people]

    def find(params, _=None):
        selector = params["account"]
        for person in people:
            if selector in (person["id"], person.get("alias")) or (selector == "@active" and person["active"]):
                return person
        raise Error(2001, "accountNotFound", "There is no such account.")

    def switch(params, _):
        target = find(params)
        previous = [person["id"] for person in people if person["active"]]
        for person in people:
            person["active"] = person is target
        return {"account": target["id"], "active": target["id"], **({"previous": previous[0]} if previous else {})}

    def sign_out(params, _):
        person = find(params)
        person.update(state="signedOut", active=False)
        data = "erased" if params["mode"] == "hard" else "sealed"
        revocation = "queued" if params["mode"] == "offline" else "confirmed"
        return {"account": person["id"], "mode": params["mode"], "data": data, "revocation": revocation}

    def forget(params, _):
        person = find(params)
        people.remove(person)
        return {"account": person["id"]}

    def add(params, _):
        return {"provider": {"clientSecretSet": "clientSecret" in params, **{
            name: value for name, value in params.items() if name != "clientSecret"}}}

    def provider(params, _):
        for known in providers:
            if known["name"] == params["provider"]:
                return {"provider": known}
        raise Error(3005, "providerNotFound", "There is no provider of this name.")

    def listed(*_):
        active = [person["id"] for person in people if person["active"]]
        return {"accounts": people, **({"active": active[0]} if active else {})}

    return {
        "agent.status": AGENT,
        "account.list": listed,
        "account.get": find,
        "account.switch": switch,
        "account.signOut": sign_out,
        "account.forget": forget,
        "session.get": lambda params, _: {**SESSION, "account": find(params)["id"], "state": find(params)["state"]},
        "token.get": lambda params, _: {**TOKEN, "account": find(params)["id"]},
        "token.refresh": lambda params, _: {**TOKEN, "accessToken": "a-new-token", "source": "refreshed"},
        "identity.get": lambda params, _: {**IDENTITY, "account": find(params)["id"]},
        "provider.list": {"providers": list(providers)},
        "provider.get": provider,
        "provider.add": add,
        "provider.remove": lambda params, _: {"provider": params["provider"]},
    }


def resolving(*people):
    """An agent that also finds accounts by e-mail address and name."""
    answers = accounts(*people)

    def resolve(params, _):
        word = params["selector"]
        found = [person for person in answers["account.list"]()["accounts"]
                 if word in (person["id"], person.get("alias"), person.get("email"), person.get("displayName"))]
        if len(found) > 1:
            raise Error(2002, "accountAmbiguous", candidates=[person["id"] for person in found])
        if not found:
            raise Error(2001, "accountNotFound")
        return {"account": found[0]["id"], "because": "selector"}

    def rename(params, _):
        people = answers["account.list"]()["accounts"]
        if any(person.get("alias") == params["alias"] and person["id"] != params["account"] for person in people):
            raise Error(2002, "accountAmbiguous", "The alias is taken; name one of the candidates by its id.")
        next(person for person in people if person["id"] == params["account"])["alias"] = params["alias"]
        return dict(params)

    return {**answers, "account.resolve": resolve, "account.rename": rename}
