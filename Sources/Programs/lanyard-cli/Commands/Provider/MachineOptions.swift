import ArgumentParser
import CommandSupport
import JSONRPC

/// The options of `lanyard provider add` for a machine identity.
struct MachineOptions: ParsableArguments {
  /// How the machine gets its tokens.
  enum Grant: String, CaseIterable, ExpressibleByArgument {
    case clientCredentials = "client-credentials"
    case jwtBearer = "jwt-bearer"
    case githubApp = "github-app"
    case tokenFile = "token-file"

    /// As the agent calls it.
    var name: String {
      switch self {
      case .clientCredentials: "clientCredentials"
      case .jwtBearer: "jwtBearer"
      case .githubApp: "githubApp"
      case .tokenFile: "tokenFile"
      }
    }
  }

  @Option(name: .long, help: "With --kind client: how the machine gets its tokens.")
  var grant: Grant?

  @Option(name: .long, help: "With --grant jwt-bearer: for whom the machine acts, if not for itself.")
  var subject: String?

  @Option(name: .long, help: "With --grant jwt-bearer: the audience of its assertions. Default: the token endpoint.")
  var audience: String?

  @Option(name: .customLong("app-id"), help: "With --grant github-app: the app's id or client id.")
  var appID: String?

  @Option(name: .long, help: "With --grant github-app: the number of the installation.")
  var installation: String?

  @Option(
    name: .customLong("token-file"),
    help: "With --grant token-file: the file with the token to exchange, read anew each time.", completion: .file())
  var tokenFile: String?

  @Option(
    name: .customLong("token-url"),
    help: "With --kind client: the token endpoint. Without it the documents of --issuer name it.")
  var tokenURL: String?

  var isGiven: Bool {
    grant != nil || subject != nil || audience != nil || appID != nil || installation != nil || tokenFile != nil
      || tokenURL != nil
  }

  /// The agent knows the server: nothing has to name it.
  var knowsServer: Bool { tokenURL != nil || grant == .githubApp }

  func validate() throws {
    if subject != nil || audience != nil, grant != .jwtBearer {
      throw ValidationError("--subject and --audience go with --grant jwt-bearer.")
    }
    if grant == .githubApp ? appID == nil || installation == nil : appID != nil || installation != nil {
      throw ValidationError("--app-id and --installation go with --grant github-app, which needs both.")
    }
    guard (tokenFile != nil) == (grant == .tokenFile), tokenFile?.hasPrefix("/") ?? true else {
      throw ValidationError("--token-file goes with --grant token-file, and names the file by its absolute path.")
    }
  }

  /// The same failure, in the words of the command line where the machine was not described.
  func explained(_ failure: CommandFailure) -> CommandFailure {
    guard failure.problem?.path == "/machine", grant == nil else { return failure }
    var told = failure
    told.message = "The option --grant is missing. Nothing was changed."
    let names = Grant.allCases.map(\.rawValue)
    told.hints = ["Expected: \(names.dropLast().joined(separator: ", ")) or \(names[names.count - 1])."]
    return told
  }

  /// Writes the members of the options that were given.
  func write(to writer: inout JSONWriter) {
    if let tokenURL {
      writer.key("endpoints")
      writer.beginObject()
      writer.member("token", tokenURL)
      writer.endObject()
    }
    guard let grant else { return }
    writer.key("machine")
    writer.beginObject()
    writer.member("grant", grant.name)
    writer.member("subject", subject)
    writer.member("audience", audience)
    writer.member("appId", appID)
    writer.member("installation", installation)
    writer.member("path", tokenFile)
    writer.endObject()
  }
}
