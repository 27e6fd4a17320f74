import CommandSupport
import JSONRPC
import LoopbackHTTP

/// The answer of `signIn.begin`: the page or the code for the person.
struct BegunSignIn {
  let id: String
  private let authorizationURL: String?
  private let device: DeviceInstructions?
  private let expiresAt: Moment?
  /// The agent's JSON, for `--json`.
  private let json: String

  init(_ result: JSONNode) {
    id = result["signIn"]?.string ?? ""
    authorizationURL = result["authorizationUrl"]?.string
    device = DeviceInstructions(result)
    expiresAt = result["expiresAt"]?.string.flatMap { Moment($0) }
    json = result.text
  }

  /// The page that a browser was asked to open; nil if there is none, or with `--no-browser`.
  func openBrowser(_ request: SignIn.SignInRequest) -> ForwardingPage? {
    guard request.flow == .browser, request.opensBrowser, let authorizationURL else { return nil }
    return PrivateBrowser.open(authorizationURL, with: request.browser)
  }

  /// Prints instructions to stderr.
  ///
  /// - Parameter provider: its name where there are others, so that a command has to name it; else empty.
  func show(_ request: SignIn.SignInRequest, wasOpened: Bool, provider: String) {
    if request.isForPrograms {
      Output.note(json: json)
    } else if let device {
      device.show()
    } else if let authorizationURL {
      if wasOpened {
        Output.instruction("Your browser was asked to open this page. If it did not, open it yourself:")
      } else {
        Output.instruction(
          "Open this page in a browser\(request.flow == .browser ? " on this machine" : ", on any machine"):")
      }
      Output.instruction("\n  \(Text.shown(authorizationURL))\n")
      if request.flow == .paste {
        Output.instruction(
          "After you have signed in, the browser shows an error: it can't reach the next page. That is expected.\n"
            + "Copy the address of that page, or only the code in it.\n")
      } else if Environment.value("SSH_CONNECTION") != nil || isWithoutBrowser(request, wasOpened) {
        let whom = request.account == nil ? provider : " " + request.whom
        Output.instruction(
          "If your browser is on another machine, use `lanyard login\(whom) --paste` or `--device`.\n")
      }
    }
  }

  /// This machine may have none: a person is told of the others.
  private func isWithoutBrowser(_ request: SignIn.SignInRequest, _ wasOpened: Bool) -> Bool {
    request.opensBrowser && !wasOpened && Terminal.showsNotes
  }

  /// What may be wrong if no answer comes: most often the provider does not know the redirect address. Nil for flows
  /// without one.
  func likelyMistake(_ request: SignIn.SignInRequest) -> String? {
    guard request.flow == .browser, !request.isForPrograms else { return nil }
    let address = authorizationURL.flatMap(RedirectURI.of)
    let known = address.map { "register this one there: \($0)\n" } ?? "register this program's address there.\n"
    return "Still no answer. If the browser shows an error about the redirect address (redirect_uri), \(known)"
      + "If another address is registered, `lanyard provider update \(request.provider) --redirect [HOST:]PORT[/PATH]` uses it. "
      + "If the browser can't reach this machine, use --device or --paste."
  }

  /// The status line. It counts down on a terminal; elsewhere it is printed once.
  var waitingWords: String {
    let rest = expiresAt.map { max(0, $0.seconds - Moment.now.seconds) } ?? 0
    let time =
      rest == 0 ? "" : Terminal.showsNotes ? ": \(Moment.countdown(rest)) left" : ", for another \(Moment.span(rest))"
    return "Waiting until you have signed in\(time). Ctrl-C gives up."
  }
}
