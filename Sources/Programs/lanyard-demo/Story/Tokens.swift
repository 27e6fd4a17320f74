import Foundation
import PracticeProvider

/// Programs ask for tokens, and the provider gets as few requests as possible.
extension Story {
  func askFromPython() throws {
    narrator.heading("A program in another language")
    narrator.say(
      """
      The program stores nothing and refreshes nothing; it asks the agent. The agent answers from memory while a token \
      is valid for at least a minute. The token of home is not, so the agent exchanges its refresh token.
      """)
    waitUntilShort()
    let before = refreshes
    let missing = missingForPython()
    if missing == nil {
      try write("badges.py", Self.badges)
      let told = try run("python3", "badges.py").output
      try check(
        told.contains("work: Alice Archer of acme, token from cache"), "the program did not print the person of work")
      try check(
        told.contains("home: Bob Baker of globex, token from refreshed"), "the program did not print the person of home"
      )
    } else {
      narrator.say("(\(missing ?? "") So `lanyard rpc` sends the same requests.)")
      for account in ["work", "home"] {
        let answer = try run("lanyard", "rpc", "token.get", "{\"account\":\"\(account)\"}").output
        guard let token = answer.firstMatch(of: #/"accessToken":"([^"]+)"/#) else { continue }
        tokensSeen.insert(String(token.1))
      }
    }
    try check(refreshes == before + 1, "\(refreshes - before) exchanges were made, not one")
    shortTokenIssued = .now
    narrator.checked(
      missing == nil
        ? "The provider accepted both tokens. It got one exchange, for home."
        : "The provider got one exchange, for home.")
  }

  /// What keeps the Python program from running, in a sentence; nil if Python imports the client.
  private func missingForPython() -> String? {
    guard Programs.pythonClient != nil else {
      return "The Python client is neither installed with this program nor in the source tree around it."
    }
    let python = Child.find("python3", in: stage.environment["PATH"] ?? "")
    guard python != "python3" else { return "There is no python3 in PATH; Debian's package is python3." }
    guard let ended = try? stage.start([python, "-c", "import lanyard"]).end() else { return "\(python) can't be run." }
    guard ended.status != 0 else { return nil }
    return "\(python) can't import the client: \(ended.text.split(separator: "\n").last ?? "it does not say why")."
  }

  private static let badges = """
    import json, lanyard, urllib.request

    with lanyard.Client() as client:
        for account in ("work", "home"):
            token = client.token.get(account=account)
            asking = urllib.request.Request(token.issuer + "/userinfo", headers={
                "Authorization": f"{token.token_type} {token.access_token}"})
            with urllib.request.urlopen(asking) as answer:
                person = json.load(answer)
            print(f"{account}: {person['name']} of {person['tid']}, token from {token.source}")
    """

  func askTwentyAtOnce() throws {
    narrator.heading("Twenty ask at once")
    narrator.say(
      """
      The token of home is too old again. With a library in every program, twenty programs would send the same \
      refresh token twenty times, and a provider that rotates them would take that for theft. Here all twenty wait for \
      one exchange.
      """)
    waitUntilShort()
    let before = refreshes
    stage.provider.configure { $0.accessTokenLifetimeSeconds = 300 }
    // Slow enough that all twenty programs ask during one exchange.
    stage.provider.enqueueFault("/token", .delay(milliseconds: 700))
    let line = "for i in $(seq 20); do lanyard token home & done | sort | uniq -c"
    narrator.command(line)
    let ended = try stage.start(["/bin/sh", "-c", line]).end()
    narrator.output(ended.text)
    let parts = ended.output.split(whereSeparator: \.isWhitespace)
    try check(parts.count == 2 && parts.first == "20", "twenty programs did not get one token")
    tokensSeen.insert(String(parts[1]))
    try check(refreshes == before + 1, "\(refreshes - before) exchanges were made, not one")
    narrator.checked("Twenty programs, one token, one exchange at the provider.")
  }
}
