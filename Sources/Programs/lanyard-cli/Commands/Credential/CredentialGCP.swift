import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential gcp`: an executable-sourced credential of Google's libraries (workload identity federation).
struct CredentialGCP: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gcp",
    abstract: "An executable-sourced credential of Google Cloud's libraries.",
    discussion: """
      It gives the ID token of an account. The libraries run it only with GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1.

      EXAMPLES, in the credential configuration:
        "credential_source": {
          "executable": { "command": "/usr/local/bin/lanyard credential gcp -u work" }
        }
      """)

  @OptionGroup var common: CommonOptions

  private static let idToken = "urn:ietf:params:oauth:token-type:id_token"
  private static let jwt = "urn:ietf:params:oauth:token-type:jwt"

  /// The libraries read stderr as part of the answer, and the answer only if the command ends with 0.
  func run() throws {
    Output.beQuiet()
    do throws(CommandFailure) {
      let type = Environment.value("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE") ?? Self.idToken
      guard type == Self.idToken || type == Self.jwt else {
        throw .usage("Only ID tokens can be given, not tokens of the type \(Text.shown(type)).")
      }
      var agent = try common.connect()
      try ResourceCredential.chosen(common, via: &agent).identity(via: &agent) { (token) throws(CommandFailure) in
        var answer = JSONWriter()
        answer.beginObject()
        answer.member("version", 1)
        answer.member("success", true)
        answer.member("token_type", type)
        answer.member("id_token", "", token)
        answer.member("expiration_time", token.expiresAt?.seconds)
        answer.endObject()
        answer.text("\n")
        try answer.answer()
      }
    } catch {
      let error = error.namingAccount()
      var answer = JSONWriter()
      answer.beginObject()
      answer.member("version", 1)
      answer.member("success", false)
      answer.member("code", error.name)
      answer.member("message", ([error.message] + error.hints).joined(separator: " "))
      answer.endObject()
      answer.text("\n")
      try answer.answer()
    }
  }
}
