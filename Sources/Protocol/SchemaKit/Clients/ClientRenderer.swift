/// A language's renderer: writes the generated files of its client. `docs/clients.md` tells how to add one.
protocol ClientRenderer {
  /// The generated files, in a fixed order.
  static func files(of contract: Contract) -> [RenderedFile]
}
