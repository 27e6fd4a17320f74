public import AgentModel

/// The text of a question whether a request may be made. Every part of it may come from a program that wants a yes, so it
/// is cut, and shows no character that is invisible, ends a line or changes the direction.
public enum RequestPromptText {
  /// With all parts the line of pinentry's protocol stays under its 1,000 bytes.
  static let longestPath = 160
  static let longestName = 64

  /// - Parameters:
  ///   - client: of the grant; nil for a caller without one.
  ///   - account: as the person knows it.
  public static func text(method: String, _ url: HTTPURL, account: String, client: String?) -> String {
    let program = client.map { "The program \"\(shown($0, most: longestName))\"" } ?? "A program"
    return """
      \(program) wants to act for you.
      Account: \(shown(account, most: longestName))
      Request: \(shown(method, most: 16)) \(shown(url.origin, most: 200))
      Path: \(path(url.path))
      """
  }

  /// A long one with its end, which says as much as its beginning.
  static func path(_ path: String) -> String {
    guard path.unicodeScalars.count > longestPath else { return shown(path, most: longestPath) }
    let half = longestPath / 2
    return shown(String(path.prefix(half)), most: half) + " [...] " + shown(String(path.suffix(half)), most: half)
  }

  /// A name of a letter with many marks is cut to its code points, not to its characters.
  static func shown(_ text: String, most: Int) -> String {
    let scalars = text.unicodeScalars
    var shown = ""
    for scalar in scalars.prefix(most) { shown.unicodeScalars.append(DisplayName.isPlain(scalar) ? scalar : "?") }
    return scalars.count > most ? shown + "[...]" : shown
  }
}
