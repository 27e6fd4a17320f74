import CommandSupport
import JSONRPC

/// A sign-in that the agent has begun: what the person needs to go on.
struct BegunSignIn {
  let id: String
  private let authorizationURL: String?
  private let device: DeviceInstructions?
  private let expiresAt: Moment?
  /// As it came, for `--json`.
  private let json: String

  init(_ result: JSONNode) {
    id = result["signIn"]?.string ?? ""
    authorizationURL = result["authorizationUrl"]?.string
    device = DeviceInstructions(result)
    expiresAt = result["expiresAt"]?.string.flatMap { Moment($0) }
    json = result.text
  }

  /// Tells the person what to do, on stderr, and opens the browser where that is wanted and possible.
  func show(_ request: SignIn.SignInRequest) {
    if request.isForPrograms {
      _ = opensBrowser(request)
      Output.note(json)
    } else if let device {
      device.show()
    } else if let authorizationURL {
      if opensBrowser(request) {
        Output.note("Your browser was asked to open this page; if it did not, open it yourself:")
      } else {
        Output.note("Open this page in a browser\(request.flow == .browser ? " on this machine" : ", on any machine"):")
      }
      Output.note("\n  \(Text.shown(authorizationURL))\n")
      if request.flow == .paste {
        Output.note(
          "Once you have signed in, the browser says that it can't reach the next page: that is as it should be.\n"
            + "Copy the address that it shows then, or only the code in it.\n")
      } else if Environment.value("SSH_CONNECTION") != nil {
        Output.note(
          "The browser is on another machine? `lanyard login --paste` and `--device` need no way back here.\n")
      }
    }
  }

  private func opensBrowser(_ request: SignIn.SignInRequest) -> Bool {
    request.flow == .browser && request.opensBrowser && authorizationURL.map { Browser.open($0) } ?? false
  }

  /// On a terminal the time is counted down; elsewhere the words are said once.
  var waitingWords: String {
    let rest = expiresAt.map { max(0, $0.seconds - Moment.now.seconds) } ?? 0
    let time =
      rest == 0 ? "" : Terminal.showsNotes ? ": \(Moment.countdown(rest)) left" : ", for another \(Moment.span(rest))"
    return "Waiting until you have signed in\(time). Ctrl-C gives up."
  }
}
