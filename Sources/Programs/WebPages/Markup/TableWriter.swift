/// A table that becomes a list of cards on a narrow screen: each cell knows the heading of its column. The roles stand there since
/// a browser takes a table for none that is not laid out as one.
struct TableWriter {
  let id: String
  let caption: String
  let columns: [StaticString]

  /// Writes the table. `rows` writes each row by `row`.
  func write(to html: inout HTML, _ rows: (inout HTML) -> Void) {
    html.element("table", ["id": id, "role": "table"]) { html in
      html.element("caption", [:], caption)
      html.literal("<thead role=\"rowgroup\"><tr role=\"row\">")
      for column in columns {
        html.literal("<th scope=\"col\" role=\"columnheader\">")
        html.literal(column)
        html.literal("</th>")
      }
      html.literal("</tr></thead><tbody role=\"rowgroup\">\n")
      rows(&html)
      html.literal("</tbody>")
    }
    html.literal("\n")
  }

  /// Writes a row: the first cell is its heading. A cell nil stays empty and is no line of the card.
  func row(_ html: inout HTML, id: String? = nil, tone: Tone? = nil, _ cells: [((inout HTML) -> Void)?]) {
    html.open("tr", ["role": "row", "id": id, "class": tone?.rawValue])
    for (index, cell) in cells.enumerated() {
      if index == 0 {
        html.literal("<th scope=\"row\" role=\"rowheader\">")
      } else {
        html.literal("<td role=\"cell\" data-column=\"")
        html.literal(columns[index])
        html.literal("\"")
        html.literal(cell == nil ? " class=\"none\">" : ">")
      }
      cell?(&html)
      html.literal(index == 0 ? "</th>" : "</td>")
    }
    html.literal("</tr>\n")
  }
}
