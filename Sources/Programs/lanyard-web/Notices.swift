internal import Synchronization

/// What the last actions did, for the page that the browser is led to. They stay here: an address has a number only, so that
/// nobody can have a page say something by its address.
final class Notices: Sendable {
  /// Of the number in an address.
  static let name = "done"
  private static let mostKept = 16

  private let kept = Mutex<(count: Int, texts: [Int: String])>((0, [:]))

  /// Keeps a text; returns its number.
  func keep(_ text: String) -> Int {
    kept.withLock { kept in
      kept.count += 1
      kept.texts[kept.count] = text
      kept.texts.removeValue(forKey: kept.count - Self.mostKept)
      return kept.count
    }
  }

  func text(_ number: String) -> String? { Int(number).flatMap { number in kept.withLock { $0.texts[number] } } }
}
