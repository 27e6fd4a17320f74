internal import CommandSupport
internal import JSONRPC

/// What `lanyard ui` prints.
struct Announcement {
  let port: UInt16
  let code: String
  let options: Options

  private var address: String { "http://127.0.0.1:\(port)" }
  /// No server, proxy or log gets what stands behind the `#`.
  var opening: String { "\(address)/open#\(code)" }

  /// - Parameter isOpened: a browser was started with the address.
  func tell(isOpened: Bool) {
    if options.json {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("url", opening)
      writer.member("address", address)
      writer.key("expiresInSeconds")
      writer.integer(options.codeSeconds)
      writer.endObject()
      writer.withBytes { Output.answer(json: $0) }
    } else {
      Output.answer(opening)
    }
    guard !options.json, !Output.takesNothing else { return }
    let minutes = options.idleSeconds / 60
    Output.note(
      (isOpened ? "It is opened in your browser. " : "Open it in your browser. ")
        + "The address works once, within \(options.codeSeconds) s; `lanyard ui` makes another. "
        + "The page ends with Ctrl-C, or after \(minutes) minutes without you.")
    if !isOpened, Environment.value("SSH_CONNECTION") != nil {
      Output.note("From another machine: `ssh -L \(port):127.0.0.1:\(port)` to this one, then open the address there.")
    }
  }
}
