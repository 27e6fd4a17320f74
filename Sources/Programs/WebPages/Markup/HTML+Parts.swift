internal import AgentModel

/// What several pages are made of.
extension HTML {
  /// Writes a sentence, in which a command stands between backticks.
  mutating func prose(_ sentence: String) {
    let parts = sentence.split(separator: "`", omittingEmptySubsequences: false)
    guard parts.count % 2 == 1 else { return text(sentence) }
    for (index, part) in parts.enumerated() where !part.isEmpty {
      if index % 2 == 1 { element("code", [:], String(part)) } else { text(String(part)) }
    }
  }

  /// Writes what stands small on a line of its own. Without style, as in a text browser, the space keeps it from the word before.
  mutating func small(_ content: (inout HTML) -> Void) {
    literal(" ")
    element("small", [:], content)
  }

  mutating func small(_ text: String) { small { $0.text(text) } }

  /// Writes a coloured mark and the word that says the same.
  mutating func mark(_ tone: Tone, _ word: String) {
    element("span", ["class": "mark \(tone.rawValue)"], word)
  }

  /// Writes a field with its label.
  mutating func field(_ label: String, id: String, _ content: (inout HTML) -> Void) {
    element("div", ["class": "field"]) { html in
      html.element("label", ["for": id], label)
      content(&html)
    }
  }

  /// Writes the beginning of a document, up to its body. The title ends with the product's name.
  mutating func head(_ title: String) {
    literal(
      """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="referrer" content="no-referrer">
      <title>
      """)
    text("\(title) – Lanyard")
    literal(
      """
      </title>
      <link rel="stylesheet" href="/style.css">
      <link rel="icon" href="/icon.svg" type="image/svg+xml">
      <script src="/live.js" defer></script>
      </head>

      """)
  }

  /// Writes a choice of values with their words.
  mutating func choice(id: String, name: String, _ options: [(value: String, words: String)], chosen: String? = nil) {
    element("select", ["id": id, "name": name]) { html in
      for option in options {
        html.element("option", ["value": option.value, "selected": .flag(option.value == chosen)], option.words)
      }
    }
  }

  /// Writes what an empty list says.
  mutating func empty(_ heading: String, _ text: String) {
    element("section", ["class": "empty"]) { html in
      html.element("h2", [:], heading)
      html.element("p", [:]) { $0.prose(text) }
    }
  }

  /// Writes a number in large with its words, for the line of figures at the top of a page.
  mutating func figure(_ value: Int64, _ words: String, _ tone: Tone? = nil, href: String? = nil) {
    element("li", ["class": "figure\(tone.map { " " + $0.rawValue } ?? "")"]) { html in
      func content(_ html: inout HTML) {
        html.element("b", [:], value.grouped)
        html.literal(" ")
        html.element("span", [:], words)
      }
      if let href { html.element("a", ["href": href]) { content(&$0) } } else { content(&html) }
    }
  }

  /// Writes a moment, with its date for those who point at it and for programs.
  mutating func moment(_ moment: Timestamp, _ time: LocalTime) {
    element("time", ["datetime": moment.rfc3339, "title": time.long(moment)], time.short(moment))
  }
}
