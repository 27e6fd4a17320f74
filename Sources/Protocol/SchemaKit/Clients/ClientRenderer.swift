/// A language's renderer: writes the generated files of its client. `docs/clients.md` tells how to add one.
protocol ClientRenderer {
  /// The generated files, in a fixed order.
  static func files(of contract: Contract) -> [RenderedFile]
}

/// Every client that is generated. A new language is a folder beside this file and a line here.
var clientRenderers: [any ClientRenderer.Type] {
  [
    PythonRenderer.self, TypeScriptRenderer.self, GoRenderer.self, RustRenderer.self, SwiftClientRenderer.self,
  ]
}
