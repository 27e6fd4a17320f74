internal import Glibc
internal import JSONRPC

/// `lanyard token`: asks for an access token or an ID token and prints it alone.
public struct TokenRequest: Sendable {
  public var account: String?
  public var option: String?
  public var minimumLifetimeSeconds: Int?
  public var scopes: [String] = []
  public var resource: String?
  public var forced = false
  /// The ID token instead of an access token. It has no scopes and no resource of its own.
  public var identity = false
  public var json = false
  public var mayStart = true

  public init() {}

  public func run() throws(CommandFailure) {
    let selection = try AccountSelection.choose(argument: account, option: option)
    for _ in 1..<Self.attempts {
      do throws(CommandFailure) {
        return try ask(selection)
      } catch {
        // The agent is ending. The request may be repeated: it changes nothing, and nothing was printed.
        guard error.name == "wentAway" || error.name == "shuttingDown" else { throw error }
        usleep(Self.pauseMicroseconds)
      }
    }
    try ask(selection)
  }

  /// The socket of an ending agent accepts connections for a moment, so a second request may reach the same agent.
  private static let attempts = 4
  private static let pauseMicroseconds: UInt32 = 5_000

  private var method: String { identity ? "identity.get" : forced ? "token.refresh" : "token.get" }

  private func ask(_ selection: AccountSelection) throws(CommandFailure) {
    var agent = try Agent.connect(mayStart: mayStart)
    try agent.call(method) { writer in
      writer.key("account")
      writer.string(selection.selector)
      if !scopes.isEmpty {
        writer.key("scopes")
        writer.beginArray()
        for scope in scopes.flatMap({ $0.split(separator: " ") }) { writer.string(String(scope)) }
        writer.endArray()
      }
      if let resource {
        writer.key("resource")
        writer.string(resource)
      }
      if let minimumLifetimeSeconds {
        writer.key("minimumLifetimeSeconds")
        writer.integer(minimumLifetimeSeconds)
      }
    } result: { (result) throws(CommandFailure) in
      if json {
        try Self.print(result.raw)
      } else {
        let token = identity ? result["idToken"] : result["accessToken"]
        guard let token, token.kind == .string else { throw .notUnderstood }
        try Output.secretLine(token)
      }
    }
  }

  private static func print(_ json: UnsafeRawBufferPointer) throws(CommandFailure) {
    let newline: StaticString = "\n"
    guard Output.write(json: json, to: STDOUT_FILENO),
      Output.write(UnsafeRawBufferPointer(start: newline.utf8Start, count: 1), to: STDOUT_FILENO)
    else {
      throw CommandFailure(.other, name: "output", "The answer could not be written: \(SystemError.message(errno)).")
    }
  }
}
