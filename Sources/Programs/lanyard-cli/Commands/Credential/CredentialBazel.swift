import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential bazel`: a credential helper of Bazel (EngFlow's specification).
struct CredentialBazel: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bazel",
    abstract: "A credential helper of Bazel.",
    discussion: """
      EXAMPLES, in .bazelrc:
        common --credential_helper=cache.acme.example=/usr/local/bin/bazel-credential-lanyard
      """)

  @Argument(help: "What Bazel asks for: get.")
  var operation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    guard operation == "get" else { throw CommandFailure.usage("A credential helper of Bazel knows only get.") }
    let input = try SecretInput.contents(of: "-")
    let uri = input.withBytes { JSONInput.read($0) { $0["uri"]?.string } }
    guard let uri = uri ?? nil else { throw CommandFailure.usage("Bazel's request has no `uri`.") }
    var agent = try common.connect()
    let address = ResourceAddress(whole: uri)
    guard let found = try ResourceCredential.find(address, named: common.account, via: &agent) else {
      return Output.answer(json: #"{"headers":{}}"#)
    }
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      var answer = JSONWriter()
      answer.beginObject()
      answer.key("headers")
      answer.beginObject()
      try answer.field(token, isList: true)
      answer.endObject()
      answer.member("expires", token.expiresAt?.rfc3339Seconds)
      answer.endObject()
      answer.text("\n")
      try answer.answer()
    }
  }
}
