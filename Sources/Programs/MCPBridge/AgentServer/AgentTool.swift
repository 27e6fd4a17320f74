internal import JSONRPC

/// A tool of the agent's own server (docs/mcp.md, The agent's own tools).
public enum AgentTool: String, CaseIterable, Sendable {
  case accounts, can, request
  case askAccess = "ask_access"
  case operations

  /// For an AI agent, once: how the tools go together.
  static let instructions = """
    These tools act for a person at servers where they have an account. You never get a credential, and must not ask for \
    one: the tool `request` sends a request with it. Your grant limits what you reach. When a tool says that your grant does \
    not cover something, ask for it with `ask_access` and a true reason. A request may wait some minutes for the person's yes. \
    When the person said no, do not try another way.
    """

  private var title: String {
    switch self {
    case .accounts: "The accounts you may use"
    case .can: "Whether something is allowed"
    case .request: "Send a request as the person"
    case .askAccess: "Ask the person for more access"
    case .operations: "Queued operations"
    }
  }

  private var text: String {
    switch self {
    case .accounts:
      """
      Lists the person's accounts that your grant covers: name, provider and state. An account that is not `active` needs \
      the person.
      """
    case .can:
      """
      Tells whether a capability of the policy is allowed now, and if not, why. It changes nothing and takes nothing of a \
      budget. Capabilities are names that the person's policy chose, such as ticket.comment.
      """
    case .request:
      """
      Sends an HTTP request to a server with the credential of an account, and returns its answer. Reads (GET, HEAD) are \
      usually allowed at once; anything else may wait up to five minutes for the person's yes. Never put a credential into \
      headers, address or body. Send a change with an idempotencyKey, so that repeating it does no harm.
      """
    case .askAccess:
      """
      Asks the person for more than your grant covers: servers (origins), methods, capabilities. Say in one sentence what \
      you need it for; the person reads it. Waits for the answer, and returns `waiting` if none came in time: call it again \
      with the same arguments to go on waiting.
      """
    case .operations:
      "Lists what was queued for an account because a server could not be reached, and what became of it."
    }
  }

  /// JSON Schema 2020-12 of the arguments.
  private var inputSchema: StaticString {
    switch self {
    case .accounts: #"{"type":"object","properties":{},"additionalProperties":false}"#
    case .can:
      #"""
      {"type":"object","required":["capability"],"additionalProperties":false,"properties":{\#
      "capability":{"type":"string","minLength":1,"maxLength":128,"description":"The capability's name in the policy."},\#
      "account":{"type":"string","minLength":1,"maxLength":128,\#
      "description":"The account: its name or id from the tool accounts. Default: the active account."}}}
      """#
    case .request:
      #"""
      {"type":"object","required":["url"],"additionalProperties":false,"properties":{\#
      "url":{"type":"string","minLength":1,"maxLength":2048,"description":"The whole address, https."},\#
      "method":{"type":"string","minLength":1,"maxLength":32,"description":"The HTTP method. Default: GET."},\#
      "headers":{"type":"object","additionalProperties":{"type":"string"},\#
      "description":"Header fields, such as Content-Type. Authorization and Cookie are refused."},\#
      "body":{"type":"string","description":"The body as text."},\#
      "bodyBase64":{"type":"string","description":"The body in Base64, for bytes that are no text."},\#
      "idempotencyKey":{"type":"string","minLength":1,"maxLength":128,\#
      "description":"A name for this change: the server performs it once even if it is sent again."},\#
      "account":{"type":"string","minLength":1,"maxLength":128,\#
      "description":"The account: its name or id from the tool accounts. Default: the active account."},\#
      "timeoutSeconds":{"type":"integer","minimum":1,"maximum":3600,\#
      "description":"How long all of it may take, with the wait for the person. Default: as long as that takes."}}}
      """#
    case .askAccess:
      #"""
      {"type":"object","required":["origins","reason"],"additionalProperties":false,"properties":{\#
      "origins":{"type":"array","items":{"type":"string","minLength":1,"maxLength":512},"minItems":1,"maxItems":64,\#
      "description":"Servers, such as https://api.example."},\#
      "methods":{"type":"array","items":{"type":"string","minLength":1,"maxLength":64},"maxItems":64,\#
      "description":"HTTP methods that you want to use there, such as POST, or what a refused tool names."},\#
      "capabilities":{"type":"array","items":{"type":"string","minLength":1,"maxLength":128},"maxItems":64,\#
      "description":"Capabilities of operations that you want to claim."},\#
      "reason":{"type":"string","minLength":1,"maxLength":500,\#
      "description":"What you need it for, in one sentence for the person."},\#
      "waitSeconds":{"type":"integer","minimum":0,"maximum":300,\#
      "description":"How long to wait for the answer. Default: 120."}}}
      """#
    case .operations:
      #"""
      {"type":"object","additionalProperties":false,"properties":{\#
      "account":{"type":"string","minLength":1,"maxLength":128,\#
      "description":"The account: its name or id from the tool accounts. Default: the active account."},\#
      "status":{"type":"string",\#
      "enum":["queued","ready","sending","done","rejected","needsInteraction","unknown","orphaned"],\#
      "description":"Only those with this status."}}}
      """#
    }
  }

  /// The methods of the agent that a grant has to name for the tool.
  public var methods: [String] {
    switch self {
    case .accounts: ["account.list"]
    case .can: ["policy.explain"]
    case .request: ["request.send"]
    case .askAccess: ["access.request"]
    case .operations: ["operation.list"]
    }
  }

  private var isReading: Bool { self != .request && self != .askAccess }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("name", rawValue)
    writer.member("title", title)
    writer.member("description", text)
    writer.key("inputSchema")
    writer.raw(UnsafeRawBufferPointer(start: inputSchema.utf8Start, count: inputSchema.utf8CodeUnitCount))
    writer.key("annotations")
    writer.beginObject()
    writer.key("readOnlyHint")
    writer.bool(isReading)
    writer.key("openWorldHint")
    writer.bool(self == .request)
    writer.endObject()
    writer.endObject()
  }
}
