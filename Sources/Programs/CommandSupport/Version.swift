/// The version of the programs of a person.
public enum Version {
  public static let text = "1.0.0"
}
