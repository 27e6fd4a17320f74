extension Unicode.Scalar {
  /// True for what a person does not see in a text from outside, and for what makes them see another text: controls, ends of
  /// lines, marks of writing direction (Unicode Standard Annex 9), and characters without width or without a meaning that is
  /// known here (Default_Ignorable_Code_Point, private use, unassigned). Such a text is shown with another character in place.
  public var isHidden: Bool {
    if isASCII { return value < 0x20 || value == 0x7F }
    return switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
    default: properties.isDefaultIgnorableCodePoint
    }
  }
}
