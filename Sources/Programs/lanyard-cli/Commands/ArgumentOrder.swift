/// `lanyard -u work --json status` means `lanyard status -u work --json`.
enum ArgumentOrder {
  private static let flags: Set<String> = ["--json", "--no-start", "--quiet", "-q", "--verbose"]
  private static let options: Set<String> = ["-u", "--account"]

  /// Moves common options before the name of the command to the end, or before `--`.
  static func commandFirst(_ words: [String]) -> [String] {
    var leading: [String] = []
    var rest = words[...]
    while let word = rest.first {
      if flags.contains(word) || word.hasPrefix("--account=") {
        leading.append(rest.removeFirst())
      } else if options.contains(word), rest.count > 1 {
        leading += rest.prefix(2)
        rest = rest.dropFirst(2)
      } else {
        break
      }
    }
    let end = rest.firstIndex(of: "--") ?? rest.endIndex
    return rest[..<end] + leading + rest[end...]
  }
}
