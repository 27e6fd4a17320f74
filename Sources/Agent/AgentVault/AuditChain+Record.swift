package import AgentCore
internal import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension AuditChain {
  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("first", first)
      writer.member("before", Base64URL.encode(before))
      writer.member("last", last)
      writer.member("link", Base64URL.encode(link))
      writer.member("count", count)
      if batch > 0 { writer.member("batch", batch) }
      writer.member("countingBoot", countingBoot)
      guard !segments.isEmpty else { return }
      writer.key("segments")
      writer.beginArray()
      for segment in segments {
        writer.beginObject()
        writer.member("through", segment.through)
        writer.member("link", Base64URL.encode(segment.link))
        writer.member("count", segment.count)
        writer.member("newest", segment.newest.milliseconds)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> AuditChain? in
      guard let first = node["first"]?.integer, let before = Self.link(node["before"]),
        let last = node["last"]?.integer, let end = Self.link(node["link"]), let count = node["count"]?.integer,
        first >= 1, last >= first - 1, last < .max
      else { return nil }
      var chain = AuditChain()
      (chain.first, chain.before, chain.last, chain.link) = (first, before, last, end)
      chain.count = count
      chain.batch = node["batch"]?.integer ?? 0
      chain.countingBoot = node["countingBoot"]?.string
      for segment in node["segments"].map({ Array($0.elements) }) ?? [] {
        guard let through = segment["through"]?.integer, let link = Self.link(segment["link"]),
          let count = segment["count"]?.integer, let newest = segment["newest"]?.timestamp
        else { return nil }
        chain.segments.append(Segment(through: through, link: link, count: count, newest: newest))
      }
      return chain
    }
    guard let read else { return nil }
    self = read
  }

  private static func link(_ node: JSONNode?) -> [UInt8]? {
    node?.plainText.flatMap { Base64URL.decode($0) }.flatMap { $0.count == linkBytes ? $0 : nil }
  }
}
