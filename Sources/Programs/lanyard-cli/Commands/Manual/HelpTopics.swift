import CommandSupport

/// `lanyard help TOPIC`: what concerns all commands.
enum HelpTopic: String, CaseIterable {
  case exitCodes = "exit-codes"
  case environment
  case json

  /// Nil unless the words ask for a topic.
  static func asked(in words: [String]) -> HelpTopic? {
    guard words.count == 2, words[0] == "help" else { return nil }
    return HelpTopic(rawValue: words[1])
  }

  var text: String {
    switch self {
    case .exitCodes: Self.exitCodesText
    case .environment: Self.environmentText
    case .json: Self.jsonText
    }
  }

  private static let exitCodesText = """
    EXIT CODES

      0    Done.
      1    Any other failure, also one that another try does not change, such as a
           refused scope or a provider that is configured wrongly.
      2    A mistake in the command line. Nothing was changed.
      3    No agent answers, and none was started.
      4    Sign in again by `lanyard login`: the session has ended, or the provider
           demands it.
      5    Offline, or the provider is unavailable. The same command may work
           later.
      6    Denied by a policy, or by the grant of this program.
      7    A step-up is needed: `lanyard step-up`.
      8    The vault is locked: `lanyard unlock`. Or a passphrase does not open it,
           or does not open the backup.
      130  Interrupted by Ctrl-C.

    `lanyard exec` and `lanyard sandbox` end with the code of their command, with
    127 if there is no such command, 126 if it can't be run, and 128 and the
    number of a signal that ended it. `lanyard can` ends with 0 if it is allowed,
    6 if denied, 7 if a step-up is needed, 4 if you have to sign in again.
    Credential helpers end with the codes that their tool expects.
    """

  private static let environmentText = """
    ENVIRONMENT

      LANYARD_ACCOUNT     The account, unless the command names one. It comes
                          before a .lanyard file and the active account. Where
                          a URL decides, it is preferred if it fits the URL.
      LANYARD_SOCKET      The agent's socket, as an absolute path. Default:
                          $XDG_RUNTIME_DIR/lanyard/agent.sock, or without a
                          session /tmp/lanyard-UID/agent.sock.
      LANYARD_STATE_DIR   The agent's sealed store. Default:
                          $XDG_STATE_HOME/lanyard, or ~/.local/state/lanyard.
      LANYARD_GRANT_FILE  A file with the grant under which this program asks.
      LANYARD_NO_START    If set to 1, no command starts an agent.
      BROWSER             The browser of a sign-in: one or more commands with
                          colons between them; %s is the page.
      NO_COLOR            If set, nothing is printed in colour.
      XDG_CONFIG_HOME     Where agent.json, trusted directories, what `lanyard
                          setup` wrote and the browsers of accounts are kept, in
                          a folder lanyard. Default: ~/.config.

    `lanyard exec` sets these for its command:

      LANYARD_TOKEN       The access token, unless --env or --file is given.
      LANYARD_TOKEN_FILE  The path of the file of --file.
      LANYARD_ACCOUNT     The account's id.

    `lanyard events --exec` sets LANYARD_EVENT, the type of the event.
    """

  private static var jsonText: String {
    var lines = [
      "JSON", "",
      "With --json a command prints one line of JSON on stdout, and an error as one",
      "line on stderr: {\"error\": {\"name\", \"message\", \"exit\"}}. A result of a method has",
      "the members that the protocol's reference gives.", "",
    ]
    for (command, shape) in JSONShapes.all {
      lines.append("  lanyard \(command)")
      lines += Text.lines(shape, columns: 78, first: "      ", next: "      ")
    }
    return lines.joined(separator: "\n")
  }
}
