/// A change of memory once a transaction is durable. The feature whose memory it is makes it.
package struct MemoryChange: Sendable {
  let apply: @Sendable (OpenVault) -> Void

  package init(_ apply: @escaping @Sendable (_ vault: OpenVault) -> Void) { self.apply = apply }
}
