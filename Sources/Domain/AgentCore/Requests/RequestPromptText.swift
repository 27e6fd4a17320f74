public import AgentModel
internal import JSONRPC

/// The text of a question whether a request may be made. Every part of it may come from a program that wants a yes, so it
/// shows no character that is invisible, ends a line or changes the direction, and says what it leaves out.
public enum RequestPromptText {
  /// A line of pinentry's protocol has 1,000 bytes with its command and its end.
  static let mostBytes = 960
  static let mostOfName = 120
  static let mostOfOrigin = 200

  /// - Parameters:
  ///   - client: of the grant; nil for a caller without one.
  ///   - account: as the person knows it.
  public static func text(method: String, _ url: HTTPURL, account: String, client: String?) -> String {
    let program = client.map { "The program \"\(shown($0, most: mostOfName))\"" } ?? "A program"
    let head = """
      \(program) wants to act for you.
      Account: \(shown(account, most: mostOfName))
      Request: \(shown(method, most: 16)) \(shown(url.origin, most: mostOfOrigin))
      """
    let (path, query) = (url.path, url.query ?? "")
    let labels = (path: "\nPath: ", query: query.isEmpty ? "" : "\nQuery: ")
    let room = mostBytes - bytes(of: head) - bytes(of: labels.path) - bytes(of: labels.query)
    // Each has half of the room, and what the other leaves.
    let roomOfPath = max(room / 2, room - bytes(of: query))
    let roomOfQuery = max(room / 2, room - bytes(of: path))
    return head + labels.path + bothEnds(of: path, most: roomOfPath) + labels.query
      + bothEnds(of: query, most: roomOfQuery)
  }

  /// A long text without its middle: the end says as much as the beginning.
  private static func bothEnds(of text: String, most: Int) -> String {
    guard bytes(of: text) > most else { return shown(text, most: most) }
    let scalars = Array(text.unicodeScalars)
    let mark = { (count: Int) in " [... \(count) characters left out ...] " }
    let half = (most - bytes(of: mark(scalars.count))) / 2
    let (beginning, end) = (fitting(scalars, half), fitting(scalars.reversed(), half))
    return shown(scalars.prefix(beginning)) + mark(scalars.count - beginning - end) + shown(scalars.suffix(end))
  }

  /// A name of a letter with many marks is cut to its code points, not to its characters.
  static func shown(_ text: String, most: Int) -> String {
    let scalars = Array(text.unicodeScalars)
    guard bytes(of: text) > most else { return shown(scalars[...]) }
    return shown(scalars.prefix(fitting(scalars, most))) + "[...]"
  }

  private static func shown(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(scalars.map { $0.isHidden ? "?" : $0 }))
  }

  /// How many of the first ones have `most` bytes at most.
  private static func fitting(_ scalars: [Unicode.Scalar], _ most: Int) -> Int {
    var (count, rest) = (0, most)
    for scalar in scalars {
      rest -= bytes(of: scalar)
      guard rest >= 0 else { break }
      count += 1
    }
    return count
  }

  private static func bytes(of text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + bytes(of: $1) } }

  /// In pinentry's protocol, where percent signs and line ends are escaped.
  private static func bytes(of scalar: Unicode.Scalar) -> Int {
    scalar == "%" || scalar == "\n" ? 3 : UTF8.width(scalar)
  }
}
