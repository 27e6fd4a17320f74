import AgentModel
import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC

/// `lanyard request`
struct Request: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send a request with an access token, which stays in the agent.",
    discussion: """
      Prints the body of the response. The address must be of an origin that the provider allows (`lanyard provider \
      add … --allowed-origin URL`). If the server refuses the token, the agent gets a new one once; it then sends a \
      reading request again, any other only with --idempotency-key.

      If the status is not a success, the body goes to stdout all the same, the status to stderr, and the exit code is \
      1. If no response came, the message says whether the request was sent.

      EXAMPLES:
        lanyard request https://api.example/orders/17
        lanyard request POST https://api.example/orders -d '{"part":4}' \\
          -H 'Content-Type: application/json'
        lanyard request PUT https://api.example/photo --data-file photo.jpg \\
          --idempotency-key photo-17
      """)

  @Argument(help: "The HTTP method. GET where only an address is given.")
  var method: String

  @Argument(help: "The address.")
  var url: String?

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp("A header field; may be repeated.", valueName: "name: value"))
  var headers: [String] = []

  @Option(name: [.customShort("d"), .long], help: ArgumentHelp("The body, as it is.", valueName: "text"))
  var data: String?

  @Option(
    name: .long, help: ArgumentHelp("The file with the body; - reads stdin.", valueName: "file"), completion: .file())
  var dataFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A name for this change, so that the server performs it once even if it is sent again.", valueName: "key"))
  var idempotencyKey: String?

  @Flag(name: .long, help: "Do not get a new token when the server refuses one.")
  var noAuthRetry = false

  @Option(
    name: [.customShort("t"), .long],
    help: ArgumentHelp("How long all of it may take. Default: 60 for a response.", valueName: "seconds"))
  var timeout: Int?

  @Option(name: [.customShort("s"), .long], help: "A scope that the token must have; may be repeated.")
  var scope: [String] = []

  @Option(name: .customLong("aud"), help: "The resource that the token is for (RFC 8707).")
  var resource: String?

  @Flag(name: [.customShort("i"), .long], help: "Print the status and the header fields before the body.")
  var include = false

  @OptionGroup var common: CommonOptions

  /// The method and the address.
  private var target: (method: String, url: String) {
    url.map { (method.uppercased(), $0) } ?? ("GET", method)
  }

  func validate() throws {
    if url == nil, !method.contains("://") {
      throw ValidationError("The address is missing: `lanyard request \(Text.shown(method)) URL`.")
    }
    if data != nil || dataFile != nil, url == nil {
      throw ValidationError("Name the method of a request with a body: `lanyard request POST URL -d …`.")
    }
    if data != nil, dataFile != nil { throw ValidationError("Choose --data or --data-file, not both.") }
    if let timeout, !(0...3600).contains(timeout) { throw ValidationError("--timeout is 0 to 3600 seconds.") }
    for header in headers where RequestHeader(header) == nil {
      throw ValidationError("A header field is 'Name: value', not '\(Text.shown(header))'.")
    }
    let names = headers.compactMap(RequestHeader.init).map { $0.name.lowercased() }
    if let twice = Dictionary(grouping: names, by: { $0 }).first(where: { $0.value.count > 1 })?.key {
      throw ValidationError(
        "The header field \(Text.shown(twice)) is given twice. Give it once, its values after commas.")
    }
  }

  func run() throws {
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    let body = try body()
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    let status: Int64
    do throws(CommandFailure) {
      status = try send(body, for: account, via: &agent)
    } catch {
      throw error.name == "originNotAllowed" ? explaining(error, account: account, via: &agent) : error
    }
    if (200..<300).contains(status) { return }
    if !common.json { Output.warning("The server answered with status \(status).") }
    try OtherAnswer.end(with: .other)
  }

  private func send(
    _ body: RequestBody?, for account: String, via agent: inout AgentConnection
  ) throws(CommandFailure) -> Int64 {
    try agent.call("request.send") { writer in
      writer.member("account", account)
      writer.member("method", target.method)
      writer.member("url", target.url)
      if !headers.isEmpty {
        writer.key("headers")
        writer.beginObject()
        for header in headers.compactMap(RequestHeader.init) {
          writer.key(header.name)
          writer.string(header.value)
        }
        writer.endObject()
      }
      body?.write(to: &writer)
      writer.member("idempotencyKey", idempotencyKey)
      if noAuthRetry { writer.member("allowAuthRetry", false) }
      writer.member("timeoutSeconds", timeout)
      writer.member("scopes", ifAny: scope.flatMap { $0.split(separator: " ").map(String.init) })
      writer.member("resource", resource)
    } result: { (result) throws(CommandFailure) in
      try show(result)
    }
  }

  private func explaining(
    _ failure: CommandFailure, account: String, via agent: inout AgentConnection
  ) -> CommandFailure {
    guard let provider = try? AccountInfo.named(account, via: &agent).provider,
      let origin = HTTPURL(target.url)?.origin
    else { return failure }
    return ProviderAllowance(of: provider, via: &agent)?.explaining(failure, of: [origin], so: "nothing was sent")
      ?? failure
  }

  private func body() throws(CommandFailure) -> RequestBody? {
    if let data { return RequestBody(text: data) }
    guard let dataFile else { return nil }
    return try SecretInput.contents(of: dataFile).withBytes { RequestBody($0) }
  }

  private func show(_ result: JSONNode) throws(CommandFailure) -> Int64 {
    guard let status = result["status"]?.integer else { throw .notUnderstood }
    if common.json {
      Output.answer(json: result.raw)
      return status
    }
    if include {
      Output.answer("HTTP \(status)")
      if let headers = result["headers"] {
        for field in headers.members {
          Output.answer(Text.shown("\(field.key.string ?? ""): \(field.value.string ?? "")"))
        }
      }
      Output.answer("")
    }
    let bytes: [UInt8]
    if let text = result["body"]?.string {
      bytes = Array(text.utf8)
    } else if let text = result["bodyBase64"]?.string {
      guard let decoded = Base64.decode(text) else { throw .notUnderstood }
      bytes = decoded
    } else {
      bytes = []
    }
    bytes.withUnsafeBytes { Output.answer(bytes: $0) }
    // What follows on the terminal, a warning or the shell's prompt, begins a line.
    if Terminal.showsAnswers, let last = bytes.last, last != UInt8(ascii: "\n") { Output.answer("") }
    return status
  }
}

/// A header field as it is written in HTTP.
private struct RequestHeader {
  let name: String
  let value: String

  init?(_ text: String) {
    guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return nil }
    name = String(text[..<colon])
    var value = text[text.index(after: colon)...]
    while value.first == " " || value.first == "\t" { value.removeFirst() }
    while value.last == " " || value.last == "\t" { value.removeLast() }
    self.value = String(value)
  }
}

/// A body as the contract takes it: text in UTF-8, or any other bytes in Base64.
private enum RequestBody {
  case text(String)
  case bytes(String)

  init(text: String) { self = .text(text) }

  init(_ bytes: UnsafeRawBufferPointer) {
    if let text = String(validating: bytes, as: UTF8.self) {
      self = .text(text)
    } else {
      self = .bytes(Base64.encode(bytes))
    }
  }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .text(let text): writer.member("body", text)
    case .bytes(let text): writer.member("bodyBase64", text)
    }
  }
}
