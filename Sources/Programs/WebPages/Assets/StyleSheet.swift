enum StyleSheet { static let text = "" }
