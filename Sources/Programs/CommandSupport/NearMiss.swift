/// Finds the name that a person probably meant.
public enum NearMiss {
  /// The nearest name, if at most one letter differs (two in names of five letters or more). Two exchanged neighbours
  /// count as one.
  public static func of(_ typed: String, among names: [String]) -> String? {
    let typed = Array(typed.lowercased())
    let slips = typed.count < 5 ? 1 : 2
    let distances = names.map { (name: $0, distance: distance(typed, Array($0.lowercased()))) }
    return distances.filter { $0.distance <= slips }.min { $0.distance < $1.distance }?.name
  }

  /// The names that a person probably meant: the nearest one, else up to three that begin or go on with what was typed.
  public static func all(of typed: String, among names: [String]) -> [String] {
    if let nearest = of(typed, among: names) { return [nearest] }
    guard typed.count > 2 else { return [] }
    return Array(names.filter { $0.hasPrefix(typed) || typed.hasPrefix($0) && $0.count > 2 }.prefix(3))
  }

  /// The number of added, missing, replaced or exchanged letters (optimal string alignment).
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [Array(0...right.count)]
    for i in 0..<left.count {
      var row = [i + 1]
      for j in 0..<right.count {
        var best = min(row[j], rows[i][j + 1]) + 1
        best = min(best, rows[i][j] + (left[i] == right[j] ? 0 : 1))
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { best = min(best, rows[i - 1][j - 1] + 1) }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
