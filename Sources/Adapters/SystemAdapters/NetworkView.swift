package import CPlatform

/// The known links, addresses and default routes, to distinguish a change from a repetition: the kernel repeats an
/// address whenever its lifetime is renewed, a link for every flag, a route when it is replaced by itself.
///
/// A change is an address or a default route that appeared or vanished, or a link that began or ceased to carry.
/// Ignored are the loopback, the parts of a bridge, and addresses of link scope.
package struct NetworkView {

  package init() {}
  /// Limit of remembered entries of each kind. Beyond it each repetition counts as a change: such a machine has changes
  /// all day anyway.
  package static let mostRemembered = 1024

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

  /// The links that carry.
  private var links: Set<UInt32> = []
  private var addresses: Set<Way> = []
  private var routes: Set<Way> = []

  /// True if this message is a change.
  package mutating func take(_ news: lanyard_network_news) -> Bool {
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

  /// The kernel drops routes with their link or address silently, but reports when they come back.
  private mutating func forgetRoutes(of link: UInt32) { routes = routes.filter { $0.link != link } }

  private static func takeWay(_ news: lanyard_network_news, _ known: inout Set<Way>) -> Bool {
    guard news.is_outward != 0, news.link != loopback else { return false }
    let way = Way(news)
    guard news.is_gone == 0, news.is_usable != 0 else { return known.remove(way) != nil }
    guard known.count < mostRemembered else { return !known.contains(way) }
    return known.insert(way).inserted
  }

  /// The loopback has this index in each network namespace (LOOPBACK_IFINDEX in the kernel).
  private static let loopback: UInt32 = 1
}
