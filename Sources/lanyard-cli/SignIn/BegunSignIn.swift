import CommandSupport
import JSONRPC

/// A sign-in that the agent has begun: what the person needs to go on.
struct BegunSignIn {
  let id: String
  private let authorizationURL: String?
  private let verificationURI: String?
  private let completeURI: String?
  private let userCode: String?
  private let expiresAt: Moment?
  /// As it came, for `--json`.
  private let json: String

  init(_ result: JSONNode) {
    id = result["signIn"]?.string ?? ""
    authorizationURL = result["authorizationUrl"]?.string
    verificationURI = result["verificationUri"]?.string
    completeURI = result["verificationUriComplete"]?.string
    userCode = result["userCode"]?.string
    expiresAt = result["expiresAt"]?.string.flatMap { Moment($0) }
    json = result.text
  }

  /// Tells the person what to do, on stderr, and opens the browser where that is wanted and possible.
  func show(_ wish: SignIn.Wish) {
    let isOpened =
      wish.flow == .browser && wish.opensBrowser && authorizationURL.map { Browser.open($0) } ?? false
    if wish.isForPrograms {
      Output.note(json)
    } else if let verificationURI, let userCode {
      Output.note(
        "On any device, open\n\n  \(Text.shown(verificationURI))\n\nand enter the code  \(Text.shown(userCode))\n")
      if let completeURI { Output.note("Or open this, and compare the code:\n\n  \(Text.shown(completeURI))\n") }
    } else if let authorizationURL {
      if isOpened {
        Output.note("Your browser was asked to open this page; if it did not, open it yourself:")
      } else {
        Output.note("Open this page in a browser\(wish.flow == .browser ? " on this machine" : ""):")
      }
      Output.note("\n  \(Text.shown(authorizationURL))\n")
    }
  }

  var waitingWords: String {
    let rest = expiresAt.map { $0.seconds - Moment.now.seconds } ?? 0
    return "Waiting until you have signed in\(rest > 0 ? ", for another \(Moment.span(rest))" : ""). Ctrl-C gives up."
  }
}
