/// The version of `lanyard` and `lanyard-cli`.
public enum Version {
  public static let text = "1.0.0"
}
