import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential headers`: the header fields of a request as a JSON object, as the `headersHelper` of Claude Code
/// reads them.
struct CredentialHeaders: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "headers",
    abstract: "The header field with the token, as JSON.",
    discussion: """
      EXAMPLES, in the configuration of an MCP server:
        "headersHelper": "lanyard credential headers https://mcp.acme.example/mcp"
      """)

  @Argument(help: "The URL that the token is for. Default: CLAUDE_CODE_MCP_SERVER_URL.")
  var url: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    guard let url = url ?? Environment.value("CLAUDE_CODE_MCP_SERVER_URL") else {
      throw CommandFailure.usage("The URL is missing.")
    }
    var agent = try common.connect()
    let found = try ResourceCredential.require(ResourceAddress(typed: url), common, via: &agent)
    try found.token(via: &agent) { (token) throws(CommandFailure) in
      var answer = JSONWriter()
      answer.beginObject()
      try answer.field(token)
      answer.endObject()
      answer.text("\n")
      try answer.answer()
    }
  }
}
