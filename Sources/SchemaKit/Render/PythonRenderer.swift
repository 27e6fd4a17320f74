struct PythonRenderer {
  let contract: Contract
  init(_ contract: Contract) { self.contract = contract }
  var text: String { "" }
}
