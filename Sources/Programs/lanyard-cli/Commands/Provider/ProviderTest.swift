import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider test`
struct ProviderTest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Try a provider without signing in, and say what works.",
    discussion: """
      Reads the provider's documents and asks each endpoint something that changes nothing there: whether the sign-in by
      browser and by device begins, whether the client and its secret are taken, whether tokens can be revoked, and with
      which key each server proves itself. No token of yours is sent.

      EXIT CODES:
        1  there is a problem

      EXAMPLES:
        lanyard provider test corp
      """)

  @Argument(help: "The provider.", completion: .providers)
  var provider: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let findings = try Self.findings(of: provider, from: &agent)
    try Finding.answer(findings, json: common.json)
  }

  static func findings(of provider: String, from agent: inout AgentConnection) throws(CommandFailure) -> [Finding] {
    try agent.call("provider.test") { writer in
      writer.member("provider", provider)
    } result: { (result) throws(CommandFailure) in
      result["findings"].map { $0.elements.map { Finding($0) } } ?? []
    }
  }
}
