internal import AgentModel
public import JSONRPC

/// The JSON of OTLP/HTTP: an `ExportLogsServiceRequest` of OpenTelemetry's protocol, in the JSON mapping of Protocol
/// Buffers: 64-bit numbers are strings, names are in lowerCamelCase.
public enum OTLPFormat {
  /// OpenTelemetry's severity numbers.
  private static func number(_ severity: ExportRecord.Severity) -> Int {
    switch severity {
    case .info: 9
    case .notice: 10
    case .warning: 13
    }
  }

  /// Writes the request for some records.
  ///
  /// - Parameters:
  ///   - agent: the id of this agent's log.
  ///   - host: the name of this machine; nil for none, since it may name a person.
  ///   - now: milliseconds since 1970 UTC.
  public static func write(
    _ records: some Sequence<ExportRecord>, agent: String, host: String?, version: String, now: Int64,
    to writer: inout JSONWriter
  ) {
    writer.beginObject()
    writer.key("resourceLogs")
    writer.beginArray()
    writer.beginObject()
    writer.key("resource")
    writer.beginObject()
    writer.key("attributes")
    writer.beginArray()
    attribute("service.name", .text("lanyard"), to: &writer)
    attribute("service.version", .text(version), to: &writer)
    attribute("service.instance.id", .text(agent), to: &writer)
    if let host { attribute("host.name", .text(host), to: &writer) }
    writer.endArray()
    writer.endObject()
    writer.key("scopeLogs")
    writer.beginArray()
    writer.beginObject()
    writer.key("scope")
    writer.beginObject()
    writer.member("name", "lanyard.audit")
    writer.member("version", version)
    writer.endObject()
    writer.key("logRecords")
    writer.beginArray()
    for record in records { write(record, now: now, to: &writer) }
    writer.endArray()
    writer.endObject()
    writer.endArray()
    writer.endObject()
    writer.endArray()
    writer.endObject()
  }

  private static func write(_ record: ExportRecord, now: Int64, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("timeUnixNano", nanoseconds(record.at.milliseconds))
    writer.member("observedTimeUnixNano", nanoseconds(now))
    writer.key("severityNumber")
    writer.integer(number(record.severity))
    writer.member("severityText", "\(record.severity)".uppercased())
    writer.member("eventName", record.event)
    writer.key("body")
    writer.beginObject()
    writer.member("stringValue", record.message)
    writer.endObject()
    writer.key("attributes")
    writer.beginArray()
    attribute("lanyard.event", .text(record.event), to: &writer)
    for field in record.fields {
      attribute("lanyard." + ExportRecord.snakeCase(field.name), field.value, to: &writer)
    }
    for fact in record.facts {
      attribute("lanyard.fact." + ExportRecord.snakeCase(fact.name), fact.value, to: &writer)
    }
    writer.endArray()
    writer.endObject()
  }

  /// A moment before 1970 has no form in the protocol, whose number is unsigned: 0 says that it is not known.
  private static func nanoseconds(_ milliseconds: Int64) -> String {
    milliseconds <= 0 ? "0" : "\(milliseconds)000000"
  }

  private static func attribute(_ name: String, _ value: ExportEntry.Value, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("key", name)
    writer.key("value")
    writer.beginObject()
    switch value {
    case .text(let text): writer.member("stringValue", text)
    case .integer(let integer): writer.member("intValue", String(integer))
    case .flag(let flag):
      writer.key("boolValue")
      writer.bool(flag)
    }
    writer.endObject()
    writer.endObject()
  }
}
