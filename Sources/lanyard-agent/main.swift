print("lanyard-agent")
