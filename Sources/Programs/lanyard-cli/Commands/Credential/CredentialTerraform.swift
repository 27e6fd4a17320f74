import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential terraform`: a credentials helper of Terraform and OpenTofu.
struct CredentialTerraform: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "terraform",
    abstract: "A credentials helper of Terraform and OpenTofu.",
    discussion: """
      EXAMPLES, in ~/.terraformrc:
        credentials_helper "lanyard" {}
      """)

  @Argument(help: "What Terraform asks for: get, store or forget.")
  var operation: String

  @Argument(help: "The host.")
  var host: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    switch operation {
    case "get": break
    case "store", "forget":
      throw CommandFailure(
        .other, name: "refused", "Lanyard keeps no tokens of other programs. Nothing was changed.",
        hints: ["Sign in and out by `lanyard login` and `lanyard logout`."])
    default: throw CommandFailure.usage("A credentials helper of Terraform knows only get, store and forget.")
    }
    var agent = try common.connect()
    // Terraform speaks https to all hosts (its remote service discovery).
    let address = ResourceAddress(scheme: "https", host: host)
    guard let found = try ResourceCredential.find(address, named: common.account, via: &agent) else {
      return Output.answer(json: "{}")
    }
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      var answer = JSONWriter()
      answer.beginObject()
      answer.member("token", "", token)
      answer.endObject()
      answer.text("\n")
      try answer.answer()
    }
  }
}
