import AgentModel
import CPlatform
import Testing

import SystemAdapters

/// The kernel repeats itself; only a route out of the machine that opens or closes is a change.
@Suite struct NetworkViewTests {
  private let view = Seen()

  /// Holds the view, which is a value, across calls.
  private final class Seen {
    private var view = NetworkView()
    func take(_ news: lanyard_network_news) -> Bool { view.take(news) }
  }

  private func news(
    _ kind: lanyard_network_kind, link: UInt32 = 4, gone: Bool = false, outward: Bool = true, usable: Bool = true,
    last: UInt8 = 7, metric: UInt32 = 0
  ) -> lanyard_network_news {
    var news = lanyard_network_news()
    news.kind = kind
    news.link = link
    news.is_gone = gone ? 1 : 0
    news.is_outward = outward ? 1 : 0
    news.is_usable = usable ? 1 : 0
    news.metric = metric
    news.address.15 = last
    return news
  }

  @Test(arguments: [LANYARD_LINK, LANYARD_ADDRESS, LANYARD_ROUTE])
  func outwardLinkAddressOrRoute_isOneChangeAsItComesAndGoes(kind: lanyard_network_kind) {
    #expect(view.take(news(kind)))
    #expect(!view.take(news(kind)))
    #expect(view.take(news(kind, gone: true)))
    #expect(!view.take(news(kind, gone: true)))
    #expect(view.take(news(kind)))
  }

  @Test(arguments: [LANYARD_LINK, LANYARD_ADDRESS, LANYARD_ROUTE])
  func linkAddressOrRouteLeadingNowhere_isNoChange(kind: lanyard_network_kind) {
    #expect(!view.take(news(kind, outward: false)))
    #expect(!view.take(news(kind, gone: true, outward: false)))
  }

  @Test(arguments: [LANYARD_ADDRESS, LANYARD_ROUTE])
  func loopback_isNoChange(kind: lanyard_network_kind) { #expect(!view.take(news(kind, link: 1))) }

  @Test func linkThatLosesItsCarrier_isAChange() {
    #expect(view.take(news(LANYARD_LINK)))
    #expect(view.take(news(LANYARD_LINK, usable: false)))
    #expect(!view.take(news(LANYARD_LINK, usable: false)))
  }

  @Test func linkThatJoinsABridge_isAChange() {
    _ = view.take(news(LANYARD_LINK))
    #expect(view.take(news(LANYARD_LINK, outward: false)))
    #expect(!view.take(news(LANYARD_LINK, outward: false)))
  }

  @Test func tentativeAddress_isNoChangeUntilUsable() {
    #expect(!view.take(news(LANYARD_ADDRESS, usable: false)))
    #expect(view.take(news(LANYARD_ADDRESS)))
  }

  @Test func addressesOfOneLink_areDistinguished() {
    #expect(view.take(news(LANYARD_ADDRESS, last: 7)))
    #expect(view.take(news(LANYARD_ADDRESS, last: 8)))
    #expect(view.take(news(LANYARD_ADDRESS, link: 5, last: 7)))
  }

  @Test func routeOfALostLink_isForgotten() {
    _ = view.take(news(LANYARD_LINK))
    _ = view.take(news(LANYARD_ROUTE))
    _ = view.take(news(LANYARD_LINK, usable: false))
    #expect(view.take(news(LANYARD_ROUTE)))
  }

  @Test func networkView_isBounded() {
    for link in 2..<UInt32(NetworkView.mostRemembered + 2) { #expect(view.take(news(LANYARD_ADDRESS, link: link))) }
    // Beyond the bound, an address counts each time; the remembered ones still do not.
    #expect(view.take(news(LANYARD_ADDRESS, link: 100_000)))
    #expect(view.take(news(LANYARD_ADDRESS, link: 100_000)))
    #expect(!view.take(news(LANYARD_ADDRESS, link: 2)))
  }
}

@Suite struct BurstTests {
  private func at(_ milliseconds: Int64) -> BootInstant { BootInstant(milliseconds: milliseconds) }

  @Test func burst_isOverAfterAQuietPeriod() {
    var burst = Burst(at: at(0))
    burst.goesOn(at: at(300))
    #expect(!burst.isOver(at: at(799)))
    #expect(burst.isOver(at: at(800)))
  }

  @Test func burst_isOverAtTheLatestAfterTwoSeconds() {
    var burst = Burst(at: at(0))
    for moment in stride(from: Int64(0), to: 2_000, by: 100) { burst.goesOn(at: at(moment)) }
    #expect(!burst.isOver(at: at(1_999)))
    #expect(burst.isOver(at: at(2_000)))
  }
}
