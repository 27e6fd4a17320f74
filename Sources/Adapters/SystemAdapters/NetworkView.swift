internal import CPlatform

/// What is known of the ways out of this machine, so that a change can be told from a repetition: the kernel speaks of
/// an address whenever its lifetime is renewed, of a link for its every flag, of a route when it is replaced by itself.
///
/// A change is an address that came or went, a default route that came or went, a link that began or ceased to carry;
/// of the loopback, of a bridge's parts, of addresses that reach only the link itself: nothing.
struct NetworkView {
  /// Beyond this many of a kind nothing more is remembered, and each repetition counts as a change: a machine with so
  /// many changes all day.
  static let mostRemembered = 1024

  private struct Way: Hashable {
    var link: UInt32
    var family: UInt8
    var metric: UInt32
    var address: [UInt8]

    init(_ news: lanyard_network_news) {
      (link, family, metric) = (news.link, news.family, news.metric)
      address = withUnsafeBytes(of: news.address) { Array($0) }
    }
  }

  /// Those that carry.
  private var links: Set<UInt32> = []
  private var addresses: Set<Way> = []
  private var routes: Set<Way> = []

  /// True if the news is a change.
  mutating func take(_ news: lanyard_network_news) -> Bool {
    switch news.kind {
    case LANYARD_LINK: takeLink(news)
    case LANYARD_ADDRESS: takeAddress(news)
    case LANYARD_ROUTE: Self.takeWay(news, &routes)
    default: false
    }
  }

  private mutating func takeLink(_ news: lanyard_network_news) -> Bool {
    let carried = links.contains(news.link)
    let carries = news.is_outward != 0 && news.is_gone == 0 && news.is_usable != 0
    if !carries {
      links.remove(news.link)
      forgetRoutes(of: news.link)
    } else if links.count < Self.mostRemembered {
      links.insert(news.link)
    }
    return carries != carried
  }

  private mutating func takeAddress(_ news: lanyard_network_news) -> Bool {
    if news.is_gone != 0 { forgetRoutes(of: news.link) }
    return Self.takeWay(news, &addresses)
  }

  /// With a link or its address the kernel drops routes and says nothing of it, but does when they come back.
  private mutating func forgetRoutes(of link: UInt32) { routes = routes.filter { $0.link != link } }

  private static func takeWay(_ news: lanyard_network_news, _ known: inout Set<Way>) -> Bool {
    guard news.is_outward != 0, news.link != loopback else { return false }
    let way = Way(news)
    guard news.is_gone == 0, news.is_usable != 0 else { return known.remove(way) != nil }
    guard known.count < mostRemembered else { return !known.contains(way) }
    return known.insert(way).inserted
  }

  /// The first of each network namespace (LOOPBACK_IFINDEX in the kernel).
  private static let loopback: UInt32 = 1
}
