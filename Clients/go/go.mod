module lanyard.example/go/lanyard

go 1.19
