import AgentCore

extension ProviderPreset {
  /// The issuer of a customer whose only own word is the host.
  func issuer(atHostOf url: String) -> String? {
    guard let template = issuerTemplate, let start = url.firstRange(of: "://")?.upperBound else { return nil }
    let host = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let issuer = template.replacing("HOST", with: host)
    let path = issuer.dropFirst("https://".count).drop { $0 != "/" }
    return path.contains(where: \.isUppercase) ? nil : issuer
  }
}
