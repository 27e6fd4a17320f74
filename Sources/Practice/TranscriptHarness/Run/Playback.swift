/// The progress of one play.
final class Playback {
  /// The line that is played.
  var place = 0
  var bindings = Bindings()
  /// New texts by line, in update mode; nil otherwise.
  var edits: Edits?

  init(updating: Bool) { edits = updating ? Edits() : nil }

  /// Writes a new text for the current line, in update mode.
  func replacePlace(with text: String) { edits?.replace(place, with: text) }
}
