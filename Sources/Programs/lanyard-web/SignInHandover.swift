internal import CommandSupport
internal import LoopbackHTTP
internal import PageGate
internal import WebPages

/// Leads the browser on to the page of a provider.
///
/// It is a page and no redirect: `form-action` of the page with the form forbids a redirect to another origin.
enum SignInHandover {
  static func response(to address: String) -> HTTPResponse {
    guard Browser.isWebAddress(address) else { return .refusal(.foreignAddress) }
    var response = HTTPResponse.page(OpeningPage.handover(to: address))
    response.headers.append(("Refresh", "0; url=\(address)"))
    return response
  }
}
