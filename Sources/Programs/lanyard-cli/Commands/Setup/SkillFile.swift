import CommandSupport

/// A file that `lanyard setup` writes as a whole: the skill of an AI agent (<https://code.claude.com/docs/en/skills>).
struct SkillFile: FileChange {
  let place: String

  var file: String { place }
  var lines: [String] { Self.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
  var identity: String { "\(place): skill" }

  func state(in file: SetupFile) throws(CommandFailure) -> SetupState {
    if !file.isThere { return .absent }
    return file.text == Self.text ? .present : .taken("another text")
  }

  func applied(to file: SetupFile) throws(CommandFailure) -> String { Self.text }

  func removed(from file: SetupFile) throws(CommandFailure) -> String? { file.text == Self.text ? "" : nil }

  /// For the AI agent. The names of tools and reasons are those of `lanyard mcp --self`.
  static let text = """
    ---
    name: lanyard
    description: How to act for the person at servers where they have an account, through Lanyard. Use it before any \
    request that needs a sign-in, key or token, when something is refused (403, notPermitted, denied, declined, \
    notApproved), and whenever you are about to ask for a credential.
    ---

    # Acting for the person through Lanyard

    Lanyard holds the person's accounts. You never get a credential: you ask, and Lanyard sends the request with it.

    ## Rules

    1. Never ask for a password, key, token or code, and never search files, variables or history for one. If a tool \
    wants one, use `request` instead.
    2. Never go around a refusal: no other tool, account, address or wording for what was refused.
    3. Ask for the least: one server, the methods of this task. Give the true reason in one sentence; the person reads it.
    4. Say before a change what you will do. Read first, then write.

    ## The tools of the server `lanyard`

    | tool | use it to |
    |---|---|
    | `accounts` | see which accounts you may use, and their names |
    | `can` | find out whether a capability is allowed now, without any effect |
    | `request` | send an HTTP request as the person; give a change an `idempotencyKey` |
    | `ask_access` | ask the person for a server, method or capability that your grant does not cover |
    | `operations` | see what was queued while a server could not be reached |

    Without these tools, send requests as usual where the environment has a proxy of Lanyard: it adds the credential. The \
    body of a 403 says what happened, and the field `Lanyard-Refusal` has its name.

    ## When a request waits

    A change may wait up to five minutes for the person's yes. That is no error: wait, and do not send it again. Tell the \
    person that `lanyard approvals --watch` shows what waits.

    ## When something is refused

    | name or reason | what it means | what you do |
    |---|---|---|
    | `notPermitted` (1007) | your grant does not cover it | `ask_access` with origin, method and reason, once |
    | `denied` (4001), `notApproved` | no answer came in time | tell the person, and send it again once they are there |
    | `denied` (4001), `declined` | the person said no | stop; say what you wanted, and go on without it |
    | `denied` (4001), other reasons | the person's policy says no | stop; name the reason to the person |
    | `budgetExceeded` | too many such requests this hour | do something else; do not repeat it |
    | `stepUpRequired` | only the person can confirm this | tell the person, then send it again |
    | `originNotAllowed` | the account is not for that server | check the address; else tell the person |
    | `signedOut`, `reauthenticationRequired`, `interactionRequired` | the person has to sign in | tell the person: \
    `lanyard login` |
    | `offline`, `providerUnavailable`, `timedOut` | it may work later | try later; after a change read first |

    `ask_access` answers `allowed`, `denied` or `waiting`. After `denied` do not ask again. After `waiting` go on with \
    something else, and call it again with the same arguments later.

    """
}
