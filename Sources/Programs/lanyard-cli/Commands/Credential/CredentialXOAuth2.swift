import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential xoauth2`: what a mail program sends after AUTHENTICATE.
struct CredentialXOAuth2: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "xoauth2",
    abstract: "The string of a mail program's sign-in: XOAUTH2 or OAUTHBEARER, in Base64.",
    discussion: """
      EXAMPLES:
        lanyard credential xoauth2 --user alice@acme.example
        lanyard credential xoauth2 --user alice@acme.example \\
          --mechanism oauthbearer --host imap.acme.example --port 993
      """)

  enum Mechanism: String, ExpressibleByArgument, CaseIterable { case xoauth2, oauthbearer }

  @Option(help: "The mailbox.")
  var user: String

  @Option(help: "xoauth2, or oauthbearer (RFC 7628).")
  var mechanism: Mechanism = .xoauth2

  @Option(help: "With oauthbearer: the name of the mail server.")
  var host: String?

  @Option(help: "With oauthbearer: the port of the mail server.")
  var port: UInt16?

  @OptionGroup var common: CommonOptions

  func run() throws {
    // Also those of C1, from U+0080 to U+009F.
    for text in [user, host ?? ""]
    where text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      throw CommandFailure.usage("A mailbox and a host can't contain control characters. Nothing was printed.")
    }
    guard !user.isEmpty else { throw CommandFailure.usage("The mailbox is empty.") }
    var agent = try common.connect()
    try ResourceCredential.chosen(common, via: &agent).token(via: &agent) { (token) throws(CommandFailure) in
      var message = JSONWriter()
      switch mechanism {
      case .xoauth2: message.text("user=\(user)\u{1}")
      case .oauthbearer:
        // RFC 5801 §4: a comma and an equals sign would end the name.
        let name = user.unicodeScalars.map { $0 == "=" ? "=3D" : $0 == "," ? "=2C" : String($0) }.joined()
        message.text("n,a=\(name),\u{1}")
        if let host { message.text("host=\(host)\u{1}") }
        if let port { message.text("port=\(port)\u{1}") }
      }
      message.text("auth=Bearer ")
      message.text(token)
      message.text("\u{1}\u{1}")
      var answer = JSONWriter()
      message.withBytes { answer.base64($0) }
      answer.text("\n")
      try answer.answer()
    }
  }
}

extension JSONWriter {
  /// Base64 (RFC 4648 §4) on one line, outside of JSON. No String holds any part of it.
  fileprivate mutating func base64(_ bytes: UnsafeRawBufferPointer) {
    let digits: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    func digit(_ value: UInt32) -> UInt8 { digits.utf8Start[Int(value & 63)] }
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let count = min(3, bytes.count - start)
      var group: UInt32 = 0
      for index in 0..<3 { group = group << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
      byte(digit(group >> 18))
      byte(digit(group >> 12))
      byte(count > 1 ? digit(group >> 6) : UInt8(ascii: "="))
      byte(count > 2 ? digit(group) : UInt8(ascii: "="))
    }
  }
}
