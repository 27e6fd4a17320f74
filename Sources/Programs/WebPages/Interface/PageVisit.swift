package import AgentModel

/// One look of the person at a page.
package struct PageVisit: Sendable {
  package let page: WebPage
  /// The names and values of the address, decoded; of one name the last.
  package let query: [String: String]
  /// What every form sends back as `token`.
  package let formToken: String
  package let now: Timestamp
  /// What the person's last action did, as `WebAction.notice` says it.
  package let notice: String?
  /// What local time is ahead of UTC, at `now`.
  package let secondsFromUTC: Int

  package init(
    page: WebPage, query: [String: String], formToken: String, now: Timestamp, notice: String? = nil,
    secondsFromUTC: Int = 0
  ) {
    (self.page, self.query, self.formToken) = (page, query, formToken)
    (self.now, self.notice, self.secondsFromUTC) = (now, notice, secondsFromUTC)
  }
}
