print("lanyard-demo")
