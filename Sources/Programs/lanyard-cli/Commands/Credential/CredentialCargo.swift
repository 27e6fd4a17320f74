import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC

/// `lanyard credential cargo`: a credential provider of cargo (Cargo's credential provider protocol, version 1).
struct CredentialCargo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cargo",
    abstract: "A credential provider of cargo.",
    discussion: """
      EXAMPLES, in ~/.cargo/config.toml:
        [registry]
        global-credential-providers = ["cargo:token", "cargo-credential-lanyard"]
      """)

  @Flag(name: .customLong("cargo-plugin"), help: "Cargo calls it so: one line of JSON each way.")
  var isPlugin = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard isPlugin else { throw ValidationError("cargo calls this program; a person uses `lanyard token`.") }
  }

  func run() throws {
    Output.answer(json: #"{"v":[1]}"#)
    var lines = LineReader()
    var tape = JSONTape()
    while true {
      var ended = false
      let line: Void? = lines.next { line in
        guard line.contains(where: { $0 > 0x20 }) else { return }
        answer(line, &tape)
      }
      if line == nil {
        switch lines.fill(from: STDIN_FILENO) {
        case .bytes: break
        default: ended = true
        }
      }
      if ended { return }
    }
  }

  private func answer(_ line: UnsafeRawBufferPointer, _ tape: inout JSONTape) {
    do throws(CommandFailure) {
      let request = try CargoRequest(line, &tape)
      guard request.kind == "get" else { return Self.refuse("operation-not-supported") }
      guard let url = request.indexURL else { return Self.refuse("url-not-supported") }
      var agent = try common.connect()
      guard let found = try ResourceCredential.find(ResourceAddress(whole: url), named: common.account, via: &agent)
      else {
        return Self.refuse("url-not-supported")
      }
      try found.token(via: &agent) { (token) throws(CommandFailure) in
        var answer = JSONWriter()
        answer.beginObject()
        answer.key("Ok")
        answer.beginObject()
        answer.member("kind", "get")
        // cargo sends it as it is, as the whole field.
        try answer.authorization("token", token)
        if let end = token.expiresAt {
          answer.member("cache", "expires")
          answer.member("expiration", end.seconds)
        } else {
          answer.member("cache", "session")
        }
        answer.member("operation_independent", true)
        answer.endObject()
        answer.endObject()
        answer.text("\n")
        try answer.answer()
      }
    } catch {
      guard error.status != .signInAgain else {
        Output.tell(error, json: false)
        return Self.refuse("not-found")
      }
      Self.refuse("other", ([error.message] + error.hints).joined(separator: " "))
    }
  }

  private static func refuse(_ kind: String, _ message: String? = nil) {
    var answer = JSONWriter()
    answer.beginObject()
    answer.key("Err")
    answer.beginObject()
    answer.member("kind", kind)
    if let message {
      answer.member("message", message)
      answer.member("caused-by", [String]())
    }
    answer.endObject()
    answer.endObject()
    answer.text("\n")
    try? answer.answer()
  }
}

/// A line that cargo sends.
private struct CargoRequest {
  var kind: String
  /// Without the prefix that names the kind of the index.
  var indexURL: String?

  init(_ line: UnsafeRawBufferPointer, _ tape: inout JSONTape) throws(CommandFailure) {
    do {
      try JSONScanner.scan(line, onto: &tape, duplicateKeys: .allowed)
    } catch {
      throw .usage("cargo sent a line that is not JSON.")
    }
    let read = tape.withRoot(of: line) { root in
      (root["v"]?.integer, root["kind"]?.string, root["registry"]?["index-url"]?.string)
    }
    guard read.0 == 1 else { throw .usage("cargo asks in a version of the protocol that this program does not know.") }
    kind = read.1 ?? ""
    indexURL = read.2.map { $0.hasPrefix("sparse+") ? String($0.dropFirst(7)) : $0 }
    if indexURL == Self.gitIndexOfCratesIO { indexURL = "https://index.crates.io/" }
  }

  /// How cargo names crates.io, although it reads the sparse index (cargo 1.95, `publish` and `owner`). An account at GitHub must
  /// not answer for it: its token would go to crates.io.
  private static let gitIndexOfCratesIO = "https://github.com/rust-lang/crates.io-index"
}
