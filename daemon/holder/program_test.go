package holder_test

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// program is what runs in a session: one of a few behaviours by name.
func program(name string, arguments []string) int {
	switch name {
	case "raw":
		return rawEcho()
	}
	fmt.Fprintln(os.Stderr, "no program", name, arguments)
	return 2
}

// rawEcho puts the terminal into raw mode, says so, and prints every byte it
// reads in hexadecimal, until it reads a 'Q'.
func rawEcho() int {
	if _, err := term.MakeRaw(0); err != nil {
		return 1
	}
	fmt.Print("ready\r\n")
	buffer := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buffer)
		if err != nil {
			return 1
		}
		for _, b := range buffer[:n] {
			if b == 'Q' {
				return 0
			}
			fmt.Printf("%02x", b)
		}
	}
}
