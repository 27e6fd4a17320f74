import AgentModel
import CPlatform
import Testing

@testable import SystemAdapters

/// The kernel repeats itself; only what opens or closes a way out of the machine is a change.
@Suite struct NetworkViewTests {
  private let view = Seen()

  /// The view is a value; what was seen stays seen.
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
  func whatComesAndGoesIsAChangeOnce(kind: lanyard_network_kind) {
    #expect(view.take(news(kind)))
    #expect(!view.take(news(kind)))
    #expect(view.take(news(kind, gone: true)))
    #expect(!view.take(news(kind, gone: true)))
    #expect(view.take(news(kind)))
  }

  @Test(arguments: [LANYARD_LINK, LANYARD_ADDRESS, LANYARD_ROUTE])
  func whatLeadsNowhereIsNone(kind: lanyard_network_kind) {
    #expect(!view.take(news(kind, outward: false)))
    #expect(!view.take(news(kind, gone: true, outward: false)))
  }

  @Test(arguments: [LANYARD_ADDRESS, LANYARD_ROUTE])
  func theLoopbackIsNone(kind: lanyard_network_kind) { #expect(!view.take(news(kind, link: 1))) }

  @Test func aLinkThatCeasesToCarryIsAChange() {
    #expect(view.take(news(LANYARD_LINK)))
    #expect(view.take(news(LANYARD_LINK, usable: false)))
    #expect(!view.take(news(LANYARD_LINK, usable: false)))
  }

  @Test func aLinkThatJoinsABridgeNoLongerCarriesByItself() {
    _ = view.take(news(LANYARD_LINK))
    #expect(view.take(news(LANYARD_LINK, outward: false)))
    #expect(!view.take(news(LANYARD_LINK, outward: false)))
  }

  @Test func anAddressCountsWhenItIsSureToBeOurs() {
    #expect(!view.take(news(LANYARD_ADDRESS, usable: false)))
    #expect(view.take(news(LANYARD_ADDRESS)))
  }

  @Test func addressesOfOneLinkAreToldApart() {
    #expect(view.take(news(LANYARD_ADDRESS, last: 7)))
    #expect(view.take(news(LANYARD_ADDRESS, last: 8)))
    #expect(view.take(news(LANYARD_ADDRESS, link: 5, last: 7)))
  }

  @Test func routesGoWithTheirLinkWithoutAWord() {
    _ = view.take(news(LANYARD_LINK))
    _ = view.take(news(LANYARD_ROUTE))
    _ = view.take(news(LANYARD_LINK, usable: false))
    #expect(view.take(news(LANYARD_ROUTE)))
  }

  @Test func whatIsRememberedIsBounded() {
    for link in 2..<UInt32(NetworkView.mostRemembered + 2) { #expect(view.take(news(LANYARD_ADDRESS, link: link))) }
    // Not remembered, so it counts each time; what is remembered still does not.
    #expect(view.take(news(LANYARD_ADDRESS, link: 100_000)))
    #expect(view.take(news(LANYARD_ADDRESS, link: 100_000)))
    #expect(!view.take(news(LANYARD_ADDRESS, link: 2)))
  }
}

@Suite struct BurstTests {
  private func at(_ milliseconds: Int64) -> BootInstant { BootInstant(milliseconds: milliseconds) }

  @Test func itIsOverWhenItIsQuiet() {
    var burst = Burst(at: at(0))
    burst.goesOn(at: at(300))
    #expect(!burst.isOver(at: at(799)))
    #expect(burst.isOver(at: at(800)))
  }

  @Test func itIsToldInAnyCase() {
    var burst = Burst(at: at(0))
    for moment in stride(from: Int64(0), to: 2_000, by: 100) { burst.goesOn(at: at(moment)) }
    #expect(!burst.isOver(at: at(1_999)))
    #expect(burst.isOver(at: at(2_000)))
  }
}
