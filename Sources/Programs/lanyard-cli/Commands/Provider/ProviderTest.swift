import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider test`
struct ProviderTest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Test a provider without signing in.",
    discussion: """
      Reads the provider's documents and asks each endpoint something that changes nothing there: whether the sign-in by \
      browser and by device begins, whether it accepts the client and its secret, whether tokens can be revoked, and \
      which key each server uses for TLS. No token of yours is sent.

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
