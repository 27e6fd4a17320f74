extension Contract {
  /// Every generated file, in a fixed order.
  public var rendered: [RenderedFile] {
    SwiftRenderer(self).files + [
      RenderedFile(path: "Schemas/generated/reference.md", text: ReferenceRenderer(self).text)
    ] + clientRenderers.flatMap { $0.files(of: self) }
  }
}

/// Every client that is generated. A new language is a folder in `Clients` and a line here.
var clientRenderers: [any ClientRenderer.Type] {
  [
    PythonRenderer.self, TypeScriptRenderer.self, GoRenderer.self, RustRenderer.self, SwiftClientRenderer.self,
  ]
}
