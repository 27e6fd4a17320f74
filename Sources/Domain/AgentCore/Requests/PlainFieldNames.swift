/// Header fields that go on: none of them tells a server of a credential, a person, a method or a path.
enum PlainFieldNames {
  /// - Parameter lowercased: with its own marks: `content_type` is no field of this list.
  static func isListed(_ lowercased: String) -> Bool { listed.contains(lowercased) }

  /// A field of an API that is not listed, by its words: all of them are about the content, the time, the format or the
  /// trace of a request, or it ends as the names of versions and numbers of requests do. A name that tells something was
  /// refused before.
  static func isPlain(_ words: [String]) -> Bool {
    let words = words.first == "x" ? words.dropFirst() : words[...]
    guard !words.isEmpty else { return false }
    let isNumber = { (word: String) in word.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    if words.allSatisfy({ plainWords.contains($0) || isNumber($0) }) { return true }
    if endings.contains(where: { words.count > $0.count && words.suffix($0.count).elementsEqual($0) }) { return true }
    return beginnings.contains { words.count > $0.count && words.starts(with: $0) }
  }

  private static let endings: [[String]] = [
    ["version"], ["request", "id"], ["trace", "id"], ["correlation", "id"], ["span", "id"], ["event", "id"],
    ["message", "id"], ["client", "name"], ["trace", "context"],
  ]

  /// Hints of browsers, and what software kits say of themselves.
  private static let beginnings: [[String]] = [["sec", "fetch"], ["sec", "ch"], ["stainless"]]

  private static let plainWords: Set<String> = [
    "accept", "attempt", "batch", "beta", "build", "cache", "checksum", "chunk", "comment", "compression", "content",
    "control", "correlation", "count", "country", "crc32c", "custom", "date", "debug", "depth", "description", "digest",
    "disposition", "dry", "empty", "echo", "encoding", "etag", "example", "experiment", "extra", "feature", "features",
    "field", "fields", "file", "filename", "filter", "format", "hash", "hint", "if", "info", "interval", "kept",
    "label", "language", "length", "level", "limit", "locale", "mask", "match", "max", "md5", "media", "message",
    "mime", "min", "mode", "modified", "none", "note", "number", "offset", "option", "options", "other", "page", "part",
    "parts", "plain", "prefer", "preview", "priority", "product", "progress", "protocol", "purpose", "quality", "rate",
    "ratio", "reason", "release", "request", "requested", "resumable", "retry", "revision", "run", "runtime", "sample",
    "sampled", "sdk", "section", "segment", "sequence", "sha1", "sha256", "since", "size", "sort", "span", "start",
    "stream", "style", "tag", "tags", "test", "text", "time", "timeout", "timestamp", "timezone", "title", "total",
    "trace", "type", "unit", "unmodified", "upload", "value", "variant", "version", "view", "wait", "with", "zone",
  ]

  private static let listed: Set<String> = [
    // RFC 9110, 9111 and 9530, and what browsers add
    "accept", "accept-language", "cache-control", "content-digest", "content-disposition", "content-encoding",
    "content-language", "content-location", "content-md5", "content-range", "content-type", "date", "digest", "dnt",
    "if-match", "if-modified-since", "if-none-match", "if-unmodified-since", "last-event-id", "link", "mime-version",
    "origin", "pragma", "prefer", "priority", "referer", "repr-digest", "save-data", "sec-gpc", "slug",
    "upgrade-insecure-requests", "user-agent", "want-content-digest", "want-repr-digest", "x-requested-with",
    "x-user-agent",
    // a request's own number, and traces
    "b3", "baggage", "client-request-id", "idempotency-key", "return-client-request-id", "sentry-trace", "traceparent",
    "tracestate", "uber-trace-id", "x-amzn-trace-id", "x-b3-flags", "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid",
    "x-b3-traceid", "x-cloud-trace-context", "x-idempotency-key", "x-request-id",
    // WebDAV and CalDAV (RFC 4918, RFC 4791)
    "brief", "depth", "if", "if-schedule-tag-match", "lock-token", "overwrite", "schedule-reply", "timeout",
    // git, registries, uploads and calls
    "amz-sdk-invocation-id", "amz-sdk-request", "apollo-require-preflight", "apollographql-client-name",
    "apollographql-client-version", "anthropic-beta", "client-id", "connect-protocol-version", "connect-timeout-ms",
    "consistencylevel", "docker-content-digest", "dropbox-api-arg", "git-protocol", "graphql-preflight",
    "grpc-accept-encoding", "grpc-encoding", "grpc-timeout", "mcp-method", "mcp-name", "mcp-protocol-version",
    "mcp-session-id", "npm-command", "npm-in-ci", "odata-isolation", "odata-maxversion", "odata-version", "openai-beta",
    "time-zone", "tus-resumable", "upload-complete", "upload-length", "upload-metadata", "upload-offset",
    "x-amz-content-sha256", "x-amz-date", "x-goog-api-client", "x-goog-fieldmask", "x-goog-upload-command",
    "x-goog-upload-header-content-length", "x-goog-upload-header-content-type", "x-goog-upload-offset",
    "x-goog-upload-protocol", "x-grpc-web", "x-ms-blob-type", "x-ms-date", "x-upload-content-length",
    "x-upload-content-type",
  ]
}
