/// The page at `/open`: it sends the code of the address's fragment to the server, which no server sees otherwise.
package enum OpeningPage {
  package static let html = ""

  /// The page for a code that does not open.
  package static func refused(_ why: String) -> String { "" }
}
