/// What an admitted request wants.
package enum PageRoute: Sendable {
  /// `GET /open`: the page that sends the code of the address's fragment.
  case opening
  /// `POST /open` with a code.
  case redeem(code: String)
  /// What every page loads, and what shows nothing of the person.
  case asset(String)
  /// `GET /`
  case start
  /// `GET` of a page of the session.
  case page(String, query: [String: String])
  /// `GET /live`: the stream that tells a page that it is to be fetched again.
  case live(page: String)
  /// `POST /do/NAME` with a form of the session.
  case action(String, form: [String: String])
}
