import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential netrc`
struct CredentialNetrc: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "netrc",
    abstract: "A line of .netrc, for a program that reads one from a pipe.",
    discussion: """
      EXAMPLES:
        url=https://api.acme.example/
        curl --netrc-file <(lanyard credential netrc "$url") "$url"
      """)

  @Argument(help: "The URL that the token is for.")
  var url: String

  @Option(help: "The user name beside the token.")
  var user: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let address = try ResourceAddress(typed: url)
    func check(_ login: String) throws(CommandFailure) {
      var login = login
      guard login.withUTF8({ Self.isWord(UnsafeRawBufferPointer($0)) }) else {
        throw .usage(
          "A user name in .netrc is one word, without control characters and backslashes, and with no # or quotation mark at its beginning. Nothing was printed."
        )
      }
    }
    let asked = user ?? address.user
    if let asked { try check(asked) }
    var agent = try common.connect()
    let found = try ResourceCredential.require(address, common, via: &agent)
    let usual = try found.usualUsername(for: address, via: &agent)
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      let login = token.username(asked: asked, usual: usual)
      try check(login)
      guard token.withBytes({ Self.isWord($0) }) else {
        throw CommandFailure(
          .other, name: "refused",
          "A secret with a space or a backslash, or with # or a quotation mark at its beginning, can't stand in .netrc. Nothing was printed."
        )
      }
      var answer = JSONWriter()
      answer.text("machine \(address.url.host) login \(login) password ")
      answer.text(token)
      answer.text("\n")
      try answer.answer()
    }
  }

  /// True for a word that programs read as it stands. Behind a space another entry could begin, for another host; a # begins a
  /// comment, a quotation mark a quoted word, and a backslash escapes.
  private static func isWord(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
      && bytes.first.map { !"#\"".utf8.contains($0) } ?? false
  }
}
