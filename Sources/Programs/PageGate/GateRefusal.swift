/// Why a request is not served.
package struct GateRefusal: Error, Sendable, Hashable {
  /// Of HTTP.
  package let status: Int
  /// For the person, or for who looks for a mistake.
  package let words: String

  init(_ status: Int, _ words: String) { (self.status, self.words) = (status, words) }

  static let otherHost = Self(421, "This page answers at 127.0.0.1 and localhost only.")
  static let otherSite = Self(403, "Another page sent this request. Nothing was done.")
  static let otherMethod = Self(405, "Only GET, and POST for forms.")
  static let upgrade = Self(400, "This page upgrades no connection.")
  static let malformed = Self(400, "The request can't be read. Nothing was done.")
  static let noForm = Self(415, "A form was expected. Nothing was done.")
  static let noSession = Self(
    401, "This browser has no session here, or it has ended. `lanyard ui` in a terminal opens the page.")
  static let otherForm = Self(403, "The form is not of this session: load the page again. Nothing was done.")
  package static let notFound = Self(404, "There is no such page.")
  package static let tooManyPages = Self(503, "Too many pages are open.")
  package static let foreignAddress = Self(
    502, "The provider's sign-in page has no address of the web. The sign-in was not begun.")

  /// A person may come to it with a browser: an old address, another browser.
  package var isForPerson: Bool {
    self == .noSession || self == .notFound || self == .otherForm || self == .foreignAddress
  }
}
